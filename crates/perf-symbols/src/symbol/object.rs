//! An opened ELF file: segments, sections, build ID. The file is untrusted.

use super::{debug_segments, inflate, relocation};
use crate::object::build_id::Id;
use crate::object::build_id_note;
use crate::object::recorded_file;
use bytes::Bytes;
use object::elf::{
    ET_REL, FileHeader32, FileHeader64, PF_W, PF_X, PT_LOAD, SHF_ALLOC, SHF_COMPRESSED, SHF_EXECINSTR, SHT_NOBITS,
    SHT_SYMTAB,
};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, FileKind};
use perf_data::session::map::PAGE;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Maximum length of a stored section name. The names that are looked up are shorter.
const NAME: usize = 64;

/// Names of sections with units of debug information. Files that are not linked have one for each type unit: they are in groups, of
/// which the linker keeps one.
const UNITS: [&[u8]; 4] = [b".debug_info", b".debug_types", b".debug_info.dwo", b".debug_types.dwo"];

/// A loaded segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset in the file.
    pub offset: u64,
    /// Bytes in the file.
    pub file_size: u64,
    /// Address in memory, before relocation.
    pub address: u64,
    /// Bytes in memory.
    pub memory_size: u64,
    /// Alignment of the address, which is that of the offset.
    pub alignment: u64,
    /// Whether it is executable.
    pub is_executable: bool,
    /// Whether it is writable, so that its contents in the file may not be those in memory.
    pub is_writable: bool,
}

/// A section.
#[derive(Clone, Debug)]
pub struct ObjectSection {
    /// Name, possibly truncated.
    pub name: Box<[u8]>,
    /// `sh_type`.
    pub kind: u32,
    /// Whether it is executable.
    pub is_executable: bool,
    /// Address in memory; for kernel modules as laid out.
    pub address: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Size; in the file, unless the section occupies no space there (`SHT_NOBITS`).
    pub size: u64,
    /// Index of a section that it refers to.
    pub link: usize,
    /// Index of the section that relocations apply to.
    pub info: usize,
    /// Alignment in memory.
    pub alignment: u64,
    /// Size of an entry of a table; 0 if it is none.
    pub entry_size: u64,
    /// Whether it is loaded to memory.
    pub is_loaded: bool,
    is_compressed: bool,
}

/// A mapped ELF file. Compressed sections are inflated when first read.
#[derive(Debug)]
pub struct Object {
    path: PathBuf,
    bytes: Bytes,
    is_64: bool,
    endian: Endianness,
    machine: u16,
    entry: u64,
    is_relocatable: bool,
    build_id: Option<Id>,
    segments: Vec<Segment>,
    sections: Vec<ObjectSection>,
    inflated: Vec<OnceLock<Option<Vec<u8>>>>,
    /// The units of each name of sections, if they are in several sections.
    joined_units: [OnceLock<Vec<u8>>; UNITS.len()],
    /// Bytes that what the file contains may still be inflated to.
    unpack_limit: u64,
    exceeds_limit: bool,
}

