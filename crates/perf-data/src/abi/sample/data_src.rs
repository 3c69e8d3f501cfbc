//! `PERF_SAMPLE_DATA_SRC`: source of the data of a memory access.

use crate::abi::bit_fields::bit_fields;
use binrw::binrw;

bit_fields! {
    /// `union perf_mem_data_src`. The kernel declares it for both byte orders such that the value of the word is the same.
    #[binrw]
    DataSrc {
        /// Kind of access: 1 not available, 2 load, 4 store, 8 prefetch, 16 execution.
        MEM_OP = 0..5,
        /// Memory levels as a bit mask, the older encoding.
        MEM_LVL = 5..19,
        /// Result of snooping other caches.
        MEM_SNOOP = 19..24,
        /// Whether the access was locked: 1 not available, 2 locked.
        MEM_LOCK = 24..26,
        /// Result of the TLB access.
        MEM_DTLB = 26..33,
        /// Memory level as a number: 1 to 4 caches, 7 L0, 9 CXL, 10 I/O, 11 any cache, 12 fill buffer, 13 RAM, 14 persistent
        /// memory, 15 not available. Since Linux 4.14.
        MEM_LVL_NUM = 33..37,
        /// Whether the level is remote.
        MEM_REMOTE = 37..38,
        /// Extended result of snooping.
        MEM_SNOOPX = 38..40,
        /// Reason for blocking. Since Linux 5.12.
        MEM_BLK = 40..43,
        /// Distance in hops. Since Linux 5.16.
        MEM_HOPS = 43..46,
        /// Memory region. Since Linux 7.1.
        MEM_REGION = 46..51,
        /// Unused.
        MEM_RSVD = 51..64,
    }
}
