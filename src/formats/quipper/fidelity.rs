//! How much of a recording a PerfDataProto contains.

use crate::rewrite::framework::pass_options::{RequestedPass, requested};
use crate::rewrite::quipper::Quipper;
use std::slice;
use std::sync::Arc;

/// How much of a recording is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Fidelity {
    /// Only what quipper's own reader would produce.
    Strict,
    /// Everything, with extension fields that quipper skips.
    #[default]
    Lossless,
    /// The output of perf_converter: strict, with the passes sort, huge-pages and combine.
    PerfConverter,
}

impl Fidelity {
    /// Whether everything is written.
    pub fn is_lossless(self) -> bool {
        self == Self::Lossless
    }

    /// The passes that it implies, then the requested ones, each once.
    pub(super) fn passes(self, passes: Vec<RequestedPass>) -> Vec<RequestedPass> {
        if self != Self::PerfConverter {
            return passes;
        }
        let implied = Quipper::PERF_CONVERTER;
        let is_implied =
            |pass: &RequestedPass| requested(slice::from_ref(pass)).any(|pass: &Quipper| implied.contains(pass));
        let further = passes.into_iter().filter(|pass| !is_implied(pass));
        implied.into_iter().map(|pass| Arc::new(pass) as RequestedPass).chain(further).collect()
    }
}
