//! The interface for files that are fetched from elsewhere, if the user asks for it.

use super::attempt::{Attempt, Role};
use crate::object::build_id::Id;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of an object to fetch.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Path or name of the object.
    pub object: &'a Path,
    /// Its build ID.
    pub build_id: Id,
    /// The kind of file: [`Role::Object`], [`Role::DebugFile`] or [`Role::Source`].
    pub role: Role,
}

/// Fetches files by build ID.
pub trait Fetch: fmt::Debug + Send + Sync {
    /// The path of a fetched file; `None` if it is not available. Appends to `attempts` what was tried.
    fn fetch(&self, wanted: &Wanted<'_>, attempts: &mut Vec<Attempt>) -> Option<PathBuf>;

    /// The path of a fetched source file of an object, by the path that debug information states; `None` if it is not available.
    fn fetch_source(&self, _object: &Wanted<'_>, _path: &str) -> Option<PathBuf> {
        None
    }
}

/// A shared [`Fetch`].
#[derive(Clone, Debug)]
pub struct Fetcher(pub Arc<dyn Fetch>);

impl PartialEq for Fetcher {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Fetcher {}

/// A message about a file that is fetched.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// A download began.
    Started(String),
    /// A file is not available.
    Failed(String),
}
