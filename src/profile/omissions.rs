//! What a profile lacks that the recording has, or should have.

use crate::abi::feature::FeatureId;
use crate::container::read::Container;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;

/// Samples that are known to tell more than the profile has.
#[derive(Default)]
pub struct Missing {
    /// Samples with a copy of the stack instead of a call chain.
    pub stack_dumps: u64,
    /// Samples whose user frames never came.
    pub deferred: u64,
    /// Samples whose user frames would have been too many with those of the others that had the same.
    pub too_deep: u64,
}

impl Missing {
    /// Tells the ledger.
    pub fn note(&self, ledger: &mut Ledger) {
        let Self { stack_dumps, deferred, too_deep } = self;
        if *stack_dumps > 0 {
            ledger.missing(format!(
                "samples with a copy of the user stack (--call-graph dwarf): {stack_dumps}; it is not unwound, so that \
                 their user callers are missing"
            ));
        }
        if *deferred > 0 {
            ledger.missing(format!(
                "samples whose user callers should have come in records of their own (CALLCHAIN_DEFERRED) and did not: \
                 {deferred}"
            ));
        }
        if *too_deep > 0 {
            ledger.missing(format!(
                "samples that are without their user callers since these are as many for each of thousands of stacks: \
                 {too_deep}"
            ));
        }
    }
}

/// Says why there are no samples, of which so many were not of an event that was asked for.
pub fn note_empty(meta: &Meta, not_applicable: u64, ledger: &mut Ledger) {
    // The main file of a folder that was recorded by several threads is a whole recording by itself.
    if meta.container == Container::File && meta.features.contains_key(&FeatureId::DIR_FORMAT) {
        let what = "the samples of this recording are in the files beside it: name the folder to read them";
        ledger.missing(what.to_owned());
    } else if not_applicable > 0 {
        let what = "none of the samples is of an event that was asked for: the profile is empty";
        ledger.note(what.to_owned());
    } else {
        ledger.note("the recording has no samples: the profile is empty".to_owned());
    }
}
