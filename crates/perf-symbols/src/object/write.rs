//! Encodes an image as an ELF file.

use super::image::{Image, ImageFunction, ImageTarget, identity};
use super::lines;
use super::unwind::Unwind;
use bytes::Bytes;
use hashbrown::HashMap;
use object::Endianness;
use object::elf;
use object::write::StreamingBuffer;
use object::write::StringId;
use object::write::elf::{FileHeader, ProgramHeader, SectionHeader, SectionIndex, Sym, Writer};
use perf_data::abi::Endian;
use std::io::{self, Write};

/// A section other than symbols and strings.
struct WrittenSection<'a> {
    name: StringId,
    kind: elf::SectionType,
    flags: elf::SectionFlags,
    /// Offset in the file, and address in memory.
    at: u64,
    size: u64,
    align: u64,
    content: Content<'a>,
}

/// Contents of a section.
enum Content<'a> {
    /// None in the file (`SHT_NOBITS`).
    Absent,
    /// These bytes.
    Bytes(Vec<u8>),
    /// The code of functions, padded with zeros.
    Code(&'a Image),
}

impl Image {
    /// Writes an ELF file with symbols, known code, lines, unwind tables and a build ID.
    ///
    /// # Errors
    /// Errors of the output, or if a section exceeds its format.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut buffer = StreamingBuffer::new(out);
        write(self, &mut Writer::new(endianness(self.target), self.target.is_64, &mut buffer))?;
        buffer.flush()
    }
}

fn endianness(target: ImageTarget) -> Endianness {
    if target.endian == Endian::Big { Endianness::Big } else { Endianness::Little }
}

