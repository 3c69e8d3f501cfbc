//! Resolves the recorded stacks of samples to interned frames and stacks.

use super::frames::{Address, SampledStack};
use super::mappings::Mappings;
use super::new_stacks::NewStacks;
use super::recent::{Recent, RecentKey};
use super::stack_cache::Cached;
use super::stacks::{FrameId, StackId, Stacks};
use super::unmapped::UnmappedFrames;
use crate::profile::stack_cuts::Unmapped;
use crate::profile::unwind::deferred::UserFrames;
use crate::profile::{Frame, Place};
use perf_data::session::address_space::AddressSpace;
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
    unmapped: UnmappedFrames,
    /// The latest result of [`space`](Self::space).
    latest_space: Option<(ViewId, AddressSpace)>,
    /// Frames of the current stack (scratch buffer).
    frames: Vec<FrameId>,
    batch: UninternedStacks,
}

/// Stacks that are resolved, but not yet interned.
#[derive(Default)]
struct UninternedStacks {
    /// The stacks, with [`UNRESOLVED`] for frames that are not yet known.
    new_stacks: NewStacks,
    /// The frames that are not yet known, with their indexes.
    unknown: Vec<(usize, Option<Query>, Frame)>,
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
    pub(crate) fn new(mappings: Mappings, unmapped: Unmapped) -> Self {
        let mut stacks = Stacks::default();
        Self { unmapped: UnmappedFrames::new(unmapped, &mut stacks), stacks, mappings, ..Self::default() }
    }

    /// Resolves the stack of a sample, with a data address as the leaf if one is given.
    pub(crate) fn stack(
        &mut self,
        session: &Session,
        viewer: Viewer,
        sampled: &SampledStack<'_>,
        data: Option<u64>,
    ) -> Resolved {
        let space = self.space(session, viewer);
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        if let Some(data) = data {
            // Data need no mapping: most recordings have only those of code.
            let data = Address { address: data, space: sampled.space, is_caller: false };
            let frame = self.mappings.frame_at(&space, data).unwrap_or_else(|| data.unmapped());
            frames.push(self.stacks.frame_id(frame));
        }
        let cookie = sampled.for_each(|address| self.push_frame(&space, viewer.view, address, &mut frames));
        if frames.is_empty() && cookie.is_none() {
            // Every sample has a stack, even if its event records no address.
            frames.push(self.stacks.frame_id(NO_ADDRESS));
        }
        let stack = self.stacks.stack_id(&frames);
        self.frames = frames;
        self.latest_space = Some((viewer.view, space));
        Resolved { stack, cookie }
    }

    /// Adds a stack without deferred frames, with its entry in the cache, to the batch.
    pub(crate) fn add_to_batch(
        &mut self,
        maps: &AddressSpace,
        view: ViewId,
        sampled: &SampledStack<'_>,
        cached: Cached,
    ) {
        let Self { mappings, recent, unmapped, batch: UninternedStacks { new_stacks, unknown }, .. } = self;
        let start = new_stacks.frames.len();
        sampled.for_each(|address| {
            let query = Query::new(maps, view, address);
            let frame = recent.get(query).unwrap_or_else(|| {
                let mapped = mappings.frame_at(maps, address);
                if mapped.is_none()
                    && let Some(merged) = unmapped.frame(address)
                {
                    return merged;
                }
                let frame = mapped.unwrap_or_else(|| address.unmapped());
                unknown.push((new_stacks.frames.len(), Some(query), frame));
                UNRESOLVED
            });
            if new_stacks.frames[start..].last() != Some(&frame) || !unmapped.is_merged(frame) {
                new_stacks.frames.push(frame);
            }
        });
        if new_stacks.frames.len() == start {
            // As in Self::stack.
            unknown.push((start, None, NO_ADDRESS));
            new_stacks.frames.push(UNRESOLVED);
        }
        new_stacks.end(cached);
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
                query.into_iter().for_each(|query| recent.put(query, id));
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
        let space = self.space(session, viewer);
        user.for_each(|at| self.push_frame(&space, viewer.view, at, &mut frame_ids));
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

    /// The mappings that a process sees, which the next sample often needs again.
    fn space(&mut self, session: &Session, viewer: Viewer) -> AddressSpace {
        match self.latest_space.take() {
            Some((view, space)) if view == viewer.view => space,
            _ => session.address_space(viewer.pid),
        }
    }

    /// Adds the frame of an address to a stack, unless it continues a run of merged ones.
    #[inline]
    fn push_frame(&mut self, maps: &AddressSpace, view: ViewId, address: Address, frames: &mut Vec<FrameId>) {
        let frame = self.frame(maps, view, address);
        if frames.last() != Some(&frame) || !self.unmapped.is_merged(frame) {
            frames.push(frame);
        }
    }

    /// Resolves an address as a process sees it.
    pub(crate) fn frame_seen_by(&mut self, session: &Session, viewer: Viewer, address: Address) -> FrameId {
        let space = self.space(session, viewer);
        let frame = self.frame(&space, viewer.view, address);
        self.latest_space = Some((viewer.view, space));
        frame
    }

    /// Resolves an address of data, which is not merged with others if no mapping holds it.
    pub(crate) fn data_frame(&mut self, session: &Session, viewer: Viewer, address: Address) -> FrameId {
        let space = self.space(session, viewer);
        let mapped = self.mappings.frame_at(&space, address);
        self.latest_space = Some((viewer.view, space));
        self.stacks.frame_id(mapped.unwrap_or_else(|| address.unmapped()))
    }

    /// Resolves an address.
    #[inline]
    fn frame(&mut self, maps: &AddressSpace, view: ViewId, address: Address) -> FrameId {
        let query = Query::new(maps, view, address);
        if let Some(frame) = self.recent.get(query) {
            return frame;
        }
        let mapped = self.mappings.frame_at(maps, address);
        let merged = if mapped.is_none() { self.unmapped.frame(address) } else { None };
        let frame = merged.unwrap_or_else(|| self.stacks.frame_id(mapped.unwrap_or_else(|| address.unmapped())));
        self.recent.put(query, frame);
        frame
    }
}

/// The ID of a frame that is not yet interned.
const UNRESOLVED: FrameId = FrameId::MAX;

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
    fn new(maps: &AddressSpace, view: ViewId, address: Address) -> Self {
        // The kernel's frames are the same for all processes.
        let view = if address.space == Space::Kernel { maps.kernel_generation() } else { view };
        Self { view, address }
    }
}
