//! `PERF_RECORD_THREAD_MAP`.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::abi::counted;
use crate::abi::fields::{FieldVisitor, TextField, TextRole, VisitFields};
use crate::abi::text::FixedStr;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// The recorded threads. Since perf 4.5.
///
/// ```c
/// u64 nr; struct { u64 pid; char comm[16]; } entries[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadMap {
    #[br(temp)]
    #[bw(calc = entries.len() as u64)]
    nr: u64,
    /// The threads; a single -1 if CPUs were recorded.
    #[br(parse_with = counted::items, args(nr))]
    pub entries: Vec<ThreadMapEntry>,
}

/// A recorded thread.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadMapEntry {
    /// Thread ID; -1 for all.
    pub pid: i64,
    /// Name.
    pub comm: FixedStr<16>,
}

/// Descriptor of THREAD_MAP.
pub const THREAD_MAP: RecordDescriptor =
    RecordDescriptor::state(RecordType::THREAD_MAP, (4, 5), 16).with(RecordFlags::ONCE);

roles! { ThreadMap { entries: fields } }

impl VisitFields for ThreadMapEntry {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { pid, comm } = self;
        visitor.text(TextRole::Comm(*pid as u32), TextField::new("comm", comm));
        visitor.task(pid.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        let comm = FixedStr::new(b"cat");
        both_orders(
            &ThreadMap { entries: vec![ThreadMapEntry { pid: 0x1234, comm }] },
            (),
            "0100000000000000 3412000000000000 'cat' 00 *13",
            "0000000000000001 0000000000001234 'cat' 00 *13",
        );
    }
}
