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
pub(super) struct Imported(Infallible);

impl Imported {
    /// The recording.
    pub fn input(&self) -> Input {
        match self.0 {}
    }

    /// Problems of the input.
    pub fn damage(&self) -> &[Damage] {
        match self.0 {}
    }

    /// The profile, if it is one.
    pub fn profile(&self) -> Option<Arc<ImportedProfile>> {
        match self.0 {}
    }
}

/// Returns the input unchanged.
pub(super) fn convert(input: Input, _: &ReadOptions) -> Result<(Input, Option<Imported>)> {
    Ok((input, None))
}
