//! The files that a server may read: those that were named at its start, and those in a directory.

use crate::cli::failure::Failure;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Number of files in the directory whose names are listed.
const MAX_NAMES: usize = 50;

/// Files and a directory, as absolute paths without links.
pub(super) struct Readable {
    files: Vec<PathBuf>,
    root: Option<PathBuf>,
}

impl Readable {
    /// # Errors
    /// If one does not exist.
    pub(super) fn new(files: Vec<PathBuf>, root: Option<PathBuf>) -> Result<Self, Failure> {
        let resolved = |path: PathBuf| {
            fs::canonicalize(&path).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
        };
        let root = root.map(resolved).transpose()?;
        Ok(Self { files: files.into_iter().map(resolved).collect::<Result<_, _>>()?, root })
    }

    /// The file that a client names, by its path or, if only one has it, by its last part. Links are followed before it is compared,
    /// so that none leads out of the directory.
    pub(super) fn file(&self, name: &str) -> Result<PathBuf, String> {
        let named: Vec<_> = self.files.iter().filter(|file| !name.is_empty() && file.ends_with(name)).collect();
        if let [file] = named[..] {
            return Ok(file.clone());
        }
        let below = self.root.as_deref().map(|root| root.join(name));
        let path = below.as_deref().unwrap_or(Path::new(name));
        let refused = || format!("'{name}' is none of the files that may be read: {self}");
        let path = fs::canonicalize(path).map_err(|_| refused())?;
        let is_readable = self.files.contains(&path) || self.root.as_deref().is_some_and(|root| path.starts_with(root));
        if is_readable { Ok(path) } else { Err(refused()) }
    }

    /// The only file, which need not be named.
    pub(super) fn only(&self) -> Option<PathBuf> {
        match (&self.files[..], &self.root) {
            ([file], None) => Some(file.clone()),
            _ => None,
        }
    }
}

/// Names of the first files in a directory, from which a client learns how its recordings are called.
fn names(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).into_iter().flatten().filter_map(Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut names: Vec<_> = files.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names.truncate(MAX_NAMES);
    names
}

impl fmt::Display for Readable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.files.iter().map(|file| file.display().to_string());
        let root =
            self.root.iter().map(|root| format!("those in {}, such as {}", root.display(), names(root).join(", ")));
        f.write_str(&files.chain(root).collect::<Vec<_>>().join(", "))
    }
}
