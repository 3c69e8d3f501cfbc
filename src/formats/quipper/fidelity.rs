//! The `--quipper` option: how much of a recording a PerfDataProto contains.

use crate::formats::options::{FormatOption, OptionValue, OptionValues, ValueKind};
use crate::rewrite::quipper::{PASS, Quipper};
use crate::rewrite::request::PassRequest;

/// The option `--quipper`.
pub const FIDELITY: FormatOption = FormatOption::new(
    "quipper",
    "FIDELITY",
    "How much of a recording to write to a PerfDataProto [default: lossless]",
    ValueKind::Choice(&[
        (STRICT, "Only what quipper's own reader would produce"),
        (LOSSLESS, "Everything, with extension fields that quipper skips"),
        (PERF_CONVERTER, "The output of perf_converter: strict, with the passes sort, huge-pages and combine"),
    ]),
);

const STRICT: &str = "strict";
const LOSSLESS: &str = "lossless";
const PERF_CONVERTER: &str = "perf-converter";

/// How much of a recording is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fidelity {
    /// Only what the schema supports.
    Strict,
    /// Everything.
    #[default]
    Lossless,
}

impl From<&OptionValues> for Fidelity {
    fn from(values: &OptionValues) -> Self {
        match values.word(&FIDELITY) {
            Some(STRICT | PERF_CONVERTER) => Self::Strict,
            _ => Self::Lossless,
        }
    }
}

impl From<Fidelity> for OptionValues {
    fn from(fidelity: Fidelity) -> Self {
        let word = match fidelity {
            Fidelity::Strict => STRICT,
            Fidelity::Lossless => LOSSLESS,
        };
        Self::default().with(&FIDELITY, OptionValue::Word(word.to_owned()))
    }
}

/// The passes that the chosen value implies, then the requested ones, each once.
pub fn passes(values: &OptionValues, requested: Vec<PassRequest>) -> Vec<PassRequest> {
    if values.word(&FIDELITY) != Some(PERF_CONVERTER) {
        return requested;
    }
    let implied = Quipper::PERF_CONVERTER;
    let is_implied = |request: &PassRequest| request.values().get(&PASS).is_some_and(|pass| implied.contains(&pass));
    let further = requested.into_iter().filter(|request| !is_implied(request));
    implied.into_iter().map(Quipper::request).chain(further).collect()
}
