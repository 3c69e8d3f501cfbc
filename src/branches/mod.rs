//! Counts of taken branches, from which compilers and binary optimizers derive their profiles.
//!
//! A branch stack has the last branches of a thread, newest first. Between the target of one and the source of the next, code ran
//! without a taken branch: a *range*. A [`Trace`] is a branch with the end of the range after it; branches and ranges are sums of
//! traces.
//!
//! * `counter`: counts the traces of a recording, and applies the rules of [`BranchTally`] to entries that cannot be.
//! * `location`: a position in an object; `objects`: the objects, and the location of an address; `trace_table`: the counts.
//! * [`binary`]: the counts of one object, by address in its file; [`selection`]: which object; [`report`]: messages about them.
//! * [`attribution`]: by position in source code ([`source_profile`]), with the instructions (`code`) of ranges that do not overlap
//!   (`disjoint`), the discriminators and pseudo probes of LLVM (`probes`).

pub mod attribution;
pub mod binary;
mod code;
mod code_index;
pub(crate) mod context;
mod counter;
mod discriminator;
mod disjoint;
mod functions;
mod location;
mod objects;
mod probes;
mod remapping;
pub mod report;
pub mod selection;
pub mod source_profile;
mod stack_samples;
pub mod summary;
mod tally;
mod trace_table;

use std::collections::BTreeSet;

pub(crate) use code_index::CodeIndex;
pub use counter::BranchCounter;
pub use location::{Location, ObjectNumber};
pub use objects::BranchObject;
pub use remapping::Remapping;
pub use stack_samples::StackSamples;
pub use tally::BranchTally;
pub use trace_table::{Trace, TraceCount};

/// Maximum length of a range in bytes, as in AutoFDO. No program runs more code without a taken branch.
pub const MAX_RANGE: u64 = crate::profile::collect::branch_entries::MAX_RANGE;

/// The branches of a recording.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct BranchCounts {
    /// Objects with code. Their numbers begin at 1.
    pub objects: Vec<BranchObject>,
    /// Distinct traces, sorted. At least one end of each branch is in an object.
    pub traces: Vec<(Trace, TraceCount)>,
    /// Instruction pointers of samples, sorted by location.
    pub addresses: Vec<(Location, u64)>,
    /// Names of the events that the samples are of.
    pub events: BTreeSet<String>,
    /// What happened to samples and entries.
    pub tally: BranchTally,
    /// Samples with call chains, if they were kept.
    pub stacks: StackSamples,
}

impl BranchCounts {
    /// An object by its number.
    pub fn object(&self, number: ObjectNumber) -> Option<&BranchObject> {
        self.objects.get(usize::from(number).checked_sub(1)?)
    }

    /// Whether there are branches; otherwise only instruction pointers.
    pub fn has_branches(&self) -> bool {
        self.tally.samples > 0
    }

    /// The objects with the number of branches that begin in them or, without branches, of samples, in descending order.
    pub fn by_weight(&self) -> Vec<(ObjectNumber, u64)> {
        let mut weights = vec![0_u64; self.objects.len() + 1];
        let mut add = |location: Location, count| {
            let weight = &mut weights[usize::from(location.object().unwrap_or(0))];
            *weight = weight.saturating_add(count);
        };
        if self.has_branches() {
            self.traces.iter().for_each(|(trace, sum)| add(trace.from, sum.count));
        } else {
            self.addresses.iter().for_each(|&(location, count)| add(location, count));
        }
        let mut weights: Vec<_> = (1..).zip(weights.into_iter().skip(1)).filter(|&(_, weight)| weight > 0).collect();
        weights.sort_by_key(|&(_, weight)| std::cmp::Reverse(weight));
        weights
    }
}
