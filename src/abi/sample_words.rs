//! Samples of nothing but words in the other byte order, without being taken apart: most are. [`Sample`](super::sample::Sample)
//! is the definition.

use super::Endian;
use super::sample_layout::{FieldKind, SampleField, SampleLayout};
use super::sample_type::SampleType;

/// The fields that are words whose byte order does not depend on what is in them, and arrays of such.
const FIELDS: SampleType = SampleField::of_kinds(&[FieldKind::Word, FieldKind::Pair, FieldKind::CountedWords]);

/// The words of samples of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleWords {
    /// How many words there are without the frames of the call chain.
    fixed: u8,
    /// Which word tells how many frames there are.
    frames_at: Option<u8>,
    /// Which words are pairs.
    pairs: [Option<u8>; 2],
}

impl SampleWords {
    /// `None` where samples have fields that are more than words.
    pub(super) fn of(layout: &SampleLayout) -> Option<Self> {
        let at = |field| layout.word_at(field).map(|at| at as u8);
        FIELDS.contains(layout.sample_type()).then(|| Self {
            fixed: layout.fields().count() as u8,
            frames_at: at(SampleField::Callchain),
            pairs: [at(SampleField::Task), at(SampleField::Cpu)],
        })
    }

    /// Whether a sample's body is these words, and nothing behind them.
    #[inline]
    pub fn are(&self, body: &[u8], endian: Endian) -> bool {
        let (words, []) = body.as_chunks() else { return false };
        let frames = match self.frames_at.map(|at| words.get(usize::from(at))) {
            None => 0,
            Some(None) => return false,
            Some(Some(&count)) => match endian {
                Endian::Little => u64::from_le_bytes(count),
                Endian::Big => u64::from_be_bytes(count),
            },
        };
        words.len().checked_sub(self.fixed.into()).is_some_and(|rest| rest as u64 == frames)
    }

    /// Turns a body that [is](Self::are) these words into the other byte order. Done again, it is what it was.
    #[inline]
    pub fn swap(&self, body: &mut [u8]) {
        let (words, _) = body.as_chunks_mut::<8>();
        words.iter_mut().for_each(|word| word.reverse());
        self.pairs.into_iter().flatten().for_each(|at| words[usize::from(at)].rotate_left(4));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi;
    use crate::abi::sample::{Sample, SampleArgs};
    use crate::abi::testing::to_bytes;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn layout(bits: u64) -> SampleLayout {
        SampleLayout::new(SampleType::from_bits_retain(bits))
    }

    #[test]
    fn fields_that_are_more_than_words_are_left_to_others() {
        for bit in 0..64 {
            let field = SampleType::from_bits_retain(1 << bit);
            assert_eq!(layout(1 << bit).words().is_some(), FIELDS.contains(field), "{field:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn a_swapped_body_is_the_samples_in_the_other_order(
            bits in 0..1_u64 << 25,
            words in vec(prop_oneof![4 => 0..6_u64, 1 => any::<u64>()], 0..20),
            cut in prop_oneof![9 => Just(0), 1 => 0..8_usize],
            big: bool,
        ) {
            let layout = layout(bits & FIELDS.bits());
            let (endian, other) = if big { (Endian::Big, Endian::Little) } else { (Endian::Little, Endian::Big) };
            let mut body: Vec<u8> =
                words.into_iter().flat_map(|word| if big { word.to_be_bytes() } else { word.to_le_bytes() }).collect();
            body.truncate(body.len().saturating_sub(cut));
            let sample = abi::parse::<Sample>(&body, endian, SampleArgs::new(&body, &layout, endian));
            let whole = sample.ok().filter(|(_, used)| *used == body.len()).map(|(sample, _)| sample);
            let words = layout.words().expect("all are words");
            prop_assert_eq!(words.are(&body, endian), whole.is_some());
            if let Some(sample) = whole {
                let mut swapped = body.clone();
                words.swap(&mut swapped);
                prop_assert_eq!(&to_bytes(&sample, other), &swapped);
                prop_assert!(words.are(&swapped, other));
                words.swap(&mut swapped);
                prop_assert_eq!(swapped, body);
            }
        }
    }
}
