//! Outputs that are complete but not in place yet.

use super::incomplete::{OutputHold, hold};
use super::path::parent;
use super::{JoinDirectory, Output, exists};
use crate::container::access::Access;
use crate::container::temp_directory::private;
use crate::error::Result;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use tempfile::{NamedTempFile, TempDir};

/// A complete output that is not in place yet. It is removed if dropped.
#[must_use = "the output is removed unless it is put in place"]
#[derive(Debug)]
pub struct PendingOutput<'a>(Option<Temporary<'a>>);

/// A temporary file or directory and its target.
#[derive(Debug)]
struct Temporary<'a> {
    output: &'a Output,
    target: &'a Path,
    overwrite: bool,
    access: Access,
    written: Written,
}

#[derive(Debug)]
enum Written {
    File(NamedTempFile),
    Directory(TempDir),
    Part(TempDir, JoinDirectory),
}

impl<'a> PendingOutput<'a> {
    /// An output that was written directly to its target.
    pub fn in_place() -> Self {
        Self(None)
    }

    /// A temporary file for a target, which it may replace with `overwrite`.
    pub fn file(output: &'a Output, target: &'a Path, overwrite: bool, file: NamedTempFile) -> Self {
        Self::temporary(output, target, overwrite, Written::File(file))
    }

    /// A temporary directory for a target.
    pub fn directory(output: &'a Output, target: &'a Path, overwrite: bool, directory: TempDir) -> Self {
        Self::temporary(output, target, overwrite, Written::Directory(directory))
    }

    /// A temporary directory whose files are moved into another.
    pub fn part(output: &'a Output, target: &'a Path, join: JoinDirectory, directory: TempDir) -> Self {
        Self::temporary(output, target, true, Written::Part(directory, join))
    }

    fn temporary(output: &'a Output, target: &'a Path, overwrite: bool, written: Written) -> Self {
        Self(Some(Temporary { output, target, overwrite, access: output.access(), written }))
    }

    /// The same output, which only users may read who have this access, too.
    pub fn restricted(self, access: Access) -> Self {
        Self(self.0.map(|temporary| Temporary { access: temporary.access.and(access), ..temporary }))
    }

    /// Moves the output into place.
    ///
    /// # Errors
    /// Errors of the system, and if the target was created meanwhile and must not be overwritten.
    pub fn put_in_place(self) -> Result<()> {
        self.put_in_place_held(&hold())
    }

    /// Moves the output into place, as one of several that must appear together.
    ///
    /// # Errors
    /// As [`put_in_place`](Self::put_in_place).
    pub fn put_in_place_held(self, _: &OutputHold) -> Result<()> {
        let Some(Temporary { output, target, overwrite, access, written }) = self.0 else { return Ok(()) };
        match &written {
            Written::File(file) => access.open_file(file.path(), target),
            Written::Directory(directory) => access.open_directory(directory.path()),
            // The directory that the files are moved to may be accessible to others.
            Written::Part(directory, _) => access.restrict_entries(directory.path()),
        }
        .map_err(output.failed("cannot set permissions"))?;
        let placed = match written {
            Written::File(file) if overwrite => file.persist(target).map(drop).map_err(|e| e.error),
            Written::File(file) => file.persist_noclobber(target).map(drop).map_err(|e| e.error),
            Written::Directory(directory) => put_directory(directory.path(), target, overwrite),
            Written::Part(directory, join) => join(directory.path(), target),
        };
        placed.map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory => {
                exists(&output.name())
            }
            _ => output.failed("cannot put in place")(e),
        })
    }
}

fn put_directory(directory: &Path, target: &Path, overwrite: bool) -> io::Result<()> {
    if !overwrite || !target.exists() {
        return fs::rename(directory, target);
    }
    if exchange(directory, target) {
        return Ok(());
    }
    let old = private().tempdir_in(parent(target))?;
    let old_inside = old.path().join("replaced");
    fs::rename(target, &old_inside)?;
    fs::rename(directory, target).inspect_err(|_| drop(fs::rename(&old_inside, target)))
}

/// Exchanges two directories atomically, so that the target always exists; not every file system supports that.
fn exchange(one: &Path, other: &Path) -> bool {
    #[cfg(target_os = "linux")]
    let done = {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
    };
    #[cfg(not(target_os = "linux"))]
    let done = {
        let _ = (one, other);
        false
    };
    done
}
