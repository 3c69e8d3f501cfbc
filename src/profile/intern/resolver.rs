//! Resolves the recorded stacks of samples to interned frames and stacks.

use super::frames::{Address, SampledStack};
use super::mappings::Mappings;
use super::new_stacks::NewStacks;
use super::recent::{Recent, RecentKey};
use super::stack_cache::Cached;
use super::stacks::{FrameId, StackId, Stacks};
use crate::profile::unwind::deferred::UserFrames;
use crate::profile::{Frame, Place};
use perf_data::session::space::Space;
use perf_data::session::{Session, ViewId};

/// Resolves addresses to frames.
#[derive(Default)]
pub(crate) struct Resolver {
    /// Interned frames and stacks.
    pub stacks: Stacks,
    /// Interned mappings.
    pub mappings: Mappings,
    /// Most stacks differ from others only in a few frames.
    recent: Recent<Query, FrameId>,
    /// Frames of the current stack (scratch buffer).
    frames: Vec<FrameId>,
    batch: UninternedStacks,
}

/// Stacks that are resolved, but not yet interned.
#[derive(Default)]
struct UninternedStacks {
    /// The stacks, with 0 for frames that are not yet known.
    new_stacks: NewStacks,
    /// The frames that are not yet known, with their indexes.
    unknown: Vec<(usize, Query, Frame)>,
}

/// The process whose address space is used, and its version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Viewer {
    pub pid: u32,
    /// Version of the address space, from [`Session::seen`].
    pub view: ViewId,
}

/// The resolved stack of a sample, possibly without deferred frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolved {
    pub stack: StackId,
    /// Cookie of the deferred user frames, if any.
    pub cookie: Option<u64>,
}

impl Resolver {
    /// Creates a resolver that interns mappings in this table.
    pub(crate) fn new(mappings: Mappings) -> Self {
        Self { mappings, ..Self::default() }
    }

    /// Resolves the stack of a sample, with a data address as the leaf if one is given.
    pub(crate) fn stack(
        &mut self,
        session: &Session,
        viewer: Viewer,
        sampled: &SampledStack<'_>,
        data: Option<u64>,
    ) -> Resolved {
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        if let Some(data) = data {
            let data = Address { address: data, space: sampled.space, is_caller: false };
            frames.push(self.frame(session, viewer, data));
        }
        let cookie = sampled.for_each(|address| frames.push(self.frame(session, viewer, address)));
        if frames.is_empty() && cookie.is_none() {
            // Every sample has a stack, even if its event records no address.
            frames.push(self.stacks.frame_id(NO_ADDRESS));
        }
        let stack = self.stacks.stack_id(&frames);
        self.frames = frames;
        Resolved { stack, cookie }
    }

    /// Adds a stack without deferred frames to the batch; `insert` adds it to the cache. Returns `None` without calling `insert`
    /// if the stack has deferred frames.
    pub(crate) fn add_to_batch(
        &mut self,
        session: &Session,
        viewer: Viewer,
        sampled: &SampledStack<'_>,
        insert: impl FnOnce() -> Cached,
    ) -> Option<Cached> {
        let Self { mappings, recent, batch: UninternedStacks { new_stacks, unknown }, .. } = self;
        let (known_frames, known_unknown) = (new_stacks.frames.len(), unknown.len());
        let cookie = sampled.for_each(|address| {
            let query = Query::new(session, viewer, address);
            let frame = recent.get(query).unwrap_or_else(|| {
                unknown.push((new_stacks.frames.len(), query, mappings.frame_at(session, viewer.pid, address)));
                0
            });
            new_stacks.frames.push(frame);
        });
        if cookie.is_some() {
            // `stack` resolves it instead; the frames before the cookie are removed from the batch.
            new_stacks.frames.truncate(known_frames);
            unknown.truncate(known_unknown);
            return None;
        }
        if new_stacks.frames.len() == known_frames {
            // As in Self::stack.
            new_stacks.frames.push(self.stacks.frame_id(NO_ADDRESS));
        }
        let cached = insert();
        new_stacks.end(cached);
        Some(cached)
    }

    /// Whether the batch should be interned.
    #[inline]
    pub(crate) fn is_batch_full(&self) -> bool {
        self.batch.new_stacks.is_full()
    }

    /// Interns the stacks of the batch, and calls `on_stack` with each.
    pub(crate) fn intern_batch(&mut self, on_stack: impl FnMut(Cached, StackId)) {
        let Self { stacks, recent, batch: UninternedStacks { new_stacks, unknown }, .. } = self;
        let mut next = unknown.iter();
        stacks.frame_ids(unknown.iter().map(|&(.., frame)| frame), |id| {
            if let Some(&(index, query, _)) = next.next() {
                new_stacks.frames[index] = id;
                recent.put(query, id);
            }
        });
        unknown.clear();
        new_stacks.intern(stacks, on_stack);
    }

    /// Resolves the frames of a CALLCHAIN_DEFERRED record.
    pub(crate) fn user_frames(&mut self, session: &mut Session, frames: &UserFrames<'_>) -> Vec<FrameId> {
        let viewer = Viewer { pid: frames.pid, view: session.mark_running(frames.pid).view };
        let user = SampledStack {
            ip: None,
            space: Space::User,
            callchain: Some(frames.chain),
            calls: None,
            repeats_leaf: false,
        };
        let mut frame_ids = Vec::new();
        user.for_each(|at| frame_ids.push(self.frame(session, viewer, at)));
        frame_ids
    }

    /// The stack of a sample that waited for its user frames, and whether it has them: they are left out if there is no `room`,
    /// which each new stack reduces.
    pub(crate) fn completed_stack(
        &mut self,
        frames: &[FrameId],
        user_frames: &[FrameId],
        room: &mut usize,
    ) -> (StackId, bool) {
        let (is_whole, previous_count) = (user_frames.len() <= *room, self.stacks.count());
        let stack = self.stacks.stack_id(&[frames, if is_whole { user_frames } else { &[] }].concat());
        if self.stacks.count() > previous_count {
            *room = room.saturating_sub(user_frames.len());
        }
        (stack, is_whole)
    }

    /// Resolves an address.
    #[inline]
    pub(crate) fn frame(&mut self, session: &Session, viewer: Viewer, address: Address) -> FrameId {
        let query = Query::new(session, viewer, address);
        if let Some(frame) = self.recent.get(query) {
            return frame;
        }
        let frame = self.stacks.frame_id(self.mappings.frame_at(session, viewer.pid, address));
        self.recent.put(query, frame);
        frame
    }
}

/// The leaf of samples without any address.
const NO_ADDRESS: Frame = Frame { place: Place::Outside(Space::Unknown), address: 0, is_caller: false };

/// Everything that determines the frame of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Query {
    /// Version of the process's address space, or of the kernel's for kernel addresses.
    view: ViewId,
    address: Address,
}

impl RecentKey for Query {
    #[inline]
    fn number(&self) -> u64 {
        self.address.address ^ self.view.rotate_left(32)
    }
}

impl Query {
    #[inline]
    fn new(session: &Session, viewer: Viewer, address: Address) -> Self {
        // The kernel's frames are the same for all processes.
        let view = if address.space == Space::Kernel { session.kernel_generation() } else { viewer.view };
        Self { view, address }
    }
}
