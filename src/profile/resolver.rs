//! From what samples tell of their stacks to frames in maps, each frame and each stack kept once.

use super::deferred::UserFrames;
use super::frames::SampledStack;
use super::mappings::Mappings;
use super::stacks::{FrameId, StackId, Stacks};
use super::{Frame, Place};
use crate::session::space::Space;
use crate::session::{Session, ViewId};

/// Looks up what is at addresses.
#[derive(Default)]
pub struct Resolver {
    /// The frames and stacks that were found.
    pub stacks: Stacks,
    /// The maps that they are in.
    pub mappings: Mappings,
    recent: RecentFrames,
    /// Of the stack at hand, kept for their memory.
    frames: Vec<FrameId>,
}

/// The process that sees an address, and what is mapped then.
#[derive(Clone, Copy, Debug)]
pub struct Viewer {
    /// The process.
    pub pid: u32,
    /// What is mapped, as [`Session::seen`] tells it.
    pub view: ViewId,
}

/// A sample's stack, as far as the sample tells it.
#[derive(Clone, Copy, Debug)]
pub struct Resolved {
    /// The stack.
    pub stack: StackId,
    /// What the record is known by that its user frames come in, where they come apart.
    pub cookie: Option<u64>,
}

impl Resolver {
    /// The stack that a sample tells, with the address of its data as the leaf where one is given.
    pub fn stack(
        &mut self,
        session: &Session,
        viewer: Viewer,
        sampled: &SampledStack<'_>,
        data: Option<u64>,
    ) -> Resolved {
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        if let Some(data) = data {
            frames.push(self.frame(session, viewer, sampled.space, data));
        }
        let cookie = sampled.for_each(|found| frames.push(self.frame(session, viewer, found.space, found.address)));
        if frames.is_empty() && cookie.is_none() {
            // Every sample has a stack, also one of an event that records no address.
            frames.push(self.stacks.frame_id(Frame { place: Place::Outside(Space::Unknown), address: 0 }));
        }
        let stack = self.stacks.stack_id(&frames);
        self.frames = frames;
        Resolved { stack, cookie }
    }

    /// The frames of a record of user frames.
    pub fn user_frames(&mut self, session: &mut Session, frames: &UserFrames<'_>) -> Vec<FrameId> {
        let viewer = Viewer { pid: frames.pid, view: session.seen(frames.pid).view };
        let user = SampledStack { ip: None, space: Space::User, callchain: Some(frames.chain), calls: None };
        let mut found = Vec::new();
        user.for_each(|at| found.push(self.frame(session, viewer, at.space, at.address)));
        found
    }

    /// The frame of an address.
    #[inline]
    pub fn frame(&mut self, session: &Session, viewer: Viewer, space: Space, address: u64) -> FrameId {
        // The kernel's frames are the same for all processes.
        let view = if space == Space::Kernel { session.kernel_generation() } else { viewer.view };
        let asked = Asked { view, space, address };
        if let Some(frame) = self.recent.get(asked) {
            return frame;
        }
        let frame = match session.map_at(viewer.pid, space, address) {
            Some(id) => self.mappings.frame(id, session.map(id), address),
            None => Frame { place: Place::Outside(space), address },
        };
        let frame = self.stacks.frame_id(frame);
        self.recent.put(asked, frame);
        frame
    }
}

/// All that decides what frame an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    /// Of the process, or of the kernel where the address is in it.
    view: ViewId,
    space: Space,
    address: u64,
}

/// The frames that were asked for last: most stacks differ from others in a few frames only. What comes to the same place
/// takes the place of what is there.
struct RecentFrames {
    slots: Box<[Option<(Asked, FrameId)>]>,
}

impl Default for RecentFrames {
    fn default() -> Self {
        Self { slots: vec![None; 1 << Self::BITS].into() }
    }
}

impl RecentFrames {
    /// As many as stay near the CPU.
    const BITS: u32 = 13;

    fn get(&self, asked: Asked) -> Option<FrameId> {
        let (is, frame) = self.slots[Self::place(asked)]?;
        (is == asked).then_some(frame)
    }

    fn put(&mut self, asked: Asked, frame: FrameId) {
        self.slots[Self::place(asked)] = Some((asked, frame));
    }

    fn place(asked: Asked) -> usize {
        // Any odd number without a pattern spreads the words' bits to the highest.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (asked.address ^ asked.view.rotate_left(32)).wrapping_mul(SPREAD);
        (mixed >> (64 - Self::BITS)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_recent_until_another_takes_its_place() {
        let mut recent = RecentFrames::default();
        let asked = Asked { view: 1, space: Space::User, address: 0x40_1000 };
        recent.put(asked, 7);
        assert_eq!(recent.get(asked), Some(7));
        let others = [Asked { view: 2, ..asked }, Asked { space: Space::Unknown, ..asked }];
        assert!(others.iter().all(|&other| recent.get(other).is_none()));
        recent.put(others[1], 8);
        assert_eq!((recent.get(asked), recent.get(others[1])), (None, Some(8)), "both have the same place");
    }
}
