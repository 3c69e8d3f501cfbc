//! `PERF_RECORD_AUXTRACE`.

use super::RecordType;
use super::descriptor::RecordDescriptor;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// A piece of the AUX area follows the record; it is not counted in its size. Since perf 4.2.
///
/// ```c
/// u64 size, offset, reference; u32 idx, tid, cpu, reserved;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Auxtrace {
    /// How many bytes follow.
    pub size: u64,
    /// Where in the AUX area they were.
    pub offset: u64,
    /// A number that orders the pieces, of the decoder's own.
    pub reference: u64,
    /// Which ring buffer.
    pub idx: u32,
    /// Thread, -1 for any.
    pub tid: i32,
    /// CPU, -1 for any.
    pub cpu: i32,
    /// Unused.
    pub reserved: u32,
}

/// Descriptor of AUXTRACE.
pub const AUXTRACE: RecordDescriptor = RecordDescriptor::state(RecordType::AUXTRACE, (4, 2), 48).confidential();

roles! {
    Auxtrace {
        size: number,
        offset: number,
        reference: number,
        idx: number,
        tid: task,
        cpu: number,
        reserved: opaque,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &Auxtrace { size: 0x100, offset: 0x200, reference: 3, idx: 4, tid: -1, cpu: 5, reserved: 6 },
            (),
            "0001000000000000 0002000000000000 0300000000000000 04000000 ffffffff 05000000 06000000",
            "0000000000000100 0000000000000200 0000000000000003 00000004 ffffffff 00000005 00000006",
        );
    }
}
