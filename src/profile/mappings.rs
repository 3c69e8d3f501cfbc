//! The mappings of a profile: each once, whichever processes had it, with its build id.
//!
//! Where a program or a library lies is another place in each process that it is loaded into. What its addresses mean is not:
//! so that a thousand processes of one program come to one mapping, not to a thousand, and the same code is one frame.

use super::{Frame, MappingId, Place};
use crate::abi::record::build_id::BuildId;
use crate::abi::record::{CpuMode, Misc};
use crate::session::map::{Map, MapId};
use crate::stream::meta::Meta;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use std::hash::{BuildHasher, Hash};

/// Mappings that stacks refer to.
#[derive(Default)]
pub struct Mappings {
    hasher: DefaultHashBuilder,
    list: Vec<Map>,
    table: HashTable<MappingId>,
    /// By the numbers of a session's maps.
    by_map: Vec<Option<Mapped>>,
}

/// What a map of a session is in the profile.
#[derive(Clone, Copy)]
struct Mapped {
    mapping: MappingId,
    /// How much further its addresses are in the mapping, modulo 2^64.
    further: u64,
}

impl Mappings {
    /// The number of a session's map.
    pub fn id(&mut self, map_id: MapId, map: &Map) -> MappingId {
        self.mapped(map_id, map).mapping
    }

    /// What is at an address of a session's map.
    #[inline]
    pub fn frame(&mut self, map_id: MapId, map: &Map, address: u64) -> Frame {
        let Mapped { mapping, further } = self.mapped(map_id, map);
        Frame { place: Place::In(mapping), address: address.wrapping_add(further) }
    }

    /// The number of a map that no record told.
    pub fn made_up(&mut self, map: &Map) -> MappingId {
        self.number(map)
    }

    fn mapped(&mut self, map_id: MapId, map: &Map) -> Mapped {
        let index = map_id.0 as usize;
        if let Some(&Some(mapped)) = self.by_map.get(index) {
            return mapped;
        }
        let mapping = self.number(map);
        let further = self.list[mapping as usize].start.wrapping_sub(map.start);
        let mapped = Mapped { mapping, further };
        if self.by_map.len() <= index {
            self.by_map.resize(index + 1, None);
        }
        self.by_map[index] = Some(mapped);
        mapped
    }

    fn number(&mut self, map: &Map) -> MappingId {
        let Self { hasher, list, table, .. } = self;
        let number = list.len() as MappingId;
        let same = |&other: &MappingId| identity(&list[other as usize]) == identity(map);
        let hash = |map: &Map| hasher.hash_one(identity(map));
        let known = *table.entry(hash(map), same, |&other| hash(&list[other as usize])).or_insert(number).get();
        if known == number {
            list.push(map.clone());
        }
        known
    }

    /// The mappings, with build ids from the recording's table where the maps did not tell them.
    pub fn finish(self, meta: &Meta) -> Vec<Map> {
        let table = BuildIds::new(meta);
        let mut list = self.list;
        list.iter_mut().for_each(|map| table.complete(map));
        list
    }

    /// The mappings so far, without these build ids.
    pub fn list(&self) -> &[Map] {
        &self.list
    }
}

/// What tells mappings from each other: a file in memory by which part of which file it is, all else also by where it lies.
fn identity(map: &Map) -> impl Eq + Hash {
    let start = if map.is_of_file() { None } else { Some(map.start) };
    (start, map.limit - map.start, map.pgoff, &map.filename, &map.build_id)
}

/// The recording's table of build ids.
pub struct BuildIds {
    by_name: HashMap<Box<[u8]>, Box<[u8]>>,
    kernel: Option<Box<[u8]>>,
}

impl BuildIds {
    /// The table, as far as it is known.
    pub fn new(meta: &Meta) -> Self {
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

    /// Gives a map without a build id the one of the table.
    pub fn complete(&self, map: &mut Map) {
        if map.build_id.is_none() {
            map.build_id = self.of(map);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_one_mapping_wherever_it_lies_and_the_rest_by_where_it_lies() {
        let mut mappings = Mappings::default();
        let libc = Map::new(0x7000, 0x3000, 0x1000, b"/lib/libc.so.6", Some(&[1]));
        let frame = |mappings: &mut Mappings, id, map: &Map, address| {
            let Frame { place: Place::In(mapping), address } = mappings.frame(MapId(id), map, address) else {
                panic!("it is in the map")
            };
            (mapping, address)
        };
        assert_eq!(frame(&mut mappings, 0, &libc, 0x7010), (0, 0x7010));
        let lower = Map { start: 0x2000, limit: 0x5000, ..libc.clone() };
        assert_eq!(frame(&mut mappings, 5, &lower, 0x2010), (0, 0x7010));
        assert_eq!(frame(&mut mappings, 5, &lower, 0x4fff), (0, 0x9fff));
        assert_eq!(mappings.id(MapId(5), &lower), 0);
        let others = [
            Map { pgoff: 0x2000, ..lower.clone() },
            Map { limit: 0x4000, ..lower.clone() },
            Map { build_id: None, ..lower.clone() },
            Map { build_id: Some([2].into()), ..lower.clone() },
            Map { filename: (*b"/lib/libm.so.6").into(), ..lower.clone() },
        ];
        for (number, other) in (1..).zip(&others) {
            assert_eq!(frame(&mut mappings, 10 + number, other, 0x2010), (number, 0x2010));
        }
        for name in
            ["//anon", "[heap]", "[vdso]", "/memfd:jit (deleted)", "/tmp/x (deleted)", "/dev/zero", "/SYSV0", ""]
        {
            let map = |start| Map::new(start, 0x1000, 0, name.as_bytes(), None);
            let [a, b, again] = [0x1000, 0x5000, 0x1000].map(|start| mappings.made_up(&map(start)));
            assert!(a != b && a == again, "{name}");
        }
    }
}
