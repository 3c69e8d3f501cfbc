//! Errors for filter values that no sample has.

use crate::error::Error;
use std::fmt::Display;

/// Maximum number of values listed.
const NAMED: usize = 10;

/// The noun for a filter's values.
#[derive(Clone, Copy, Debug)]
pub struct Noun {
    /// Singular.
    pub singular: &'static str,
    /// Plural.
    pub plural: &'static str,
}

/// The error for a value that no sample has; lists those that samples have.
pub fn value_not_found<T: Display>(
    option: &str,
    noun: Noun,
    wanted: &dyn Display,
    seen: impl Iterator<Item = T>,
) -> Error {
    let seen: Vec<_> = seen.map(|value| value.to_string()).collect();
    let Noun { singular, plural } = noun;
    let named = seen[..seen.len().min(NAMED)].join(", ");
    let seen = match seen.len() {
        0 => "the recording has no samples".to_owned(),
        1 => format!("all samples are of {named}"),
        count if count <= NAMED => format!("there are samples of {count} {plural}: {named}"),
        count => format!("there are samples of {count} {plural}, the first are: {named}"),
    };
    Error::not_found(format!("{option}: no samples of {singular} {wanted}; {seen}"))
}

/// The error for samples that lack the field to filter by.
pub fn missing_field(option: &str, field: &str, count: u64) -> Error {
    let (samples, do_not) = if count == 1 { ("sample", "does not") } else { ("samples", "do not") };
    Error::not_found(format!(
        "{option}: {count} {samples} {do_not} record {field}; use --event to select events that do"
    ))
}
