//! Sections with debug information.

use super::Slice;
use crate::symbol::find::candidate_paths::SplitUnit;
use crate::symbol::object::Object;
use gimli::{Dwarf, DwarfPackage, DwoId, RunTimeEndian, SectionId};
use std::path::PathBuf;

/// The sections that lookups read. Variable locations, macros and indexes are not needed and not inflated.
const SECTIONS: [SectionId; 11] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugAranges,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
    SectionId::DebugTypes,
];

/// The section of this name; empty if there is none, or no name.
pub(super) fn section<'a>(object: &'a Object, name: Option<&str>) -> Slice<'a> {
    let endian = match object.endian() {
        object::Endianness::Big => RunTimeEndian::Big,
        object::Endianness::Little => RunTimeEndian::Little,
    };
    Slice::new(name.map_or(&[][..], |name| object.section(name.as_bytes())), endian)
}

/// Inflates the sections of a file that lookups read, on at most `threads` threads.
pub(crate) fn inflate(object: &Object, threads: usize) {
    let name = |id: &SectionId| object.section_index(id.name().as_bytes());
    let mut compressed: Vec<usize> = SECTIONS.iter().filter_map(name).collect();
    compressed.retain(|&index| object.is_to_inflate(index));
    // The largest first: it takes longest, while other threads inflate the others.
    compressed.sort_by_key(|&index| std::cmp::Reverse(object.sections()[index].size));
    // Otherwise, each section is inflated when it is first read.
    if threads > 1 && compressed.len() > 1 {
        perf_data::threads::in_order(
            threads,
            &compressed,
            |&index| {
                object.section_data(index);
            },
            |()| {},
        );
    }
}

/// Loads the DWARF of a file.
pub(super) fn load(object: &Object) -> Dwarf<Slice<'_>> {
    let read = |id: SectionId| Ok(section(object, SECTIONS.contains(&id).then(|| id.name())));
    Dwarf::load::<_, gimli::Error>(read).unwrap_or_default()
}

/// Loads a split DWARF package.
pub(super) fn load_package(file: &Object) -> Option<DwarfPackage<Slice<'_>>> {
    let read = |id: SectionId| Ok::<_, gimli::Error>(section(file, id.dwo_name()));
    DwarfPackage::load(read, section(file, None)).ok()
}

pub(super) fn split_unit(directory: Option<Slice<'_>>, name: Option<Slice<'_>>, id: DwoId) -> SplitUnit {
    let path = |slice: Option<Slice<'_>>| {
        PathBuf::from(String::from_utf8_lossy(slice.unwrap_or_default().slice()).into_owned())
    };
    SplitUnit { directory: path(directory), name: path(name), id: id.0 }
}

/// The units of a file with a part in split DWARF that is not in the package.
pub(crate) fn split_units(main: &Object, package: Option<&Object>) -> Vec<SplitUnit> {
    let dwarf = load(main);
    let package = package.and_then(load_package);
    let (mut list, mut units) = (Vec::new(), dwarf.units());
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let Some(id) = unit.dwo_id else { continue };
        let is_packed = |package: &DwarfPackage<_>| package.find_cu(id, &dwarf).is_ok_and(|unit| unit.is_some());
        if !package.as_ref().is_some_and(is_packed) {
            let name = unit.dwo_name().ok().flatten().and_then(|name| dwarf.attr_string(&unit, name).ok());
            list.push(split_unit(unit.comp_dir, name, id));
        }
    }
    list
}

/// Bytes of memory that lookups in a file take, about: those of sections that are decompressed or relocated, and what is kept of the
/// units of others.
pub(crate) fn memory_size(object: &Object) -> u64 {
    /// By how much debug information is compressed, at most.
    const COMPRESSION: u64 = 4;
    /// What is kept of units is so small a part of them, at most.
    const KEPT: u64 = 16;
    let size = |id: &SectionId| {
        let index = object.section_index(id.name().as_bytes())?;
        let size = object.sections()[index].size;
        Some(match object.is_to_inflate(index) {
            true => size.saturating_mul(COMPRESSION),
            false if object.is_relocatable() => size,
            false => size / KEPT,
        })
    };
    SECTIONS.iter().filter_map(size).fold(0, u64::saturating_add)
}

/// Size of the sections that lookups read.
pub(super) fn size(object: &Object) -> u64 {
    let size = |id: &SectionId| object.section(id.name().as_bytes()).len() as u64;
    SECTIONS.iter().map(size).sum()
}
