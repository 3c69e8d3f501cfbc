//! Frames of addresses that no mapping holds.

use super::frames::Address;
use super::stacks::{FrameId, Stacks};
use crate::profile::stack_cuts::Unmapped;
use crate::profile::{Frame, Place};
use perf_data::session::space::Space;

/// The frames that stand for all such addresses of user space or of the kernel, if addresses are merged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UnmappedFrames {
    is_merged: bool,
}

impl UnmappedFrames {
    const USER: FrameId = 0;
    const KERNEL: FrameId = 1;

    /// Interns the frames, if addresses are merged, in a new table: they have the same numbers in all.
    pub(crate) fn new(unmapped: Unmapped, stacks: &mut Stacks) -> Self {
        let is_merged = unmapped == Unmapped::Merge;
        if is_merged {
            let frame = |space| Frame { place: Place::Outside(space), address: 0, is_caller: false };
            let numbers = [Space::User, Space::Kernel].map(|space| stacks.frame_id(frame(space)));
            debug_assert_eq!(numbers, [Self::USER, Self::KERNEL], "the table should be new");
        }
        Self { is_merged }
    }

    /// The frame for an address; `None` if each address has its own.
    #[inline]
    pub(crate) fn frame(self, address: Address) -> Option<FrameId> {
        let is_kernel = match address.space {
            // Wherever kernel and processes share an address space, the kernel has the upper half.
            Space::Unknown => address.address >> 63 == 1,
            space => space.is_kernel(),
        };
        self.is_merged.then_some(if is_kernel { Self::KERNEL } else { Self::USER })
    }

    /// Whether this is such a frame; a run of it in a stack is one frame.
    #[inline]
    pub(crate) fn is_merged(self, frame: FrameId) -> bool {
        self.is_merged && frame <= Self::KERNEL
    }
}
