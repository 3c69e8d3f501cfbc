//! The objects of a recording's mappings, which all threads that unwind its samples share.

use super::arch::Architecture;
use super::code::{AddressSpace, Code, CodeAddress};
use super::memory::integer;
use super::object::UnwindObject;
use crate::symbol::find::SearchOptions;
use crate::symbol::find::search::Search;
use crate::symbol::source::ObjectKey;
use gimli::UnwindContext;
use hashbrown::HashMap;
use perf_data::session::ProcessFiles;
use perf_data::session::map::{Map, MapId};
use std::sync::Arc;

/// Describes the object of a mapping.
pub type KeyOf = dyn Fn(&Map, &ProcessFiles) -> ObjectKey + Send;

/// Objects, opened at their first use. What they answer does not depend on earlier questions.
pub struct Objects {
    options: Arc<SearchOptions>,
    key_of: Box<KeyOf>,
    list: Vec<UnwindObject>,
    by_key: HashMap<ObjectKey, usize>,
    by_map: HashMap<MapId, Option<usize>>,
    /// Scratch memory for the compilation of rules.
    context: Box<UnwindContext<usize>>,
}

impl Objects {
    /// No objects yet.
    pub fn new(options: SearchOptions, key_of: Box<KeyOf>) -> Self {
        let options = Arc::new(options);
        let (list, by_key, by_map) = (Vec::new(), HashMap::new(), HashMap::new());
        Self { options, key_of, list, by_key, by_map, context: Box::default() }
    }

    /// How to unwind from an address.
    pub fn code(&mut self, space: AddressSpace<'_>, arch: &'static Architecture, code_address: CodeAddress) -> Code {
        let Some((map_id, map)) = space.map_at(code_address.address) else { return Code::Unmapped };
        let no_rule = Code::NoRule(map_id);
        let Some(index) = self.object_index(map_id, map, space, arch) else { return no_rule };
        let object = &mut self.list[index];
        let Some(address) = object.address_of_offset(map.address_in_object(code_address.address)) else {
            return no_rule;
        };
        // Signal handlers return to the start of the trampoline, while calls are looked up by the byte before it.
        let start = address.wrapping_add(code_address.is_call.into());
        if arch.trampoline.is_some_and(|trampoline| object.is_trampoline(start, &trampoline)) {
            return Code::Trampoline;
        }
        match object.rule(address, &mut self.context) {
            Some(rule) => Code::Rule(rule),
            None if object.is_entry(address) => Code::Outermost,
            None => no_rule,
        }
    }

    /// Whether an address is in the function where a program starts, whose CFI need not say that it has no caller.
    pub fn is_entry(&mut self, space: AddressSpace<'_>, arch: &'static Architecture, address: u64) -> bool {
        let object = space.map_at(address).and_then(|mapping| self.at(space, arch, mapping, address));
        object.is_some_and(|(object, address)| address.is_some_and(|address| object.is_entry(address)))
    }

    /// Whether there is code at an address, as far as is known.
    pub fn is_code(&mut self, space: AddressSpace<'_>, arch: &'static Architecture, address: u64) -> bool {
        let Some(mapping) = space.map_at(address).filter(|(_, map)| map.may_be_code()) else { return false };
        match self.at(space, arch, mapping, address) {
            Some((object, address)) => address.is_none_or(|address| object.is_code(address)),
            // Memory without a file may contain JIT code.
            None => mapping.1.pid.is_some(),
        }
    }

    /// An integer in constant data of a file.
    pub fn constant(
        &mut self,
        space: AddressSpace<'_>,
        arch: &'static Architecture,
        address: u64,
        size: u8,
    ) -> Option<u64> {
        let (object, address) = self.at(space, arch, space.map_at(address)?, address)?;
        let (bytes, endian) = object.constant(address?)?;
        integer(bytes, size, endian)
    }

    /// The object at an address of a mapping, and the address in its file, if that is known and contains it; `None` for memory
    /// without a file and without a jitdump.
    fn at(
        &mut self,
        space: AddressSpace<'_>,
        arch: &'static Architecture,
        (id, map): (MapId, &Map),
        address: u64,
    ) -> Option<(&UnwindObject, Option<u64>)> {
        let index = self.object_index(id, map, space, arch)?;
        let object = &mut self.list[index];
        let address = object.address_of_offset(map.address_in_object(address));
        Some((object, address))
    }

    /// The index of the object of a mapping.
    fn object_index(
        &mut self,
        id: MapId,
        map: &Map,
        space: AddressSpace<'_>,
        arch: &'static Architecture,
    ) -> Option<usize> {
        let Self { options, key_of, list, by_key, by_map, .. } = self;
        *by_map.entry(id).or_insert_with(|| {
            let key = key_of(map, space.session.process_files());
            // The only CFI of memory without a file is that of a jitdump.
            if map.pid.is_some() && key.jit_dump.is_none() {
                return None;
            }
            Some(*by_key.entry(key).or_insert_with_key(|key| {
                list.push(UnwindObject::find(options, key.clone(), arch));
                list.len() - 1
            }))
        })
    }

    /// ELF machine of the object of a mapping.
    pub fn machine(&self, map: &Map) -> Option<u16> {
        let key = map.pid.is_none().then(|| (self.key_of)(map, &ProcessFiles::default()))?;
        Search::new(&self.options, &key, &mut Vec::new()).object().map(|object| object.machine())
    }

    /// Whether the object of a mapping was searched without success.
    pub fn is_missing(&self, map: MapId) -> bool {
        self.by_map.get(&map).is_some_and(|index| index.is_some_and(|index| !self.list[index].is_found()))
    }
}
