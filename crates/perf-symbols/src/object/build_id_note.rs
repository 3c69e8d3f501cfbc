//! Reads build IDs (GNU notes) of untrusted ELF files.

use super::build_id::Id;
use super::recorded_file;
use object::elf::{ELF_NOTE_GNU, FileHeader32, FileHeader64, NT_GNU_BUILD_ID};
use object::read::elf::{FileHeader, NoteIterator, ProgramHeader, SectionHeader};
use object::{Endianness, FileKind, ReadCache, ReadRef};
use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

/// Maximum bytes read of a file: enough for the headers of 65535 segments and sections, and their notes.
const MAX_BYTES: u64 = 16 << 20;

/// Maximum size of a file of notes. The kernel's is a few hundred bytes.
const MAX_NOTES: u64 = 1 << 16;

/// The build ID of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elf {
    /// An ELF file with a build ID.
    Id(Id),
    /// An ELF file without one.
    NoId,
    /// Not an ELF file.
    Other,
}

/// Reads the build ID of an ELF file.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn read(path: &Path) -> io::Result<Elf> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Ok(Elf::Other);
    }
    let (cache, budget) = (ReadCache::new(recorded_file::open(path)?), Cell::new(MAX_BYTES));
    let data = Bounded { cache: &cache, budget: &budget };
    let id = match FileKind::parse(data) {
        Ok(FileKind::Elf32) => find_in_file::<FileHeader32<Endianness>, _>(data),
        Ok(FileKind::Elf64) => find_in_file::<FileHeader64<Endianness>, _>(data),
        _ => return Ok(Elf::Other),
    };
    // A corrupt file has no build ID.
    Ok(id.ok().flatten().map_or(Elf::NoId, Elf::Id))
}

/// The build ID in the bytes of an ELF file.
pub fn find_in_bytes(bytes: &[u8]) -> Option<Id> {
    let left = Cell::new(MAX_BYTES);
    let data = BoundedBytes { bytes, left: &left };
    let id = match FileKind::parse(data) {
        Ok(FileKind::Elf32) => find_in_file::<FileHeader32<Endianness>, _>(data),
        Ok(FileKind::Elf64) => find_in_file::<FileHeader64<Endianness>, _>(data),
        _ => return None,
    };
    id.ok().flatten()
}

/// Reads the build ID of a file of notes without ELF headers, such as `/sys/kernel/notes`.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn read_notes(path: &Path) -> io::Result<Option<Id>> {
    let mut notes = Vec::new();
    File::open(path)?.take(MAX_NOTES).read_to_end(&mut notes)?;
    let endian = if cfg!(target_endian = "big") { Endianness::Big } else { Endianness::Little };
    Ok(NoteIterator::<FileHeader64<Endianness>>::new(endian, 4, &notes)
        .ok()
        .and_then(|notes| find_in_notes(notes, endian)))
}

/// Searches segments first, which stripped files have, then sections, which unlinked files have.
fn find_in_file<'data, H: FileHeader<Endian = Endianness>, R: ReadRef<'data>>(data: R) -> object::Result<Option<Id>> {
    let header = H::parse(data)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, data).unwrap_or_default().iter();
    let mut notes = segments.filter_map(|segment| segment.notes(endian, data).ok().flatten());
    if let Some(id) = notes.find_map(|notes| find_in_notes(notes, endian)) {
        return Ok(Some(id));
    }
    let sections = header.section_headers(endian, data)?.iter();
    let mut notes = sections.filter_map(|section| section.notes(endian, data).ok().flatten());
    Ok(notes.find_map(|notes| find_in_notes(notes, endian)))
}

fn find_in_notes<H: FileHeader<Endian = Endianness>>(mut notes: NoteIterator<'_, H>, endian: Endianness) -> Option<Id> {
    while let Ok(Some(note)) = notes.next() {
        if note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID {
            return Id::new(note.desc());
        }
    }
    None
}

/// A file, of which only a limited number of bytes is read in total, regardless of its headers.
#[derive(Clone, Copy)]
struct Bounded<'a> {
    cache: &'a ReadCache<File>,
    budget: &'a Cell<u64>,
}

impl<'a> ReadRef<'a> for Bounded<'a> {
    fn len(self) -> Result<u64, ()> {
        self.cache.len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        self.budget.set(self.budget.get().checked_sub(size).ok_or(())?);
        self.cache.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, _: Range<u64>, _: u8) -> Result<&'a [u8], ()> {
        // Only used for names, which are not needed here.
        Err(())
    }
}

