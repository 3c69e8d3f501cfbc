//! Functions, inlined functions and lines of Go programs from `.gopclntab`, which the runtime needs and stripped programs keep.

use super::lookup::{FunctionFrame, Lookup};
use super::object::Object;
use object::Endianness;
use perf_data::session::names::MAX_NAME;
use std::cell::Cell;

/// Maximum number of entries that are read of a pc-value table. A function's tables have a few hundred.
const STEPS: usize = 1 << 15;

/// Number of entries that may be read for each address that is looked up; those that are not read can be read for later addresses.
/// Otherwise the tables of inlined functions, each with the maximum, would take a second per address.
const STEPS_PER_ADDRESS: usize = 1 << 12;

/// Maximum depth of inlined functions: a damaged tree can have cycles.
const DEPTH: usize = 256;

/// Sections that may contain the table.
const SECTIONS: [&[u8]; 2] = [b".gopclntab", b".data.rel.ro.gopclntab"];

/// Index of the pc-value table that maps addresses to entries of the inlining tree (`PCDATA_InlTreeIndex`).
const INLINED_CALL: usize = 2;

/// Index of the function's data that locates its inlining tree (`FUNCDATA_InlTree`).
const INLINING_TREE: usize = 3;

/// The version of Go that wrote the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Version {
    /// Function addresses are absolute, and inlining trees are located by pointers.
    Go116,
    /// Function addresses are relative to the text section.
    Go118,
    /// Functions have a start line.
    Go120,
}

/// The table of functions of an object.
#[derive(Debug)]
pub(super) struct GoTable<'a> {
    version: Version,
    bytes: Bytes<'a>,
    word: usize,
    quantum: u64,
    functions: usize,
    text: u64,
    names: usize,
    units: usize,
    files: usize,
    values: usize,
    table: usize,
    /// The bytes that inlining trees are located in.
    trees: Option<Bytes<'a>>,
    /// Number of entries of pc-value tables that may still be read.
    steps: Cell<usize>,
}

/// Bytes with a byte order.
#[derive(Clone, Copy, Debug)]
struct Bytes<'a> {
    data: &'a [u8],
    endian: Endianness,
}

