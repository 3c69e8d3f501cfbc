//! `PERF_SAMPLE_REGS_USER` and `PERF_SAMPLE_REGS_INTR`: registers.

use super::field::FieldKind;
use super::value::FieldValue;
use crate::abi::bytes::{ByteReader, ByteWriter, Words};
use crate::abi::counted;
use crate::abi::open_enum::open_enum;
use crate::abi::serde::readable;
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regs {
    /// ABI.
    #[br(assert(abi.is_known(), "unknown ABI of registers {:#x}", abi.0))]
    pub abi: RegsAbi,
    /// Values of the registers in the mask, lowest bit first.
    #[br(parse_with = counted::u64s, args(abi.count(mask)))]
    #[serde(serialize_with = "readable::hex")]
    pub regs: Vec<u64>,
}

/// [`Regs`] borrowed from a SAMPLE. A sample of a thread without user registers has ABI 0 and no values.
#[derive(Clone, Copy, Debug)]
pub struct RegsView<'a> {
    /// ABI: 0 none, 1 32-bit, 2 64-bit.
    pub abi: u64,
    /// Values of the registers in the mask, lowest bit first.
    pub regs: Words<'a>,
}

impl<'a> RegsView<'a> {
    /// The registers with their numbers, the bits of the mask (`asm/perf_regs.h`), lowest first. The mask is that of the event:
    /// [`SampleLayout::regs_user`](super::layout::SampleLayout::regs_user) or `regs_intr`.
    pub fn numbered(&self, mask: u64) -> impl Iterator<Item = (u8, u64)> + use<'a> {
        (0..u64::BITS as u8).filter(move |number| mask >> number & 1 == 1).zip(self.regs.iter())
    }

    /// The value of a register by its number, such as 8 for the instruction pointer of x86; `None` if it is not in the mask of the event,
    /// or there are no registers.
    ///
    /// ```
    /// use perf_data::abi::{Endian, bytes::ByteReader, sample::regs::RegsView};
    ///
    /// let values = [0x7000_u64.to_le_bytes(), 0x40_1000_u64.to_le_bytes()].concat();
    /// let regs = RegsView { abi: 2, regs: ByteReader::new(&values, Endian::Little).words(2).unwrap() };
    /// let mask = 1 << 7 | 1 << 8;
    /// assert_eq!((regs.get(mask, 7), regs.get(mask, 8), regs.get(mask, 6)), (Some(0x7000), Some(0x40_1000), None));
    /// ```
    pub fn get(&self, mask: u64, number: u8) -> Option<u64> {
        self.numbered(mask).find_map(|(other, value)| (other == number).then_some(value))
    }
}

impl FieldValue for Regs {
    const KIND: FieldKind = FieldKind::Variable;
    type View<'a> = RegsView<'a>;
    /// The mask of the attr.
    type Args = u64;

    fn take<'a>(reader: &mut ByteReader<'a>, mask: u64) -> Option<RegsView<'a>> {
        let abi = RegsAbi(reader.u64()?);
        Some(RegsView { abi: abi.0, regs: reader.words(abi.count(mask))? })
    }

    fn encode(view: Option<RegsView<'_>>, _: u64, out: &mut ByteWriter<'_>) {
        out.put(view.map_or(RegsAbi::NONE.0, |regs| regs.abi));
        out.out.extend_from_slice(view.map_or(&[], |regs| regs.regs.as_bytes()));
    }

    fn unknown_bits(mut reader: ByteReader<'_>) -> Option<u64> {
        reader.u64().filter(|&abi| !RegsAbi(abi).is_known())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Endian;
    use crate::abi::testing::both_orders;

    #[test]
    fn registers_by_number() {
        let values: Vec<u8> = (1..=3_u64).flat_map(u64::to_le_bytes).collect();
        let view = |count| RegsView { abi: 2, regs: ByteReader::new(&values, Endian::Little).words(count).unwrap() };
        let mask = 1 << 63 | 1 << 8 | 1;
        let numbered: Vec<_> = view(3).numbered(mask).collect();
        assert_eq!(numbered, [(0, 1), (8, 2), (63, 3)]);
        for number in 0..=u8::MAX {
            let expected = numbered.iter().find(|(other, _)| *other == number).map(|(_, value)| *value);
            assert_eq!((view(3).get(mask, number), view(0).get(mask, number)), (expected, None));
        }
    }

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
