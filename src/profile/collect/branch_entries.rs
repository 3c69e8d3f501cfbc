//! Entries of branch stacks, with what processors record wrongly.

use perf_data::abi::Endian;
use perf_data::abi::sample::branch::{BranchEntry, BranchFlags, BranchStackView};

/// A repeated newest entry is that of a loop if it jumps back by at most this many bytes. A branch that is taken twice in a row without
/// another in between jumps back.
const LOOP: u64 = 0x1000;

/// A branch on a wrong path, in [`BranchFlags::SPEC`].
const WRONG_PATH: u64 = 1;

/// Maximum length in bytes of code without a taken branch, as in AutoFDO. No program runs more.
pub(crate) const MAX_RANGE: u64 = 1 << 20;

/// The entries of a branch stack, newest first, and whether the newest one, which Skylake can repeat, was omitted.
pub(crate) fn branch_entries<'a>(
    stack: &BranchStackView<'a>,
    endian: Endian,
) -> (impl Iterator<Item = BranchEntry> + use<'a>, bool) {
    let mut words = stack.entries.iter();
    let entries = std::iter::from_fn(move || Some([words.next()?, words.next()?, words.next()?]));
    let mut entries =
        entries.map(move |[from, to, flags]| BranchEntry { from, to, flags: BranchFlags::from_word(flags, endian) });
    let mut ahead = stack.entries.iter();
    let mut first = [0; 6];
    first.iter_mut().for_each(|word| *word = ahead.next().unwrap_or(0));
    let [from, to, _, second_from, second_to, _] = first;
    let is_repeated = stack.len() > 1 && [from, to] == [second_from, second_to] && from.wrapping_sub(to) > LOOP;
    if is_repeated {
        entries.next();
    }
    (entries, is_repeated)
}

/// Whether a branch was on a wrong path, so that it was not taken.
pub(crate) fn is_on_wrong_path(entry: &BranchEntry) -> bool {
    entry.flags.get(BranchFlags::SPEC) == WRONG_PATH
}

/// Whether a branch was not taken, as in samples of traces. The code before it ended there all the same.
pub(crate) fn is_not_taken(flags: BranchFlags) -> bool {
    flags.get(BranchFlags::NOT_TAKEN) == 1
}
