//! Which addresses of a sample are its stack.

use crate::abi::bytes::Words;
use crate::abi::callchain::Context;
use crate::abi::record::CpuMode;

/// In which part of the machine an address is, as far as it decides where to look for its map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Not told: the process, else the kernel.
    Unknown,
    /// The kernel of the host.
    Kernel,
    /// The process.
    User,
    /// A guest or a hypervisor, of which nothing is known.
    Other,
}

impl From<CpuMode> for Part {
    fn from(mode: CpuMode) -> Self {
        match mode {
            CpuMode::KERNEL => Self::Kernel,
            CpuMode::USER => Self::User,
            CpuMode::HYPERVISOR | CpuMode::GUEST_KERNEL | CpuMode::GUEST_USER => Self::Other,
            _ => Self::Unknown,
        }
    }
}

impl Part {
    /// The part that frames behind a mark are in. A mark that says nothing of it changes nothing.
    fn behind(self, mark: Context) -> Self {
        match mark {
            Context::KERNEL => Self::Kernel,
            Context::USER => Self::User,
            Context::HV | Context::GUEST | Context::GUEST_KERNEL | Context::GUEST_USER => Self::Other,
            _ => self,
        }
    }
}

/// Whether an address can be in a map at all. Marks cannot, nor what quipper makes of addresses that it hides.
pub fn is_address(address: u64) -> bool {
    const HIDDEN: u64 = 8;
    Context::of(address).is_none() && address >> 60 != HIDDEN
}

/// What a frame of a stack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The instruction that was interrupted. It is in the stack, mapped or not.
    Leaf(u64),
    /// The instruction behind a call. The call is what the stack has.
    Return(u64),
    /// A branch.
    Branch(u64),
}

/// What a sample tells of its stack.
#[derive(Clone, Copy, Debug)]
pub struct SampledStack<'a> {
    /// Where the CPU was.
    pub ip: u64,
    /// In which mode.
    pub mode: CpuMode,
    /// The call chain, with its marks.
    pub callchain: Option<Words<'a>>,
    /// Branches before the sample, newest first: from, to, flags.
    pub branches: Option<Words<'a>>,
}

impl SampledStack<'_> {
    /// Calls `found` for each frame, leaf first.
    ///
    /// The first address of a chain is taken for the leaf once more. Branches stand for the callers in user mode.
    pub fn for_each(&self, mut found: impl FnMut(Part, Frame)) {
        found(self.mode.into(), Frame::Leaf(self.ip));
        let branches = self.branches.filter(|branches| !branches.is_empty());
        let mut part = Part::Unknown;
        let mut is_first = true;
        for word in self.callchain.iter().flat_map(Words::iter) {
            if let Some(mark) = Context::of(word) {
                if mark == Context::USER && branches.is_some() {
                    break;
                }
                part = part.behind(mark);
            } else if is_first {
                is_first = false;
            } else {
                found(part, Frame::Return(word));
            }
        }
        for from in branches.iter().flat_map(|words| words.iter().step_by(3)) {
            found(Part::Unknown, Frame::Branch(from));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Endian;
    use crate::abi::bytes::Reader;

    const KERNEL: u64 = Context::KERNEL.0;
    const USER: u64 = Context::USER.0;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn frames(chain: &[u64], branches: &[u64]) -> Vec<(Part, Frame)> {
        let (chain, branches) = (bytes(chain), bytes(branches));
        let words = |bytes| Reader::new(bytes, Endian::Little).words(<[u8]>::len(bytes) as u64 / 8);
        let mut frames = Vec::new();
        let stack = SampledStack { ip: 100, mode: CpuMode::USER, callchain: words(&chain), branches: words(&branches) };
        stack.for_each(|part, frame| frames.push((part, frame)));
        frames
    }

    const LEAF: (Part, Frame) = (Part::User, Frame::Leaf(100));

    #[test]
    fn the_first_address_of_a_chain_is_left_out_whatever_it_is() {
        assert_eq!(frames(&[USER, 100, 200], &[]), [LEAF, (Part::User, Frame::Return(200))]);
        assert_eq!(frames(&[USER, 150, 200], &[]), [LEAF, (Part::User, Frame::Return(200))]);
        let through_the_kernel = frames(&[KERNEL, 7, 8, USER, 9], &[]);
        assert_eq!(through_the_kernel, [LEAF, (Part::Kernel, Frame::Return(8)), (Part::User, Frame::Return(9))]);
    }

    #[test]
    fn branches_take_the_place_of_user_callers() {
        let found = frames(&[KERNEL, 7, 8, USER, 9, 10], &[50, 60, 0, 40, 50, 0]);
        let branch = |from| (Part::Unknown, Frame::Branch(from));
        assert_eq!(found, [LEAF, (Part::Kernel, Frame::Return(8)), branch(50), branch(40)]);
        assert_eq!(frames(&[USER, 9, 10], &[]), [LEAF, (Part::User, Frame::Return(10))]);
    }

    #[test]
    fn guests_and_marks_have_no_maps() {
        let found = frames(&[Context::GUEST_KERNEL.0, 7, 8, Context::MAX.0, 9], &[]);
        assert_eq!(found[1..], [(Part::Other, Frame::Return(8)), (Part::Other, Frame::Return(9))]);
        assert_eq!(Part::from(CpuMode::HYPERVISOR), Part::Other);
        assert!(!is_address(KERNEL) && !is_address(0x8000_0000_0000_1000) && is_address(0x9000_0000_0000_1000));
    }
}
