//! The mappings of a profile: each once, whichever processes had it, with its build id.

use super::MappingId;
use crate::abi::record::build_id::BuildId;
use crate::abi::record::{CpuMode, Misc};
use crate::session::map::{Map, MapId};
use crate::stream::meta::Meta;
use hashbrown::HashMap;

/// Mappings that stacks refer to.
#[derive(Default)]
pub struct Mappings {
    list: Vec<Map>,
    known: HashMap<Map, MappingId>,
    by_map: HashMap<MapId, MappingId>,
}

impl Mappings {
    /// The number of a session's map.
    pub fn id(&mut self, map_id: MapId, map: &Map) -> MappingId {
        if let Some(&id) = self.by_map.get(&map_id) {
            return id;
        }
        let id = self.number(map);
        self.by_map.insert(map_id, id);
        id
    }

    /// The number of a map that no record told.
    pub fn made_up(&mut self, map: &Map) -> MappingId {
        self.number(map)
    }

    fn number(&mut self, map: &Map) -> MappingId {
        let Self { list, known, .. } = self;
        *known.entry_ref(map).or_insert_with(|| {
            list.push(map.clone());
            list.len() as MappingId - 1
        })
    }

    /// The mappings, with build ids from the recording's table where the maps did not tell them.
    pub fn finish(self, meta: &Meta) -> Vec<Map> {
        let table = BuildIds::new(meta);
        let mut list = self.list;
        for map in list.iter_mut().filter(|map| map.build_id.is_none()) {
            map.build_id = table.of(map);
        }
        list
    }
}

/// The recording's table of build ids.
struct BuildIds {
    by_name: HashMap<Box<[u8]>, Box<[u8]>>,
    kernel: Option<Box<[u8]>>,
}

impl BuildIds {
    fn new(meta: &Meta) -> Self {
        let mut table = Self { by_name: HashMap::new(), kernel: None };
        for (misc, entry) in meta.build_ids() {
            let name = entry.filename.text();
            let id = trimmed(&entry, misc);
            let is_module = [&b".ko"[..], b".ko.xz", b".ko.gz", b".ko.zst"].iter().any(|end| name.ends_with(end));
            let is_kernel = misc.cpu_mode() == CpuMode::KERNEL
                && (name.starts_with(b"[kernel.kallsyms]") || !is_module && !name.starts_with(b"["));
            if is_kernel && table.kernel.is_none() {
                table.kernel = Some(id.into());
            }
            table.by_name.insert(name.into(), id.into());
        }
        table
    }

    fn of(&self, map: &Map) -> Option<Box<[u8]>> {
        let by_name = self.by_name.get(&*map.filename);
        by_name.or(if map.is_kernel() { self.kernel.as_ref() } else { None }).cloned()
    }
}

/// The id without the zeros that fill it up, where its size is not told. Ids are made of 4-byte groups.
fn trimmed(entry: &BuildId, misc: Misc) -> &[u8] {
    let mut id = entry.id(misc);
    while !misc.contains(Misc::BUILD_ID_SIZE) && id.ends_with(&[0; 4]) {
        id = &id[..id.len() - 4];
    }
    id
}
