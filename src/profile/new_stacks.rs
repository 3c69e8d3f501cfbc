//! Stacks that are new in the cache, and not yet interned.

use super::stack_cache::Cached;
use super::stacks::{FrameId, StackId, Stacks};

/// A batch of new stacks: the lookups in large tables wait for memory, those of a batch at the same time.
#[derive(Default)]
pub(crate) struct NewStacks {
    /// The frames of all stacks, and of the one that is not yet ended.
    pub frames: Vec<FrameId>,
    /// Each stack's place in the cache, and the end of its frames.
    ends: Vec<(Cached, usize)>,
}

impl NewStacks {
    /// Number of frames from which on a batch is full: more do not fit the fastest caches.
    const FULL: usize = 512;

    /// Whether the batch should be interned.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.frames.len() >= Self::FULL
    }

    /// Ends the stack of the latest frames, which has this place in the cache.
    pub(crate) fn end(&mut self, place: Cached) {
        self.ends.push((place, self.frames.len()));
    }

    /// Interns the stacks, calls `found` with each, and clears the batch.
    pub(crate) fn intern(&mut self, stacks: &mut Stacks, mut found: impl FnMut(Cached, StackId)) {
        let mut places = self.ends.iter().map(|&(place, _)| place);
        stacks.stack_ids(&self.frames, self.ends.iter().map(|&(_, end)| end), |stack| {
            places.next().into_iter().for_each(|place| found(place, stack));
        });
        self.frames.clear();
        self.ends.clear();
    }
}