fn write<'a>(image: &'a Image, writer: &mut Writer<'a>) -> io::Result<()> {
    let alloc = elf::SHF_ALLOC;
    let unwind_at = image.end().next_multiple_of(8);
    // Without code the sections after it would have no file offset.
    let unwind = if image.has_code() { Unwind::new(image, unwind_at) } else { None };
    writer.reserve_file_header();
    writer.reserve_program_headers(if unwind.is_some() { 3 } else { 2 });

    let mut sections = Vec::new();
    let mut add = |writer: &mut Writer<'a>, name: &'static str, kind, flags, align, size, content| {
        let name = writer.add_section_name(name.as_bytes());
        writer.reserve_section_index();
        let at = match content {
            // Has an address but no file offset.
            Content::Absent => Image::START,
            _ => writer.reserve(size, align),
        };
        sections.push(WrittenSection { name, kind, flags, at, size, align, content });
        at
    };
    let note = note(image);
    let note_len = note.len() as u64;
    let note_at = add(writer, ".note.gnu.build-id", elf::SHT_NOTE, alloc, 4, note_len, Content::Bytes(note));
    let text = SectionIndex(2);
    let (kind, content) =
        if image.has_code() { (elf::SHT_PROGBITS, Content::Code(image)) } else { (elf::SHT_NOBITS, Content::Absent) };
    let text_len = image.end() - Image::START;
    add(writer, ".text", kind, alloc | elf::SHF_EXECINSTR, Image::START, text_len, content);
    let mut eh_frame_hdr = None;
    if let Some(unwind) = unwind {
        let len = unwind.eh_frame.len() as u64;
        let header_at = (unwind_at + len).next_multiple_of(4);
        let header = unwind.header(image, header_at - unwind_at)?;
        let header_len = unwind.header_len();
        add(writer, ".eh_frame", elf::SHT_PROGBITS, alloc, 8, len, Content::Bytes(unwind.eh_frame));
        add(writer, ".eh_frame_hdr", elf::SHT_PROGBITS, alloc, 4, header_len, Content::Bytes(header));
        eh_frame_hdr = Some((header_at, header_len));
    }
    let loaded = writer.reserved_len();
    for (name, bytes) in lines::sections(image)? {
        let len = bytes.len() as u64;
        add(writer, name, elf::SHT_PROGBITS, elf::SectionFlags(0), 1, len, Content::Bytes(bytes));
    }

    let functions = image.functions();
    let mut strings = HashMap::new();
    let mut string = |name: &'a Bytes| *strings.entry(identity(name)).or_insert_with(|| writer.add_string(name));
    let names: Vec<_> = functions.iter().map(|(_, function)| string(&function.name)).collect();
    for _ in functions {
        writer.reserve_symbol_index(Some(text));
    }
    if functions.is_empty() {
        writer.reserve_null_symbol_index();
    }
    writer.reserve_symtab_section_index();
    writer.reserve_symtab();
    writer.reserve_strtab_section_index();
    writer.reserve_strtab().map_err(io::Error::other)?;
    writer.reserve_shstrtab_section_index();
    writer.reserve_shstrtab().map_err(io::Error::other)?;
    writer.reserve_section_headers();

    let header = FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_DYN,
        e_machine: elf::Machine(image.target.machine),
        e_entry: 0,
        e_flags: elf::FileFlags(0),
    };
    writer.write_file_header(&header).map_err(io::Error::other)?;
    writer.write_align_program_headers();
    let mut segment = |p_type, p_flags, at, file, memory, p_align| {
        let (p_offset, p_vaddr, p_paddr) = (at, at, at);
        let (p_filesz, p_memsz) = (file, memory);
        writer.write_program_header(&ProgramHeader {
            p_type,
            p_flags,
            p_offset,
            p_vaddr,
            p_paddr,
            p_filesz,
            p_memsz,
            p_align,
        });
    };
    segment(elf::PT_LOAD, elf::PF_R | elf::PF_X, 0, loaded, loaded.max(image.end()), Image::START);
    segment(elf::PT_NOTE, elf::PF_R, note_at, note_len, note_len, 4);
    if let Some((at, len)) = eh_frame_hdr {
        segment(elf::PT_GNU_EH_FRAME, elf::PF_R, at, len, len, 4);
    }

    for section in &sections {
        match &section.content {
            Content::Absent => {}
            Content::Bytes(bytes) => {
                writer.pad_until(section.at);
                writer.write(bytes);
            }
            Content::Code(image) => {
                writer.pad_until(section.at);
                write_code(image, writer);
            }
        }
    }
    writer.write_null_symbol();
    for ((address, function), name) in functions.iter().zip(&names) {
        writer.write_symbol(&Sym {
            section: Some(text.0),
            st_name: writer.string_offset(Some(*name)),
            st_info: elf::SymbolInfo::new(elf::STB_LOCAL, elf::STT_FUNC),
            st_other: elf::SymbolOther(0),
            st_shndx: elf::SymbolSection(0),
            st_value: *address,
            st_size: function.size,
        });
    }
    writer.write_strtab();
    writer.write_shstrtab();
    writer.write_null_section_header();
    for section in &sections {
        let is_loaded = section.flags.0 & elf::SHF_ALLOC.0 != 0;
        writer.write_section_header(&SectionHeader {
            sh_name: writer.section_name_offset(Some(section.name)),
            sh_type: section.kind,
            sh_flags: section.flags,
            sh_addr: if is_loaded { section.at } else { 0 },
            sh_offset: section.at,
            sh_size: section.size,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: section.align,
            sh_entsize: 0,
        });
    }
    writer.write_symtab_section_header(functions.len() as u32 + 1);
    writer.write_strtab_section_header();
    writer.write_shstrtab_section_header();
    Ok(())
}

/// Writes the code of all functions from [`Image::START`] on.
fn write_code(image: &Image, writer: &mut Writer<'_>) {
    let mut functions: Vec<&(u64, ImageFunction)> = image.functions().iter().collect();
    functions.retain(|(_, function)| !function.code.is_empty());
    functions.sort_by_key(|(address, _)| *address);
    for (address, function) in functions {
        writer.pad_until(*address);
        writer.write(&function.code);
    }
    writer.pad_until(image.end());
}

