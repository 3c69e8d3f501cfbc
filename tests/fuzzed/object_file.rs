//! Object files as somebody would make them to do harm: programs with sizes, counts, offsets and references that are changed,
//! parts that are repeated, and sections that inflate.

use arbitrary::{Result, Unstructured};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;
use std::ops::Range;

/// Programs, built by `programs/build.sh`, with the file of split DWARF that lies beside one of them.
const PROGRAMS: [(&[u8], Option<&[u8]>); 7] = [
    (include_bytes!("programs/dwarf5.elf"), None),
    (include_bytes!("programs/dwarf4_32.elf"), None),
    (include_bytes!("programs/big_endian.elf"), None),
    (include_bytes!("programs/debugdata.elf"), None),
    (include_bytes!("programs/relocatable.elf"), None),
    (include_bytes!("programs/split.elf"), Some(include_bytes!("programs/split.dwp.elf"))),
    (include_bytes!("programs/gotable.elf"), None),
];

/// Maximum size of a changed file, before its sections are inflated.
const MAX_SIZE: usize = 256 << 10;

/// Maximum size that a section which is compressed here has been inflated from.
const MAX_INFLATED: usize = 8 << 20;

/// A program and what lies beside it.
pub struct Program {
    /// The program.
    pub object: Vec<u8>,
    /// Its file of split DWARF, which readers search for by the suffix `.dwp`.
    pub split: Option<Vec<u8>>,
    /// Addresses of its code, before the change.
    pub addresses: Vec<u64>,
    /// Size of what its sections inflate to, beside those that were compressed before the change.
    pub inflated: usize,
}

/// Generates a changed program.
pub fn program(from: &mut Unstructured<'_>) -> Result<Program> {
    let (object, split) = *from.choose(&PROGRAMS)?;
    let mut object = ObjectFile::new(object);
    let addresses = object.code().flat_map(|code| code.step_by(8)).collect();
    let mut split = split.map(ObjectFile::new);
    for _ in 0..from.int_in_range(1..=8)? {
        match &mut split {
            Some(split) if from.arbitrary()? => split.change(from)?,
            _ => object.change(from)?,
        }
    }
    let inflated = object.inflated + split.as_ref().map_or(0, |split| split.inflated);
    Ok(Program { object: object.finish(), split: split.map(ObjectFile::finish), addresses, inflated })
}

/// Fields of a section header, in order.
#[derive(Clone, Copy)]
enum Field {
    Name,
    Kind,
    Flags,
    Address,
    Offset,
    Size,
}

/// Number of fields of a section header.
const FIELDS: usize = 10;

/// The fields that have four bytes in every class: name, type, link, info.
const WORDS: [usize; 4] = [0, 1, 6, 7];

/// `SHF_COMPRESSED`.
const COMPRESSED: u64 = 0x800;

/// An ELF file whose sections can be changed. Changed sections and the table of sections are appended to the original bytes.
struct ObjectFile {
    bytes: Vec<u8>,
    sections: Vec<[u64; FIELDS]>,
    is_64: bool,
    is_big: bool,
    inflated: usize,
}

impl ObjectFile {
    /// Reads an intact file.
    fn new(bytes: &[u8]) -> Self {
        let (is_64, is_big) = (bytes[4] == 2, bytes[5] == 2);
        let mut file = Self { bytes: bytes.to_vec(), sections: Vec::new(), is_64, is_big, inflated: 0 };
        let (table, count) = if file.is_64 { (file.number(0x28, 8), 0x3c) } else { (file.number(0x20, 4), 0x30) };
        let mut at = table as usize;
        for _ in 0..file.number(count, 2) {
            let mut section = [0; FIELDS];
            for (index, field) in section.iter_mut().enumerate() {
                let width = file.width(index);
                *field = file.number(at, width);
                at += width;
            }
            file.sections.push(section);
        }
        file
    }

    /// Width of a field of a section header.
    fn width(&self, field: usize) -> usize {
        if self.is_64 && !WORDS.contains(&field) { 8 } else { 4 }
    }

    fn number(&self, at: usize, width: usize) -> u64 {
        let bytes = &self.bytes[at..at + width];
        let next = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        if self.is_big { bytes.iter().fold(0, next) } else { bytes.iter().rev().fold(0, next) }
    }

    fn encoded(&self, number: u64, width: usize) -> Vec<u8> {
        let mut bytes = number.to_le_bytes()[..width].to_vec();
        if self.is_big {
            bytes.reverse();
        }
        bytes
    }

    /// Addresses of sections with code.
    fn code(&self) -> impl Iterator<Item = Range<u64>> {
        let is_code = |section: &&[u64; FIELDS]| section[Field::Flags as usize] & 4 != 0;
        let addresses = |section: &[u64; FIELDS]| {
            let start = section[Field::Address as usize];
            start..start + section[Field::Size as usize]
        };
        self.sections.iter().filter(is_code).map(addresses)
    }

    /// The bytes of a section, or none if its header is wrong.
    fn contents(&self, section: usize) -> Range<usize> {
        let [start, size] =
            [Field::Offset, Field::Size].map(|field| usize::try_from(self.sections[section][field as usize]));
        let range = start.ok().zip(size.ok()).and_then(|(start, size)| Some(start..start.checked_add(size)?));
        range.filter(|range| range.end <= self.bytes.len()).unwrap_or(0..0)
    }

