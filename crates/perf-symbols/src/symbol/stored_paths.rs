//! Objects stored in a recording by their path and build ID.

use super::source::ObjectKey;
use crate::object::build_id::Id;
use hashbrown::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Objects by path.
#[derive(Debug)]
pub(super) struct StoredPaths<T>(HashMap<PathBuf, SamePath<T>>);

/// The objects of a path, which have different build IDs.
#[derive(Debug)]
struct SamePath<T> {
    /// In the order of the section.
    objects: Vec<Arc<T>>,
    /// Indexes of the objects: a section can have any number of objects of one path.
    by_build_id: HashMap<Option<Id>, usize>,
}

impl<T> Default for SamePath<T> {
    fn default() -> Self {
        Self { objects: Vec::new(), by_build_id: HashMap::new() }
    }
}

impl<T> Default for StoredPaths<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Default> StoredPaths<T> {
    /// The object of a path and build ID, which is created if it does not exist; `None` if its path is no UTF-8, which simpleperf
    /// requires.
    pub(super) fn object_mut(&mut self, path: &[u8], build_id: Option<Id>) -> Option<&mut T> {
        let SamePath { objects, by_build_id } = self.0.entry(str::from_utf8(path).ok()?.into()).or_default();
        let index = *by_build_id.entry(build_id).or_insert_with(|| {
            objects.push(Arc::default());
            objects.len() - 1
        });
        Arc::get_mut(&mut objects[index])
    }

    /// The stored object that a recording describes: the last one with its path whose build ID does not differ.
    pub(super) fn find(&self, key: &ObjectKey) -> Option<Arc<T>> {
        // perf's name of the kernel ends in its reference symbol.
        let name = key.path.to_str()?;
        let name = if name.starts_with("[kernel.kallsyms]") { "[kernel.kallsyms]" } else { name };
        // The names of code in memory are those of a process.
        let map_file = key.pid.map(|pid| PathBuf::from(format!("/tmp/perf-{pid}.map")));
        let own = map_file.and_then(|file| self.0.get(&file));
        let SamePath { objects, by_build_id } = own.or_else(|| self.0.get(Path::new(name)))?;
        let index = match key.build_id {
            None => objects.len().checked_sub(1),
            Some(_) => [None, key.build_id].iter().filter_map(|id| by_build_id.get(id)).max().copied(),
        };
        objects.get(index?).map(Arc::clone)
    }
}
