//! Unwinds the call chain and the branch stack of a sample together.
//!
//! The call chain is that of the newest branch. From there back in time, a call in the branch stack removes the called function from it,
//! and a return adds it. So each range and each branch of the stack gets the callers that it had, as in llvm-profgen.

use super::super::binary::{End, PairCounts};
use super::super::code::Flow;
use super::super::code_index::CodeIndex;
use super::super::functions::Functions;
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// The address that stands for everything outside of the object, in llvm-profgen's profiles, too.
pub(crate) const OUTSIDE: u64 = 1;

/// Maximum number of callers that are distinguished. The kernel records 127 by default.
pub(super) const DEPTH: usize = 512;

/// Ranges and branches with the same callers.
#[derive(Debug, Default)]
pub(crate) struct ContextCounts {
    /// How often each range was executed.
    pub ranges: PairCounts,
    /// How often each branch was taken.
    pub branches: PairCounts,
}

/// Counts by the addresses of the calls, outermost first.
pub(crate) type Contexts = BTreeMap<Vec<u64>, ContextCounts>;

/// A caller or, as a leaf, the current address.
#[derive(Clone, Copy)]
struct Frame {
    address: u64,
    parent: usize,
}

/// The index of a frame, and a range or a branch below it.
type FramePair = (usize, (u64, u64));

/// Ranges and branches with the same callers, while they are counted.
#[derive(Default)]
struct ContextSums {
    ranges: HashMap<(u64, u64), u64>,
    branches: HashMap<(u64, u64), u64>,
}

/// The frame that all others are below.
const ROOT: usize = 0;

/// Unwinds samples.
pub(super) struct Unwinder<'c, 'a> {
    code: &'c mut CodeIndex<'a>,
    functions: &'c Functions,
    contexts: HashMap<Vec<u64>, ContextSums>,
    /// Frames of the current sample, each after its parent.
    frames: Vec<Frame>,
    leaf: usize,
    /// Source of the branch after the current one.
    address: u64,
    /// Whether the call chain still is that of the current branch.
    is_valid: bool,
    /// Addresses where the stack frame is incomplete.
    incomplete: HashMap<u64, bool>,
    /// Scratch buffers.
    chain: Vec<u64>,
    branches: Vec<(u64, u64)>,
    ranges_below: Vec<FramePair>,
    branches_below: Vec<FramePair>,
    context: Vec<u64>,
    /// Samples with branches in the object.
    pub samples: u64,
    /// Those of them whose call chain cannot be used.
    pub without_chain: u64,
}

impl<'c, 'a> Unwinder<'c, 'a> {
    pub(super) fn new(code: &'c mut CodeIndex<'a>, functions: &'c Functions) -> Self {
        let (contexts, frames, incomplete, chain, branches) = Default::default();
        let (ranges_below, branches_below, context) = Default::default();
        let (leaf, address, is_valid, samples, without_chain) = (ROOT, OUTSIDE, true, 0, 0);
        Self {
            code,
            functions,
            contexts,
            frames,
            leaf,
            address,
            is_valid,
            incomplete,
            chain,
            branches,
            ranges_below,
            branches_below,
            context,
            samples,
            without_chain,
        }
    }

    /// The counts.
    pub(super) fn finish(self) -> Contexts {
        let counts = |ContextSums { ranges, branches }| {
            let (ranges, branches) = (ranges.into_iter().collect(), branches.into_iter().collect());
            ContextCounts { ranges, branches }
        };
        self.contexts.into_iter().map(|(context, sums)| (context, counts(sums))).collect()
    }

    /// Counts a sample: frames leaf first, branches newest first.
    pub(super) fn add(&mut self, chain: &[End], branches: &[(End, End)]) {
        let Self { code, branches: own, .. } = self;
        let mut address = |end: End| end.address().filter(|&address| code.is_code(address)).unwrap_or(OUTSIDE);
        own.clear();
        own.extend(branches.iter().map(|&(from, to)| (address(from), address(to))));
        own.retain(|&branch| branch != (OUTSIDE, OUTSIDE));
        let Some(&(_, newest)) = own.first() else { return };
        self.samples += 1;
        if !self.read_chain(chain) {
            self.without_chain += 1;
            return;
        }
        // The sampled address is somewhere behind the target of the newest branch.
        self.chain[0] = newest;
        self.chain.truncate(DEPTH);
        self.unwind();
        self.collect();
    }

    /// Reads a call chain, with the addresses of calls instead of those after them. Whether it is complete: in the first and last
    /// instructions of a function, the caller is missing.
    fn read_chain(&mut self, chain: &[End]) -> bool {
        let Self { code, chain: own, .. } = self;
        own.clear();
        for &frame in chain {
            match frame.address().filter(|&address| code.is_code(address)) {
                None if own.last() == Some(&OUTSIDE) => {}
                None => own.push(OUTSIDE),
                Some(address) if own.is_empty() => own.push(address),
                Some(address) => match code.call_before(address) {
                    Some(call) => own.push(call),
                    None => break,
                },
            }
        }
        if own.len() > 1 && own.last() == Some(&OUTSIDE) {
            own.pop();
        }
        self.chain.first().copied().is_some_and(|leaf| !self.is_incomplete(leaf))
    }

