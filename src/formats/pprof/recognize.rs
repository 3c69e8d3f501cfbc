//! Recognizes a profile.

use crate::formats::framework::message::Shape::{Bytes, Message, Number, Numbers};
use crate::formats::framework::message::{Shape, contents, has_message_shape};

const VALUE_TYPE: &[(u32, Shape)] = &[(1, Number), (2, Number)];
const LABEL: &[(u32, Shape)] = &[(1, Number), (2, Number), (3, Number), (4, Number)];
const SAMPLE: &[(u32, Shape)] = &[(1, Numbers), (2, Numbers), (3, Message(LABEL))];
const LINE: &[(u32, Shape)] = &[(1, Number), (2, Number), (3, Number)];
const LOCATION: &[(u32, Shape)] = &[(1, Number), (2, Number), (3, Number), (4, Message(LINE)), (5, Number)];
const FUNCTION: &[(u32, Shape)] = &[(1, Number), (2, Number), (3, Number), (4, Number), (5, Number)];
const MAPPING: &[(u32, Shape)] = &[
    (1, Number),
    (2, Number),
    (3, Number),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, Number),
    (9, Number),
    (10, Number),
];
const PROFILE: &[(u32, Shape)] = &[
    (1, Message(VALUE_TYPE)),
    (2, Message(SAMPLE)),
    (3, Message(MAPPING)),
    (4, Message(LOCATION)),
    (5, Message(FUNCTION)),
    (6, Bytes),
    (7, Number),
    (8, Number),
    (9, Number),
    (10, Number),
    (11, Message(VALUE_TYPE)),
    (12, Number),
    (13, Numbers),
    (14, Number),
    (15, Number),
];

/// Whether an input has the shape of a profile, with a sample type or a sample.
pub fn is_pprof(start: &[u8]) -> bool {
    let is_type_or_sample = |(number, content): (u64, &[u8])| matches!(number, 1 | 2) && !content.is_empty();
    has_message_shape(start, PROFILE) && contents(start).any(is_type_or_sample)
}
