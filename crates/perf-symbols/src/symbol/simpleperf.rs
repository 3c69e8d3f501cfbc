//! Symbols that simpleperf (Android) stores in its recordings, in the features FILE and FILE2, and hiperf in its own: of each object, the
//! functions that samples are in.

use super::find::attempt::Attempt;
use super::lookup::{FunctionFrame, Lookup};
use super::source::{ObjectKey, OpenedObject, Source};
use super::stored_object::{FILE, FILE2, StoredObject, stored_objects};
use super::stored_paths::StoredPaths;
use super::table::SymbolTable;
use std::sync::Arc;

/// Whether the symbols of a mapping have their addresses in the process, as those of JIT code that simpleperf copied to its
/// cache: `perf.data_jit_app_cache:START-END`.
pub fn has_process_addresses(name: &[u8]) -> bool {
    const CACHES: [&[u8]; 2] = [b"_jit_app_cache:", b"_jit_zygote_cache:"];
    CACHES.iter().any(|cache| memchr::memmem::find(name, cache).is_some())
}

/// A source of the symbols in a recording of simpleperf.
#[derive(Debug, Default)]
pub struct SimpleperfSource {
    objects: StoredPaths<RecordedObject>,
}

/// An object with its symbols.
#[derive(Debug, Default)]
struct RecordedObject {
    table: SymbolTable,
    /// Difference between the address of a symbol and its offset in the file.
    bias: u64,
}

impl SimpleperfSource {
    /// Creates a source from the contents of FILE and FILE2. Corrupt objects are skipped.
    pub fn new(file: Option<&[u8]>, file2: Option<&[u8]>) -> Self {
        Self::from_sections([(FILE, file), (FILE2, file2)].into_iter().filter_map(|(id, section)| Some((id, section?))))
    }

    /// Creates a source from the contents of [features](super::stored_object::STORED_OBJECTS). Corrupt objects are skipped.
    pub fn from_sections<'a>(sections: impl Iterator<Item = (u32, &'a [u8])>) -> Self {
        let mut source = Self::default();
        for (id, section) in sections {
            for object in stored_objects(id, section).flatten() {
                source.add(&object);
            }
        }
        source
    }

    fn add(&mut self, object: &StoredObject<'_>) {
        if object.symbols.is_empty() {
            return;
        }
        let symbols = object.symbols.iter().map(|symbol| (symbol.address, symbol.size, symbol.name));
        let recorded = RecordedObject { table: SymbolTable::from_symbols(symbols), bias: object.bias() };
        if let Some(entry) = self.objects.object_mut(object.path, object.build_id) {
            *entry = recorded;
        }
    }
}

impl Source for SimpleperfSource {
    fn open(&self, key: &ObjectKey, _: &mut Vec<Attempt>) -> Option<Box<dyn OpenedObject>> {
        self.objects.find(key).map(|object| Box::new(object) as _)
    }
}

impl OpenedObject for Arc<RecordedObject> {
    fn address_of_offset(&self, offset: u64) -> Option<u64> {
        Some(offset.wrapping_add(self.bias))
    }

    fn with_lookup(&self, lookups: &mut dyn FnMut(&dyn Lookup)) {
        lookups(&**self);
    }
}

impl Lookup for RecordedObject {
    fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
        self.table.look_up(address, on_frame);
    }
}

#[cfg(test)]
mod tests {
    use super::super::lookup::names;
    use super::*;

    fn shown(source: &SimpleperfSource, path: &str, offset: u64) -> Option<Vec<String>> {
        let key = ObjectKey { path: path.into(), ..ObjectKey::default() };
        let object = source.open(&key, &mut Vec::new())?;
        let mut functions = Vec::new();
        object.with_lookup(&mut |lookup| functions = names(lookup, object.address_of_offset(offset).unwrap()));
        Some(functions)
    }

    /// An object of FILE with a symbol `f` of 16 bytes.
    fn plain(path: &str, kind: u32, lowest_address: u64, address: u64, rest: &[u8]) -> Vec<u8> {
        let fields = [path.as_bytes(), b"\0", &kind.to_le_bytes(), &lowest_address.to_le_bytes(), &1u32.to_le_bytes()];
        let symbol = [&address.to_le_bytes()[..], &16u32.to_le_bytes(), b"f\0", rest];
        let object = [fields.concat(), symbol.concat()].concat();
        [&(object.len() as u32).to_le_bytes()[..], &object].concat()
    }

    #[test]
    fn symbols_of_each_kind_of_object() {
        let section = [
            plain("[kernel.kallsyms]", 0, 0, 0xffff_ffff_8100_0000, b""),
            plain("/lib/libc.so", 2, 0x3b000, 0x3bbec, &0x3a000u64.to_le_bytes()),
            plain("/old", 2, 0x40_0000, 0x40_03a8, b""),
            plain("/truncated", 2, 0, 0, b"")[..20].to_vec(),
        ]
        .concat();
        let source = SimpleperfSource::new(Some(&section), None);
        assert_eq!(shown(&source, "[kernel.kallsyms]_text", 0xffff_ffff_8100_0008).unwrap(), ["f"]);
        assert_eq!(shown(&source, "/lib/libc.so", 0x3abf0).unwrap(), ["f"]);
        assert_eq!(shown(&source, "/lib/libc.so", 0x3bbf0).unwrap(), [""; 0]);
        assert_eq!(shown(&source, "/old", 0x3b7).unwrap(), ["f"]);
        assert_eq!(shown(&source, "/truncated", 0), None);
        assert!(has_process_addresses(b"perf.data_jit_app_cache:0-1000") && !has_process_addresses(b"/jit_app_cache"));
    }

    #[test]
    fn symbols_of_messages() {
        let symbol = b"\x08\x90\x20\x10\x08\x1a\x01g";
        let elf = b"\x32\x02\x08\x80";
        let object = [&b"\x0a\x02/x\x10\x02\x18\x80\x20\x22\x08"[..], symbol, &elf[..2], b"\x08\x00"].concat();
        let section = [&(object.len() as u32).to_le_bytes()[..], &object].concat();
        let source = SimpleperfSource::new(None, Some(&section));
        assert_eq!(shown(&source, "/x", 0x17).unwrap(), ["g"]);
        for len in 0..section.len() {
            SimpleperfSource::new(Some(&section[..len]), Some(&section[..len]));
        }
    }
}
