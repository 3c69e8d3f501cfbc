//! `PERF_SAMPLE_DATA_SRC`: where the data of a memory access came from.

use crate::bit_fields;
use binrw::binrw;

bit_fields! {
    /// `union perf_mem_data_src`. The kernel declares it for either byte order so that the word's value is the same.
    #[binrw]
    DataSrc {
        /// Kind of access: 1 not told, 2 load, 4 store, 8 prefetch, 16 execution.
        MEM_OP = 0..5,
        /// Levels of memory, a bit each, of the older way to tell them.
        MEM_LVL = 5..19,
        /// What snooping other caches gave.
        MEM_SNOOP = 19..24,
        /// Whether the access was locked: 1 not told, 2 it was.
        MEM_LOCK = 24..26,
        /// What the TLB did.
        MEM_DTLB = 26..33,
        /// Level of memory as a number: 1 to 4 caches, 7 L0, 9 CXL, 10 I/O, 11 any cache, 12 fill buffer, 13 RAM,
        /// 14 persistent memory, 15 not told. Since Linux 4.14.
        MEM_LVL_NUM = 33..37,
        /// Whether it was remote.
        MEM_REMOTE = 37..38,
        /// More on snooping.
        MEM_SNOOPX = 38..40,
        /// Why the access was blocked. Since Linux 5.12.
        MEM_BLK = 40..43,
        /// How far away it was. Since Linux 5.16.
        MEM_HOPS = 43..46,
        /// Region of memory. Since Linux 7.1.
        MEM_REGION = 46..51,
        /// Unused.
        MEM_RSVD = 51..64,
    }
}
