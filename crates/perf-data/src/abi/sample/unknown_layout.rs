//! Bits that decide the layout of records and that this version does not know.
//!
//! A field that such a bit adds has an unknown size, so that everything behind it would be misread. Where it is follows from
//! precedent: the kernel has added fields behind TRANSACTION since Linux 3.13, hiperf of OpenHarmony adds one between registers
//! and stack dump. The fields before that place are decoded, the others are bytes.

use super::field::SampleField;
use std::fmt;

/// The first field of a sample that is not decoded where `sample_type` has unknown bits.
pub(crate) const FIRST_UNCERTAIN: SampleField = SampleField::StackUser;

/// Unknown bits of a word that decides the layout of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnknownBits {
    /// The word.
    pub word: LayoutWord,
    /// Its unknown bits; all bits of an ABI.
    pub bits: u64,
    /// The first field that is not decoded.
    pub from: SampleField,
}

/// A word that decides the layout of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LayoutWord {
    /// `sample_type` of the event.
    SampleType,
    /// `read_format` of the event.
    ReadFormat,
    /// `branch_sample_type` of the event.
    BranchSampleType,
    /// The ABI of the registers in a sample.
    RegsAbi,
}

impl fmt::Display for UnknownBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.word {
            LayoutWord::SampleType => "sample_type",
            LayoutWord::ReadFormat => "read_format",
            LayoutWord::BranchSampleType => "branch_sample_type",
            LayoutWord::RegsAbi => return write!(f, "register ABI {:#x}", self.bits),
        };
        let bits: Vec<_> = (0..u64::BITS).filter(|bit| self.bits >> bit & 1 == 1).map(|bit| bit.to_string()).collect();
        let plural = if bits.len() == 1 { "" } else { "s" };
        write!(f, "bit{plural} {} of {word}", bits.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_bits() {
        let named = |word, bits| UnknownBits { word, bits, from: SampleField::Read }.to_string();
        assert_eq!(named(LayoutWord::SampleType, 1 << 31), "bit 31 of sample_type");
        assert_eq!(named(LayoutWord::ReadFormat, 0b110_0000), "bits 5, 6 of read_format");
        assert_eq!(named(LayoutWord::RegsAbi, 6), "register ABI 0x6");
    }
}
