//! Positions in the objects of a recording, in one word.

/// A position in an object: the number of the object and an offset in its file. In a kernel, the offset is from its start.
///
/// A word, so that a trace is three words, which is what counting hashes and compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location(u64);

/// Number of bits of an offset: files are smaller, and 16 bits are left for the object.
const OFFSET_BITS: u32 = 48;

/// Number of an object in [`BranchCounts`](super::BranchCounts), from 1.
pub type ObjectNumber = u16;

impl Location {
    /// In no object: memory without a file, or no mapping.
    pub const OUTSIDE: Self = Self(0);

    /// A position in an object; outside if the offset is too large.
    #[inline]
    pub(super) fn new(object: ObjectNumber, offset: u64) -> Self {
        if offset >> OFFSET_BITS == 0 { Self(u64::from(object) << OFFSET_BITS | offset) } else { Self::OUTSIDE }
    }

    /// The object; `None` outside.
    pub fn object(self) -> Option<ObjectNumber> {
        Some((self.0 >> OFFSET_BITS) as ObjectNumber).filter(|&object| object > 0)
    }

    /// The offset in the object.
    pub fn offset(self) -> u64 {
        self.0 & ((1 << OFFSET_BITS) - 1)
    }

    /// The word.
    #[inline]
    pub(super) fn word(self) -> u64 {
        self.0
    }

    /// The location with this word.
    pub(super) fn from_word(word: u64) -> Self {
        Self(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_has_an_object_and_an_offset() {
        let location = Location::new(7, 0x40_1000);
        assert_eq!((location.object(), location.offset()), (Some(7), 0x40_1000));
        assert_eq!(Location::from_word(location.word()), location);
        assert_eq!(Location::OUTSIDE.object(), None);
        assert_eq!([1 << 48, u64::MAX].map(|offset| Location::new(7, offset)), [Location::OUTSIDE; 2]);
    }
}