    /// Changes a part of the file.
    fn change(&mut self, from: &mut Unstructured<'_>) -> Result<()> {
        let section = from.choose_index(self.sections.len())?;
        let contents = self.contents(section);
        match from.int_in_range(0..=9)? {
            0 => {
                let field = from.choose_index(FIELDS)?;
                self.sections[section][field] = self.value(from)?;
            }
            1 => {
                let (other, name) = (*from.choose(&self.sections)?, self.sections[section][Field::Name as usize]);
                self.sections[section] = other;
                self.sections[section][Field::Name as usize] = name;
            }
            2 => {
                let kind = from.choose(&self.sections)?[Field::Kind as usize];
                self.sections[section][Field::Kind as usize] = kind;
            }
            3 => self.compress(section, from)?,
            4 => {
                // File header and program headers.
                let at = from.int_in_range(0x10..=0x200.min(self.bytes.len() - 8))?;
                let (value, width) = (self.value(from)?, *from.choose(&[1, 2, 4, 8])?);
                let bytes = self.encoded(value, width);
                self.bytes[at..at + width].copy_from_slice(&bytes);
            }
            5 | 6 if !contents.is_empty() => {
                let part = part(from, contents.len())?;
                let times = *from.choose(&[2, 3, 10, 100, 1000, 10_000])?;
                let bytes = &self.bytes[contents.clone()];
                let room = MAX_SIZE.saturating_sub(self.bytes.len() + bytes.len()) / part.len().max(1);
                let repeated = bytes[part.clone()].repeat(times.min(room));
                let changed = [&bytes[..part.start], &repeated, &bytes[part.end..]].concat();
                self.replace(section, &changed);
            }
            7 if !contents.is_empty() => {
                let part = part(from, contents.len())?;
                let inserted = from.bytes(from.len().min(8))?;
                let bytes = &self.bytes[contents];
                let changed = [&bytes[..part.start], inserted, &bytes[part.end..]].concat();
                self.replace(section, &changed);
            }
            _ if !contents.is_empty() => {
                let at = contents.start + from.choose_index(contents.len())?;
                let value = self.value(from)?;
                let bytes = match from.int_in_range(0..=4)? {
                    0 => leb128(value),
                    power => self.encoded(value, 1 << (power - 1)),
                };
                let len = bytes.len().min(contents.end - at);
                self.bytes[at..at + len].copy_from_slice(&bytes[..len]);
            }
            _ => {}
        }
        Ok(())
    }

    /// Compresses a section, which may claim any size, and may have been repeated before.
    fn compress(&mut self, section: usize, from: &mut Unstructured<'_>) -> Result<()> {
        let contents = self.contents(section);
        let times = *from.choose(&[1, 1, 2, 100, 10_000])?;
        let bytes = self.bytes[contents.clone()].repeat(times.min(MAX_INFLATED / contents.len().max(1)));
        let size = if from.arbitrary()? { bytes.len() as u64 } else { self.value(from)? };
        self.inflated += bytes.len();
        let is_zstd = from.arbitrary::<bool>()?;
        let packed = if is_zstd {
            zstd::bulk::compress(&bytes, 1).expect("compressing to memory should succeed")
        } else {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&bytes).expect("writing to memory should succeed");
            encoder.finish().expect("writing to memory should succeed")
        };
        let kind = if is_zstd { 2 } else { 1 };
        let header: &[(u64, usize)] =
            if self.is_64 { &[(kind, 4), (0, 4), (size, 8), (1, 8)] } else { &[(kind, 4), (size, 4), (1, 4)] };
        let header: Vec<u8> = header.iter().flat_map(|&(number, width)| self.encoded(number, width)).collect();
        self.sections[section][Field::Flags as usize] |= COMPRESSED;
        self.replace(section, &[header, packed].concat());
        Ok(())
    }

    /// Gives a section other bytes.
    fn replace(&mut self, section: usize, bytes: &[u8]) {
        self.sections[section][Field::Offset as usize] = self.bytes.len() as u64;
        self.sections[section][Field::Size as usize] = bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
    }

    /// A number that means something in the file, or is at a limit.
    fn value(&self, from: &mut Unstructured<'_>) -> Result<u64> {
        Ok(match from.int_in_range(0..=6)? {
            0 => from.int_in_range(0..=16)?,
            1 => 1 << from.int_in_range(0..=63)?,
            2 => (1 << from.int_in_range(1..=63)?) - 1,
            3 => self.bytes.len() as u64,
            4 => {
                let section = from.choose(&self.sections)?;
                *from.choose(section)?
            }
            5 => u64::MAX - from.int_in_range(0..=16)?,
            _ => from.arbitrary::<u32>()?.into(),
        })
    }

    /// The file, with its table of sections at the end.
    fn finish(mut self) -> Vec<u8> {
        let table = self.encoded(self.bytes.len() as u64, if self.is_64 { 8 } else { 4 });
        let at = if self.is_64 { 0x28 } else { 0x20 };
        self.bytes[at..at + table.len()].copy_from_slice(&table);
        for section in std::mem::take(&mut self.sections) {
            for (index, field) in section.into_iter().enumerate() {
                let bytes = self.encoded(field, self.width(index));
                self.bytes.extend(bytes);
            }
        }
        self.bytes
    }
}

/// A part of some bytes, often a short one.
fn part(from: &mut Unstructured<'_>, len: usize) -> Result<Range<usize>> {
    let start = from.choose_index(len)?;
    let longest = if from.arbitrary()? { len - start } else { (len - start).min(16) };
    Ok(start..start + from.int_in_range(0..=longest)?)
}

fn leb128(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
