//! The objects of a recording's mappings.

use super::arch::Architecture;
use super::code::AddressSpace;
use super::object::UnwindObject;
use crate::session::ProcessFiles;
use crate::session::map::{Map, MapId};
use crate::symbol::find::SearchOptions;
use crate::symbol::find::search::Search;
use crate::symbol::source::ObjectKey;
use hashbrown::HashMap;
use std::sync::Arc;

/// Index of an object in [`Objects`].
pub type ObjectId = u32;

/// Describes the object of a mapping.
pub type KeyOf = dyn Fn(&Map, &ProcessFiles) -> ObjectKey + Send;

/// Objects, opened at their first use.
pub struct Objects {
    options: Arc<SearchOptions>,
    key_of: Box<KeyOf>,
    list: Vec<UnwindObject>,
    by_key: HashMap<ObjectKey, ObjectId>,
    by_map: HashMap<MapId, Option<ObjectId>>,
}

/// An address in an object.
pub struct InObject<'a> {
    /// The object.
    pub id: ObjectId,
    /// The object.
    pub object: &'a mut UnwindObject,
    /// The address in its file, if that is known and contains it.
    pub address: Option<u64>,
}

impl Objects {
    /// No objects yet.
    pub fn new(options: SearchOptions, key_of: Box<KeyOf>) -> Self {
        let options = Arc::new(options);
        Self { options, key_of, list: Vec::new(), by_key: HashMap::new(), by_map: HashMap::new() }
    }

    /// The object at an address of a mapping; `None` for memory without a file and without a jitdump.
    pub fn at(
        &mut self,
        space: AddressSpace<'_>,
        arch: &'static Architecture,
        (id, map): (MapId, &Map),
        address: u64,
    ) -> Option<InObject<'_>> {
        let id = self.of_map(id, map, space, arch)?;
        let object = self.list.get_mut(id as usize)?;
        let address = object.address_of_offset(map.address_in_object(address));
        Some(InObject { id, object, address })
    }

    /// The object of a mapping.
    fn of_map(
        &mut self,
        id: MapId,
        map: &Map,
        space: AddressSpace<'_>,
        arch: &'static Architecture,
    ) -> Option<ObjectId> {
        let Self { options, key_of, list, by_key, by_map } = self;
        *by_map.entry(id).or_insert_with(|| {
            let key = key_of(map, space.session.process_files());
            if map.pid.is_some() && key.jit_dump.is_none() {
                return None;
            }
            let next = list.len() as ObjectId;
            let id = *by_key.entry(key).or_insert_with_key(|key| {
                list.push(UnwindObject::find(options, key.clone(), arch));
                next
            });
            Some(id)
        })
    }

    /// ELF machine of the object of a mapping.
    pub fn machine_of(&self, map: &Map) -> Option<u16> {
        let key = map.pid.is_none().then(|| (self.key_of)(map, &ProcessFiles::default()))?;
        Search::new(&self.options, &key, &mut Vec::new()).object().map(|object| object.machine())
    }

    /// The object of a mapping, if it was opened.
    pub fn known(&self, map: MapId) -> Option<&UnwindObject> {
        self.get((*self.by_map.get(&map)?)?)
    }

    /// An object.
    #[inline]
    pub fn get(&self, id: ObjectId) -> Option<&UnwindObject> {
        self.list.get(id as usize)
    }
}
