//! Source lines: `.debug_line`, and the minimal DWARF that refers to it.

use super::image::{Image, ImageTarget, identity};
use bytes::Bytes;
use gimli::write::{Address, AttributeValue, DwarfUnit, EndianVec, LineProgram, LineString, Sections};
use gimli::{Encoding, Format, LineEncoding, RunTimeEndian};
use hashbrown::HashMap;
use perf_data::abi::Endian;
use std::io;

/// An entry of the line table, valid until the offset of the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Offset from the beginning of the function.
    pub offset: u64,
    /// Line number, from 1.
    pub line: u32,
    /// File, without NULs.
    pub file: Bytes,
}

/// DWARF version. All common readers support it.
const DWARF: u16 = 4;

/// Name of the compilation unit.
const UNIT: &[u8] = b"jit";

/// Byte order for gimli.
pub(super) fn endian(target: ImageTarget) -> RunTimeEndian {
    if target.endian == Endian::Big { RunTimeEndian::Big } else { RunTimeEndian::Little }
}

/// The debug sections by name; empty if there are no lines.
///
/// # Errors
/// If they exceed 32-bit DWARF.
pub fn sections(image: &Image) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    if image.functions().iter().all(|(_, function)| function.lines.is_empty()) {
        return Ok(Vec::new());
    }
    let address_size = if image.target.is_64 { 8 } else { 4 };
    let encoding = Encoding { format: Format::Dwarf32, version: DWARF, address_size };
    let mut dwarf = DwarfUnit::new(encoding);
    let name = LineString::String(UNIT.to_vec());
    let mut program = LineProgram::new(encoding, LineEncoding::default(), name.clone(), None, name, None);
    let mut files = HashMap::new();
    for (address, function) in image.functions() {
        let is_valid = |line: &&Line| line.offset < function.size && !line.file.is_empty();
        let mut lines: Vec<_> = function.lines.iter().filter(is_valid).collect();
        lines.sort_by_key(|line| line.offset);
        if lines.is_empty() {
            continue;
        }
        program.begin_sequence(Some(Address::Constant(*address)));
        let directory = program.default_directory();
        for line in lines {
            let add = || program.add_file(LineString::String(line.file.to_vec()), directory, None);
            let file = *files.entry(identity(&line.file)).or_insert_with(add);
            let row = program.row();
            row.address_offset = line.offset;
            row.file = file;
            row.line = line.line.into();
            program.generate_row();
        }
        program.end_sequence(function.size);
    }
    dwarf.unit.line_program = program;
    let root = dwarf.unit.root();
    let root = dwarf.unit.get_mut(root);
    root.set(gimli::DW_AT_name, AttributeValue::String(UNIT.to_vec()));
    root.set(gimli::DW_AT_low_pc, AttributeValue::Address(Address::Constant(Image::START)));
    root.set(gimli::DW_AT_high_pc, AttributeValue::Udata(image.end() - Image::START));
    let mut sections = Sections::new(EndianVec::new(endian(image.target)));
    dwarf.write(&mut sections).map_err(io::Error::other)?;
    let mut list = Vec::new();
    sections.for_each_mut(|id, section| {
        if !section.slice().is_empty() {
            list.push((id.name(), section.take()));
        }
        Ok::<(), io::Error>(())
    })?;
    Ok(list)
}