/// The note with the build ID.
fn note(image: &Image) -> Vec<u8> {
    let own = image.build_id();
    let id = image.stands_for.as_deref().unwrap_or(&own);
    let words = [elf::ELF_NOTE_GNU.len() as u32 + 1, id.len() as u32, elf::NT_GNU_BUILD_ID.0];
    let word = |word: u32| if image.target.endian == Endian::Big { word.to_be_bytes() } else { word.to_le_bytes() };
    let mut note: Vec<u8> = words.into_iter().flat_map(word).collect();
    note.extend(elf::ELF_NOTE_GNU);
    note.push(0);
    note.extend(id);
    note
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::lines::Line;
    use object::Endianness;
    use object::elf::{FileHeader32, FileHeader64, NT_GNU_BUILD_ID};
    use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};

    fn function(name: &'static str, size: u64, code: &'static [u8]) -> ImageFunction {
        ImageFunction { name: name.into(), size, code: code.into(), ..ImageFunction::default() }
    }

    fn file(image: &Image) -> Vec<u8> {
        let mut file = Vec::new();
        image.write(&mut file).unwrap();
        file
    }

    /// Name, address and size of each function, the build ID, and type and bytes of `.text`, as read by the object crate.
    type Read = (Vec<(String, u64, u64)>, Vec<u8>, u32, Vec<u8>);

    fn read<H: FileHeader<Endian = Endianness>>(data: &[u8], machine: u16) -> Read {
        let header = H::parse(data).unwrap();
        let endian = header.endian().unwrap();
        assert_eq!((header.e_machine(endian).0, header.e_type(endian)), (machine, elf::ET_DYN));
        let sections = header.sections(endian, data).unwrap();
        let symbols = sections.symbols(endian, data, elf::SHT_SYMTAB).unwrap();
        let functions = symbols.iter().filter(|symbol| symbol.st_type() == elf::STT_FUNC);
        let functions = functions.map(|symbol| {
            let name = String::from_utf8(symbol.name(endian, symbols.strings()).unwrap().to_vec()).unwrap();
            (name, symbol.st_value(endian).into(), symbol.st_size(endian).into())
        });
        let mut notes = header.program_headers(endian, data).unwrap().iter().filter_map(|segment| {
            let mut notes = segment.notes(endian, data).unwrap()?;
            let note = notes.next().unwrap().unwrap();
            (note.n_type(endian) == NT_GNU_BUILD_ID).then(|| note.desc().to_vec())
        });
        let (_, text) = sections.section_by_name(endian, b".text").unwrap();
        let bytes = text.data(endian, data).unwrap().to_vec();
        (functions.collect(), notes.next().unwrap(), text.sh_type(endian).0, bytes)
    }

    #[test]
    fn all_classes_and_byte_orders_are_readable() {
        for (is_64, endian) in
            [(true, Endian::Little), (true, Endian::Big), (false, Endian::Little), (false, Endian::Big)]
        {
            let mut image = Image::new(ImageTarget { machine: 22, is_64, endian });
            let mut with_lines = function("f", 3, b"abc");
            with_lines.lines = vec![Line { offset: 0, line: 5, file: "a.js".into() }];
            image.push(with_lines);
            image.push(function("g", 2, b"de"));
            image.push(function("unknown", 4, b""));
            let data = file(&image);
            let read = if is_64 {
                read::<FileHeader64<Endianness>>(&data, 22)
            } else {
                read::<FileHeader32<Endianness>>(&data, 22)
            };
            let named = |name: &str, at, size| (name.to_owned(), at, size);
            let functions = vec![named("f", 0x1000, 3), named("g", 0x1010, 2), named("unknown", 0x1020, 4)];
            let mut text = b"abc".to_vec();
            text.resize(0x10, 0);
            text.extend(b"de");
            text.resize(0x24, 0);
            assert_eq!(read, (functions, image.build_id().to_vec(), elf::SHT_PROGBITS.0, text), "{is_64} {endian:?}");
        }
    }

    #[test]
    fn an_image_without_code_is_small() {
        let mut image = Image::new(ImageTarget { machine: 62, is_64: true, endian: Endian::Little });
        image.offset(0x4000_0000_0000, function("far", 1 << 40, b"")).unwrap();
        let data = file(&image);
        let (functions, _, kind, _) = read::<FileHeader64<Endianness>>(&data, 62);
        assert_eq!(functions, [("far".to_owned(), 0x4000_0000_0000, 1 << 40)]);
        assert_eq!((kind, data.len() < 2000), (elf::SHT_NOBITS.0, true), "{} bytes", data.len());
        let nothing = file(&Image::new(image.target));
        assert!(read::<FileHeader64<Endianness>>(&nothing, 62).0.is_empty());
    }
}
