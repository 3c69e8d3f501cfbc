//! Source lines and inlined functions of single addresses, which a recording contains.

use super::find::attempt::Attempt;
use super::lookup::{FunctionFrame, Lookup};
use super::source::{ObjectKey, OpenedObject, Source};
use super::stored_object::{Bytes, ProtoValue, StoredObject, each_field, stored_objects};
use super::stored_paths::StoredPaths;
use gimli::LittleEndian;
use std::sync::Arc;

/// The feature with source lines. perf and simpleperf ignore features that they do not know; their last ones are below 140, and
/// hiperf's are from 192 to 197. For each object, it has a size of 32 bits and a message of this schema. Indexes begin at 1; 0 stands
/// for none.
///
/// ```text
/// 1 path; 2 type, as in FILE2; 1000 build ID; 11 repeated string
/// 12 repeated function { 1 index of its name; 2 index of its file; 3 start line }
/// 13 repeated address { 1 address, or offset in the file; 2 offset in its symbol, plus 1; 3 repeated frame }
/// frame { 1 index of its function; 2 line; 3 column }: innermost first; all but the last are inlined
/// ```
pub const LINES: u32 = 200;

/// A source of the lines in a recording.
#[derive(Debug, Default)]
pub struct StoredLinesSource {
    objects: StoredPaths<StoredLines>,
}

