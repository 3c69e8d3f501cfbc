//! The functions of each object that samples are in, and their encoding.

use super::location::{ObjectId, located};
use crate::profile::symbolize::symbols::Function;
use crate::profile::{Frame, Place, Profile};
use crate::protobuf::{put, put_bytes, put_message};
use perf_data::session::map::Map;
use perf_symbols::symbol::stored_object::{BUILD_ID_FIELD, FILE2, kind, stored_objects};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Functions by object.
#[derive(Debug, Default)]
pub(crate) struct EmbeddedObjects {
    objects: BTreeMap<ObjectId, EmbeddedObject>,
    /// Objects of other kinds, such as DEX files, as they are in the recording.
    others: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct EmbeddedObject {
    kind: u64,
    /// By the address of their start.
    functions: BTreeMap<u64, EmbeddedFunction>,
}

#[derive(Clone, Debug)]
struct EmbeddedFunction {
    /// Symbol name, which readers demangle.
    name: Vec<u8>,
    /// End of the last sampled address.
    end: u64,
}

impl EmbeddedObjects {
    /// The functions of a profile whose frames were looked up.
    pub(super) fn new(profile: &Profile) -> Self {
        let mut objects = Self::default();
        let tables = &*profile.tables;
        for (id, &frame) in (0..).zip(tables.stacks.frames()) {
            let Place::In(mapping) = frame.place else { continue };
            // Inlined functions have no symbol.
            let Some(&Function { system_name, .. }) =
                tables.symbols.lines(id).last().and_then(|line| tables.symbols.function(line.function))
            else {
                continue;
            };
            let name = tables.symbols.name(system_name);
            if !name.is_empty() {
                objects.add(&tables.mappings[mapping as usize], frame, name, tables.symbols.symbol_offset(id));
            }
        }
        objects
    }

    /// The objects in the contents of FILE2. Corrupt objects are skipped.
    pub(crate) fn read(section: &[u8]) -> Self {
        let mut read = Self::default();
        for object in stored_objects(FILE2, section).flatten() {
            if ![kind::KERNEL, kind::KERNEL_MODULE, kind::ELF_FILE, kind::SYMBOL_MAP].contains(&object.kind) {
                read.others.push(object.bytes.to_vec());
                continue;
            }
            let id = ObjectId { path: object.path.to_vec(), build_id: object.build_id };
            // Readers use the last object of a path and build ID.
            let entry = EmbeddedObject::new(object.kind);
            read.objects.insert(id.clone(), entry);
            for symbol in &object.symbols {
                let start = symbol.address.wrapping_sub(object.bias());
                read.add_function(id.clone(), object.kind, start, start.saturating_add(symbol.size), symbol.name);
            }
        }
        read
    }

    fn add(&mut self, map: &Map, frame: Frame, name: &[u8], symbol_offset: Option<i64>) {
        let (id, kind, address) = located(map, frame.address);
        // Without its start, the function is known at this address only.
        let start = symbol_offset.map_or(address, |offset| address.wrapping_sub(offset as u64));
        self.add_function(id, kind, start, address.saturating_add(1), name);
    }

    /// Adds a function of an object.
    pub(super) fn add_function(&mut self, id: ObjectId, kind: u64, start: u64, end: u64, name: &[u8]) {
        let functions = &mut self.objects.entry(id).or_insert_with(|| EmbeddedObject::new(kind)).functions;
        let function = functions.entry(start).or_insert_with(|| EmbeddedFunction { name: name.to_vec(), end });
        function.end = function.end.max(end);
    }

    /// Adds the functions of another recording. Returns the number of those that have another name here, which is kept.
    pub(crate) fn join(&mut self, other: Self) -> usize {
        let mut conflicts = 0;
        for (id, EmbeddedObject { kind, functions }) in other.objects {
            let own = &mut self.objects.entry(id).or_insert_with(|| EmbeddedObject::new(kind)).functions;
            for (start, function) in functions {
                match own.entry(start) {
                    Entry::Vacant(entry) => drop(entry.insert(function)),
                    Entry::Occupied(mut entry) if entry.get().name == function.name => {
                        let entry = entry.get_mut();
                        entry.end = entry.end.max(function.end);
                    }
                    Entry::Occupied(_) => conflicts += 1,
                }
            }
        }
        for object in other.others {
            if !self.others.contains(&object) {
                self.others.push(object);
            }
        }
        conflicts
    }

    /// Whether there are no functions.
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Number of objects, and of functions.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.objects.len(), self.objects.values().map(|object| object.functions.len()).sum())
    }

    /// The contents of the feature [`FILE2`]. They are little-endian on all machines, since simpleperf runs on such machines only.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut section = Vec::new();
        for (id, object) in &self.objects {
            let mut message = Vec::new();
            object.encode(id, &mut message);
            section.extend((message.len() as u32).to_le_bytes());
            section.extend(message);
        }
        section.extend(self.others.iter().flatten());
        section
    }
}

impl EmbeddedObject {
    fn new(kind: u64) -> Self {
        Self { kind, functions: BTreeMap::new() }
    }

