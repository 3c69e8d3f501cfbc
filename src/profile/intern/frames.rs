//! Decodes the stack of a sample into addresses with address spaces.

use crate::profile::{Frame, Place};
use perf_data::abi::bytes::Words;
use perf_data::abi::sample::branch::BranchStackView;
use perf_data::abi::sample::callchain::Context;
use perf_data::session::space::Space;

/// A sampled address with its address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// The address; for a caller, that of the last byte of its call.
    pub address: u64,
    /// Its address space.
    pub space: Space,
    /// Whether it was moved from the return address.
    pub is_caller: bool,
}

/// The recorded stack of a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampledStack<'a> {
    /// Instruction pointer.
    pub ip: Option<u64>,
    /// Its address space.
    pub space: Space,
    /// The call chain with its context markers.
    pub callchain: Option<Words<'a>>,
    /// Hardware call stack (LBR), newest call first; it replaces the user frames of the call chain.
    pub calls: Option<BranchStackView<'a>>,
    /// Whether the call chain follows the instruction pointer as recorded, although it repeats it.
    pub repeats_leaf: bool,
}

impl Address {
    /// The frame of an address that no mapping holds.
    pub(crate) fn unmapped(self) -> Frame {
        Frame { place: Place::Outside(self.space), address: self.address, is_caller: self.is_caller }
    }
}

impl SampledStack<'_> {
    /// Calls `on_frame` for each frame, leaf first; returns the cookie of deferred user frames, if any.
    ///
    /// The instruction pointer is the leaf. The call chain repeats it as its first address, unless the chain excludes the
    /// address space of the CPU. The leaf and the first address after each context marker are interrupted instructions; all
    /// others are return addresses, and are moved into the preceding call.
    pub(crate) fn for_each(&self, mut on_frame: impl FnMut(Address)) -> Option<u64> {
        let mut deferred = None;
        if let Some(ip) = self.ip {
            on_frame(Address { address: ip, space: self.space, is_caller: false });
        }
        if self.space == Space::User && self.calls.is_some() {
            self.for_each_call(self.ip.is_some(), on_frame);
            return deferred;
        }
        let Some(chain) = self.callchain else { return deferred };
        let mut space = self.space;
        let mut is_first = true;
        let mut may_repeat_leaf = self.ip.is_some() && !self.repeats_leaf;
        let mut words = chain.iter();
        while let Some(word) = words.next() {
            if let Some(context) = Context::of(word) {
                if context == Context::USER_DEFERRED {
                    deferred = words.next();
                } else if context == Context::USER && self.calls.is_some() {
                    self.for_each_call(false, on_frame);
                    return deferred;
                }
                space = context.into();
                is_first = true;
                continue;
            }
            let repeats_leaf = may_repeat_leaf && space == self.space;
            may_repeat_leaf = false;
            if !repeats_leaf {
                // Chains of frame pointers often end with a return address of 0.
                let is_caller = !is_first && word > 0;
                on_frame(Address { address: word - u64::from(is_caller), space, is_caller });
            }
            is_first = false;
        }
        deferred
    }

    /// The user frames of the hardware call stack. The target of the newest call is in the leaf, and is skipped if the leaf is
    /// known.
    fn for_each_call(&self, has_leaf: bool, mut on_frame: impl FnMut(Address)) {
        let Some(calls) = self.calls else { return };
        let mut words = calls.entries.iter();
        let mut is_newest = true;
        while let (Some(from), Some(to), Some(_flags)) = (words.next(), words.next(), words.next()) {
            if is_newest && !has_leaf {
                on_frame(Address { address: to, space: Space::User, is_caller: false });
            }
            is_newest = false;
            on_frame(Address { address: from, space: Space::User, is_caller: false });
        }
    }
}

/// Calls `on_address` for each address of a call chain as recorded: the address, the address to look up the function at, and
/// its space.
/// Returns the cookie of deferred user frames, if any.
///
/// After the first address of a space come return addresses; the call precedes them. If the chain excludes the space of the sample,
/// the instruction pointer `ip` comes first.
pub(crate) fn walk_chain(
    ip: Option<u64>,
    chain: Words<'_>,
    mut space: Space,
    mut on_address: impl FnMut(u64, u64, Space),
) -> Option<u64> {
    if let Some(ip) = ip.filter(|_| !has_space(chain, space)) {
        on_address(ip, ip, space);
    }
    let (mut words, mut cookie) = (chain.iter(), None);
    let mut is_caller = false;
    while let Some(word) = words.next() {
        match Context::of(word) {
            Some(Context::USER_DEFERRED) => cookie = words.next(),
            Some(context) => (space, is_caller) = (context.into(), false),
            None => {
                on_address(word, word.saturating_sub(is_caller.into()), space);
                is_caller = true;
            }
        }
    }
    cookie
}

