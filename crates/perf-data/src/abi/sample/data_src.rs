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

/// `PERF_MEM_*`: values of the fields of [`DataSrc`]. Those of `NUM_*` are numbers, the others are bits.
pub mod mem {
    /// Not available, of any field.
    pub const NA: u64 = 1;
    /// A load.
    pub const OP_LOAD: u64 = 2;
    /// A store.
    pub const OP_STORE: u64 = 4;
    /// The level had the data.
    pub const LVL_HIT: u64 = 2;
    /// It had not.
    pub const LVL_MISS: u64 = 4;
    /// First-level cache.
    pub const LVL_L1: u64 = 8;
    /// Line fill buffer.
    pub const LVL_LFB: u64 = 0x10;
    /// Second-level cache.
    pub const LVL_L2: u64 = 0x20;
    /// Third-level cache.
    pub const LVL_L3: u64 = 0x40;
    /// Local memory.
    pub const LVL_LOC_RAM: u64 = 0x80;
    /// Memory one hop away.
    pub const LVL_REM_RAM1: u64 = 0x100;
    /// Memory two hops away.
    pub const LVL_REM_RAM2: u64 = 0x200;
    /// Cache one hop away.
    pub const LVL_REM_CCE1: u64 = 0x400;
    /// Cache two hops away.
    pub const LVL_REM_CCE2: u64 = 0x800;
    /// I/O memory.
    pub const LVL_IO: u64 = 0x1000;
    /// Uncached memory.
    pub const LVL_UNC: u64 = 0x2000;
    /// First-level cache, as a number.
    pub const NUM_L1: u64 = 1;
    /// Second-level cache.
    pub const NUM_L2: u64 = 2;
    /// Third-level cache.
    pub const NUM_L3: u64 = 3;
    /// I/O memory.
    pub const NUM_IO: u64 = 10;
    /// Fill buffer.
    pub const NUM_LFB: u64 = 12;
    /// Memory.
    pub const NUM_RAM: u64 = 13;
    /// No number available.
    pub const NUM_NA: u64 = 15;
    /// No cache was snooped.
    pub const SNOOP_NONE: u64 = 2;
    /// Another cache had the data.
    pub const SNOOP_HIT: u64 = 4;
    /// Another cache had modified it.
    pub const SNOOP_HITM: u64 = 0x10;
    /// The data came from the cache of a peer.
    pub const SNOOPX_PEER: u64 = 2;
    /// The TLB had the address.
    pub const TLB_HIT: u64 = 2;
    /// It had not.
    pub const TLB_MISS: u64 = 4;
    /// The hardware walked the page tables.
    pub const TLB_WALKER: u64 = 0x20;
}
