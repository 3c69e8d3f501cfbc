//! The call chain of an unwound sample: frames of the kernel, unwound frames, and the recorded frames that follow them.

use perf_data::abi::Endian;
use perf_data::abi::bytes::Integer;
use perf_data::abi::sample::branch::BranchStackView;
use perf_data::abi::sample::callchain::Context;
use perf_data::session::space::Space;

/// A call chain in the byte order of a recording.
pub(crate) struct UserChain<'a> {
    /// Where it is appended.
    pub bytes: &'a mut Vec<u8>,
    /// Byte order.
    pub endian: Endian,
}

impl UserChain<'_> {
    /// Appends a word.
    pub(crate) fn push(&mut self, word: u64) {
        self.bytes.extend_from_slice(&word.to_bytes(self.endian));
    }

    /// Appends the part of a recorded chain before its user addresses, and leaves these.
    pub(crate) fn push_other_spaces(
        &mut self,
        words: &mut std::iter::Peekable<impl Iterator<Item = u64>>,
        mut space: Space,
    ) {
        while let Some(word) = words.next_if(|&word| {
            let context = Context::of(word);
            context.is_some_and(|context| Space::from(context) != Space::User)
                || context.is_none() && space != Space::User
        }) {
            if let Some(context) = Context::of(word) {
                space = context.into();
            }
            self.push(word);
        }
    }

    /// Appends what a recorded chain, of frame pointers, has after an address, at most `room` frames; returns whether that is anything.
    pub(crate) fn push_after(
        &mut self,
        mut words: impl Iterator<Item = u64>,
        address: Option<u64>,
        room: usize,
    ) -> bool {
        let len = self.bytes.len();
        if words.any(|word| Some(word) == address) {
            words.take_while(|&word| Context::of(word).is_none()).take(room).for_each(|word| self.push(word));
        }
        self.bytes.len() > len
    }

    /// Appends the callers that a hardware call stack has after the last of `frames`, at most `room`; returns whether there are any.
    pub(crate) fn push_calls(&mut self, calls: &BranchStackView<'_>, frames: &[u64], room: usize) -> bool {
        let len = self.bytes.len();
        let mut from = calls.entries.iter().step_by(3);
        let is_found = match frames {
            // The newest call entered the function of the leaf.
            [_leaf] => true,
            [.., last] => from.any(|from| (1..=MAX_INSTRUCTION).contains(&last.wrapping_sub(from))),
            [] => false,
        };
        if is_found {
            // As in call chains, callers have an address after their call.
            from.take(room).for_each(|from| self.push(from.wrapping_add(1)));
        }
        self.bytes.len() > len
    }
}

/// Maximum size of an instruction (x86). Call stacks have the address of a call, frames that to which it returns.
const MAX_INSTRUCTION: u64 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    fn words(bytes: &[u8]) -> Vec<u64> {
        bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
    }

    #[test]
    fn kernel_frames_precede_unwound_ones_and_recorded_ones_follow() {
        let (kernel, user) = (Context::KERNEL.0, Context::USER.0);
        let mut bytes = Vec::new();
        let mut chain = UserChain { bytes: &mut bytes, endian: Endian::Little };
        let mut recorded = [kernel, 1, 2, user, 10, 20, 30, 40].into_iter().peekable();
        chain.push_other_spaces(&mut recorded, Space::Kernel);
        chain.push(user);
        assert!(!chain.push_after(recorded.clone(), Some(25), 9));
        assert!(chain.push_after(recorded.clone(), Some(20), 9));
        assert!(chain.push_after(recorded, Some(20), 1));
        assert_eq!(words(&bytes), [kernel, 1, 2, user, 30, 40, 30]);
        let mut recorded = [10, 20].into_iter().peekable();
        let mut chain = UserChain { bytes: &mut bytes, endian: Endian::Little };
        chain.bytes.clear();
        chain.push_other_spaces(&mut recorded, Space::User);
        assert!(chain.bytes.is_empty() && recorded.next() == Some(10));
    }
}
