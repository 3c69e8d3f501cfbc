//! `PERF_RECORD_COMM`.

use super::RecordType;
use super::descriptor::RecordDescriptor;
use crate::abi::fields::{FieldVisitor, TextField, TextRole, VisitFields};
use crate::abi::text::PaddedStr;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Name of a thread, set by an exec with [`Misc::COMM_EXEC`](super::Misc::COMM_EXEC). Since Linux 2.6.31.
///
/// ```c
/// u32 pid, tid; char comm[];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comm {
    /// Process ID.
    pub pid: u32,
    /// Thread ID.
    pub tid: u32,
    /// Name; the kernel's are at most 15 bytes.
    pub comm: PaddedStr,
}

/// Descriptor of COMM.
pub const COMM: RecordDescriptor = RecordDescriptor::state(RecordType::COMM, (2, 6), 17);

impl VisitFields for Comm {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { pid, tid, comm } = self;
        visitor.text(TextRole::Comm(*tid), TextField::new("comm", comm));
        visitor.own_process(pid.into());
        visitor.task(tid.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &Comm { pid: 0x1234, tid: 2, comm: PaddedStr::new(b"cat", 8) },
            (),
            "34120000 02000000 'cat' 0000000000",
            "00001234 00000002 'cat' 0000000000",
        );
    }
}
