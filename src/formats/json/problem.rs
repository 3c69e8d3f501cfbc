//! What goes wrong with an object on its way into a recording.

use super::field_error::Wrong;
use crate::error::Error;
use crate::stream::events::Events;
use crate::stream::raw::Raw;

/// What goes wrong with an object: what it tells, or writing it down.
pub enum Problem<'a> {
    /// It tells what cannot be.
    Wrong(Wrong),
    /// A record has other fields than its event says.
    Misfit(Raw<'a>, &'a Events),
    /// The system refuses.
    Error(Error),
}

impl From<Wrong> for Problem<'_> {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

impl From<Error> for Problem<'_> {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Fails with what is wrong.
pub fn wrong<'a, T>(what: impl Into<String>) -> Result<T, Problem<'a>> {
    Err(Wrong::new(what).into())
}
