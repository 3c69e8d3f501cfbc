//! How much of a recording a PerfDataProto contains.

use crate::rewrite::quipper::{PASS, Quipper};
use crate::rewrite::request::PassRequest;

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
    pub(super) fn passes(self, requested: Vec<PassRequest>) -> Vec<PassRequest> {
        if self != Self::PerfConverter {
            return requested;
        }
        let implied = Quipper::PERF_CONVERTER;
        let is_implied =
            |request: &PassRequest| request.values().get(&PASS).is_some_and(|pass| implied.contains(&pass));
        let further = requested.into_iter().filter(|request| !is_implied(request));
        implied.into_iter().map(Quipper::request).chain(further).collect()
    }
}