    /// Appends the message whose schema [`FILE2`] describes. Addresses are offsets in the file, so that the lowest address and its
    /// offset are both 0.
    fn encode(&self, id: &ObjectId, out: &mut Vec<u8>) {
        put_bytes(out, 1, &id.path);
        put(out, 2, self.kind);
        put(out, 3, 0);
        for (&start, EmbeddedFunction { name, end }) in &self.functions {
            put_message(out, 4, |out| {
                put(out, 1, start);
                // Tools read sizes of 32 bits.
                put(out, 2, end.saturating_sub(start).min(u32::MAX.into()));
                put_bytes(out, 3, name);
            });
        }
        match self.kind {
            kind::ELF_FILE => put_bytes(out, 6, OFFSET_0),
            kind::KERNEL_MODULE => put_bytes(out, 7, OFFSET_0),
            _ => {}
        }
        if let Some(build_id) = &id.build_id {
            put_bytes(out, BUILD_ID_FIELD, build_id.bytes());
        }
    }
}

/// The message of an object whose lowest address is at the start of its file.
const OFFSET_0: &[u8] = &[1 << 3, 0];

#[cfg(test)]
mod tests {
    use super::super::location::perf_map_path;
    use super::super::parts::with_processes;
    use super::*;
    use perf_data::session::space::Space;
    use perf_symbols::object::build_id::Id;
    use perf_symbols::symbol::ObjectKey;
    use perf_symbols::symbol::simpleperf::SimpleperfSource;
    use perf_symbols::symbol::source::Source;

    #[test]
    fn the_reader_finds_the_functions_again() {
        let mut objects = EmbeddedObjects::default();
        let file = Map::new(0x40_1000, 0x2000, 0x1000, b"/bin/app", None);
        let kernel_start = 0xffff_ffff_8100_0000;
        let kernel = Map::new(kernel_start, 0x100_0000, kernel_start, b"[kernel.kallsyms]_text", None);
        let module = Map::new(0xffff_ffff_c000_0000, 0x1000, 0, b"[nf_nat]", None);
        let memory = Map { pid: Some(7), ..Map::new(0x7000, 0x1000, 0, b"//anon", None) };
        let mut add = |map: &Map, address, name: &str, offset| {
            let frame = Frame { place: Place::Outside(Space::User), address, is_caller: false };
            objects.add(map, frame, name.as_bytes(), offset);
        };
        add(&file, 0x40_1234, "_ZN3app4workEv", Some(0x34));
        add(&file, 0x40_1210, "_ZN3app4workEv", Some(0x10));
        add(&file, 0x40_1800, "alone", None);
        add(&kernel, kernel_start + 0x10, "do_work", Some(0x10));
        add(&module, 0xffff_ffff_c000_0020, "nat", Some(0));
        add(&memory, 0x7010, "jitted", Some(0x10));
        assert_eq!(objects.counts(), (4, 5));
        let section = objects.encode();
        assert_eq!(EmbeddedObjects::read(&section).encode(), section);
        let source = SimpleperfSource::new(None, Some(&section));
        let name = |key: ObjectKey, address: u64, is_offset: bool| {
            let object = source.open(&key, &mut Vec::new()).expect("the object is in the section");
            let address = if is_offset { object.address_of_offset(address).expect("an address") } else { address };
            let mut names = Vec::new();
            object.with_lookup(&mut |lookup| {
                lookup.look_up(address, &mut |frame| names.push(String::from_utf8_lossy(frame.name).into_owned()));
            });
            names.join(" ")
        };
        let key = |path: &str| ObjectKey { path: path.into(), ..ObjectKey::default() };
        // The function begins at 0x1200, and is known up to 0x1234.
        let in_file = |offset| name(key("/bin/app"), offset, true);
        assert_eq!([0x1200, 0x1234, 0x1235, 0x1800].map(in_file), ["_ZN3app4workEv", "_ZN3app4workEv", "", "alone"]);
        assert_eq!(name(key("[kernel.kallsyms]_text"), kernel_start + 0x10, false), "do_work");
        assert_eq!(name(key("[nf_nat]"), 0x20, true), "nat");
        assert_eq!(name(ObjectKey { pid: Some(7), ..key("//anon") }, 0x7010, false), "jitted");
    }

    fn perf_map(pid: u32) -> ObjectId {
        ObjectId { path: perf_map_path(pid), build_id: None }
    }

    #[test]
    fn recordings_are_joined_by_path_and_build_id() {
        let id = |path: &str, build_id: u8| ObjectId { path: path.into(), build_id: Id::new(&[build_id; 20]) };
        let mut one = EmbeddedObjects::default();
        one.add_function(id("/bin/app", 1), kind::ELF_FILE, 0x10, 0x14, b"f");
        one.add_function(perf_map(7), kind::SYMBOL_MAP, 0x10, 0x14, b"jitted");
        let mut other = EmbeddedObjects::default();
        other.add_function(id("/bin/app", 1), kind::ELF_FILE, 0x10, 0x18, b"f");
        other.add_function(id("/bin/app", 1), kind::ELF_FILE, 0x20, 0x28, b"g");
        other.add_function(id("/bin/app", 2), kind::ELF_FILE, 0x10, 0x18, b"other");
        other.add_function(perf_map(7), kind::SYMBOL_MAP, 0x10, 0x14, b"compiled later");
        let moved = with_processes(FILE2, &other.encode(), |pid| Ok::<_, ()>(pid + 1000)).expect("no error");
        let mut joined = EmbeddedObjects::read(&one.encode());
        assert_eq!((joined.join(EmbeddedObjects::read(&moved)), joined.counts()), (0, (4, 5)));
        assert_eq!((one.join(other), one.counts()), (1, (3, 4)));
    }

    #[test]
    fn objects_of_unknown_kinds_are_kept() {
        let dex = b"\x0a\0\0\0\x0a\x02/d\x10\x03\x2a\x02\x08\x01";
        let section = EmbeddedObjects::read(dex).encode();
        assert_eq!(section, dex);
    }
}
