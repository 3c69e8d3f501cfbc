//! Symbols that simpleperf (Android) stores in its recordings, in the features FILE and FILE2: of each object, the functions that
//! samples are in.

use super::find::attempt::Attempt;
use super::lookup::{FunctionFrame, Lookup};
use super::source::{ObjectKey, OpenedObject, Source};
use super::table::SymbolTable;
use gimli::{EndianSlice, LittleEndian, Reader};
use hashbrown::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The feature FILE: for each object its size, a path with a NUL, kind, lowest address, and symbols.
///
/// ```c
/// u32 size; char path[]; u32 type; u64 min_vaddr;
/// u32 symbol_count; struct { u64 vaddr; u32 len; char name[]; } symbols[symbol_count];
/// // DEX files: u32 offset_count; u64 offsets[offset_count]; // ELF files and kernel modules: u64 offset_of_min_vaddr;
/// ```
pub const FILE: u32 = 128;

/// The feature FILE2: for each object its size and a message of this schema.
///
/// ```text
/// 1 path; 2 type; 3 min_vaddr; 4 repeated symbol { 1 vaddr; 2 len; 3 name }
/// 5 DEX file { 1 offsets }; 6 ELF file { 1 file_offset_of_min_vaddr }; 7 kernel module { 1 memory_offset_of_min_vaddr }
/// ```
pub const FILE2: u32 = 132;

/// Whether the symbols of a mapping have their addresses in the process, as those of JIT code that simpleperf copied to its
/// cache: `perf.data_jit_app_cache:START-END`.
pub fn has_process_addresses(name: &[u8]) -> bool {
    const CACHES: [&[u8]; 2] = [b"_jit_app_cache:", b"_jit_zygote_cache:"];
    CACHES.iter().any(|cache| memchr::memmem::find(name, cache).is_some())
}

/// Kinds of objects.
const KERNEL_MODULE: u64 = 1;
const ELF_FILE: u64 = 2;

/// Bytes of the features. simpleperf only runs on little-endian machines.
type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// A source of the symbols in a recording of simpleperf.
#[derive(Debug, Default)]
pub struct SimpleperfSource {
    objects: HashMap<PathBuf, Arc<RecordedObject>>,
}

/// An object with its symbols.
#[derive(Debug, Default)]
struct RecordedObject {
    table: SymbolTable,
    /// Difference between the address of a symbol and its offset in the file.
    bias: u64,
}

/// The fields of an object.
#[derive(Default)]
struct ProtoFields<'a> {
    path: &'a [u8],
    kind: u64,
    lowest_address: u64,
    /// Offset in the file of the lowest address.
    lowest_offset: u64,
    /// Address, size and name.
    symbols: Vec<(u64, u64, &'a [u8])>,
}

impl SimpleperfSource {
    /// Creates a source from the contents of these features. Corrupt objects are skipped.
    pub fn new(file: Option<&[u8]>, file2: Option<&[u8]>) -> Self {
        let mut source = Self::default();
        let mut read = |section: Option<&[u8]>, decode: fn(Bytes<'_>) -> gimli::Result<ProtoFields<'_>>| {
            let mut rest = Bytes::new(section.unwrap_or_default(), LittleEndian);
            while let Ok(bytes) = next(&mut rest) {
                if let Ok(fields) = decode(bytes) {
                    source.add(&fields);
                }
            }
        };
        read(file, plain_fields);
        read(file2, message_fields);
        source
    }

    fn add(&mut self, fields: &ProtoFields<'_>) {
        let Ok(path) = str::from_utf8(fields.path) else { return };
        let bias = match fields.kind {
            ELF_FILE | KERNEL_MODULE => fields.lowest_address.wrapping_sub(fields.lowest_offset),
            _ => 0,
        };
        let table = SymbolTable::from_symbols(fields.symbols.iter().copied());
        if !fields.symbols.is_empty() {
            self.objects.insert(path.into(), Arc::new(RecordedObject { table, bias }));
        }
    }
}

/// The next object: its size, and its bytes.
fn next<'a>(rest: &mut Bytes<'a>) -> gimli::Result<Bytes<'a>> {
    let size = rest.read_u32()?;
    rest.split(size as usize)
}

