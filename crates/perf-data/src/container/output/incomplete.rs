//! Incomplete outputs under their temporary names. A program that a signal or a panic ends can remove them.

use crate::container::temp_directory::{private, remove, temporary};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use tempfile::{NamedTempFile, TempDir};

/// Paths of the outputs being written. What ends the program takes the lock first.
static INCOMPLETE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// While it exists, incomplete outputs do not change: none is moved into place.
#[derive(Debug)]
pub struct OutputHold(MutexGuard<'static, Vec<PathBuf>>);

impl OutputHold {
    /// Removes incomplete outputs, for a program that ends.
    pub fn remove_incomplete(&self) {
        self.0.iter().for_each(|path| remove(path));
    }
}

/// Waits until no output is being moved into place, and keeps it so.
pub fn hold() -> OutputHold {
    OutputHold(INCOMPLETE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// As [`hold`], but without waiting, for a thread that may hold them itself.
pub fn try_hold() -> Option<OutputHold> {
    match INCOMPLETE.try_lock() {
        Ok(incomplete) => Some(OutputHold(incomplete)),
        Err(TryLockError::Poisoned(incomplete)) => Some(OutputHold(incomplete.into_inner())),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Creates a temporary file in a directory. Only its owner can access it.
///
/// # Errors
/// Errors of the system.
pub fn file_in(directory: &Path) -> io::Result<NamedTempFile> {
    register(|| temporary().tempfile_in(directory), NamedTempFile::path)
}

/// Creates a temporary directory in a directory. Only its owner can access it.
///
/// # Errors
/// Errors of the system.
pub fn directory_in(directory: &Path) -> io::Result<TempDir> {
    register(|| private().tempdir_in(directory), TempDir::path)
}

fn register<T>(create: impl FnOnce() -> io::Result<T>, path: fn(&T) -> &Path) -> io::Result<T> {
    let mut incomplete = hold();
    // tempfile adds the temporary path to the error; the user knows the output by another name.
    let created = create().map_err(|e| io::Error::from(e.kind()))?;
    // Outputs that were put in place have other names by now.
    incomplete.0.retain(|path| path.exists());
    incomplete.0.push(path(&created).to_owned());
    Ok(created)
}
