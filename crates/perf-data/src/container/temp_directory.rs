//! Temporary directories. Unlike a spool they have a name, so a program that ends on a signal must remove them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{Builder, TempDir};

/// Existing temporary directories.
static DIRECTORIES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn directories() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary directory that only its owner can access, removed when dropped.
#[derive(Debug)]
pub struct TempDirectory {
    path: PathBuf,
    /// `Some` until dropped.
    directory: Option<TempDir>,
}

impl TempDirectory {
    /// Creates one in `dir`, or in the system's default directory.
    ///
    /// # Errors
    /// I/O errors.
    pub fn new(dir: Option<&Path>) -> io::Result<Self> {
        Self::create(&private(), dir)
    }

    /// Creates one whose name begins with a prefix, and not with the dot of hidden files.
    ///
    /// # Errors
    /// I/O errors.
    pub fn visible(dir: Option<&Path>, prefix: &str) -> io::Result<Self> {
        Self::create(private().prefix(prefix).suffix(""), dir)
    }

    fn create(builder: &Builder<'_, '_>, dir: Option<&Path>) -> io::Result<Self> {
        let mut directories = directories();
        let created = match dir {
            Some(dir) => builder.tempdir_in(dir),
            None => builder.tempdir(),
        }?;
        let path = created.path().to_owned();
        directories.insert(path.clone());
        Ok(Self { path, directory: Some(created) })
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempDirectory {
    fn drop(&mut self) {
        // A signal handler that removes all directories waits for this lock.
        let mut directories = directories();
        drop(self.directory.take());
        directories.remove(&self.path);
    }
}

/// The name pattern of temporary files and directories.
pub fn temporary() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".perfconv-").suffix(".tmp");
    builder
}

/// The same, for directories that only their owner can access; files already are.
pub fn private() -> Builder<'static, 'static> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "permissions are of Unix"))]
    let mut builder = temporary();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o700));
    }
    builder
}

/// Creates the parent directories of `file` below an existing directory, and returns the new ones. Symbolic links are not
/// followed.
/// `below` itself is not created: a temporary one may have been removed by a signal handler.
///
/// # Errors
/// I/O errors.
pub fn create_parent_directories(file: &Path, below: &Path) -> io::Result<Vec<PathBuf>> {
    let mut created = Vec::new();
    let mut directory = below.to_owned();
    for part in file.parent().into_iter().flat_map(Path::iter) {
        directory.push(part);
        match fs::create_dir(&directory) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && fs::symlink_metadata(&directory)?.is_dir() => {}
            new => {
                new?;
                created.push(directory.clone());
            }
        }
    }
    Ok(created)
}

/// Removes all temporary directories. For signal handlers, since nothing is dropped when a signal ends the program.
pub fn remove_all() {
    std::mem::take(&mut *directories()).iter().for_each(|directory| remove(directory));
}

/// Removes a file or directory, ignoring errors. A directory that another thread is filling may need more than one attempt.
pub fn remove(path: &Path) {
    let is_gone = || match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).is_ok(),
        Ok(_) => fs::remove_file(path).is_ok(),
        Err(_) => true,
    };
    let _ = (0..100).any(|_| is_gone());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_removed_on_drop() {
        let outside = tempfile::tempdir().unwrap();
        let entries = || fs::read_dir(outside.path()).unwrap().count();
        let directory = TempDirectory::new(Some(outside.path())).unwrap();
        fs::write(directory.path().join("data"), "x").unwrap();
        drop(directory);
        assert_eq!(entries(), 0);
        let directory = TempDirectory::new(Some(outside.path())).unwrap();
        fs::write(directory.path().join("data"), "x").unwrap();
        remove(directory.path());
        assert_eq!(entries(), 0);
        assert!(create_parent_directories(Path::new("a/b/file"), directory.path()).is_err());
        assert_eq!(entries(), 0);
    }
}
