//! `PERF_SAMPLE_REGS_USER` and `PERF_SAMPLE_REGS_INTR`: registers.

use super::counted;
use crate::abi::open_enum::open_enum;
use crate::abi::readable;
use binrw::binrw;
use serde::{Deserialize, Serialize};

open_enum! {
    /// `PERF_SAMPLE_REGS_ABI_*`: ABI of the registers.
    RegsAbi: u64 {
        /// No registers.
        NONE = 0,
        /// 32-bit.
        ABI_32 = 1,
        /// 64-bit.
        ABI_64 = 2,
    }
}

impl RegsAbi {
    /// Whether the layout of the registers is known. A combination of bits is not: `PERF_SAMPLE_REGS_ABI_SIMD`, proposed for
    /// Linux, adds vector registers behind the others.
    #[inline]
    pub fn is_known(self) -> bool {
        self <= Self::ABI_64
    }

    /// Number of registers that follow, for a mask of the attr.
    #[inline]
    pub fn count(self, mask: u64) -> u64 {
        if self == Self::NONE { 0 } else { mask.count_ones().into() }
    }
}

/// Sampled registers.
///
/// ```c
/// u64 abi; u64 regs[popcount(mask)];  // no registers with abi 0
/// ```
#[binrw]
#[br(import_raw(mask: u64))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regs {
    /// ABI.
    #[br(assert(abi.is_known(), "unknown ABI of registers {:#x}", abi.0))]
    pub abi: RegsAbi,
    /// Values of the registers in the mask, lowest bit first.
    #[br(parse_with = counted::u64s, args(abi.count(mask)))]
    #[serde(serialize_with = "readable::hex")]
    pub regs: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(&Regs { abi: RegsAbi::NONE, regs: Vec::new() }, 0b101, "00 *8", "00 *8");
        both_orders(
            &Regs { abi: RegsAbi::ABI_64, regs: vec![3, 4] },
            0b101,
            "0200000000000000 0300000000000000 0400000000000000",
            "0000000000000002 0000000000000003 0000000000000004",
        );
    }
}
