//! What there is, told where something is asked for that is not there.

use crate::error::Error;
use std::fmt::Display;

/// How many of those that are there are named.
const NAMED: usize = 10;

/// What filters ask samples for.
#[derive(Clone, Copy, Debug)]
pub struct What {
    /// One of it.
    pub one: &'static str,
    /// Several of it.
    pub several: &'static str,
}

/// The refusal where no sample has what is wanted, with what there is.
pub fn not_there<T: Display>(option: &str, what: What, wanted: &dyn Display, there: impl Iterator<Item = T>) -> Error {
    let there: Vec<_> = there.map(|one| one.to_string()).collect();
    let What { one, several } = what;
    let named = there[..there.len().min(NAMED)].join(", ");
    let there = match there.len() {
        0 => "there are no samples".to_owned(),
        1 => format!("all are of {named}"),
        count if count <= NAMED => format!("there are samples of {count} {several}: {named}"),
        count => format!("there are samples of {count} {several}, the first of which are {named}"),
    };
    Error::not_found(format!("{option}: no sample is of the {one} {wanted}; {there}"))
}

/// The refusal where samples do not tell what is asked for.
pub fn no_field(option: &str, what: &str, count: u64) -> Error {
    let (samples, do_not) = if count == 1 { ("sample", "does not") } else { ("samples", "do not") };
    Error::not_found(format!("{option}: {count} {samples} {do_not} tell {what}; --event chooses those that do"))
}
