//! Notes about what a profile lacks.

use perf_data::abi::feature::FeatureId;
use perf_data::container::read::Container;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;

/// Samples whose stacks are incomplete in the profile.
#[derive(Default)]
pub(crate) struct IncompleteStacks {
    /// Samples with a user stack dump instead of a call chain.
    pub stack_dumps: u64,
    /// Samples whose deferred user frames are missing.
    pub deferred: u64,
    /// Samples without user frames because their total number exceeds the limit.
    pub too_deep: u64,
}

impl IncompleteStacks {
    pub(crate) fn note(&self, ledger: &mut Ledger) {
        let Self { stack_dumps, deferred, too_deep } = self;
        if *stack_dumps > 0 {
            ledger.missing(format!(
                "samples with a user stack dump (--call-graph dwarf): {stack_dumps}; dumps are not unwound, so their user \
                 callers are missing"
            ));
        }
        if *deferred > 0 {
            ledger.missing(format!(
                "samples whose deferred user callers (CALLCHAIN_DEFERRED) are missing from the recording: {deferred}"
            ));
        }
        if *too_deep > 0 {
            ledger.missing(format!(
                "samples without user callers, because thousands of stacks share a long deferred call chain: {too_deep}"
            ));
        }
    }
}

/// Notes why there are no samples; `not_applicable` is the number of samples of other events.
pub(crate) fn note_empty(meta: &Meta, not_applicable: u64, ledger: &mut Ledger) {
    // The main file of a directory recording (perf record --threads) can be opened by itself.
    if meta.container == Container::File && meta.features.contains_key(&FeatureId::DIR_FORMAT) {
        let message = "the samples of this recording are in other files of its directory; open the directory instead";
        ledger.missing(message.to_owned());
    } else if not_applicable > 0 {
        ledger.note("the recording has no samples of the selected events".to_owned());
    } else {
        ledger.note("the recording has no samples".to_owned());
    }
}