/// Whether a chain that begins in a space has addresses in it, or will have.
fn has_space(chain: Words<'_>, sample_space: Space) -> bool {
    let (mut words, mut space) = (chain.iter(), sample_space);
    words.any(|word| match Context::of(word) {
        Some(Context::USER_DEFERRED) => sample_space == Space::User,
        Some(context) => {
            space = context.into();
            false
        }
        None => space == sample_space,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::Endian;
    use perf_data::abi::bytes::ByteReader;

    fn frames(ip: Option<u64>, space: Space, chain: &[u64]) -> (Vec<(u64, Space)>, Option<u64>) {
        let bytes: Vec<u8> = chain.iter().flat_map(|word| word.to_le_bytes()).collect();
        let callchain = ByteReader::new(&bytes, Endian::Little).words(chain.len() as u64);
        let mut frames = Vec::new();
        let stack = SampledStack { ip, space, callchain, calls: None, repeats_leaf: false };
        let deferred = stack.for_each(|frame| frames.push((frame.address, frame.space)));
        (frames, deferred)
    }

    const KERNEL: u64 = Context::KERNEL.0;
    const USER: u64 = Context::USER.0;

    #[test]
    fn return_addresses_are_moved_into_their_calls() {
        let (addresses, _) = frames(Some(100), Space::User, &[USER, 100, 200, 300]);
        assert_eq!(addresses, [(100, Space::User), (199, Space::User), (299, Space::User)]);
    }

    #[test]
    fn the_first_address_after_a_marker_is_not_a_return_address() {
        let (addresses, _) = frames(Some(1000), Space::Kernel, &[KERNEL, 1000, 1100, USER, 50, 60]);
        let (k, u) = (Space::Kernel, Space::User);
        assert_eq!(addresses, [(1000, k), (1099, k), (50, u), (59, u)]);
    }

    #[test]
    fn a_chain_without_the_space_of_its_leaf_does_not_repeat_the_leaf() {
        let (addresses, _) = frames(Some(1000), Space::Kernel, &[USER, 50, 60]);
        assert_eq!(addresses, [(1000, Space::Kernel), (50, Space::User), (59, Space::User)]);
        let (addresses, _) = frames(None, Space::User, &[USER, 50, 60]);
        assert_eq!(addresses, [(50, Space::User), (59, Space::User)]);
    }

    #[test]
    fn a_precise_leaf_replaces_the_chains_first_address() {
        let (addresses, _) = frames(Some(100), Space::User, &[USER, 104, 200]);
        assert_eq!(addresses, [(100, Space::User), (199, Space::User)]);
    }

    #[test]
    fn the_cookie_of_deferred_frames_is_not_an_address() {
        let chain = [KERNEL, 1000, Context::USER_DEFERRED.0, 0x1234];
        assert_eq!(frames(Some(1000), Space::Kernel, &chain), (vec![(1000, Space::Kernel)], Some(0x1234)));
    }

    #[test]
    fn a_hardware_call_stack_replaces_user_frames() {
        let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let branches = words(&[2, 210, 100, 0, 310, 200, 0]);
        let calls = BranchStackView::take(&mut ByteReader::new(&branches, Endian::Little), Default::default(), true);
        let chain = words(&[KERNEL, 1000, 1100, USER, 50, 60]);
        let callchain = ByteReader::new(&chain, Endian::Little).words(6);
        let addresses = |ip, space| {
            let mut frames = Vec::new();
            SampledStack { ip: Some(ip), space, callchain, calls, repeats_leaf: false }
                .for_each(|frame| frames.push(frame.address));
            frames
        };
        assert_eq!(addresses(104, Space::User), [104, 210, 310]);
        assert_eq!(addresses(1000, Space::Kernel), [1000, 1099, 100, 210, 310]);
    }

    #[test]
    fn a_chain_of_another_space_follows_the_instruction_pointer() {
        let walked = |space, chain: &[u64]| {
            let bytes: Vec<u8> = chain.iter().flat_map(|word| word.to_le_bytes()).collect();
            let chain = ByteReader::new(&bytes, Endian::Little).words(chain.len() as u64).unwrap();
            let mut addresses = Vec::new();
            let cookie = walk_chain(Some(7), chain, space, |ip, at, _| addresses.push((ip, at)));
            (addresses, cookie)
        };
        assert_eq!(walked(Space::User, &[USER]), (vec![(7, 7)], None));
        assert_eq!(walked(Space::User, &[USER, 9, 20]), (vec![(9, 9), (20, 19)], None));
        assert_eq!(walked(Space::Kernel, &[USER, 9]), (vec![(7, 7), (9, 9)], None));
        assert_eq!(walked(Space::User, &[Context::USER_DEFERRED.0, 3]), (vec![], Some(3)));
    }

    #[test]
    fn uses_the_samples_space_without_markers() {
        let (addresses, _) = frames(Some(100), Space::Unknown, &[100, 200]);
        assert_eq!(addresses, [(100, Space::Unknown), (199, Space::Unknown)]);
    }
}
