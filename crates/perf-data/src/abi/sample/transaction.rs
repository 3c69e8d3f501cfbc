//! `PERF_SAMPLE_TRANSACTION`: hardware transactions.

use crate::abi::bit_set::bit_set;

bit_set! {
    /// `PERF_TXN_*`. Since Linux 3.13.
    Transaction: u64 {
        /// Lock elision.
        ELISION = 1 << 0,
        /// Explicit transaction.
        TRANSACTION = 1 << 1,
        /// Synchronous abort, caused by the instruction.
        SYNC = 1 << 2,
        /// Asynchronous abort.
        ASYNC = 1 << 3,
        /// A retry may succeed.
        RETRY = 1 << 4,
        /// Memory conflict with another CPU.
        CONFLICT = 1 << 5,
        /// Write capacity exceeded.
        CAPACITY_WRITE = 1 << 6,
        /// Read capacity exceeded.
        CAPACITY_READ = 1 << 7,
        /// Abort code of the program.
        ABORT_MASK = 0xffff_ffff << 32,
    }
}

impl Transaction {
    /// Abort code of the program.
    pub fn abort_code(self) -> u32 {
        (self.bits() >> 32) as u32
    }
}