    /// Whether an address is in the first or last two instructions of a function.
    fn is_incomplete(&mut self, address: u64) -> bool {
        if let Some(&is_incomplete) = self.incomplete.get(&address) {
            return is_incomplete;
        }
        let Self { code, functions, incomplete, .. } = self;
        let is_first = |address| functions.is_start(address);
        let after = code.instruction(address).map(|instruction| address + u64::from(instruction.len));
        let is_incomplete = is_first(address)
            || code.before(address).is_some_and(|before| is_first(before.address))
            || [Some(address), after].into_iter().flatten().any(|address| code.flow(address) == Some(Flow::Return));
        incomplete.insert(address, is_incomplete);
        is_incomplete
    }

    fn unwind(&mut self) {
        self.ranges_below.clear();
        self.branches_below.clear();
        self.frames.clear();
        self.frames.push(Frame { address: 0, parent: ROOT });
        (self.leaf, self.is_valid) = (ROOT, true);
        for index in (0..self.chain.len()).rev() {
            self.push(self.chain[index]);
        }
        for index in 0..self.branches.len() {
            let (from, to) = self.branches[index];
            if index > 0 {
                self.add_range(to);
            }
            self.undo(from, to);
            self.address = from;
            if to == OUTSIDE {
                continue;
            }
            let caller = if from == OUTSIDE { ROOT } else { self.frames[self.leaf].parent };
            self.branches_below.push((caller, (from, to)));
        }
    }

    /// Adds the range from an address to the branch after it.
    fn add_range(&mut self, start: u64) {
        let end = self.address;
        match (start, end) {
            // Code outside was called, and returned.
            (OUTSIDE, OUTSIDE) => {}
            (OUTSIDE, _) | (_, OUTSIDE) => self.is_valid = false,
            _ if start > end || !self.code.runs_through(start, end) => self.is_valid = false,
            _ => {
                let caller = self.frames[self.leaf].parent;
                self.ranges_below.push((caller, (start, end)));
            }
        }
    }

    /// Changes the call chain to that before a branch.
    fn undo(&mut self, from: u64, to: u64) {
        if !self.is_valid {
            self.leaf = ROOT;
            self.push(from);
            return;
        }
        let flow = self.code.flow(from);
        let returned = if to == OUTSIDE { Some(OUTSIDE) } else { self.code.call_before(to) };
        if flow == Some(Flow::Return) || from == OUTSIDE && returned.is_some() {
            self.replace(returned.unwrap_or(OUTSIDE));
            self.push(from);
        } else if flow == Some(Flow::Call) || from == OUTSIDE {
            let parent = self.frames[self.leaf].parent;
            if parent == ROOT || self.frames[parent].address != from {
                self.replace(from);
            } else {
                self.leaf = parent;
            }
        } else {
            self.replace(from);
        }
    }

    /// Adds a called function.
    fn push(&mut self, address: u64) {
        let frame = Frame { address, parent: self.leaf };
        // A sample has a few dozen.
        let same = |other: &Frame| (other.address, other.parent) == (frame.address, frame.parent);
        let child = self.frames.iter().skip(1).position(same).map(|position| position + 1);
        self.leaf = child.unwrap_or_else(|| {
            self.frames.push(frame);
            self.frames.len() - 1
        });
    }

    /// Changes the address of the leaf.
    fn replace(&mut self, address: u64) {
        if self.frames[self.leaf].address != address {
            self.leaf = self.frames[self.leaf].parent;
            self.push(address);
        }
    }

    /// Counts the ranges and branches of the frames.
    fn collect(&mut self) {
        for is_range in [true, false] {
            let mut below = std::mem::take(if is_range { &mut self.ranges_below } else { &mut self.branches_below });
            below.sort_unstable_by_key(|&(frame, _)| frame);
            for same_frame in below.chunk_by(|a, b| a.0 == b.0) {
                let sums = self.sums(same_frame[0].0);
                let sums = if is_range { &mut sums.ranges } else { &mut sums.branches };
                same_frame.iter().for_each(|&(_, pair)| *sums.entry(pair).or_default() += 1);
            }
            *(if is_range { &mut self.ranges_below } else { &mut self.branches_below }) = below;
        }
    }

    /// The sums of the callers that a frame is the last of.
    fn sums(&mut self, mut frame: usize) -> &mut ContextSums {
        let Self { frames, contexts, context, .. } = self;
        context.clear();
        // Compilers cannot use callers that call by way of another object.
        while frame != ROOT && frames[frame].address != OUTSIDE {
            context.push(frames[frame].address);
            frame = frames[frame].parent;
        }
        context.reverse();
        remove_repetitions(context);
        contexts.entry_ref(context.as_slice()).or_default()
    }
}

/// Removes sequences that repeat the one before them, shorter ones first: recursion.
pub(super) fn remove_repetitions<T: PartialEq + Copy>(context: &mut Vec<T>) {
    let mut len = 1;
    while len <= context.len() / 2 {
        let is_repeated = |index: usize| context.get(index..index + len) == Some(&context[index - len..index]);
        if let Some(first) = (len..context.len()).find(|&index| is_repeated(index)) {
            let mut kept = context[..first].to_vec();
            let mut index = first;
            while index < context.len() {
                if is_repeated(index) {
                    index += len;
                } else {
                    kept.push(context[index]);
                    index += 1;
                }
            }
            *context = kept;
        }
        len += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_is_removed() {
        let without = |text: &str| {
            let mut context: Vec<char> = text.chars().collect();
            remove_repetitions(&mut context);
            context.into_iter().collect::<String>()
        };
        assert_eq!([without(""), without("a"), without("aabb"), without("abcbc")], ["", "a", "ab", "abc"]);
        assert_eq!([without("abababc"), without("abcabcab"), without("aaab")], ["abc", "abcab", "ab"]);
    }
}
