//! `PERF_SAMPLE_WEIGHT` and `PERF_SAMPLE_WEIGHT_STRUCT`: cost of an event.

use crate::abi::bit_fields::bit_fields;
use binrw::binrw;

bit_fields! {
    /// `union perf_sample_weight`: one number with WEIGHT, three with WEIGHT_STRUCT. The kernel declares it for both byte orders
    /// such that the value of the word is the same.
    #[binrw]
    Weight {
        /// First: on x86 the latency of the access, or the cycles of the transaction.
        VAR1_DW = 0..32,
        /// Second: on x86 the latency of the instruction. Since Linux 5.12.
        VAR2_W = 32..48,
        /// Third: on x86 the cycles until retirement. Since Linux 6.3.
        VAR3_W = 48..64,
    }
}