/// Bytes, of which only a limited number is read in total, as with [`Bounded`].
#[derive(Clone, Copy)]
struct BoundedBytes<'a> {
    bytes: &'a [u8],
    left: &'a Cell<u64>,
}

impl<'a> ReadRef<'a> for BoundedBytes<'a> {
    fn len(self) -> Result<u64, ()> {
        ReadRef::len(self.bytes)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        self.left.set(self.left.get().checked_sub(size).ok_or(())?);
        self.bytes.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, _: Range<u64>, _: u8) -> Result<&'a [u8], ()> {
        Err(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// An ELF header followed by the headers of `segments` note segments, all with the same content.
    fn elf(is_64: bool, is_big: bool, segments: u16, note: &[u8]) -> Vec<u8> {
        let number = |value: u64, size: usize| {
            let bytes = value.to_be_bytes()[8 - size..].to_vec();
            if is_big { bytes } else { bytes.into_iter().rev().collect() }
        };
        let word = if is_64 { 8 } else { 4 };
        let (header, entry) = if is_64 { (64, 56) } else { (52, 32) };
        let (notes, size) = (header + u64::from(segments) * entry, note.len() as u64);
        let class = [0x7f, b'E', b'L', b'F', 1 + u8::from(is_64), 1 + u8::from(is_big), 1];
        let mut elf = [&class[..], &[0; 9]].concat();
        let of_header =
            [(3, 2), (62, 2), (1, 4), (0, word), (header, word), (0, word), (0, 4), (header, 2), (entry, 2)];
        let rest = [(segments.into(), 2), (0, 2), (0, 2), (0, 2)];
        of_header.into_iter().chain(rest).for_each(|(value, size)| elf.extend(number(value, size)));
        for _ in 0..segments {
            let of_segment: &[(u64, usize)] = if is_64 {
                &[(4, 4), (4, 4), (notes, 8), (0, 8), (0, 8), (size, 8), (size, 8), (4, 8)]
            } else {
                &[(4, 4), (notes, 4), (0, 4), (0, 4), (size, 4), (size, 4), (4, 4), (4, 4)]
            };
            of_segment.iter().for_each(|&(value, size)| elf.extend(number(value, size)));
        }
        elf.extend(note);
        elf
    }

    fn note(is_big: bool, id: &[u8]) -> Vec<u8> {
        let words = [4, id.len() as u32, 1, 4, id.len() as u32, 3];
        let bytes = |word: u32| if is_big { word.to_be_bytes() } else { word.to_le_bytes() };
        let [a, b, c, d, e, f] = words.map(bytes);
        [&a[..], &b, &c, b"GNU\0", &id.iter().map(|_| 9).collect::<Vec<_>>(), &d, &e, &f, b"GNU\0", id].concat()
    }

    fn read_bytes(bytes: &[u8]) -> Elf {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        read(file.path()).unwrap()
    }

    #[test]
    fn reads_a_note_in_a_segment_of_any_class_and_byte_order() {
        for (is_64, is_big) in [(false, false), (false, true), (true, false), (true, true)] {
            let id = Elf::Id(Id::new(&[7; 20]).unwrap());
            assert_eq!(read_bytes(&elf(is_64, is_big, 1, &note(is_big, &[7; 20]))), id, "{is_64} {is_big}");
            assert_eq!(read_bytes(&elf(is_64, is_big, 1, &[])), Elf::NoId);
        }
    }

    #[test]
    fn truncated_and_other_files_have_no_id() {
        let elf_file = elf(true, false, 2, &note(false, &[7; 20]));
        for len in 0..elf_file.len() {
            assert!(!matches!(read_bytes(&elf_file[..len]), Elf::Id(_)), "{len}");
        }
        assert_eq!(read_bytes(b"#!/bin/sh"), Elf::Other);
        assert_eq!(read(Path::new("/dev/zero")).unwrap(), Elf::Other);
        assert!(read(Path::new("/no/such/file")).is_err());
    }

    #[test]
    fn limits_the_bytes_read_of_repeated_segments() {
        // Without the limit this takes a second for each megabyte.
        let bytes = elf(true, false, u16::MAX - 1, &vec![0; 1 << 20]);
        let mut result = Elf::Other;
        let used = allocation_counter::measure(|| result = read_bytes(&bytes));
        assert_eq!(result, Elf::NoId);
        assert!(used.bytes_max < 2 * MAX_BYTES, "{} bytes", used.bytes_max);
    }
}