fn plain_fields(mut bytes: Bytes<'_>) -> gimli::Result<ProtoFields<'_>> {
    let path = bytes.read_null_terminated_slice()?.slice();
    let (kind, lowest_address, count) = (bytes.read_u32()?.into(), bytes.read_u64()?, bytes.read_u32()?);
    let mut symbols = Vec::new();
    for _ in 0..count {
        let (address, size) = (bytes.read_u64()?, bytes.read_u32()?);
        symbols.push((address, size.into(), bytes.read_null_terminated_slice()?.slice()));
    }
    // Early versions end here.
    let lowest_offset = if matches!(kind, ELF_FILE | KERNEL_MODULE) { bytes.read_u64().unwrap_or(0) } else { 0 };
    Ok(ProtoFields { path, kind, lowest_address, lowest_offset, symbols })
}

fn message_fields(bytes: Bytes<'_>) -> gimli::Result<ProtoFields<'_>> {
    let mut fields = ProtoFields::default();
    each_field(bytes, |number, value| {
        match (number, value) {
            (1, ProtoValue::Bytes(path)) => fields.path = path.slice(),
            (2, ProtoValue::Number(kind)) => fields.kind = kind,
            (3, ProtoValue::Number(address)) => fields.lowest_address = address,
            (4, ProtoValue::Bytes(symbol)) => fields.symbols.push(symbol_fields(symbol)?),
            (6 | 7, ProtoValue::Bytes(file)) => each_field(file, |number, value| {
                if let (1, ProtoValue::Number(offset)) = (number, value) {
                    fields.lowest_offset = offset;
                }
                Ok(())
            })?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(fields)
}

fn symbol_fields(bytes: Bytes<'_>) -> gimli::Result<(u64, u64, &[u8])> {
    let (mut address, mut size, mut name) = (0, 0, &[][..]);
    each_field(bytes, |number, value| {
        match (number, value) {
            (1, ProtoValue::Number(number)) => address = number,
            (2, ProtoValue::Number(number)) => size = number,
            (3, ProtoValue::Bytes(bytes)) => name = bytes.slice(),
            _ => {}
        }
        Ok(())
    })?;
    Ok((address, size, name))
}

/// The value of a field of a message.
enum ProtoValue<'a> {
    Number(u64),
    Bytes(Bytes<'a>),
}

/// Calls a function with the number and the value of each field of a message.
fn each_field<'a>(
    mut bytes: Bytes<'a>,
    mut on_field: impl FnMut(u64, ProtoValue<'a>) -> gimli::Result<()>,
) -> gimli::Result<()> {
    while !bytes.is_empty() {
        let tag = bytes.read_uleb128()?;
        let value = match tag & 7 {
            0 => ProtoValue::Number(bytes.read_uleb128()?),
            1 => ProtoValue::Number(bytes.read_u64()?),
            5 => ProtoValue::Number(bytes.read_u32()?.into()),
            2 => {
                let len = bytes.read_uleb128()?;
                ProtoValue::Bytes(bytes.split(usize::try_from(len).map_err(|_| gimli::Error::UnsupportedOffset)?)?)
            }
            _ => return Err(gimli::Error::UnsupportedOffset),
        };
        on_field(tag >> 3, value)?;
    }
    Ok(())
}

impl Source for SimpleperfSource {
    fn open(&self, key: &ObjectKey, _: &mut Vec<Attempt>) -> Option<Box<dyn OpenedObject>> {
        // perf's name of the kernel ends in its reference symbol.
        let name = key.path.to_str()?;
        let name = if name.starts_with("[kernel.kallsyms]") { "[kernel.kallsyms]" } else { name };
        // The names of code in memory are those of a process.
        let map_file = key.pid.map(|pid| PathBuf::from(format!("/tmp/perf-{pid}.map")));
        let own = map_file.and_then(|file| self.objects.get(&file));
        let object = own.or_else(|| self.objects.get(Path::new(name)))?;
        Some(Box::new(Arc::clone(object)))
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
