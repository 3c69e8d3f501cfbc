//! Selects the addresses of a sample that form its stack.

use perf_data::abi::bytes::Words;
use perf_data::abi::record::CpuMode;
use perf_data::abi::sample::callchain::Context;

/// Address space, as far as it determines where to look for the map of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// Unknown: the process, or else the kernel.
    Unknown,
    /// The kernel of the host.
    Kernel,
    /// The process.
    User,
    /// A guest or hypervisor, whose maps are unknown.
    Other,
}

impl From<CpuMode> for Space {
    fn from(mode: CpuMode) -> Self {
        match mode {
            CpuMode::KERNEL => Self::Kernel,
            CpuMode::USER => Self::User,
            CpuMode::HYPERVISOR | CpuMode::GUEST_KERNEL | CpuMode::GUEST_USER => Self::Other,
            _ => Self::Unknown,
        }
    }
}

impl Space {
    /// The space of the frames after a context marker. Other markers do not change it.
    fn after(self, marker: Context) -> Self {
        match marker {
            Context::KERNEL => Self::Kernel,
            Context::USER => Self::User,
            Context::HV | Context::GUEST | Context::GUEST_KERNEL | Context::GUEST_USER => Self::Other,
            _ => self,
        }
    }
}

/// Whether an address can be in a map. Context markers cannot, nor addresses that quipper hides.
pub(super) fn is_address(address: u64) -> bool {
    const HIDDEN: u64 = 8;
    Context::of(address).is_none() && address >> 60 != HIDDEN
}

/// A frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompatFrame {
    /// The interrupted instruction, kept even if it is not mapped.
    Leaf(u64),
    /// A return address. The stack has the address of the call.
    Return(u64),
    /// The source of a branch.
    Branch(u64),
}

/// The parts of a sample that make up its stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampledStack<'a> {
    /// Instruction pointer.
    pub ip: u64,
    /// CPU mode.
    pub mode: CpuMode,
    /// Call chain, with context markers.
    pub callchain: Option<Words<'a>>,
    /// Branches before the sample, newest first: from, to, flags.
    pub branches: Option<Words<'a>>,
}

impl SampledStack<'_> {
    /// Calls `on_frame` for each frame, leaf first.
    ///
    /// The first address of a chain is skipped as a repetition of the leaf. Branches replace the callers in user
    /// mode.
    pub(super) fn for_each(&self, mut on_frame: impl FnMut(Space, CompatFrame)) {
        on_frame(self.mode.into(), CompatFrame::Leaf(self.ip));
        let branches = self.branches.filter(|branches| !branches.is_empty());
        let mut space = Space::Unknown;
        let mut is_first = true;
        for word in self.callchain.iter().flat_map(Words::iter) {
            if let Some(marker) = Context::of(word) {
                if marker == Context::USER && branches.is_some() {
                    break;
                }
                space = space.after(marker);
            } else if is_first {
                is_first = false;
            } else {
                on_frame(space, CompatFrame::Return(word));
            }
        }
        for from in branches.iter().flat_map(|words| words.iter().step_by(3)) {
            on_frame(Space::Unknown, CompatFrame::Branch(from));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::Endian;
    use perf_data::abi::bytes::ByteReader;

    const KERNEL: u64 = Context::KERNEL.0;
    const USER: u64 = Context::USER.0;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn frames(chain: &[u64], branches: &[u64]) -> Vec<(Space, CompatFrame)> {
        let (chain, branches) = (bytes(chain), bytes(branches));
        let words = |bytes| ByteReader::new(bytes, Endian::Little).words(<[u8]>::len(bytes) as u64 / 8);
        let mut frames = Vec::new();
        let stack = SampledStack { ip: 100, mode: CpuMode::USER, callchain: words(&chain), branches: words(&branches) };
        stack.for_each(|space, frame| frames.push((space, frame)));
        frames
    }

    const LEAF: (Space, CompatFrame) = (Space::User, CompatFrame::Leaf(100));

    #[test]
    fn skips_the_first_address_of_a_chain() {
        assert_eq!(frames(&[USER, 100, 200], &[]), [LEAF, (Space::User, CompatFrame::Return(200))]);
        assert_eq!(frames(&[USER, 150, 200], &[]), [LEAF, (Space::User, CompatFrame::Return(200))]);
        let through_the_kernel = frames(&[KERNEL, 7, 8, USER, 9], &[]);
        assert_eq!(
            through_the_kernel,
            [LEAF, (Space::Kernel, CompatFrame::Return(8)), (Space::User, CompatFrame::Return(9))]
        );
    }

    #[test]
    fn branches_replace_user_callers() {
        let selected = frames(&[KERNEL, 7, 8, USER, 9, 10], &[50, 60, 0, 40, 50, 0]);
        let branch = |from| (Space::Unknown, CompatFrame::Branch(from));
        assert_eq!(selected, [LEAF, (Space::Kernel, CompatFrame::Return(8)), branch(50), branch(40)]);
        assert_eq!(frames(&[USER, 9, 10], &[]), [LEAF, (Space::User, CompatFrame::Return(10))]);
    }

    #[test]
    fn guests_and_context_markers_have_no_maps() {
        let selected = frames(&[Context::GUEST_KERNEL.0, 7, 8, Context::MAX.0, 9], &[]);
        assert_eq!(selected[1..], [(Space::Other, CompatFrame::Return(8)), (Space::Other, CompatFrame::Return(9))]);
        assert_eq!(Space::from(CpuMode::HYPERVISOR), Space::Other);
        assert!(!is_address(KERNEL) && !is_address(0x8000_0000_0000_1000) && is_address(0x9000_0000_0000_1000));
    }
}
