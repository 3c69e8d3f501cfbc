//! Structures that have grown over time: the size that the recorder stored.

use serde::{Deserialize, Serialize};

/// Size of a structure in the recording. Later fields are present only if it is large enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct StoredSize(usize);

impl StoredSize {
    pub(crate) fn new(len: usize) -> Self {
        Self(len)
    }

    pub(crate) fn len(&self) -> usize {
        self.0
    }

    /// Whether a field that ends at `end` is present.
    pub(crate) fn reaches(&self, end: usize) -> bool {
        self.0 >= end
    }

    /// Number of bytes after the last complete field.
    pub(crate) fn beyond(&self, field_ends: &[usize]) -> u64 {
        let fields = field_ends.iter().copied().rfind(|&end| self.reaches(end)).unwrap_or(self.0);
        (self.0 - fields) as u64
    }
}
