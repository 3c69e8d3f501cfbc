//! Stacks that are new in the cache, and not yet interned.

use super::stack_cache::Cached;
use super::stacks::{FrameId, StackId, Stacks};

/// A batch of new stacks: the lookups in large tables wait for memory, those of a batch at the same time.
#[derive(Default)]
pub(crate) struct NewStacks {
    /// The frames of all stacks, and of the one that is not yet ended.
    pub frames: Vec<FrameId>,
    /// The cache entry of each stack, and the end of its frames.
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

    /// Ends the stack of the latest frames, whose entry in the cache is `cached`.
    pub(crate) fn end(&mut self, cached: Cached) {
        self.ends.push((cached, self.frames.len()));
    }

    /// Interns the stacks, calls `on_stack` with each, and clears the batch.
    pub(crate) fn intern(&mut self, stacks: &mut Stacks, mut on_stack: impl FnMut(Cached, StackId)) {
        let mut cached_stacks = self.ends.iter().map(|&(cached, _)| cached);
        stacks.stack_ids(&self.frames, self.ends.iter().map(|&(_, end)| end), |stack| {
            cached_stacks.next().into_iter().for_each(|cached| on_stack(cached, stack));
        });
        self.frames.clear();
        self.ends.clear();
    }
}
