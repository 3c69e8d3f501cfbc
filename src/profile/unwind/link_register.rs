//! The caller of a function that has not saved its return address, in recorded call chains.
//!
//! On machines whose calls put the return address into a register, a chain of frame pointers goes from such a function (a leaf, or
//! one that was interrupted in its prologue or epilogue) to the caller of its caller. perf therefore samples the link register
//! together with frame-pointer chains: on arm64 by itself since 5.18, elsewhere with `--user-regs`. CFI states at which addresses
//! the register holds the return address; there, and only there, it is the missing caller.

use super::user_chain::UserChain;
use perf_data::abi::bytes::Words;
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample_type::SampleType;
use perf_data::session::space::Space;
use perf_symbols::unwind::arch::Architecture;

/// What a call chain was recorded with, besides the chain.
const SAMPLED: SampleType = SampleType::CALLCHAIN.union(SampleType::REGS_USER);

/// Whether samples of a layout can have a caller in a link register only. `arch` is the name of the machine, if known.
pub(crate) fn samples_link_register(arch: Option<&str>, layout: &SampleLayout) -> bool {
    let has_register = |is_64| {
        let arch = Architecture::find(arch, None, is_64);
        arch.is_some_and(|arch| arch.link_register().is_some_and(|number| layout.regs_user() >> number & 1 == 1))
    };
    layout.sample_type().contains(SAMPLED) && (arch.is_none() || has_register(true) || has_register(false))
}

/// The interrupted address in user space that a chain begins with, and the address that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InterruptedFrame {
    /// Number of words up to and including the address.
    words: usize,
    /// The address.
    pub address: u64,
    /// The caller according to the frame pointer, if any.
    pub next: Option<u64>,
}

impl InterruptedFrame {
    /// Finds it in the chain of a sample that was taken in a space. `None` if the chain has no user addresses, or has them in a
    /// later record.
    pub(crate) fn new(chain: Words<'_>, mut space: Space) -> Option<Self> {
        let mut words = chain.iter().enumerate();
        while let Some((at, word)) = words.next() {
            match Context::of(word) {
                Some(Context::USER_DEFERRED) => return None,
                Some(context) => space = context.into(),
                None if space == Space::User => {
                    let next = words.next().map(|(_, word)| word).filter(|&word| Context::of(word).is_none());
                    return Some(Self { words: at + 1, address: word, next });
                }
                None => {}
            }
        }
        None
    }

    /// Writes the chain with a caller after this frame.
    pub(crate) fn write_with_caller(&self, chain: Words<'_>, caller: u64, mut out: UserChain<'_>) {
        for (at, word) in chain.iter().enumerate() {
            out.push(word);
            if at + 1 == self.words {
                out.push(caller);
            }
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

    /// Space of the sample, chain, interrupted address with the next one, and the chain with a caller.
    type Case<'a> = (Space, &'a [u64], Option<(u64, Option<u64>)>, &'a [u64]);

    #[test]
    fn a_caller_follows_the_first_user_address() {
        let (user, kernel) = (Space::User, Space::Kernel);
        let cases: [Case<'_>; 6] = [
            (user, &[USER, 10, 20], Some((10, Some(20))), &[USER, 10, 7, 20]),
            (user, &[10], Some((10, None)), &[10, 7]),
            (kernel, &[KERNEL, 1, 2, USER, 10, 20], Some((10, Some(20))), &[KERNEL, 1, 2, USER, 10, 7, 20]),
            (kernel, &[KERNEL, 1, 2], None, &[]),
            (kernel, &[KERNEL, 1, Context::USER_DEFERRED.0, 10], None, &[]),
            (user, &[USER], None, &[]),
        ];
        for (space, chain, expected, written) in cases {
            let chain = bytes(chain);
            let chain = ByteReader::new(&chain, Endian::Little).words(chain.len() as u64 / 8).unwrap();
            let frame = InterruptedFrame::new(chain, space);
            assert_eq!(frame.map(|frame| (frame.address, frame.next)), expected);
            let mut out = Vec::new();
            if let Some(frame) = frame {
                frame.write_with_caller(chain, 7, UserChain { bytes: &mut out, endian: Endian::Little });
            }
            assert_eq!(out, bytes(written));
        }
    }
}
