//! Interned frames and stacks.

use crate::profile::Frame;
use perf_data::session::id_table::{IdTable, KeyHash};
use perf_data::session::slices::Slices;

/// ID of a frame in [`Stacks`].
pub type FrameId = u32;

/// ID of a stack in [`Stacks`].
pub type StackId = u32;

/// Interned frames and stacks. A stack is a list of frames, leaf first.
#[derive(Debug, Default)]
pub struct Stacks {
    frames: Vec<Frame>,
    frame_ids: IdTable,
    /// Scratch buffer.
    hashes: Vec<KeyHash>,
    stacks: Slices<FrameId>,
    /// By stack: the one that replaces it; empty if none is replaced.
    replacements: Vec<StackId>,
}

impl Stacks {
    /// Interns a frame.
    pub fn frame_id(&mut self, frame: Frame) -> FrameId {
        self.intern_frame(frame, self.frame_ids.hash(frame))
    }

    /// Interns frames. For many frames this takes less time than one by one, because it waits for memory twice: for the slots of
    /// the table, then for the frames.
    pub fn frame_ids(&mut self, frames: impl Iterator<Item = Frame> + Clone, mut on_id: impl FnMut(FrameId)) {
        let mut hashes = std::mem::take(&mut self.hashes);
        hashes.clear();
        hashes.extend(frames.clone().map(|frame| self.frame_ids.hash(frame)));
        self.frame_ids.load(&hashes, |id| self.frames.get(id as usize).map_or(0, |frame| frame.address));
        for (frame, &hash) in frames.zip(&hashes) {
            on_id(self.intern_frame(frame, hash));
        }
        self.hashes = hashes;
    }

    fn intern_frame(&mut self, frame: Frame, hash: KeyHash) -> FrameId {
        let Self { frames, frame_ids, .. } = self;
        let new = frames.len() as FrameId;
        let id = frame_ids.find_or_insert(hash, new, |id| frames[id as usize] == frame);
        if id == new {
            frames.push(frame);
        }
        id
    }

    /// Interns a stack.
    pub fn stack_id(&mut self, stack: &[FrameId]) -> StackId {
        self.stacks.id(stack)
    }

    /// Interns consecutive stacks that end at these frames.
    pub fn stack_ids(
        &mut self,
        frames: &[FrameId],
        ends: impl Iterator<Item = usize> + Clone,
        on_stack: impl FnMut(StackId),
    ) {
        self.stacks.ids(frames, ends, on_stack);
    }

    /// Releases the memory that serves to intern more frames and stacks; none may be interned from now on.
    pub fn seal(&mut self) {
        self.frame_ids = IdTable::default();
        self.stacks.seal();
    }

    /// Number of stacks.
    pub fn count(&self) -> usize {
        self.stacks.iter().len()
    }

    /// All frames, by ID.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Returns a stack, leaf first.
    pub fn stack(&self, id: StackId) -> &[FrameId] {
        self.stacks.get(self.replacement(id))
    }

    /// The ID of the stack that replaces this one; its own unless it was replaced.
    pub fn replacement(&self, id: StackId) -> StackId {
        self.replacements.get(id as usize).copied().unwrap_or(id)
    }

    /// Lengths of all stacks, by ID.
    pub(crate) fn lengths(&self) -> Vec<u64> {
        (0..self.count() as StackId).map(|id| self.stack(id).len() as u64).collect()
    }

    /// Replaces all stacks by what `replace` returns for them; their IDs remain valid.
    pub(crate) fn replace(&mut self, replace: impl Fn(&[FrameId]) -> Vec<FrameId>) {
        let replacement = |id| replace(self.stacks.get(id));
        let replaced: Vec<_> = (0..self.count() as StackId).map(replacement).collect();
        self.replacements = replaced.iter().map(|stack| self.stacks.id(stack)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Place;
    use perf_data::session::space::Space;

    #[test]
    fn interns_frames_and_stacks() {
        let mut stacks = Stacks::default();
        let a = stacks.frame_id(Frame { place: Place::In(1), address: 10, is_caller: false });
        let b = stacks.frame_id(Frame { place: Place::Outside(Space::User), address: 10, is_caller: false });
        assert_ne!(a, b);
        assert_eq!(stacks.frame_id(Frame { place: Place::In(1), address: 10, is_caller: false }), a);
        let ids: Vec<_> = [&[a, b][..], &[b], &[], &[a, b], &[]].map(|stack| stacks.stack_id(stack)).into();
        assert_eq!(ids, [0, 1, 2, 0, 2]);
        assert_eq!((stacks.stack(0), stacks.stack(2), stacks.frames().len()), (&[a, b][..], &[][..], 2));
    }

    #[test]
    fn ids_are_stable_as_tables_grow() {
        let mut stacks = Stacks::default();
        let stack = |i: u64| {
            (0..i % 7).map(move |depth| Frame {
                place: Place::Outside(Space::User),
                address: i * 10 + depth,
                is_caller: false,
            })
        };
        for round in 0..2 {
            for i in 1..5000 {
                let frames: Vec<_> = stack(i).map(|frame| stacks.frame_id(frame)).collect();
                let id = stacks.stack_id(&frames);
                let addresses: Vec<_> = stacks.stack(id).iter().map(|&f| stacks.frames()[f as usize]).collect();
                assert_eq!(addresses, stack(i).collect::<Vec<_>>(), "round {round}");
            }
        }
        assert_eq!(stacks.frames().len() as u64, (1..5000).map(|i| i % 7).sum::<u64>());
    }
}
