//! Objects that stay open between calls.

use super::find::attempt::Attempt;
use super::source::{ObjectKey, OpenedObject};
use hashbrown::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum memory of all objects, such as for decompressed debug information.
const MAX_MEMORY: u64 = 128 << 20;

/// Maximum number of objects, each of which maps files.
const MAX_OBJECTS: usize = 256;

/// An opened object, if any, and how it was found.
pub(super) type CachedObject = (Option<Arc<dyn OpenedObject>>, Vec<Attempt>);

/// Objects by key. If it is full, further objects are opened anew for each call.
#[derive(Default)]
pub(super) struct ObjectCache(Mutex<Objects>);

#[derive(Default)]
struct Objects {
    by_key: HashMap<ObjectKey, CachedObject>,
    memory_size: u64,
}

impl ObjectCache {
    /// The object of a key, opened by `open` unless it is kept.
    pub(super) fn get(&self, key: &ObjectKey, open: impl FnOnce() -> CachedObject) -> CachedObject {
        let objects = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = objects().by_key.get(key) {
            return kept.clone();
        }
        // Not locked meanwhile: other threads open other objects.
        let opened = open();
        let size = opened.0.as_ref().map_or(0, |object| object.memory_size());
        let mut objects = objects();
        if objects.by_key.len() < MAX_OBJECTS && objects.memory_size + size <= MAX_MEMORY {
            objects.memory_size += size;
            objects.by_key.insert(key.clone(), opened.clone());
        }
        opened
    }
}

impl fmt::Debug for ObjectCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(objects.by_key.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::lookup::Lookup;
    use super::*;

    struct Sized(u64);

    impl OpenedObject for Sized {
        fn address_of_offset(&self, _: u64) -> Option<u64> {
            None
        }

        fn memory_size(&self) -> u64 {
            self.0
        }

        fn with_lookup(&self, _: &mut dyn FnMut(&dyn Lookup)) {}
    }

    #[test]
    fn objects_are_opened_once_up_to_a_limit() {
        let kept = ObjectCache::default();
        let mut opened = 0;
        let mut get = |path: &str, size| {
            let key = ObjectKey { path: path.into(), ..ObjectKey::default() };
            kept.get(&key, || {
                opened += 1;
                (Some(Arc::new(Sized(size))), Vec::new())
            });
            opened
        };
        assert_eq!([get("a", 1), get("a", 1), get("b", MAX_MEMORY - 1), get("b", 0)], [1, 1, 2, 2]);
        assert_eq!([get("c", 1), get("c", 1), get("d", 0), get("d", 0)], [3, 4, 5, 5]);
    }
}
