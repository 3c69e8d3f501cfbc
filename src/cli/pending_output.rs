//! What is written, and not in its place yet.

use super::failure::Failure;
use super::output::{Output, parent};
use super::temporary_outputs::{self, Held};
use perfconv::container::temp_folder::temporary;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use tempfile::{NamedTempFile, TempDir};

/// An output that is complete, and not in its place yet. What is dropped instead of put there is removed.
#[must_use = "it has no place yet"]
#[derive(Debug)]
pub struct PendingOutput<'a>(Option<Beside<'a>>);

/// What is beside its place.
#[derive(Debug)]
struct Beside<'a> {
    output: &'a Output,
    target: &'a Path,
    overwrite: bool,
    written: Written,
}

#[derive(Debug)]
enum Written {
    File(NamedTempFile),
    Folder(TempDir),
}

impl<'a> PendingOutput<'a> {
    /// What was written where it belongs.
    pub fn in_place() -> Self {
        Self(None)
    }

    /// A file that belongs to a target, and may take the place of another.
    pub fn file(output: &'a Output, target: &'a Path, overwrite: bool, file: NamedTempFile) -> Self {
        Self(Some(Beside { output, target, overwrite, written: Written::File(file) }))
    }

    /// The same of a folder.
    pub fn folder(output: &'a Output, target: &'a Path, overwrite: bool, folder: TempDir) -> Self {
        Self(Some(Beside { output, target, overwrite, written: Written::Folder(folder) }))
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// What the system says, and where there is something by now that must not be overwritten.
    pub fn put_in_place(self) -> Result<(), Failure> {
        self.put_in_place_held(&temporary_outputs::hold())
    }

    /// The same for one of several that are put in their places while no signal comes between them.
    ///
    /// # Errors
    /// As [`put_in_place`](Self::put_in_place).
    pub fn put_in_place_held(self, _signals_wait: &Held) -> Result<(), Failure> {
        let Some(Beside { output, target, overwrite, written }) = self.0 else { return Ok(()) };
        let placed = match written {
            Written::File(file) if overwrite => file.persist(target).map(drop).map_err(|e| e.error),
            Written::File(file) => file.persist_noclobber(target).map(drop).map_err(|e| e.error),
            Written::Folder(folder) => put_folder(folder.path(), target, overwrite),
        };
        placed.map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory => output.exists(),
            _ => output.failed("cannot put in place", &e),
        })
    }
}

fn put_folder(folder: &Path, target: &Path, overwrite: bool) -> io::Result<()> {
    if !overwrite || !target.exists() {
        return fs::rename(folder, target);
    }
    if exchange(folder, target) {
        return Ok(());
    }
    let old = temporary().tempdir_in(parent(target))?;
    let old_inside = old.path().join("replaced");
    fs::rename(target, &old_inside)?;
    fs::rename(folder, target).inspect_err(|_| drop(fs::rename(&old_inside, target)))
}

/// Has two folders change places in one step, so that there is never a moment without one; not every file system can.
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
