//! A record for tests, the example in docs/contributing.md.

use super::RecordType;
use super::descriptor::RecordDescriptor;
use crate::abi::counted;
use crate::abi::text::PaddedStr;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// An example. Since perf 7.3.
///
/// ```c
/// u32 pid, tid; u64 time, id; u64 nr; u8 payload[nr]; char path[];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Nanoseconds of the recording's clock.
    pub time: u64,
    /// ID of the event.
    pub id: u64,
    #[br(temp)]
    #[bw(calc = payload.len() as u64)]
    nr: u64,
    /// Bytes of the recorder.
    #[br(parse_with = counted::bytes, args(nr))]
    #[serde(with = "crate::abi::serde::byte_string")]
    pub payload: Vec<u8>,
    /// Path of a file.
    pub path: PaddedStr,
}

/// Descriptor of EXAMPLE.
pub const EXAMPLE: RecordDescriptor = RecordDescriptor::event(RecordType::EXAMPLE, (7, 3), 41);

roles! {
    Example {
        pid: own_process,
        tid: task,
        time: time,
        id: own_event_id,
        payload: opaque,
        path: text(Path),
    }
}
