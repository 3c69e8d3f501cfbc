//! `PERF_SAMPLE_TRANSACTION`: a hardware transaction that a sample was in.

use crate::bit_set;

bit_set! {
    /// `PERF_TXN_*`. Since Linux 3.13.
    Transaction: u64 {
        /// From lock elision.
        ELISION = 1 << 0,
        /// From an explicit transaction.
        TRANSACTION = 1 << 1,
        /// The abort came from the instruction.
        SYNC = 1 << 2,
        /// The abort came from elsewhere.
        ASYNC = 1 << 3,
        /// A retry may succeed.
        RETRY = 1 << 4,
        /// Another CPU accessed the same memory.
        CONFLICT = 1 << 5,
        /// Too much was written.
        CAPACITY_WRITE = 1 << 6,
        /// Too much was read.
        CAPACITY_READ = 1 << 7,
        /// The code that the program gave to the abort.
        ABORT_MASK = 0xffff_ffff << 32,
    }
}

impl Transaction {
    /// The code that the program gave to the abort.
    pub fn abort_code(self) -> u32 {
        (self.bits() >> 32) as u32
    }
}
