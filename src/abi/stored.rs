//! Structures that grew: how much of them a recorder wrote.

use serde::{Deserialize, Serialize};

/// How many bytes a structure takes in the recording. Its later fields are there only where it is long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Stored(usize);

impl Stored {
    pub(crate) fn new(len: usize) -> Self {
        Self(len)
    }

    pub(crate) fn len(&self) -> usize {
        self.0
    }

    /// Whether a field is there that ends at `end`.
    pub(crate) fn reaches(&self, end: usize) -> bool {
        self.0 >= end
    }

    /// How many bytes stand behind the last whole field, by where each ends.
    pub(crate) fn beyond(&self, field_ends: &[usize]) -> u64 {
        let fields = field_ends.iter().copied().rfind(|&end| self.reaches(end)).unwrap_or(self.0);
        (self.0 - fields) as u64
    }
}
