//! Samples of nothing but words in the other byte order, without being taken apart: most are. [`Sample`](super::sample::Sample)
//! is the definition.

use super::Endian;
use super::sample_type::SampleType;
use super::sample_view::SampleLayout;

/// Fields before that of a task, which is two `u32`; each is a `u64`.
const BEFORE_TASK: SampleType = SampleType::IDENTIFIER.union(SampleType::IP);

/// Fields before that of a CPU, which is two `u32` too.
const BEFORE_CPU: SampleType = BEFORE_TASK
    .union(SampleType::TID)
    .union(SampleType::TIME)
    .union(SampleType::ADDR)
    .union(SampleType::ID)
    .union(SampleType::STREAM_ID);

/// Fields before the call chain.
const BEFORE_FRAMES: SampleType = BEFORE_CPU.union(SampleType::CPU).union(SampleType::PERIOD);

/// Fields behind the call chain that are a `u64`.
const BEHIND: SampleType = SampleType::TRANSACTION
    .union(SampleType::PHYS_ADDR)
    .union(SampleType::CGROUP)
    .union(SampleType::DATA_PAGE_SIZE)
    .union(SampleType::CODE_PAGE_SIZE);

/// All of them.
const KNOWN: SampleType = BEFORE_FRAMES.union(SampleType::CALLCHAIN).union(BEHIND);

/// The words of samples of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleWords {
    /// How many words there are without the frames of the call chain.
    fixed: usize,
    /// Which word tells how many frames there are.
    frames_at: Option<usize>,
    /// Which words are pairs.
    pairs: [Option<usize>; 2],
}

impl SampleWords {
    /// `None` where samples have fields that are more than words.
    pub fn of(layout: &SampleLayout) -> Option<Self> {
        let sample_type = layout.sample_type;
        if !KNOWN.contains(sample_type) {
            return None;
        }
        let count = |fields: SampleType| (sample_type & fields).bits().count_ones() as usize;
        let at = |field, before| sample_type.contains(field).then(|| count(before));
        Some(Self {
            fixed: count(KNOWN),
            frames_at: at(SampleType::CALLCHAIN, BEFORE_FRAMES),
            pairs: [at(SampleType::TID, BEFORE_TASK), at(SampleType::CPU, BEFORE_CPU)],
        })
    }

    /// Whether a sample's body is these words, and nothing behind them.
    #[inline]
    pub fn are(&self, body: &[u8], endian: Endian) -> bool {
        let (words, []) = body.as_chunks() else { return false };
        let frames = match self.frames_at.map(|at| words.get(at)) {
            None => 0,
            Some(None) => return false,
            Some(Some(&count)) => match endian {
                Endian::Little => u64::from_le_bytes(count),
                Endian::Big => u64::from_be_bytes(count),
            },
        };
        words.len().checked_sub(self.fixed).is_some_and(|rest| rest as u64 == frames)
    }

    /// Turns a body that [is](Self::are) these words into the other byte order. Done again, it is what it was.
    #[inline]
    pub fn swap(&self, body: &mut [u8]) {
        let (words, _) = body.as_chunks_mut::<8>();
        words.iter_mut().for_each(|word| word.reverse());
        self.pairs.into_iter().flatten().for_each(|at| words[at].rotate_left(4));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi;
    use crate::abi::read_format::ReadFormat;
    use crate::abi::sample::{Sample, SampleArgs};
    use crate::abi::sample_type::BranchSampleType;
    use crate::abi::testing::to_bytes;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn layout(bits: u64) -> SampleLayout {
        SampleLayout {
            sample_type: SampleType::from_bits_retain(bits),
            read_format: ReadFormat::empty(),
            branch_sample_type: BranchSampleType::empty(),
            regs_user: 0,
            regs_intr: 0,
        }
    }

    #[test]
    fn fields_that_are_more_than_words_are_left_to_others() {
        for bit in 0..64 {
            let field = SampleType::from_bits_retain(1 << bit);
            assert_eq!(SampleWords::of(&layout(1 << bit)).is_some(), KNOWN.contains(field), "{field:?}");
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
            let layout = layout(bits & KNOWN.bits());
            let (endian, other) = if big { (Endian::Big, Endian::Little) } else { (Endian::Little, Endian::Big) };
            let mut body: Vec<u8> =
                words.into_iter().flat_map(|word| if big { word.to_be_bytes() } else { word.to_le_bytes() }).collect();
            body.truncate(body.len().saturating_sub(cut));
            let sample = abi::parse::<Sample>(&body, endian, SampleArgs::new(&body, &layout, endian));
            let whole = sample.ok().filter(|(_, used)| *used == body.len()).map(|(sample, _)| sample);
            let words = SampleWords::of(&layout).expect("all are words");
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
