//! `perf_event_attr.sample_type` and `branch_sample_type`: what each SAMPLE record holds.

use crate::bit_set;

bit_set! {
    /// `PERF_SAMPLE_*`: the fields of a SAMPLE record. The fields of the `sample_id` trailer are some of these too.
    SampleType: u64 {
        /// Instruction pointer.
        IP = 1 << 0,
        /// Process and thread id.
        TID = 1 << 1,
        /// Timestamp, nanoseconds of the recording's clock.
        TIME = 1 << 2,
        /// Address that the event is about: of a memory access, a fault, a breakpoint.
        ADDR = 1 << 3,
        /// Counter values, laid out by `read_format`.
        READ = 1 << 4,
        /// Call chain.
        CALLCHAIN = 1 << 5,
        /// Id of the event, of the parent where inherited.
        ID = 1 << 6,
        /// CPU number.
        CPU = 1 << 7,
        /// Period: how much of the event this sample stands for.
        PERIOD = 1 << 8,
        /// Id of the event itself, also where inherited.
        STREAM_ID = 1 << 9,
        /// Bytes of the event's own: the fields of a tracepoint.
        RAW = 1 << 10,
        /// Last branches.
        BRANCH_STACK = 1 << 11,
        /// User registers.
        REGS_USER = 1 << 12,
        /// Copy of the user stack.
        STACK_USER = 1 << 13,
        /// Cost of the event, as one number.
        WEIGHT = 1 << 14,
        /// Where the data of a memory access came from.
        DATA_SRC = 1 << 15,
        /// Id of the event, first in a SAMPLE and last in a trailer, whatever else there is. Since Linux 3.12.
        IDENTIFIER = 1 << 16,
        /// Flags and abort code of a hardware transaction.
        TRANSACTION = 1 << 17,
        /// Registers at the interrupt.
        REGS_INTR = 1 << 18,
        /// Physical address of the data.
        PHYS_ADDR = 1 << 19,
        /// A piece of the AUX area. Since Linux 5.5.
        AUX = 1 << 20,
        /// Id of the cgroup. Since Linux 5.7.
        CGROUP = 1 << 21,
        /// Size of the page that the data is in. Since Linux 5.11.
        DATA_PAGE_SIZE = 1 << 22,
        /// Size of the page that the code is in. Since Linux 5.11.
        CODE_PAGE_SIZE = 1 << 23,
        /// Cost of the event, as three numbers; instead of `WEIGHT`. Since Linux 5.12.
        WEIGHT_STRUCT = 1 << 24,
    }
}

impl SampleType {
    /// Every bit that this crate knows the layout of.
    pub const KNOWN: Self = Self::from_bits_retain((1 << 25) - 1);
}

bit_set! {
    /// `PERF_SAMPLE_BRANCH_*`: which branches are recorded, and what of each.
    BranchSampleType: u64 {
        /// Branches to user space.
        USER = 1 << 0,
        /// Branches to the kernel.
        KERNEL = 1 << 1,
        /// Branches to the hypervisor.
        HV = 1 << 2,
        /// Any kind of branch.
        ANY = 1 << 3,
        /// Any kind of call.
        ANY_CALL = 1 << 4,
        /// Any kind of return.
        ANY_RETURN = 1 << 5,
        /// Indirect calls.
        IND_CALL = 1 << 6,
        /// Transaction aborts.
        ABORT_TX = 1 << 7,
        /// Branches in a transaction.
        IN_TX = 1 << 8,
        /// Branches outside any transaction.
        NO_TX = 1 << 9,
        /// Conditional branches.
        COND = 1 << 10,
        /// The hardware keeps a call stack: the entries are callers. Since Linux 4.1.
        CALL_STACK = 1 << 11,
        /// Indirect jumps.
        IND_JUMP = 1 << 12,
        /// Direct calls.
        CALL = 1 << 13,
        /// Flags of the entries are not recorded.
        NO_FLAGS = 1 << 14,
        /// Cycles of the entries are not recorded.
        NO_CYCLES = 1 << 15,
        /// The kind of each branch is recorded.
        TYPE_SAVE = 1 << 16,
        /// A `hw_idx` stands before the entries. Since Linux 5.7.
        HW_INDEX = 1 << 17,
        /// The privilege level of each branch is recorded. Since Linux 6.1.
        PRIV_SAVE = 1 << 18,
        /// A word of event counts for each entry follows the entries. Since Linux 6.8.
        COUNTERS = 1 << 19,
    }
}
