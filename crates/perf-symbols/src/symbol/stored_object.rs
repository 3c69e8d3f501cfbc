//! Objects with names of functions that a recording contains: the sections of simpleperf's features FILE and FILE2, of perfconv's
//! feature with source lines, which has the same framing, and of hiperf.

use super::hiperf;
use crate::object::build_id::Id;
use gimli::{EndianSlice, LittleEndian, Reader};
use std::fmt;

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
/// 1000 build ID, which only perfconv writes
/// ```
pub const FILE2: u32 = 132;

/// The features that consist of stored objects, each with its size.
pub const SIZED_OBJECTS: [u32; 3] = [FILE, FILE2, super::stored_lines::LINES];

/// The features that contain stored objects.
pub const STORED_OBJECTS: [u32; 4] = [FILE, FILE2, super::stored_lines::LINES, hiperf::FILES_SYMBOL];

/// Name of a feature of simpleperf, perfconv or hiperf.
pub fn feature_name(id: u32) -> Option<&'static str> {
    match id {
        FILE => Some("FILE"),
        FILE2 => Some("FILE2"),
        super::stored_lines::LINES => Some("LINES"),
        id => hiperf::feature_name(id),
    }
}

/// The field with the build ID of an object, far beyond those that simpleperf defines. Readers skip fields that they do not know.
pub const BUILD_ID_FIELD: u32 = 1000;

/// Kinds of objects, `DsoType` in simpleperf's `dso.h`.
pub mod kind {
    /// The kernel. Symbols have their addresses.
    pub const KERNEL: u64 = 0;
    /// A kernel module.
    pub const KERNEL_MODULE: u64 = 1;
    /// An ELF file.
    pub const ELF_FILE: u64 = 2;
    /// A file that contains DEX code, such as `.vdex`. Symbols have their offsets.
    pub const DEX_FILE: u64 = 3;
    /// A map of symbols in a process. Symbols have their addresses.
    pub const SYMBOL_MAP: u64 = 4;
}

/// An object.
#[derive(Clone, Debug, Default)]
pub struct StoredObject<'a> {
    /// Its bytes in the section, with those of its size.
    pub bytes: &'a [u8],
    /// Path, or a name such as `[kernel.kallsyms]`.
    pub path: &'a [u8],
    /// [Kind](kind).
    pub kind: u64,
    /// Build ID, if stored.
    pub build_id: Option<Id>,
    /// Symbols, in the order of the section.
    pub symbols: Vec<StoredSymbol<'a>>,
    pub(super) lowest_address: u64,
    /// Offset in the file of the lowest address.
    pub(super) lowest_offset: u64,
}

/// A function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredSymbol<'a> {
    /// Address.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
    /// Linker symbol name.
    pub name: &'a [u8],
}

/// Why an object cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredObjectError {
    /// Offset of the object in the section.
    pub offset: usize,
    /// The problem.
    pub problem: &'static str,
}

impl fmt::Display for StoredObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the object at offset {:#x} {}", self.offset, self.problem)
    }
}

impl StoredObject<'_> {
    /// Difference between the address of a symbol and its offset in the file; 0 if symbols have their addresses in memory.
    pub fn bias(&self) -> u64 {
        match self.kind {
            kind::ELF_FILE | kind::KERNEL_MODULE => self.lowest_address.wrapping_sub(self.lowest_offset),
            _ => 0,
        }
    }
}

/// Bytes of the features. simpleperf only runs on little-endian machines.
pub(super) type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The objects of a section of one of [these features](STORED_OBJECTS). An object that cannot be decoded is an error, after which the
/// next one follows, unless its size exceeds the section.
pub fn stored_objects(
    id: u32,
    section: &[u8],
) -> Box<dyn Iterator<Item = Result<StoredObject<'_>, StoredObjectError>> + '_> {
    match id {
        hiperf::FILES_SYMBOL => Box::new(hiperf::objects(section)),
        _ => Box::new(sized_objects(id, section)),
    }
}

fn sized_objects(id: u32, section: &[u8]) -> impl Iterator<Item = Result<StoredObject<'_>, StoredObjectError>> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let start = offset;
        let rest = section.get(start..).filter(|rest| !rest.is_empty())?;
        let size = rest.first_chunk().map(|size| u32::from_le_bytes(*size) as usize);
        let Some(bytes) = size.and_then(|size| rest.get(..size.checked_add(4)?)) else {
            offset = section.len();
            return Some(Err(StoredObjectError { offset: start, problem: "is larger than the rest of the section" }));
        };
        offset += bytes.len();
        let fields = Bytes::new(&bytes[4..], LittleEndian);
        let object = if id == FILE { plain_object(fields) } else { message_object(fields) };
        let error = |_| StoredObjectError { offset: start, problem: "does not have the layout of this feature" };
        Some(object.map(|object| StoredObject { bytes, ..object }).map_err(error))
    })
}

fn plain_object(mut bytes: Bytes<'_>) -> gimli::Result<StoredObject<'_>> {
    let path = bytes.read_null_terminated_slice()?.slice();
    let (kind, lowest_address, count) = (bytes.read_u32()?.into(), bytes.read_u64()?, bytes.read_u32()?);
    let mut symbols = Vec::new();
    for _ in 0..count {
        let (address, size) = (bytes.read_u64()?, bytes.read_u32()?.into());
        symbols.push(StoredSymbol { address, size, name: bytes.read_null_terminated_slice()?.slice() });
    }
    // Early versions end here.
    let has_offset = matches!(kind, kind::ELF_FILE | kind::KERNEL_MODULE);
    let lowest_offset = if has_offset { bytes.read_u64().unwrap_or(0) } else { 0 };
    Ok(StoredObject { path, kind, symbols, lowest_address, lowest_offset, ..StoredObject::default() })
}

fn message_object(bytes: Bytes<'_>) -> gimli::Result<StoredObject<'_>> {
    let mut object = StoredObject::default();
    each_field(bytes, |number, value| {
        match (number, value) {
            (1, ProtoValue::Bytes(path)) => object.path = path.slice(),
            (2, ProtoValue::Number(kind)) => object.kind = kind,
            (3, ProtoValue::Number(address)) => object.lowest_address = address,
            (4, ProtoValue::Bytes(symbol)) => object.symbols.push(message_symbol(symbol)?),
            (6 | 7, ProtoValue::Bytes(file)) => each_field(file, |number, value| {
                if let (1, ProtoValue::Number(offset)) = (number, value) {
                    object.lowest_offset = offset;
                }
                Ok(())
            })?,
            (number, ProtoValue::Bytes(id)) if number == BUILD_ID_FIELD.into() => object.build_id = Id::new(id.slice()),
            _ => {}
        }
        Ok(())
    })?;
    Ok(object)
}

fn message_symbol(bytes: Bytes<'_>) -> gimli::Result<StoredSymbol<'_>> {
    let mut symbol = StoredSymbol::default();
    each_field(bytes, |number, value| {
        match (number, value) {
            (1, ProtoValue::Number(address)) => symbol.address = address,
            (2, ProtoValue::Number(size)) => symbol.size = size,
            (3, ProtoValue::Bytes(name)) => symbol.name = name.slice(),
            _ => {}
        }
        Ok(())
    })?;
    Ok(symbol)
}

/// The value of a field of a message.
pub(super) enum ProtoValue<'a> {
    Number(u64),
    Bytes(Bytes<'a>),
}

/// Calls a function with the number and the value of each field of a message.
pub(super) fn each_field<'a>(
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
