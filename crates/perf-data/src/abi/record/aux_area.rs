//! `PERF_RECORD_AUX`, `PERF_RECORD_ITRACE_START` and `PERF_RECORD_AUX_OUTPUT_HW_ID`.

use super::RecordType;
use super::descriptor::RecordDescriptor;
use crate::abi::bit_set::bit_set;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

bit_set! {
    /// `PERF_AUX_FLAG_*`.
    AuxFlags: u64 {
        /// The data was truncated because the buffer was full.
        TRUNCATED = 1 << 0,
        /// Overwrite mode: the buffer contains only the newest data.
        OVERWRITE = 1 << 1,
        /// The data has gaps.
        PARTIAL = 1 << 2,
        /// The data may contain that of another event.
        COLLISION = 1 << 3,
        /// PMU-specific format; 0x100 is raw CoreSight.
        PMU_FORMAT_TYPE_MASK = 0xff00,
    }
}

/// New data in the AUX area. Since Linux 4.1.
///
/// ```c
/// u64 aux_offset, aux_size, flags;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aux {
    /// Offset in the AUX area.
    pub aux_offset: u64,
    /// Size in bytes.
    pub aux_size: u64,
    /// Flags.
    pub flags: AuxFlags,
}

/// Start of instruction tracing of a thread. Since Linux 4.1.
///
/// ```c
/// u32 pid, tid;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItraceStart {
    /// Process ID.
    pub pid: u32,
    /// Thread ID.
    pub tid: u32,
}

/// Hardware ID, used in the trace, of the event in the record's `sample_id`. Since Linux 5.16.
///
/// ```c
/// u64 hw_id;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuxOutputHwId {
    /// The hardware ID.
    pub hw_id: u64,
}

/// Descriptor of AUX.
pub const AUX: RecordDescriptor = RecordDescriptor::event(RecordType::AUX, (4, 1), 32);

/// Descriptor of ITRACE_START.
pub const ITRACE_START: RecordDescriptor = RecordDescriptor::event(RecordType::ITRACE_START, (4, 1), 16);

/// Descriptor of AUX_OUTPUT_HW_ID.
pub const AUX_OUTPUT_HW_ID: RecordDescriptor = RecordDescriptor::event(RecordType::AUX_OUTPUT_HW_ID, (5, 16), 16);

roles! { Aux { aux_offset: number, aux_size: number, flags: number } }

roles! { ItraceStart { pid: own_process, tid: task } }

roles! { AuxOutputHwId { hw_id: number } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &Aux { aux_offset: 0x1000, aux_size: 0x20, flags: AuxFlags::PARTIAL | AuxFlags::from_bits_retain(0x100) },
            (),
            "0010000000000000 2000000000000000 0401000000000000",
            "0000000000001000 0000000000000020 0000000000000104",
        );
        both_orders(&ItraceStart { pid: 7, tid: 8 }, (), "07000000 08000000", "00000007 00000008");
        both_orders(&AuxOutputHwId { hw_id: 0x0102 }, (), "0201000000000000", "0000000000000102");
    }
}