impl Object {
    /// Maps a file. `None` if it is not an ELF file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        // Not a missing file, which the search reports differently.
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(None);
        }
        Ok(Self::parse(path, recorded_file::read(path)?))
    }

    /// An ELF file from its bytes. `None` if they are not an ELF file.
    pub fn parse(path: &Path, bytes: Bytes) -> Option<Self> {
        let limit = inflate::limit(bytes.len());
        Self::parse_within(path, bytes, limit)
    }

    /// An ELF file that, with all that it contains, may be inflated to at most `limit` bytes.
    fn parse_within(path: &Path, packed: Bytes, limit: u64) -> Option<Self> {
        let bytes = inflate::module(packed.clone(), limit);
        let is_inflated = bytes.as_ptr() != packed.as_ptr();
        let limit = limit.saturating_sub(if is_inflated { bytes.len() as u64 } else { 0 });
        match FileKind::parse(&*bytes).ok()? {
            FileKind::Elf32 => Self::parse_class::<FileHeader32<Endianness>>(path, bytes, false, limit),
            FileKind::Elf64 => Self::parse_class::<FileHeader64<Endianness>>(path, bytes, true, limit),
            _ => None,
        }
    }

    fn parse_class<H: FileHeader<Endian = Endianness>>(
        path: &Path,
        bytes: Bytes,
        is_64: bool,
        unpack_limit: u64,
    ) -> Option<Self> {
        let data = &*bytes;
        let header = H::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let loaded = |segment: &&H::ProgramHeader| segment.p_type(endian) == PT_LOAD;
        let segment = |segment: &H::ProgramHeader| Segment {
            offset: segment.p_offset(endian).into(),
            file_size: segment.p_filesz(endian).into(),
            address: segment.p_vaddr(endian).into(),
            memory_size: segment.p_memsz(endian).into(),
            alignment: segment.p_align(endian).into(),
            is_executable: segment.p_flags(endian).0 & PF_X.0 != 0,
            is_writable: segment.p_flags(endian).0 & PF_W.0 != 0,
        };
        // If one kind of headers is invalid, the other kind can still be used.
        let headers = header.program_headers(endian, data).unwrap_or_default();
        let mut segments: Vec<_> = headers.iter().filter(loaded).map(segment).collect();
        debug_segments::restore_offsets(&mut segments);
        let names = header.section_headers(endian, data).and_then(|list| header.section_strings(endian, data, list));
        let section = |section: &H::SectionHeader| {
            let name = names.as_ref().ok().and_then(|names| section.name(endian, *names).ok()).unwrap_or_default();
            let flags = section.sh_flags(endian).0;
            ObjectSection {
                name: name[..name.len().min(NAME)].into(),
                kind: section.sh_type(endian).0,
                is_executable: flags & SHF_EXECINSTR.0 != 0,
                address: section.sh_addr(endian).into(),
                offset: section.sh_offset(endian).into(),
                size: section.sh_size(endian).into(),
                link: section.sh_link(endian) as usize,
                info: section.sh_info(endian) as usize,
                alignment: section.sh_addralign(endian).into(),
                entry_size: section.sh_entsize(endian).into(),
                is_loaded: flags & SHF_ALLOC.0 != 0,
                is_compressed: flags & SHF_COMPRESSED.0 != 0 || name.starts_with(b".zdebug_"),
            }
        };
        let headers = header.section_headers(endian, data).unwrap_or_default();
        let mut sections: Vec<ObjectSection> = headers.iter().map(section).collect();
        let (machine, is_relocatable) = (header.e_machine(endian).0, header.e_type(endian) == ET_REL);
        if is_relocatable {
            relocation::lay_out(&mut sections);
        }
        let (build_id, entry) = (build_id_note::find_in_bytes(data), header.e_entry(endian).into());
        let inflated = sections.iter().map(|_| OnceLock::new()).collect();
        let path = path.to_owned();
        let mut object = Self {
            path,
            bytes,
            is_64,
            endian,
            machine,
            entry,
            is_relocatable,
            build_id,
            segments,
            sections,
            inflated,
            joined_units: Default::default(),
            unpack_limit,
            exceeds_limit: false,
        };
        object.reject_excessive_sections();
        Some(object)
    }

    /// Drops the sections of a hostile file: of those that overlap, each may be read many times, and those that are compressed
    /// may fill the memory. The decision depends on the headers only, not on the order in which threads inflate sections.
    fn reject_excessive_sections(&mut self) {
        let in_file: u64 = self.sections.iter().map(|section| self.raw(section).len() as u64).sum();
        let copied = |section: &ObjectSection| match section.is_compressed {
            true => {
                let is_old_form = section.name.starts_with(b".zdebug_");
                inflate::claimed_size(self.raw(section), is_old_form, self.is_64, self.endian)
            }
            false => 0,
        };
        let copied = self.sections.iter().map(copied).fold(0, u64::saturating_add);
        // Sections of linkers do not overlap; some room is for what tools append to them.
        self.exceeds_limit = copied > self.unpack_limit || in_file > 2 * self.bytes.len() as u64;
        self.unpack_limit = self.unpack_limit.saturating_sub(copied);
        if self.exceeds_limit {
            self.sections.clear();
        }
    }

    /// Whether the sections of the file were dropped because reading them could take too much memory or time.
    pub fn exceeds_limit(&self) -> bool {
        self.exceeds_limit
    }

    /// Path that the file was opened with.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole file.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Whether addresses have 8 bytes.
    pub fn is_64(&self) -> bool {
        self.is_64
    }

    /// Byte order.
    pub fn endian(&self) -> Endianness {
        self.endian
    }

    /// `e_machine`.
    pub fn machine(&self) -> u16 {
        self.machine
    }

    /// Address at which a program begins; 0 if the file is no program.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// Whether it is relocatable (not linked), as kernel modules are: symbols are relative to sections.
    pub fn is_relocatable(&self) -> bool {
        self.is_relocatable
    }

    /// Build ID.
    pub fn build_id(&self) -> Option<Id> {
        self.build_id
    }

    /// Loaded segments, in the order of the file.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Sections, in the order of the file.
    pub fn sections(&self) -> &[ObjectSection] {
        &self.sections
    }

    /// The index of the section with this name. `.debug_info` also finds `.zdebug_info`.
    pub fn section_index(&self, name: &[u8]) -> Option<usize> {
        let is_old_form = |section: &ObjectSection| {
            let rest = section.name.strip_prefix(b".zdebug_");
            rest.is_some() && rest == name.strip_prefix(b".debug_")
        };
        let has_bytes = |section: &ObjectSection| section.kind != SHT_NOBITS.0 && section.size > 0;
        self.sections.iter().position(|section| has_bytes(section) && (*section.name == *name || is_old_form(section)))
    }

    /// The bytes of a section, inflated; empty if it is missing or corrupt.
    pub fn section(&self, name: &[u8]) -> &[u8] {
        if let Some(kind) = UNITS.iter().position(|units| *units == name) {
            let is_named = |section: &&ObjectSection| *section.name == *name && section.kind != SHT_NOBITS.0;
            if self.sections.iter().filter(is_named).nth(1).is_some() {
                return self.joined_units[kind].get_or_init(|| self.join(name));
            }
        }
        self.section_index(name).map_or(&[], |index| self.section_data(index))
    }

    /// The bytes of all sections with a name.
    fn join(&self, name: &[u8]) -> Vec<u8> {
        let is_named = |section: &ObjectSection| *section.name == *name && section.kind != SHT_NOBITS.0;
        let named = self.sections.iter().enumerate().filter(|(_, section)| is_named(section));
        named.flat_map(|(index, _)| self.section_data(index)).copied().collect()
    }

    /// The bytes of a section by its index, inflated.
    pub fn section_data(&self, index: usize) -> &[u8] {
        let Some(section) = self.sections.get(index) else { return &[] };
        let raw = self.raw(section);
        // Symbol tables are read while another section is relocated: whatever their name, they must not be relocated themselves.
        let is_debug = section.kind != SHT_SYMTAB.0 && section.name.starts_with(b".debug_");
        let is_relocated = self.is_relocatable && !section.is_loaded && is_debug;
        if !section.is_compressed && !is_relocated {
            return raw;
        }
        let Some(inflated) = self.inflated.get(index) else { return &[] };
        let inflate = || {
            let bytes = match section.name.starts_with(b".zdebug_") {
                _ if !section.is_compressed => Some(raw.to_vec()),
                true => inflate::old_form(raw),
                false => inflate::section(raw, self.is_64, self.endian),
            }?;
            if is_relocated { relocation::apply(self, index, bytes) } else { Some(bytes) }
        };
        inflated.get_or_init(inflate).as_deref().unwrap_or_default()
    }

    /// Whether a section is compressed and no thread has inflated it yet.
    pub fn is_to_inflate(&self, index: usize) -> bool {
        let is_compressed = self.sections.get(index).is_some_and(|section| section.is_compressed);
        is_compressed && self.inflated.get(index).is_some_and(|inflated| inflated.get().is_none())
    }

    /// The bytes of a section in the file.
    pub fn raw(&self, section: &ObjectSection) -> &[u8] {
        let range = usize::try_from(section.offset).ok().zip(usize::try_from(section.size).ok());
        let range = range.and_then(|(start, size)| Some(start..start.checked_add(size)?));
        let has_bytes = section.kind != SHT_NOBITS.0;
        range.filter(|_| has_bytes).and_then(|range| self.bytes.get(range)).unwrap_or_default()
    }

    /// The bytes from an address of the object to the end of its section.
    pub fn bytes_at(&self, address: u64) -> &[u8] {
        let offset = |section: &ObjectSection| address.checked_sub(section.address).filter(|&at| at < section.size);
        let holds = |section: &&ObjectSection| section.address != 0 && section.kind != SHT_NOBITS.0;
        let section = self.sections.iter().filter(holds).find_map(|section| Some((section, offset(section)?)));
        section.and_then(|(section, offset)| self.raw(section).get(offset as usize..)).unwrap_or_default()
    }

    /// The code from an address to the end of its section, or of its segment in files without sections.
    pub fn code_at(&self, address: u64) -> &[u8] {
        let bytes = self.bytes_at(address);
        if !bytes.is_empty() || self.is_relocatable {
            return bytes;
        }
        let offset_in = |segment: &Segment| address.checked_sub(segment.address).filter(|&at| at < segment.file_size);
        let executable = self.segments.iter().filter(|segment| segment.is_executable);
        let range = executable.into_iter().find_map(|segment| {
            let offset = offset_in(segment)?;
            let start = usize::try_from(segment.offset.checked_add(offset)?).ok()?;
            let end = usize::try_from(segment.offset.checked_add(segment.file_size)?).ok()?;
            Some(start..end.min(self.bytes.len()))
        });
        range.and_then(|range| self.bytes.get(range)).unwrap_or_default()
    }

    /// The address of a file offset: in the segment that contains it, or else in one whose pages include it. For kernel modules,
    /// which have no segments, the offset is that in memory.
    pub fn address_of_offset(&self, offset: u64) -> Option<u64> {
        if self.is_relocatable {
            return offset.checked_add(relocation::BASE);
        }
        let is_in =
            |segment: &&Segment| offset.wrapping_sub(segment.offset) < segment.file_size.max(segment.memory_size);
        let is_in_pages = |segment: &&Segment| {
            let end = segment.offset.saturating_add(segment.file_size).div_ceil(PAGE).saturating_mul(PAGE);
            (segment.offset / PAGE * PAGE..end).contains(&offset)
        };
        let is_in_file = |segment: &&Segment| offset.wrapping_sub(segment.offset) < segment.file_size;
        let executable = || self.segments.iter().filter(|segment| segment.is_executable);
        let segment = (executable().find(is_in_file))
            .or_else(|| self.segments.iter().find(is_in_file))
            .or_else(|| executable().find(is_in_pages))
            .or_else(|| self.segments.iter().find(is_in_pages))
            // Debug files keep the segments of the object without their contents.
            .or_else(|| executable().find(is_in))?;
        Some(offset.wrapping_sub(segment.offset).wrapping_add(segment.address))
    }

    /// The file offset of code at an address: the inverse of [`address_of_offset`](Self::address_of_offset).
    pub fn offset_of_address(&self, address: u64) -> Option<u64> {
        if self.is_relocatable {
            return address.checked_sub(relocation::BASE);
        }
        let is_in =
            |segment: &&Segment| segment.is_executable && address.wrapping_sub(segment.address) < segment.file_size;
        let segment = self.segments.iter().find(is_in)?;
        Some(address.wrapping_sub(segment.address).wrapping_add(segment.offset))
    }

    /// The compressed ELF file that Fedora embeds in stripped files (MiniDebugInfo).
    pub fn mini_debug_info(&self) -> Option<Self> {
        let packed = Some(self.section(b".gnu_debugdata")).filter(|packed| !packed.is_empty())?;
        let inside = {
            let bytes = inflate::xz(packed, self.unpack_limit)?;
            let limit = self.unpack_limit.saturating_sub(bytes.len() as u64);
            Self::parse_within(Path::new(""), bytes.into(), limit)?
        };
        (inside.is_64 == self.is_64).then_some(inside)
    }

    /// Whether the file itself contains DWARF.
    pub fn has_dwarf(&self) -> bool {
        self.section_index(b".debug_info").is_some()
    }

    /// The file that `.gnu_debuglink` names, and its CRC-32.
    pub fn debug_link(&self) -> Option<(&[u8], u32)> {
        let data = self.section(b".gnu_debuglink");
        let end = memchr::memchr(0, data)?;
        let crc: [u8; 4] = data.get((end + 1).next_multiple_of(4)..)?.get(..4)?.try_into().ok()?;
        let crc = if self.endian == Endianness::Big { u32::from_be_bytes(crc) } else { u32::from_le_bytes(crc) };
        Some((&data[..end], crc)).filter(|(name, _)| !name.is_empty())
    }

    /// The supplementary file of dwz that `.gnu_debugaltlink` names, and its build ID.
    pub fn alternate_link(&self) -> Option<(&[u8], Id)> {
        let data = self.section(b".gnu_debugaltlink");
        let end = memchr::memchr(0, data)?;
        Some((&data[..end], Id::new(data.get(end + 1..)?)?))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::object::image::{Image, ImageFunction, ImageTarget};
    use crate::object::lines::Line;
    use perf_data::abi::Endian;

    /// An image with two functions of 16 bytes at 0x1000 and 0x1010, with lines.
    pub(crate) fn image(machine: u16, is_64: bool, endian: Endian) -> Bytes {
        let mut image = Image::new(ImageTarget { machine, is_64, endian });
        for (name, line) in [("first", 10), ("second", 20)] {
            let lines = vec![
                Line { offset: 0, line, file: "a.js".into() },
                Line { offset: 8, line: line + 1, file: "a.js".into() },
            ];
            let function = ImageFunction {
                name: name.into(),
                size: 16,
                code: vec![0x90; 16].into(),
                lines,
                ..ImageFunction::default()
            };
            image.push(function);
        }
        let mut file = Vec::new();
        image.write(&mut file).unwrap();
        file.into()
    }

    pub(crate) fn object() -> Object {
        Object::parse(Path::new("x"), image(62, true, Endian::Little)).unwrap()
    }

    #[test]
    fn files_of_each_class_and_byte_order() {
        for (is_64, endian) in
            [(true, Endian::Little), (true, Endian::Big), (false, Endian::Little), (false, Endian::Big)]
        {
            let object = Object::parse(Path::new("x"), image(62, is_64, endian)).unwrap();
            assert_eq!((object.is_64(), object.machine()), (is_64, 62));
            assert!(object.build_id().is_some() && object.has_dwarf());
            assert_eq!(object.section(b".text").len(), 32);
            assert_eq!(object.address_of_offset(0x1008), Some(0x1008));
            assert_eq!(object.address_of_offset(1 << 40), None);
        }
        assert!(Object::parse(Path::new("x"), Bytes::from_static(b"#!/bin/sh")).is_none());
    }

    #[test]
    fn offsets_follow_the_segment_whose_pages_hold_them() {
        let mut object = object();
        let segment = |offset, address, is_executable| Segment {
            offset,
            file_size: 0x800,
            address,
            memory_size: 0x800,
            alignment: 0x1000,
            is_executable,
            is_writable: false,
        };
        object.segments = vec![segment(0, 0, false), segment(0x800, 0x1800, true), segment(0x1000, 0x3000, false)];
        assert_eq!(object.address_of_offset(0x10), Some(0x10));
        assert_eq!(object.address_of_offset(0x900), Some(0x1900));
        assert_eq!(object.address_of_offset(0x1100), Some(0x3100));
        assert_eq!(object.address_of_offset(0x1900), Some(0x3900));
        assert_eq!(object.address_of_offset(0x3000), None);
        assert_eq!([0x1900, 0x3100].map(|address| object.offset_of_address(address)), [Some(0x900), None]);
    }

    #[test]
    fn truncated_files_do_no_harm() {
        let whole = image(62, true, Endian::Little);
        for len in 0..whole.len() {
            if let Some(object) = Object::parse(Path::new("x"), whole.slice(..len)) {
                for index in 0..object.sections().len() {
                    assert!(object.section_data(index).len() <= len);
                }
                object.debug_link();
            }
        }
    }

    /// A file with a section that inflates to so many zeros.
    fn with_compressed_section(size: usize) -> Object {
        use object::write::Object as Writer;
        use std::io::Write;
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&vec![0; size]).unwrap();
        let packed = [b"ZLIB", &(size as u64).to_be_bytes()[..], &encoder.finish().unwrap()].concat();
        let mut file = Writer::new(object::BinaryFormat::Elf, object::Architecture::X86_64, object::Endianness::Little);
        let section = file.add_section(vec![], b".zdebug_info".to_vec(), object::SectionKind::Debug);
        file.append_section_data(section, &packed, 1);
        Object::parse(Path::new("x"), file.write().unwrap().into()).unwrap()
    }

    #[test]
    fn sections_that_inflate_beyond_the_limit_are_dropped() {
        let ordinary = with_compressed_section(16 << 20);
        assert_eq!((ordinary.exceeds_limit(), ordinary.section(b".debug_info").len()), (false, 16 << 20));
        let bomb = with_compressed_section(64 << 20);
        assert!(bomb.exceeds_limit() && bomb.section(b".debug_info").is_empty());
    }

    #[test]
    fn overlapping_sections_are_dropped() {
        let mut object = object();
        let whole = ObjectSection { offset: 0, size: object.bytes().len() as u64, ..object.sections()[1].clone() };
        let whole = ObjectSection { kind: 1, ..whole };
        object.sections = vec![whole; 2];
        object.reject_excessive_sections();
        assert!(!object.exceeds_limit());
        object.sections.push(object.sections[0].clone());
        object.reject_excessive_sections();
        assert!(object.exceeds_limit() && object.sections().is_empty());
    }
}
