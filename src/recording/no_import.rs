//! Without the feature `formats` every input is read as a recording.

use crate::container::read::ReadOptions;
use crate::container::read::input::Input;
use crate::container::walk::Damage;
use crate::error::Result;
use crate::profile::imported::ImportedProfile;
use std::convert::Infallible;
use std::sync::Arc;

/// Uninhabited.
#[derive(Debug)]
pub(super) struct Imported {
    /// Problems of the input.
    pub damage: Vec<Damage>,
    never: Infallible,
}

impl Imported {
    /// The recording.
    pub fn input(&self) -> Input {
        match self.never {}
    }
}

/// Returns the input unchanged.
pub(super) fn convert(input: Input, _: &ReadOptions) -> Result<(Input, Option<Imported>)> {
    Ok((input, None))
}

/// Unreachable.
pub(super) fn profile(imported: &Imported) -> Option<Arc<ImportedProfile>> {
    match imported.never {}
}
