//! Byte order conversion of samples that consist of words, without decoding them. Most do. [`Sample`](crate::abi::sample::Sample)
//! is the definition.

use super::field::{FieldKind, SampleField};
use super::layout::SampleLayout;
use crate::abi::Endian;
use crate::abi::bytes::Integer;
use crate::abi::sample_type::SampleType;

/// The fields that consist of words whose byte order does not depend on their content.
const FIELDS: SampleType = SampleField::encoded_as(FieldKind::Word)
    .union(SampleField::Task.bits())
    .union(SampleField::Cpu.bits())
    .union(SampleField::Callchain.bits());

/// Composition of samples from words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleWords {
    /// Number of words, without the frames of the call chain.
    fixed: u8,
    /// Index of the word with the number of frames.
    frames_at: Option<u8>,
    /// Indexes of the words that are pairs.
    pairs: [Option<u8>; 2],
}

impl SampleWords {
    /// `None` if samples have fields other than words.
    pub(crate) fn of(layout: &SampleLayout) -> Option<Self> {
        let at = |field| layout.word_at(field).map(|at| at as u8);
        FIELDS.contains(layout.sample_type()).then(|| Self {
            fixed: layout.fields().count() as u8,
            frames_at: at(SampleField::Callchain),
            pairs: [at(SampleField::Task), at(SampleField::Cpu)],
        })
    }

    /// Whether the body of a sample consists of exactly these words.
    #[inline]
    pub fn are(&self, body: &[u8], endian: Endian) -> bool {
        let (words, []) = body.as_chunks() else { return false };
        let frames = match self.frames_at.map(|at| words.get(usize::from(at))) {
            None => 0,
            Some(None) => return false,
            Some(Some(&count)) => u64::from_bytes(count, endian),
        };
        words.len().checked_sub(self.fixed.into()).is_some_and(|rest| rest as u64 == frames)
    }

    /// Swaps the byte order of a body that [consists](Self::are) of these words. Its own inverse.
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
    fn only_layouts_of_words_are_supported() {
        for bit in 0..64 {
            let field = SampleType::from_bits_retain(1 << bit);
            assert_eq!(layout(1 << bit).words().is_some(), FIELDS.contains(field), "{field:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn swapping_matches_encoding_in_the_other_order(
            bits: u64,
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
            let sample_of_whole_body = sample.ok().filter(|(_, used)| *used == body.len()).map(|(sample, _)| sample);
            let words = layout.words().expect("all fields consist of words");
            prop_assert_eq!(words.are(&body, endian), sample_of_whole_body.is_some());
            if let Some(sample) = sample_of_whole_body {
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
