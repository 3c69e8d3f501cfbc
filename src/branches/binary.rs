//! The branches of one object, by address in its file.

use super::location::{Location, ObjectNumber};
use super::stack_samples::OnStack;
use super::trace_table::{Trace, TraceCount};
use super::{BranchCounts, BranchObject, StackSamples};
use perf_symbols::symbol::elf::ElfFiles;
use perf_symbols::symbol::object::Segment;
use std::collections::{BTreeMap, BTreeSet};

/// An end of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// In another object, or in none.
    Outside,
    /// At this address in the file, as its symbol table states addresses.
    At(u64),
}

impl End {
    /// The address; `None` outside.
    pub fn address(self) -> Option<u64> {
        match self {
            Self::Outside => None,
            Self::At(address) => Some(address),
        }
    }
}

/// A [`Trace`] as an object sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BinaryTrace {
    /// Source of the branch.
    pub from: End,
    /// Its target.
    pub to: End,
    /// Source of the next branch; `None` if unknown.
    pub next: Option<End>,
}

impl BinaryTrace {
    /// The addresses of the first and of the last instruction of the range after the branch, if it is in the object.
    pub fn range(&self) -> Option<(u64, u64)> {
        self.to.address().zip(self.next?.address())
    }
}

/// The branches of an object.
#[derive(Debug)]
pub struct BinaryBranches {
    /// The object.
    pub object: BranchObject,
    /// Its files.
    pub files: ElfFiles,
    /// Traces with at least one end of the branch in the object, sorted, each once.
    pub traces: Vec<(BinaryTrace, TraceCount)>,
    /// Instruction pointers of samples in the object, sorted by address.
    pub addresses: Vec<(u64, u64)>,
    /// Whether the recording has branches; otherwise only instruction pointers.
    pub has_branches: bool,
    /// Names of the events that the samples are of.
    pub events: BTreeSet<String>,
    /// Ends of branches at offsets that no segment of the file has.
    pub without_segment: u64,
    number: ObjectNumber,
    stacks: StackSamples,
}

/// Sums by range or branch.
pub type PairCounts = BTreeMap<(u64, u64), u64>;

impl BinaryBranches {
    /// The branches of an object, whose files are given.
    pub fn new(counts: &BranchCounts, number: ObjectNumber, object: BranchObject, files: ElfFiles) -> Self {
        let addresses = AddressMap::new(&object, &files);
        let mut without_segment = 0;
        let mut end = |location: Location, count: u64| {
            if location.object() != Some(number) {
                return End::Outside;
            }
            addresses.address(location.offset()).map_or_else(
                || {
                    without_segment += count;
                    End::Outside
                },
                End::At,
            )
        };
        let mut traces: BTreeMap<BinaryTrace, TraceCount> = BTreeMap::new();
        for &(Trace { from, to, next }, sum) in &counts.traces {
            if [from, to].iter().all(|end| end.object() != Some(number)) {
                continue;
            }
            let (from, to, next) = (end(from, sum.count), end(to, sum.count), next.map(|next| end(next, 0)));
            if (from, to) != (End::Outside, End::Outside) {
                traces.entry(BinaryTrace { from, to, next }).or_default().add(sum);
            }
        }
        let mut sampled = BTreeMap::new();
        for &(location, count) in counts.addresses.iter().filter(|(location, _)| location.object() == Some(number)) {
            match addresses.address(location.offset()) {
                Some(address) => *sampled.entry(address).or_default() += count,
                None => without_segment += count,
            }
        }
        let (traces, addresses) = (traces.into_iter().collect(), sampled.into_iter().collect());
        let (has_branches, events) = (counts.has_branches(), counts.events.clone());
        let stacks = counts.stacks.clone();
        Self { object, files, traces, addresses, has_branches, events, without_segment, number, stacks }
    }

    /// Whether no samples were kept with their call chains.
    pub(super) fn without_stacks(&self) -> bool {
        self.stacks.is_empty()
    }

    /// Calls `on_sample` with the call chain, leaf first, and the branches, newest first, of each sample that was kept with its call
    /// chain.
    pub(super) fn each_stack(&self, on_sample: &mut OnStack<'_, End>) {
        let addresses = AddressMap::new(&self.object, &self.files);
        let end = |location: Location| {
            let address = (location.object() == Some(self.number)).then(|| addresses.address(location.offset()));
            address.flatten().map_or(End::Outside, End::At)
        };
        let (mut frames, mut ends) = (Vec::new(), Vec::new());
        self.stacks.each(&mut |chain, branches| {
            frames.clear();
            frames.extend(chain.iter().map(|&frame| end(frame)));
            ends.clear();
            ends.extend(branches.iter().map(|&(from, to)| (end(from), end(to))));
            on_sample(&frames, &ends);
        });
    }

    /// The first segment with code, to whose address some formats relate others.
    pub fn first_executable(&self) -> Option<&Segment> {
        self.files.object()?.segments().iter().find(|segment| segment.is_executable)
    }

    /// How often each range was executed.
    pub fn ranges(&self) -> PairCounts {
        let mut ranges = PairCounts::new();
        for (trace, sum) in &self.traces {
            if let Some(range) = trace.range() {
                *ranges.entry(range).or_default() += sum.count;
            }
        }
        ranges
    }

    /// How often each branch with both ends in the object was taken.
    pub fn branches(&self) -> PairCounts {
        let mut branches = PairCounts::new();
        for (trace, sum) in &self.traces {
            if let Some(branch) = trace.from.address().zip(trace.to.address()) {
                *branches.entry(branch).or_default() += sum.count;
            }
        }
        branches
    }

    /// How often code outside of the object branched to each address in it.
    pub fn entries(&self) -> BTreeMap<u64, u64> {
        let mut entries = BTreeMap::new();
        for (trace, sum) in self.traces.iter().filter(|(trace, _)| trace.from == End::Outside) {
            if let Some(to) = trace.to.address() {
                *entries.entry(to).or_default() += sum.count;
            }
        }
        entries
    }
}

/// Converts offsets in an object to addresses.
struct AddressMap<'a> {
    files: &'a ElfFiles,
    /// Added to offsets in a kernel.
    kernel: Option<u64>,
}

impl<'a> AddressMap<'a> {
    fn new(object: &BranchObject, files: &'a ElfFiles) -> Self {
        let kernel = object.reference.map(|reference| {
            let symbol = files.table().symbol_address(object.reference_symbol().as_bytes());
            symbol.unwrap_or_default().wrapping_sub(reference)
        });
        Self { files, kernel }
    }

    fn address(&self, offset: u64) -> Option<u64> {
        match self.kernel {
            Some(start) => Some(start.wrapping_add(offset)),
            None => self.files.object()?.address_of_offset(offset),
        }
    }
}
