//! Images of generated code that are written under temporary names until the output is complete.

use hashbrown::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Images that are not yet in place, shared with the search for symbols of the same conversion.
#[derive(Clone, Debug, Default)]
pub struct PendingImages(Arc<Mutex<HashMap<PathBuf, PathBuf>>>);

impl PendingImages {
    /// The file that is to be moved to a path.
    pub fn file(&self, target: &Path) -> Option<PathBuf> {
        self.lock().get(target).cloned()
    }

    /// Adds a file that is to be moved to a path.
    pub fn insert(&self, target: &Path, file: &Path) {
        self.lock().insert(target.to_owned(), file.to_owned());
    }

    /// Removes all files, since they are moved.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for PendingImages {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for PendingImages {}
