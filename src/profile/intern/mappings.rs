//! Mappings of a profile, interned across processes, with their build IDs.
//!
//! A file may be mapped at different addresses in each process. Mappings of the same part of a file are one mapping, and its
//! addresses are rebased, so that a thousand processes of a program share their mappings and frames.

use super::frames::Address;
use crate::profile::{Frame, MappingId, Place};
use hashbrown::{DefaultHashBuilder, HashTable};
use perf_data::session::address_space::AddressSpace;
use perf_data::session::map::{Map, MapId};
use perf_data::stream::meta::Meta;
use perf_symbols::symbolizer::recorded_build_ids::BuildIds;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

/// Interned mappings.
#[derive(Default)]
pub(crate) struct Mappings {
    hasher: DefaultHashBuilder,
    list: Vec<Map>,
    table: HashTable<MappingId>,
    /// Profile mappings by session map ID.
    by_map: Vec<Option<Mapped>>,
    /// Whether memory that may be JIT code is distinguished by process: each has its own functions at an address.
    by_process: bool,
    /// Whether files at different addresses are distinguished.
    by_address: bool,
}

/// The profile mapping of a session map.
#[derive(Clone, Copy)]
struct Mapped {
    mapping: MappingId,
    /// Wrapping offset from an address of the map to that of the mapping.
    offset: u64,
}

impl Mappings {
    /// Creates an empty table, in which memory that may be JIT code is distinguished by process if `by_process` is set.
    pub(crate) fn new(by_process: bool) -> Self {
        Self { by_process, ..Self::default() }
    }

    /// Creates an empty table in which addresses stay those of their process.
    pub(crate) fn as_recorded() -> Self {
        Self { by_process: true, by_address: true, ..Self::default() }
    }

    /// The frame of an address in a session map.
    #[inline]
    pub(crate) fn frame<M: Borrow<Map>>(
        &mut self,
        map_id: MapId,
        map: impl FnOnce() -> M,
        address: u64,
        is_caller: bool,
    ) -> Frame {
        let Mapped { mapping, offset } = self.mapped(map_id, map);
        Frame { place: Place::In(mapping), address: address.wrapping_add(offset), is_caller }
    }

    /// The frame of an address as a process sees it; `None` if no mapping holds it.
    #[inline]
    pub(crate) fn frame_at(&mut self, maps: &AddressSpace, at: Address) -> Option<Frame> {
        let Address { address, space, is_caller } = at;
        if let Some(id) = maps.map_at(space, address) {
            return Some(self.frame(id, || maps.map(id), address, is_caller));
        }
        // A signal handler returns to the start of the trampoline, with which a mapping can begin.
        let start = address.saturating_add(1);
        let id = if is_caller { maps.map_at(space, start) } else { None }?;
        Some(self.frame(id, || maps.map(id), start, false))
    }

    fn mapped<M: Borrow<Map>>(&mut self, map_id: MapId, map: impl FnOnce() -> M) -> Mapped {
        let index = map_id.0 as usize;
        if let Some(&Some(mapped)) = self.by_map.get(index) {
            return mapped;
        }
        let map = map();
        let map = map.borrow();
        let mapping = self.number(map);
        let offset = self.list[mapping as usize].start.wrapping_sub(map.start);
        let mapped = Mapped { mapping, offset };
        if self.by_map.len() <= index {
            self.by_map.resize(index + 1, None);
        }
        self.by_map[index] = Some(mapped);
        mapped
    }

    /// The ID of a mapping.
    pub(crate) fn number(&mut self, map: &Map) -> MappingId {
        let Self { hasher, list, table, by_process, by_address, .. } = self;
        let (by_process, by_address) = (*by_process, *by_address);
        let number = list.len() as MappingId;
        let identity = |map| identity(map, by_process, by_address);
        let same = |&other: &MappingId| identity(&list[other as usize]) == identity(map);
        let hash = |map| hasher.hash_one(identity(map));
        let id = *table.entry(hash(map), same, |&other| hash(&list[other as usize])).or_insert(number).get();
        if id == number {
            list.push(map.clone());
        }
        id
    }

    /// Returns the mappings, with missing build IDs taken from the recording's table.
    pub(crate) fn finish(self, meta: &Meta) -> Vec<Map> {
        let table = BuildIds::new(meta);
        let mut list = self.list;
        list.iter_mut().for_each(|map| table.complete(map));
        list
    }

    /// The mappings so far, without build IDs of the table.
    pub(crate) fn list(&self) -> &[Map] {
        &self.list
    }
}

/// Identifies a mapping: for a file the mapped part, for anything else also the address.
fn identity(map: &Map, by_process: bool, by_address: bool) -> impl Eq + Hash {
    let start = if map.maps_file() && !by_address { None } else { Some(map.start) };
    let pid = by_process.then_some(map.pid);
    (start, map.limit - map.start, map.pgoff, &map.filename, &map.build_id, pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_one_mapping_at_any_address_and_others_are_not() {
        let mut mappings = Mappings::default();
        let libc = Map::new(0x7000, 0x3000, 0x1000, b"/lib/libc.so.6", Some(&[1]));
        let frame = |mappings: &mut Mappings, id, map: &Map, address| {
            let Frame { place: Place::In(mapping), address, .. } = mappings.frame(MapId(id), || map, address, false)
            else {
                panic!("the address is in the map")
            };
            (mapping, address)
        };
        assert_eq!(frame(&mut mappings, 0, &libc, 0x7010), (0, 0x7010));
        let lower = Map { start: 0x2000, limit: 0x5000, ..libc.clone() };
        assert_eq!(frame(&mut mappings, 5, &lower, 0x2010), (0, 0x7010));
        assert_eq!(frame(&mut mappings, 5, &lower, 0x4fff), (0, 0x9fff));
        assert_eq!(mappings.number(&lower), 0);
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
            let [a, b, same] = [0x1000, 0x5000, 0x1000].map(|start| mappings.number(&map(start)));
            assert!(a != b && a == same, "{name}");
        }
    }
}
