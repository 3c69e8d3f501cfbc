//! `perf_event_attr.sample_type` and `branch_sample_type`: the fields of SAMPLE records.

use crate::abi::bit_set::bit_set;
use bitflags::Flags;

bit_set! {
    /// `PERF_SAMPLE_*`: fields of a SAMPLE record. Some of them are also the fields of the `sample_id` trailer.
    SampleType: u64 {
        /// Instruction pointer.
        IP = 1 << 0,
        /// Process and thread ID.
        TID = 1 << 1,
        /// Time in nanoseconds on the clock of the recording.
        TIME = 1 << 2,
        /// Data address or other event-specific address: of a memory access, fault or breakpoint.
        ADDR = 1 << 3,
        /// Counter values, laid out by `read_format`.
        READ = 1 << 4,
        /// Call chain.
        CALLCHAIN = 1 << 5,
        /// Event ID, that of the parent if inherited.
        ID = 1 << 6,
        /// CPU number.
        CPU = 1 << 7,
        /// Period: number of events that the sample represents.
        PERIOD = 1 << 8,
        /// ID of the event itself, even if inherited.
        STREAM_ID = 1 << 9,
        /// Event-specific bytes, such as the fields of a tracepoint.
        RAW = 1 << 10,
        /// Branch stack.
        BRANCH_STACK = 1 << 11,
        /// User registers.
        REGS_USER = 1 << 12,
        /// User stack dump.
        STACK_USER = 1 << 13,
        /// Cost of the event, as one number.
        WEIGHT = 1 << 14,
        /// Source of the data of a memory access.
        DATA_SRC = 1 << 15,
        /// Event ID at a fixed position: first in a SAMPLE and last in a trailer. Since Linux 3.12.
        IDENTIFIER = 1 << 16,
        /// Flags and abort code of a hardware transaction.
        TRANSACTION = 1 << 17,
        /// Interrupt registers.
        REGS_INTR = 1 << 18,
        /// Physical address of the data.
        PHYS_ADDR = 1 << 19,
        /// Part of the AUX area. Since Linux 5.5.
        AUX = 1 << 20,
        /// Cgroup ID. Since Linux 5.7.
        CGROUP = 1 << 21,
        /// Size of the data page. Since Linux 5.11.
        DATA_PAGE_SIZE = 1 << 22,
        /// Size of the code page. Since Linux 5.11.
        CODE_PAGE_SIZE = 1 << 23,
        /// Cost of the event, as three numbers instead of `WEIGHT`. Since Linux 5.12.
        WEIGHT_STRUCT = 1 << 24,
        /// An example, in tests.
        #[cfg(any(test, feature = "testing"))]
        EXAMPLE = 1 << 62,
    }
}

impl SampleType {
    /// All bits with a known layout, those with a name.
    pub const KNOWN: Self = {
        let (mut named, mut index) = (Self::empty(), 0);
        while index < <Self as Flags>::FLAGS.len() {
            let flag = &<Self as Flags>::FLAGS[index];
            named = if flag.is_named() { named.union(*flag.value()) } else { named };
            index += 1;
        }
        named
    };

    /// What `--call-graph dwarf` adds: user registers and stack dump, which are adjacent in a sample.
    pub const USER_DUMP: Self = Self::REGS_USER.union(Self::STACK_USER);
}

bit_set! {
    /// `PERF_SAMPLE_BRANCH_*`: recorded branches, and their properties.
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
        /// Branches outside of transactions.
        NO_TX = 1 << 9,
        /// Conditional branches.
        COND = 1 << 10,
        /// Hardware call stack: the entries are callers. Since Linux 4.1.
        CALL_STACK = 1 << 11,
        /// Indirect jumps.
        IND_JUMP = 1 << 12,
        /// Direct calls.
        CALL = 1 << 13,
        /// Omit flags of entries.
        NO_FLAGS = 1 << 14,
        /// Omit cycles of entries.
        NO_CYCLES = 1 << 15,
        /// Record the type of each branch.
        TYPE_SAVE = 1 << 16,
        /// Record `hw_idx` before the entries. Since Linux 5.7.
        HW_INDEX = 1 << 17,
        /// Record the privilege level of each branch. Since Linux 6.1.
        PRIV_SAVE = 1 << 18,
        /// Record a word of event counts for each entry, after the entries. Since Linux 6.8.
        COUNTERS = 1 << 19,
    }
}

impl BranchSampleType {
    /// All bits with a known layout.
    pub const KNOWN: Self = Self::from_bits_retain((1 << 20) - 1);
}
