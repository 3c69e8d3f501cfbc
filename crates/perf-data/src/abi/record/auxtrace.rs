//! `PERF_RECORD_AUXTRACE`.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// A piece of the AUX area, which follows the record as a payload not counted in its size. Since perf 4.2.
///
/// ```c
/// u64 size, offset, reference; u32 idx, tid, cpu, reserved;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Auxtrace {
    /// Size of the payload in bytes.
    pub size: u64,
    /// Offset in the AUX area.
    pub offset: u64,
    /// Decoder-specific number that orders the pieces.
    pub reference: u64,
    /// Index of the ring buffer.
    pub idx: u32,
    /// Thread ID, -1 for any.
    pub tid: i32,
    /// CPU number, -1 for any.
    pub cpu: i32,
    /// Unused.
    pub reserved: u32,
}

/// Descriptor of AUXTRACE.
pub const AUXTRACE: RecordDescriptor = RecordDescriptor::state(RecordType::AUXTRACE, (4, 2), 48)
    .with(RecordFlags::CONFIDENTIAL.union(RecordFlags::PAYLOAD));

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
