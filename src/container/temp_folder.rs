//! Temporary folders. Unlike a spool they have a name, so that whoever ends the program at once must remove them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{Builder, TempDir};

/// Those that are there.
static FOLDERS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn folders() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary folder, which goes with this value.
#[derive(Debug)]
pub struct TempFolder {
    path: PathBuf,
    /// There until it is dropped.
    folder: Option<TempDir>,
}

impl TempFolder {
    /// Makes one, in the given folder or else where the system keeps temporary files.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(dir: Option<&Path>) -> io::Result<Self> {
        let mut folders = folders();
        let made = match dir {
            Some(dir) => temporary().tempdir_in(dir),
            None => temporary().tempdir(),
        }?;
        let path = made.path().to_owned();
        folders.insert(path.clone());
        Ok(Self { path, folder: Some(made) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // A signal that comes meanwhile waits until nothing is left.
        let mut folders = folders();
        drop(self.folder.take());
        folders.remove(&self.path);
    }
}

/// The names of temporary files and folders.
pub fn temporary() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".perfconv-").suffix(".tmp");
    builder
}

/// Makes the folders that a file is in, below a folder that is there, and says which are new. One that is a link is not gone into.
/// The folder that is there is not made again: a temporary one may have been removed, for a program that a signal ends.
///
/// # Errors
/// What the system says.
pub fn folders_of(file: &Path, below: &Path) -> io::Result<Vec<PathBuf>> {
    let mut made = Vec::new();
    let mut folder = below.to_owned();
    for part in file.parent().into_iter().flat_map(Path::iter) {
        folder.push(part);
        match fs::create_dir(&folder) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && fs::symlink_metadata(&folder)?.is_dir() => {}
            new => {
                new?;
                made.push(folder.clone());
            }
        }
    }
    Ok(made)
}

/// Removes all that are there, for a program that a signal ends: nothing is dropped then.
pub fn remove_all() {
    std::mem::take(&mut *folders()).iter().for_each(|folder| remove(folder));
}

/// Removes what is there, a file or a folder. Nobody is left to tell when it fails. A folder that is still being filled may
/// need more than one attempt.
pub fn remove(path: &Path) {
    let is_gone = || match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path).is_ok(),
        Ok(_) => fs::remove_file(path).is_ok(),
        Err(_) => true,
    };
    let _ = (0..100).any(|_| is_gone());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_value_or_with_all() {
        let outside = tempfile::tempdir().unwrap();
        let entries = || fs::read_dir(outside.path()).unwrap().count();
        let folder = TempFolder::new(Some(outside.path())).unwrap();
        fs::write(folder.path().join("data"), "x").unwrap();
        drop(folder);
        assert_eq!(entries(), 0);
        let folder = TempFolder::new(Some(outside.path())).unwrap();
        fs::write(folder.path().join("data"), "x").unwrap();
        remove(folder.path());
        assert_eq!(entries(), 0);
        assert!(folders_of(Path::new("a/b/file"), folder.path()).is_err());
        assert_eq!(entries(), 0);
    }
}
