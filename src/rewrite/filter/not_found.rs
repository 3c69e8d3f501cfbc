//! Errors for filter values that no sample has.

use perf_data::error::Error;
use perf_data::stream::meta::Meta;
use std::fmt::Display;

/// Maximum number of values listed.
const NAMED: usize = 10;

/// The noun for a filter's values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noun {
    /// Singular.
    pub singular: &'static str,
    /// Plural.
    pub plural: &'static str,
    /// Whether the values are text, which is quoted.
    pub is_text: bool,
}

/// The error for a value that no sample has; lists those that samples have.
pub(crate) fn value_not_found<T: Display>(
    meta: &Meta,
    option: &str,
    noun: Noun,
    wanted: &dyn Display,
    sampled: impl Iterator<Item = T>,
) -> Error {
    let quoted = |value: &dyn Display| if noun.is_text { format!("'{value}'") } else { value.to_string() };
    let sampled: Vec<_> = sampled.map(|value| quoted(&value)).collect();
    let Noun { singular, plural, .. } = noun;
    let named = sampled[..sampled.len().min(NAMED)].join(", ");
    let sampled = match sampled.len() {
        0 => "the recording has no samples".to_owned(),
        1 => format!("all samples are of {singular} {named}"),
        count if count <= NAMED => format!("there are samples of {count} {plural}: {named}"),
        count => format!("there are samples of {count} {plural}, including {named}"),
    };
    let file = &meta.files[0];
    Error::not_found(format!("{file}: {option}: no samples of {singular} {}; {sampled}", quoted(wanted)))
}

/// The error for samples that lack the field to filter by.
pub(crate) fn missing_field(meta: &Meta, option: &str, field: &str, count: u64) -> Error {
    let (samples, do_not) = if count == 1 { ("sample", "does not") } else { ("samples", "do not") };
    let error = Error::not_found(format!("{}: {option}: {count} {samples} {do_not} record {field}", meta.files[0]));
    match meta.events.list() {
        [] | [_] => error,
        _ => error.remedy("event", "to select events that do"),
    }
}
