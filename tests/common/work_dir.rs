//! Directories for inputs and outputs of a test.

use std::path::PathBuf;
use tempfile::TempDir;

/// A temporary directory. Tests add what they do in it.
pub(crate) struct WorkDir(pub TempDir);

impl WorkDir {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
