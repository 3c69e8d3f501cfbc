//! The lines and inlined functions of each sampled address, and their encoding.

use super::location::{ObjectId, located};
use crate::profile::symbolize::symbols::{Function, FunctionId, Line, Symbols};
use crate::profile::{Place, Profile};
use crate::protobuf::{put, put_bytes, put_message};
use hashbrown::HashMap;
use perf_symbols::symbol::stored_object::BUILD_ID_FIELD;
use std::collections::BTreeMap;

/// Contents of the feature [`LINES`](perf_symbols::symbol::stored_lines::LINES), by object.
#[derive(Debug, Default)]
pub(super) struct EmbeddedLines(BTreeMap<ObjectId, ObjectLines>);

#[derive(Debug, Default)]
struct ObjectLines {
    kind: u64,
    strings: StringTable,
    /// Indexes of name and file, and the start line.
    functions: Vec<[u64; 3]>,
    by_function: HashMap<FunctionId, u64>,
    addresses: BTreeMap<u64, AddressLines>,
}

/// The frames of an address.
#[derive(Debug)]
struct AddressLines {
    symbol_offset: Option<u64>,
    /// Index of the function, line and column, innermost first.
    frames: Vec<[u64; 3]>,
}

/// Strings by their index, which begins at 1; 0 is the empty string.
#[derive(Debug, Default)]
struct StringTable {
    list: Vec<Vec<u8>>,
    indexes: HashMap<Vec<u8>, u64>,
}

impl StringTable {
    fn index(&mut self, string: &[u8]) -> u64 {
        if string.is_empty() {
            return 0;
        }
        if let Some(&index) = self.indexes.get(string) {
            return index;
        }
        self.list.push(string.to_vec());
        let index = self.list.len() as u64;
        self.indexes.insert(string.to_vec(), index);
        index
    }
}

impl EmbeddedLines {
    /// The lines of a profile whose frames were looked up.
    pub(super) fn new(profile: &Profile) -> Self {
        let mut objects = Self::default();
        let tables = &*profile.tables;
        for (id, &frame) in (0..).zip(tables.stacks.frames()) {
            let Place::In(mapping) = frame.place else { continue };
            let lines = tables.symbols.lines(id);
            if lines.is_empty() {
                continue;
            }
            let (object, kind, address) = located(&tables.mappings[mapping as usize], frame.address);
            // A caller whose return address is the start of a function was looked up there.
            let (address, offset) = match tables.symbols.symbol_offset(id) {
                Some(offset) if offset < 0 => (address.wrapping_add(1), Some(offset + 1)),
                offset => (address, offset),
            };
            let entry = objects.0.entry(object).or_insert_with(|| ObjectLines { kind, ..ObjectLines::default() });
            entry.add(address, offset.and_then(|offset| offset.try_into().ok()), lines, &tables.symbols);
        }
        objects
    }

    /// The contents of the feature.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut section = Vec::new();
        for (id, object) in &self.0 {
            let mut message = Vec::new();
            object.encode(id, &mut message);
            section.extend((message.len() as u32).to_le_bytes());
            section.extend(message);
        }
        section
    }
}

impl ObjectLines {
    fn add(&mut self, address: u64, symbol_offset: Option<u64>, lines: &[Line], symbols: &Symbols) {
        if self.addresses.contains_key(&address) {
            return;
        }
        let frames = lines.iter().map(|line| {
            let function = self.function(line.function, symbols);
            [function, line.line.try_into().unwrap_or(0), line.column.try_into().unwrap_or(0)]
        });
        let frames = frames.collect();
        self.addresses.insert(address, AddressLines { symbol_offset, frames });
    }

    fn function(&mut self, id: FunctionId, symbols: &Symbols) -> u64 {
        let Self { strings, functions, by_function, .. } = self;
        *by_function.entry(id).or_insert_with(|| {
            let Some(&Function { system_name, file, start_line, .. }) = symbols.function(id) else { return 0 };
            let [name, file] = [system_name, file].map(|name| strings.index(symbols.name(name)));
            functions.push([name, file, start_line.try_into().unwrap_or(0)]);
            functions.len() as u64
        })
    }

    /// Appends the message of the object. Fields of the value 0 are omitted.
    fn encode(&self, id: &ObjectId, out: &mut Vec<u8>) {
        put_bytes(out, 1, &id.path);
        put(out, 2, self.kind);
        self.strings.list.iter().for_each(|string| put_bytes(out, 11, string));
        self.functions.iter().for_each(|function| put_message(out, 12, |out| put_numbers(out, function)));
        for (&address, AddressLines { symbol_offset, frames }) in &self.addresses {
            put_message(out, 13, |out| {
                put_numbers(out, &[address, symbol_offset.map_or(0, |offset| offset.saturating_add(1))]);
                frames.iter().for_each(|frame| put_message(out, 3, |out| put_numbers(out, frame)));
            });
        }
        if let Some(build_id) = &id.build_id {
            put_bytes(out, BUILD_ID_FIELD, build_id.bytes());
        }
    }
}

/// Appends numbers as fields from 1 on.
fn put_numbers(out: &mut Vec<u8>, numbers: &[u64]) {
    for (field, &number) in (1..).zip(numbers).filter(|(_, number)| **number != 0) {
        put(out, field, number);
    }
}
