//! The functions of each object that samples are in, and their encoding.

use crate::profile::{Frame, Place, Profile};
use crate::protobuf::{put, put_bytes, put_message};
use perf_data::session::map::Map;
use perf_symbols::symbol::simpleperf;
use std::collections::BTreeMap;

/// Functions by object.
#[derive(Debug, Default)]
pub(super) struct EmbeddedObjects(BTreeMap<Vec<u8>, EmbeddedObject>);

#[derive(Debug)]
struct EmbeddedObject {
    kind: ObjectKind,
    /// By the address of their start.
    functions: BTreeMap<u64, EmbeddedFunction>,
}

#[derive(Debug)]
struct EmbeddedFunction {
    /// Symbol name, which readers demangle.
    name: Vec<u8>,
    /// End of the last sampled address.
    end: u64,
}

/// The kinds of objects of simpleperf, `DsoType` in its `dso.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObjectKind {
    Kernel = 0,
    KernelModule = 1,
    Elf = 2,
    /// Addresses in a process, such as those of a perf map.
    SymbolMap = 4,
}

impl EmbeddedObjects {
    /// The functions of a profile whose frames were looked up.
    pub(super) fn new(profile: &Profile) -> Self {
        let mut objects = Self::default();
        let tables = &*profile.tables;
        for (id, &frame) in (0..).zip(tables.stacks.frames()) {
            let Place::In(mapping) = frame.place else { continue };
            // Inlined functions have no symbol.
            let Some(function) =
                tables.symbols.lines(id).last().and_then(|line| tables.symbols.function(line.function))
            else {
                continue;
            };
            let name = tables.symbols.name(function.system_name);
            if !name.is_empty() {
                objects.add(&tables.mappings[mapping as usize], frame, name, tables.symbols.symbol_offset(id));
            }
        }
        objects
    }

    fn add(&mut self, map: &Map, frame: Frame, name: &[u8], symbol_offset: Option<i64>) {
        let (kind, address) = located(map, frame.address);
        let path = match kind {
            ObjectKind::Kernel | ObjectKind::SymbolMap => map.printed_file().into_owned(),
            _ => map.filename.to_vec(),
        };
        let functions = &mut self.0.entry(path).or_insert_with(|| EmbeddedObject::new(kind)).functions;
        // Without its start, the function is known at this address only.
        let start = symbol_offset.map_or(address, |offset| address.wrapping_sub(offset as u64));
        let end = address.saturating_add(1);
        let function = functions.entry(start).or_insert_with(|| EmbeddedFunction { name: name.to_vec(), end });
        function.end = function.end.max(end);
    }

    /// Whether there are no functions.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of objects, and of functions.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.0.len(), self.0.values().map(|object| object.functions.len()).sum())
    }

    /// Appends the objects to the contents of the feature [`FILE2`](simpleperf::FILE2). They are little-endian on all machines, since
    /// simpleperf runs on such machines only.
    pub(super) fn append_to(&self, section: &mut Vec<u8>) {
        for (path, object) in &self.0 {
            let mut message = Vec::new();
            object.encode(path, &mut message);
            section.extend((message.len() as u32).to_le_bytes());
            section.extend(message);
        }
    }
}

impl EmbeddedObject {
    fn new(kind: ObjectKind) -> Self {
        Self { kind, functions: BTreeMap::new() }
    }

    /// Appends the message whose schema [`simpleperf::FILE2`] describes. Addresses are offsets in the file, so that the lowest address
    /// and its offset are both 0.
    fn encode(&self, path: &[u8], out: &mut Vec<u8>) {
        put_bytes(out, 1, path);
        put(out, 2, self.kind as u64);
        put(out, 3, 0);
        for (&start, EmbeddedFunction { name, end }) in &self.functions {
            put_message(out, 4, |out| {
                put(out, 1, start);
                // Tools read sizes of 32 bits.
                put(out, 2, (end - start).min(u32::MAX.into()));
                put_bytes(out, 3, name);
            });
        }
        match self.kind {
            ObjectKind::Elf => put_bytes(out, 6, OFFSET_0),
            ObjectKind::KernelModule => put_bytes(out, 7, OFFSET_0),
            ObjectKind::Kernel | ObjectKind::SymbolMap => {}
        }
    }
}

/// The message of an object whose lowest address is at the start of its file.
const OFFSET_0: &[u8] = &[1 << 3, 0];

/// The kind of the object of a mapping, and where an address is in it: the address itself, or an offset.
fn located(map: &Map, address: u64) -> (ObjectKind, u64) {
    if map.is_kernel() {
        (ObjectKind::Kernel, address)
    } else if map.pid.is_some() || simpleperf::has_process_addresses(&map.filename) {
        (ObjectKind::SymbolMap, address)
    } else if map.belongs_to_kernel() {
        (ObjectKind::KernelModule, map.file_offset(address))
    } else {
        (ObjectKind::Elf, map.file_offset(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::session::space::Space;
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
        let mut section = Vec::new();
        objects.append_to(&mut section);
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
}
