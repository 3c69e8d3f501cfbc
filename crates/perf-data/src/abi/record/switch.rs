//! `PERF_RECORD_SWITCH` and `PERF_RECORD_SWITCH_CPU_WIDE`.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Context switch of a thread: in or, with [`Misc::SWITCH_OUT`](super::Misc::SWITCH_OUT), out. The record has no body, only a
/// `sample_id`. Since Linux 4.3.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch;

/// Context switch on a CPU, in CPU-wide recordings. Since Linux 4.3.
///
/// ```c
/// u32 next_prev_pid, next_prev_tid;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchCpuWide {
    /// Next process ID (out) or previous one (in).
    pub next_prev_pid: u32,
    /// Its thread ID.
    pub next_prev_tid: u32,
}

/// Descriptor of SWITCH.
pub const SWITCH: RecordDescriptor = RecordDescriptor::event(RecordType::SWITCH, (4, 3), 8)
    .with(RecordFlags::TRAILER_PROCESS.union(RecordFlags::ANY_EVENT));

/// Descriptor of SWITCH_CPU_WIDE.
pub const SWITCH_CPU_WIDE: RecordDescriptor = RecordDescriptor::event(RecordType::SWITCH_CPU_WIDE, (4, 3), 16)
    .with(RecordFlags::TRAILER_PROCESS.union(RecordFlags::ANY_EVENT));

roles! { Switch {} }

roles! { SwitchCpuWide { next_prev_pid: task, next_prev_tid: task } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(&Switch, (), "", "");
        let switch = SwitchCpuWide { next_prev_pid: 0x102, next_prev_tid: 3 };
        both_orders(&switch, (), "02010000 03000000", "00000102 00000003");
    }
}
