//! How much of a recording a PerfDataProto holds.

use crate::formats::options::{FormatOption, OptionValue, OptionValues, Takes};
use crate::rewrite::quipper::Quipper;

/// The option.
pub const FIDELITY: FormatOption = FormatOption::new(
    "quipper",
    "FIDELITY",
    "How much of a recording a PerfDataProto holds [default: lossless]",
    Takes::Choice(&[
        (STRICT, "What quipper's own reader makes of it, and nothing else"),
        (LOSSLESS, "All of it, in fields that quipper skips where it has none"),
        (PERF_CONVERTER, "What perf_converter writes: strict, with the passes sort, huge-pages and combine"),
    ]),
);

const STRICT: &str = "strict";
const LOSSLESS: &str = "lossless";
const PERF_CONVERTER: &str = "perf-converter";

/// How much of a recording is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fidelity {
    /// What the schema has a place for, and nothing else.
    Strict,
    /// All of it.
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

/// Passes that every recording goes through.
pub fn usual_passes(values: &OptionValues) -> &'static [Quipper] {
    if values.word(&FIDELITY) == Some(PERF_CONVERTER) { &Quipper::PERF_CONVERTER } else { &[] }
}
