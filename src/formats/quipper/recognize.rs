//! Recognizes a PerfDataProto.

use crate::formats::framework::message::Shape::{Bytes, Number, Numbers};
use crate::formats::framework::message::{Shape, contents, has_message_shape};
#[cfg(feature = "quipper-text")]
use crate::formats::framework::recognize::lines;

const PROTO: &[(u32, Shape)] = &[
    (1, Bytes),
    (2, Bytes),
    (3, Number),
    (4, Bytes),
    (5, Numbers),
    (7, Bytes),
    (8, Bytes),
    (9, Bytes),
    (10, Bytes),
    (11, Bytes),
    (12, Bytes),
    (13, Bytes),
    (14, Bytes),
    (15, Bytes),
    (16, Bytes),
    (17, Bytes),
    (1000, Bytes),
    (1001, Bytes),
    (1002, Bytes),
    (1003, Bytes),
];

/// Whether an input begins with a file_attrs message and has the shape of a PerfDataProto.
pub fn recognizes(start: &[u8]) -> bool {
    let Some((1, event)) = contents(start).next() else { return false };
    // An attr begins with its type, a number; the resources of OpenTelemetry profiles with a message.
    let has_attr = contents(event).any(|(number, attr)| number == 1 && attr.first().is_some_and(|key| key & 7 == 0));
    has_attr && has_message_shape(start, PROTO)
}

/// The same for the text format.
#[cfg(feature = "quipper-text")]
pub fn recognizes_text(start: &[u8]) -> bool {
    let mut lines = lines(start).map(<[u8]>::trim_ascii_start).filter(|line| !line.is_empty() && line[0] != b'#');
    lines.next().and_then(|line| line.strip_prefix(b"file_attrs")).is_some_and(|rest| {
        let rest = rest.trim_ascii_start();
        rest.starts_with(b"{") || rest.starts_with(b":")
    })
}