impl<'a> Bytes<'a> {
    fn u32(self, at: usize) -> Option<u32> {
        let bytes = *self.data.get(at..)?.first_chunk()?;
        Some(if self.endian == Endianness::Big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn word(self, at: usize, size: usize) -> Option<u64> {
        if size == 4 {
            return self.u32(at).map(u64::from);
        }
        let bytes = *self.data.get(at..)?.first_chunk()?;
        Some(if self.endian == Endianness::Big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    fn offset(self, at: usize, size: usize) -> Option<usize> {
        self.word(at, size)?.try_into().ok()
    }

    fn text(self, at: usize) -> Option<&'a [u8]> {
        let rest = self.data.get(at..)?;
        // Any number of functions can have one long name, or parts of it.
        let start = &rest[..rest.len().min(MAX_NAME + 1)];
        let end = memchr::memchr(0, start).or_else(|| (start.len() > MAX_NAME).then_some(start.len()))?;
        Some(&start[..end])
    }
}

/// A function in the table.
#[derive(Clone, Copy, Debug)]
struct GoFunction {
    /// Offset of its description.
    at: usize,
    entry: u64,
}

impl<'a> GoTable<'a> {
    /// The table of an object, if it has one of a known version.
    pub(super) fn new(object: &'a Object) -> Option<Self> {
        let index = SECTIONS.iter().find_map(|name| object.section_index(name))?;
        let bytes = Bytes { data: object.section_data(index), endian: object.endian() };
        let version = match bytes.u32(0)? {
            0xffff_fffa => Version::Go116,
            0xffff_fff0 => Version::Go118,
            0xffff_fff1 => Version::Go120,
            _ => return None,
        };
        let [quantum, word] = [*bytes.data.get(6)?, *bytes.data.get(7)?];
        let word = usize::from(word);
        if ![4, 8].contains(&word) || ![1, 2, 4].contains(&quantum) {
            return None;
        }
        let field = |number: usize| bytes.offset(8 + number * word, word);
        let first = if version == Version::Go116 { 2 } else { 3 };
        let recorded = if version == Version::Go116 { 0 } else { bytes.word(8 + 2 * word, word)? };
        // In position-independent programs, the linker may leave the address to the loader.
        let start = || object.section_index(b".text").map(|index| object.sections()[index].address);
        let text = if recorded == 0 && version > Version::Go116 { start()? } else { recorded };
        let mut table = Self {
            version,
            bytes,
            word,
            quantum: quantum.into(),
            functions: field(0)?,
            text,
            names: field(first)?,
            units: field(first + 1)?,
            files: field(first + 2)?,
            values: field(first + 3)?,
            table: field(first + 4)?,
            trees: None,
            steps: Cell::new(STEPS),
        };
        // Each function takes at least 8 bytes.
        table.functions = table.functions.min(bytes.data.len() / 8);
        table.trees = table.find_trees(object, object.sections()[index].address);
        Some(table)
    }

    /// Finds the base of inlining trees: a field of the runtime's `moduledata`, which begins with the addresses of this table and
    /// of its names.
    fn find_trees(&self, object: &'a Object, address: u64) -> Option<Bytes<'a>> {
        // The index of `gofunc`, in words. Go 1.20 added two words before it, for coverage counters.
        let field = match self.version {
            Version::Go116 => return None,
            Version::Go118 => 38,
            Version::Go120 => 40,
        };
        let names = address.checked_add(self.names as u64)?;
        for index in 0..object.sections().len() {
            let section = &object.sections()[index];
            if section.is_executable || section.address == 0 || section.address == address {
                continue;
            }
            let data = Bytes { data: object.section_data(index), endian: object.endian() };
            for at in (0..data.data.len()).step_by(self.word) {
                if data.word(at, self.word) == Some(address) && data.word(at + self.word, self.word) == Some(names) {
                    let start = data.word(at + field * self.word, self.word)?;
                    let data = object.bytes_at(start);
                    return (!data.is_empty()).then_some(Bytes { data, endian: object.endian() });
                }
            }
        }
        None
    }

    /// The start address of a function by its index, and the offset of its description.
    fn function(&self, number: usize) -> Option<GoFunction> {
        let (size, start) = if self.version == Version::Go116 { (self.word, 0) } else { (4, self.text) };
        let at = self.table.checked_add(number.checked_mul(2 * size)?)?;
        let entry = start.checked_add(self.bytes.word(at, size)?)?;
        Some(GoFunction { at: self.table.checked_add(self.bytes.offset(at + size, size)?)?, entry })
    }

    fn find(&self, address: u64) -> Option<GoFunction> {
        let (mut low, mut high) = (0, self.functions);
        while low < high {
            let middle = low + (high - low) / 2;
            // The entry after the last function contains the end of the text.
            if self.function(middle + 1).is_some_and(|next| next.entry <= address) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        let is_inside = low < self.functions && self.function(low + 1).is_some_and(|next| address < next.entry);
        self.function(low).filter(|function| is_inside && function.entry <= address)
    }

    /// A 4-byte field of a function's description, by its index after the address.
    fn field(&self, function: GoFunction, number: usize) -> Option<u32> {
        let entry = if self.version == Version::Go116 { self.word } else { 4 };
        self.bytes.u32(function.at.checked_add(entry + 4 * number)?)
    }

    /// The value of a pc-value table at an address.
    fn value(&self, table: u32, entry: u64, address: u64) -> Option<i32> {
        if table == 0 {
            return None;
        }
        let mut rest = self.bytes.data.get(self.values.checked_add(table as usize)?..)?;
        let (mut value, mut at) = (-1i32, entry);
        for step in 0..STEPS {
            self.steps.set(self.steps.get().checked_sub(1)?);
            let change = varint(&mut rest)?;
            if change == 0 && step > 0 {
                return None;
            }
            value = value.wrapping_add((change >> 1) as i32 ^ -((change & 1) as i32));
            at = at.checked_add(u64::from(varint(&mut rest)?).checked_mul(self.quantum)?)?;
            if address < at {
                return Some(value);
            }
        }
        None
    }

    /// File and line of an address in a function.
    fn file_and_line(&self, function: GoFunction, address: u64) -> Option<(&'a [u8], u32)> {
        let line = self.value(self.field(function, 5)?, function.entry, address)?;
        let file = self.value(self.field(function, 4)?, function.entry, address)?;
        let unit = self.field(function, 7)? as usize;
        let at = usize::try_from(file).ok()?.checked_add(unit)?.checked_mul(4)?.checked_add(self.units)?;
        let offset = self.bytes.u32(at).filter(|&offset| offset != u32::MAX)?;
        Some((self.bytes.text(self.files.checked_add(offset as usize)?)?, line.try_into().ok()?))
    }

    fn name(&self, offset: u32) -> Option<&'a [u8]> {
        self.bytes.text(self.names.checked_add(offset as usize)?)
    }

    /// The inlining tree of a function: its pc-value table, and its calls.
    fn tree(&self, function: GoFunction) -> Option<(u32, &'a [u8])> {
        let trees = self.trees?;
        let count = self.field(function, 6)? as usize;
        // Size of the description without lists; its last byte is the number of data. Go 1.20 added the start line.
        let fixed = if self.version == Version::Go120 { 44 } else { 40 };
        let data = usize::from(*self.bytes.data.get(function.at.checked_add(fixed - 1)?)?);
        if count <= INLINED_CALL || data <= INLINING_TREE {
            return None;
        }
        let values = function.at.checked_add(fixed)?;
        let table = self.bytes.u32(values + 4 * INLINED_CALL)?;
        let offset = self.bytes.u32(values.checked_add(count.checked_mul(4)?)? + 4 * INLINING_TREE)?;
        let calls = trees.data.get(offset as usize..).filter(|_| offset != u32::MAX)?;
        Some((table, calls))
    }

    /// An inlined function: name, start line, and offset of its call in the function.
    fn inlined_call(&self, calls: &'a [u8], number: i32) -> Option<(&'a [u8], u32, u64)> {
        // The size of an `inlinedCall`, and offsets in it.
        let (size, name, call, line) =
            if self.version == Version::Go120 { (16, 4, 8, Some(12)) } else { (20, 12, 16, None) };
        let at = usize::try_from(number).ok()?.checked_mul(size)?;
        let call_data = Bytes { data: calls.get(at..)?.get(..size)?, endian: self.bytes.endian };
        let line = line.and_then(|line| call_data.u32(line)).unwrap_or(0);
        Some((self.name(call_data.u32(name)?)?, line, call_data.u32(call)?.into()))
    }
}

/// A varint: 7 bits per byte, lowest first.
fn varint(rest: &mut &[u8]) -> Option<u32> {
    let mut value = 0u32;
    for shift in (0..35).step_by(7) {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        value |= u32::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

impl Lookup for GoTable<'_> {
    fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
        let Some(function) = self.find(address) else { return };
        self.steps.set(self.steps.get().saturating_add(STEPS_PER_ADDRESS));
        let Some(name) = self.field(function, 0).and_then(|offset| self.name(offset)) else { return };
        let tree = self.tree(function);
        let mut at = address;
        for _ in 0..DEPTH {
            let Some((table, calls)) = tree else { break };
            let number = self.value(table, function.entry, at).filter(|&number| number >= 0);
            let Some((name, start_line, call)) = number.and_then(|number| self.inlined_call(calls, number)) else {
                break;
            };
            let (file, line) = self.file_and_line(function, at).unwrap_or_default();
            on_frame(&FunctionFrame { name, start_line, file, line, is_inlined: true, ..FunctionFrame::default() });
            // The inlined call is represented by a no-op at this address.
            at = function.entry.wrapping_add(call);
        }
        let (file, line) = self.file_and_line(function, at).unwrap_or_default();
        let start_line = if self.version == Version::Go120 { self.field(function, 8).unwrap_or(0) } else { 0 };
        on_frame(&FunctionFrame {
            name,
            start_line,
            file,
            line,
            symbol_start: Some(function.entry),
            ..FunctionFrame::default()
        });
    }

    fn exceeds_limit(&self) -> bool {
        self.steps.get() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of two functions, at 0x1000 and 0x1010; the text ends at 0x1020.
    fn table() -> Vec<u8> {
        let mut bytes = vec![0xf0, 0xff, 0xff, 0xff, 0, 0, 1, 8];
        let [names, units, files, values, functions] = [72u64, 80, 84, 96, 104];
        for word in [2, 1, 0x1000, names, units, files, values, functions] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(b"f\0main\0\0");
        bytes.extend(0u32.to_le_bytes());
        bytes.extend(b"main.go\0\0\0\0\0");
        // From offset 1: the file 0 for 32 bytes; from offset 4: line 7 for 8 bytes, line 9 for 24.
        bytes.extend([0, 2, 32, 0, 16, 8, 4, 24]);
        for number in [0u32, 24, 0x10, 24 + 40, 0x20, 0] {
            bytes.extend(number.to_le_bytes());
        }
        for (entry, name) in [(0u32, 0u32), (0x10, 2)] {
            for number in [entry, name, 0, 0, 0, 1, 4, 0, 0, 0] {
                bytes.extend(number.to_le_bytes());
            }
        }
        bytes
    }

    fn parse(data: &[u8]) -> GoTable<'_> {
        let bytes = Bytes { data, endian: Endianness::Little };
        let field = |number: usize| bytes.offset(8 + number * 8, 8).unwrap_or(usize::MAX);
        GoTable {
            version: Version::Go118,
            bytes,
            word: 8,
            quantum: 1,
            functions: field(0),
            text: 0x1000,
            names: field(3),
            units: field(4),
            files: field(5),
            values: field(6),
            table: field(7),
            trees: None,
            steps: Cell::new(STEPS),
        }
    }

    fn shown(table: &GoTable<'_>, address: u64) -> String {
        let mut text = String::new();
        table.look_up(address, &mut |frame| {
            let [name, file] = [frame.name, frame.file].map(String::from_utf8_lossy);
            text += &format!("{name} {file}:{}", frame.line);
        });
        text
    }

    #[test]
    fn functions_and_lines() {
        let data = table();
        let table = parse(&data);
        let frames = [0xfff, 0x1000, 0x1008, 0x1012, 0x101f, 0x1020].map(|address| shown(&table, address));
        assert_eq!(frames, ["", "f main.go:7", "f main.go:9", "main main.go:7", "main main.go:9", ""]);
    }

    #[test]
    fn long_tables_of_many_addresses_are_read_in_part() {
        let mut data = table();
        // The table of lines, of which each entry changes nothing and is of no code.
        let values = data.len() - 96;
        data.extend([2, 0].repeat(2 * STEPS_PER_ADDRESS));
        let at = data.len() - 4 * STEPS_PER_ADDRESS - values;
        let function = data.len() - 4 * STEPS_PER_ADDRESS - 80;
        let line_table = function + 4 * 6;
        data[line_table..line_table + 4].copy_from_slice(&((at + values - 96) as u32).to_le_bytes());
        data.extend([2, 40]);
        let table = parse(&data);
        let lines: Vec<String> = (0..20).map(|_| shown(&table, 0x1000)).collect();
        assert_eq!(lines.iter().filter(|line| line.starts_with("f ")).count(), 20);
        let with_line = lines.iter().filter(|line| !line.ends_with(":0")).count();
        assert!((1..15).contains(&with_line), "{lines:?}");
    }

    #[test]
    fn tables_of_any_bytes_do_no_harm() {
        let data = table();
        for at in 0..data.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut data = data.clone();
                data[at] = byte;
                let table = parse(&data);
                for address in [0, 0x1000, 0x1018, u64::MAX] {
                    shown(&table, address);
                }
            }
            let table = parse(&data[..at]);
            shown(&table, 0x1000);
        }
    }
}