/// The lines of an object.
#[derive(Debug, Default)]
pub struct StoredLines {
    strings: Vec<Box<[u8]>>,
    functions: Vec<StoredFunction>,
    /// Sorted by address.
    addresses: Vec<StoredAddress>,
    frames: Vec<StoredFrame>,
    is_corrupt: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct StoredFunction {
    name: u32,
    file: u32,
    start_line: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct StoredAddress {
    address: u64,
    symbol_offset: Option<u64>,
    /// Index of the first of its frames, and their number.
    first: u32,
    len: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct StoredFrame {
    function: u32,
    line: u32,
    column: u32,
}

impl StoredLinesSource {
    /// Creates a source from the contents of the feature. Objects that are there several times are joined. What is corrupt is skipped.
    pub fn new(section: &[u8]) -> Self {
        let mut objects = StoredPaths::<StoredLines>::default();
        for object in stored_objects(LINES, section).flatten() {
            let Some(lines) = objects.object_mut(object.path, object.build_id) else { continue };
            lines.join(&object);
        }
        Self { objects }
    }
}

/// A number that must fit in 32 bits.
fn small(number: u64) -> gimli::Result<u32> {
    u32::try_from(number).map_err(|_| gimli::Error::UnsupportedOffset)
}

impl StoredLines {
    /// The lines of an object in the section.
    pub fn read(object: &StoredObject<'_>) -> Self {
        let mut lines = Self::default();
        lines.join(object);
        lines
    }

    /// Number of addresses.
    pub fn addresses(&self) -> usize {
        self.addresses.len()
    }

    /// Problems that readers ignore: indexes of strings and functions that do not exist.
    pub fn problems(&self) -> usize {
        let missing = |index: u32, len: usize| index as usize > len;
        let strings = self.functions.iter().flat_map(|function| [function.name, function.file]);
        strings.filter(|&index| missing(index, self.strings.len())).count()
            + self.frames.iter().filter(|frame| missing(frame.function, self.functions.len())).count()
    }

    fn join(&mut self, object: &StoredObject<'_>) {
        // The bytes begin with the size.
        let bytes = object.bytes.get(4..).unwrap_or_default();
        self.is_corrupt |= self.append(Bytes::new(bytes, LittleEndian)).is_err();
        self.addresses.sort_by_key(|entry| entry.address);
    }

    /// Whether the contents of an object end before its size.
    pub fn is_corrupt(&self) -> bool {
        self.is_corrupt
    }

    /// Appends the contents of an object, whose indexes begin at 1.
    fn append(&mut self, bytes: Bytes<'_>) -> gimli::Result<()> {
        let [strings, functions] = [self.strings.len(), self.functions.len()].map(|len| len as u64);
        let index = |base: u64, index: u32| if index == 0 { Ok(0) } else { small(base + u64::from(index)) };
        each_field(bytes, |number, value| {
            match (number, value) {
                (11, ProtoValue::Bytes(string)) => self.strings.push(string.slice().into()),
                (12, ProtoValue::Bytes(function)) => {
                    let [name, file, start_line] = numbers(function)?;
                    let [name, file] = [index(strings, name)?, index(strings, file)?];
                    self.functions.push(StoredFunction { name, file, start_line });
                }
                (13, ProtoValue::Bytes(address)) => self.add_address(address, |function| index(functions, function))?,
                _ => {}
            }
            Ok(())
        })
    }

    fn add_address(&mut self, bytes: Bytes<'_>, index: impl Fn(u32) -> gimli::Result<u32>) -> gimli::Result<()> {
        let mut entry = StoredAddress { first: small(self.frames.len() as u64)?, ..StoredAddress::default() };
        each_field(bytes, |number, value| {
            match (number, value) {
                (1, ProtoValue::Number(address)) => entry.address = address,
                (2, ProtoValue::Number(offset)) => entry.symbol_offset = offset.checked_sub(1),
                (3, ProtoValue::Bytes(frame)) => {
                    let [function, line, column] = numbers(frame)?;
                    self.frames.push(StoredFrame { function: index(function)?, line, column });
                    entry.len += 1;
                }
                _ => {}
            }
            Ok(())
        })?;
        self.addresses.push(entry);
        Ok(())
    }

    fn string(&self, index: u32) -> &[u8] {
        (index as usize).checked_sub(1).and_then(|index| self.strings.get(index)).map_or(&[], |string| string)
    }
}

/// The fields 1 to 3 of a message of numbers.
fn numbers(bytes: Bytes<'_>) -> gimli::Result<[u32; 3]> {
    let mut numbers = [0; 3];
    each_field(bytes, |number, value| {
        if let (1..=3, ProtoValue::Number(value)) = (number, value) {
            numbers[number as usize - 1] = small(value)?;
        }
        Ok(())
    })?;
    Ok(numbers)
}

impl Source for StoredLinesSource {
    fn open(&self, key: &ObjectKey, _: &mut Vec<Attempt>) -> Option<Box<dyn OpenedObject>> {
        self.objects.find(key).map(|object| Box::new(object) as _)
    }
}

impl OpenedObject for Arc<StoredLines> {
    fn address_of_offset(&self, offset: u64) -> Option<u64> {
        Some(offset)
    }

    fn with_lookup(&self, lookups: &mut dyn FnMut(&dyn Lookup)) {
        lookups(&**self);
    }
}

impl Lookup for StoredLines {
    fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
        let Ok(index) = self.addresses.binary_search_by_key(&address, |entry| entry.address) else { return };
        let StoredAddress { symbol_offset, first, len, .. } = self.addresses[index];
        let frames = &self.frames[first as usize..(first + len) as usize];
        for (nth, frame) in frames.iter().enumerate() {
            let function = (frame.function as usize).checked_sub(1).and_then(|index| self.functions.get(index));
            let StoredFunction { name, file, start_line } = function.copied().unwrap_or_default();
            let is_inlined = nth + 1 < frames.len();
            let symbol_start = symbol_offset.filter(|_| !is_inlined).map(|offset| address.wrapping_sub(offset));
            on_frame(&FunctionFrame {
                name: self.string(name),
                start_line,
                file: self.string(file),
                line: frame.line,
                column: frame.column,
                is_inlined,
                symbol_start,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lookup::names;
    use super::*;

    /// A length-delimited field.
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, content.len() as u8], content].concat()
    }

    /// An object `/x` with the address 0x10, in `f` inlined into `g`.
    fn section() -> Vec<u8> {
        let frames = [field(3, b"\x08\x01\x10\x07"), field(3, b"\x08\x02\x10\x09")].concat();
        let object = [
            field(1, b"/x"),
            field(11, b"f"),
            field(11, b"g"),
            field(11, b"c"),
            field(12, b"\x08\x01\x10\x03\x18\x05"),
            field(12, b"\x08\x02"),
            field(13, &[&b"\x08\x10\x10\x04"[..], &frames].concat()),
        ]
        .concat();
        [&(object.len() as u32).to_le_bytes()[..], &object].concat()
    }

    fn frames(section: &[u8], address: u64) -> Vec<String> {
        let key = ObjectKey { path: "/x".into(), ..ObjectKey::default() };
        let Some(object) = StoredLinesSource::new(section).open(&key, &mut Vec::new()) else { return Vec::new() };
        let mut functions = Vec::new();
        object.with_lookup(&mut |lookup| functions = names(lookup, address));
        functions
    }

    #[test]
    fn inlined_functions_come_first() {
        let section = section();
        assert_eq!(frames(&section, 0x10), ["f", "g"]);
        assert_eq!(frames(&section, 0x11), [""; 0]);
        let mut lines = Vec::new();
        let key = ObjectKey { path: "/x".into(), ..ObjectKey::default() };
        let object = StoredLinesSource::new(&section).open(&key, &mut Vec::new()).expect("an object");
        object.with_lookup(&mut |lookup| {
            lookup.look_up(0x10, &mut |frame| {
                lines.push((frame.line, frame.start_line, frame.file.to_vec(), frame.is_inlined, frame.symbol_start));
            });
        });
        assert_eq!(lines, [(7, 5, b"c".to_vec(), true, None), (9, 0, Vec::new(), false, Some(0xd))]);
    }

    #[test]
    fn an_object_that_is_there_twice_is_joined() {
        let one = section();
        let mut other = one.clone();
        let name = memchr::memmem::find(&other, b"\x5a\x01f").expect("a string") + 2;
        other[name] = b'h';
        let address = memchr::memmem::find(&other, b"\x08\x10\x10\x04").expect("an address") + 1;
        other[address] = 0x20;
        let section = [one, other].concat();
        assert_eq!([frames(&section, 0x10), frames(&section, 0x20)], [["f", "g"], ["h", "g"]]);
    }

    #[test]
    fn truncated_and_corrupt_sections_do_no_harm() {
        let section = section();
        for len in 0..section.len() {
            frames(&section[..len], 0x10);
        }
        for index in 0..section.len() {
            for value in [0, 0x7f, 0xff] {
                let mut corrupt = section.clone();
                corrupt[index] = value;
                frames(&corrupt, 0x10);
            }
        }
    }
}
