//! `PERF_RECORD_FORK` and `PERF_RECORD_EXIT`.

use super::RecordType;
use super::descriptor::RecordDescriptor;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Creation (FORK) or exit (EXIT) of a thread. Since Linux 2.6.31.
///
/// ```c
/// u32 pid, ppid; u32 tid, ptid; u64 time;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Process ID.
    pub pid: u32,
    /// Process ID of the parent; equal for a new thread of the process.
    pub ppid: u32,
    /// Thread ID.
    pub tid: u32,
    /// Thread ID of the parent.
    pub ptid: u32,
    /// Time in nanoseconds on the clock of the recording.
    pub time: u64,
}

/// Descriptor of EXIT.
pub const EXIT: RecordDescriptor = RecordDescriptor::state(RecordType::EXIT, (2, 6), 32);

/// Descriptor of FORK.
pub const FORK: RecordDescriptor = RecordDescriptor::state(RecordType::FORK, (2, 6), 32);

roles! { Task { pid: own_process, ppid: task, tid: task, ptid: task, time: time } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &Task { pid: 1, ppid: 2, tid: 3, ptid: 4, time: 0x1234 },
            (),
            "01000000 02000000 03000000 04000000 3412000000000000",
            "00000001 00000002 00000003 00000004 0000000000001234",
        );
    }
}
