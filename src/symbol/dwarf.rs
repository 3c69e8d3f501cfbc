//! Functions, inlined functions and lines from DWARF: in the file itself, in split DWARF, and in a supplementary file of dwz.

use super::arena::Arena;
use super::die::{Declaration, Declarations};
use super::find::candidate_paths::SplitUnit;
use super::lookup::{Frame, Lookup};
use super::object::Object;
use super::reader::Slice;
use super::table::SymbolTable;
use addr2line::{Context, FrameIter, LookupContinuation, LookupResult, SplitDwarfLoad};
use gimli::{Dwarf, DwarfFileType, DwarfPackage, DwoId, Reader, RunTimeEndian, SectionId, UnitOffset};
use hashbrown::HashMap;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

/// The sections that lookups read. Variable locations, macros and indexes are not needed and not inflated.
const SECTIONS: [SectionId; 10] = [
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
];

/// Files with parts of the DWARF of an object.
#[derive(Clone, Copy)]
pub struct DwarfFiles<'a> {
    /// The file with `.debug_info`.
    pub main: &'a Object,
    /// The supplementary file to which dwz moved common parts.
    pub supplementary: Option<&'a Object>,
    /// The package of split DWARF, a `.dwp`.
    pub package: Option<&'a Object>,
    /// Opens the split DWARF file (`.dwo`) of a unit.
    pub split: &'a dyn Fn(&SplitUnit) -> Option<Object>,
    /// Symbol table, for functions without a linkage name in DWARF.
    pub table: &'a SymbolTable,
    /// Keeps the files opened by [`split`](Self::split).
    pub opened: &'a Arena<Object>,
}

/// Lookup in the DWARF of an object. Each thread needs its own.
pub struct DwarfLookup<'a> {
    files: DwarfFiles<'a>,
    context: Context<Slice<'a>>,
    package: Option<DwarfPackage<Slice<'a>>>,
    declarations: RefCell<Declarations<'a>>,
    split: RefCell<HashMap<PathBuf, Option<&'a Object>>>,
}

/// Identifies a function: its unit, which lives as long as the context, and its entry in that unit.
pub(super) type EntryKey = (usize, UnitOffset);

fn section<'a>(object: &'a Object, name: Option<&str>) -> Slice<'a> {
    let endian = match object.endian() {
        object::Endianness::Big => RunTimeEndian::Big,
        object::Endianness::Little => RunTimeEndian::Little,
    };
    Slice::new(name.map_or(&[][..], |name| object.section(name.as_bytes())), endian)
}

/// Inflates the sections of a file that lookups read, on at most `threads` threads.
pub fn inflate(object: &Object, threads: usize) {
    let name = |id: &SectionId| object.section_index(id.name().as_bytes());
    let mut compressed: Vec<usize> = SECTIONS.iter().filter_map(name).collect();
    compressed.retain(|&index| object.is_to_inflate(index));
    compressed.sort_by_key(|&index| std::cmp::Reverse(object.sections()[index].size));
    if threads > 1 && compressed.len() > 1 {
        crate::threads::in_order(
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
fn load(object: &Object) -> Dwarf<Slice<'_>> {
    let read = |id: SectionId| Ok(section(object, SECTIONS.contains(&id).then(|| id.name())));
    Dwarf::load::<_, gimli::Error>(read).unwrap_or_default()
}

/// Loads a split DWARF package.
fn load_package(file: &Object) -> Option<DwarfPackage<Slice<'_>>> {
    let read = |id: SectionId| Ok::<_, gimli::Error>(section(file, id.dwo_name()));
    DwarfPackage::load(read, section(file, None)).ok()
}

fn split_unit(directory: Option<Slice<'_>>, name: Option<Slice<'_>>, id: DwoId) -> SplitUnit {
    let path = |slice: Option<Slice<'_>>| {
        PathBuf::from(String::from_utf8_lossy(slice.unwrap_or_default().bytes()).into_owned())
    };
    SplitUnit { directory: path(directory), name: path(name), id: id.0 }
}

/// The units of a file with a part in split DWARF that is not in the package.
pub fn split_units(main: &Object, package: Option<&Object>) -> Vec<SplitUnit> {
    let dwarf = load(main);
    let package = package.and_then(load_package);
    let (mut list, mut units) = (Vec::new(), dwarf.units());
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let Some(id) = unit.dwo_id else { continue };
        let is_packed = |package: &DwarfPackage<_>| package.find_cu(id, &dwarf).is_ok_and(|found| found.is_some());
        if !package.as_ref().is_some_and(is_packed) {
            let name = unit.dwo_name().ok().flatten().and_then(|name| dwarf.attr_string(&unit, name).ok());
            list.push(split_unit(unit.comp_dir, name, id));
        }
    }
    list
}

impl<'a> DwarfLookup<'a> {
    /// Reads the units of an object. `None` if its DWARF cannot be read.
    pub fn new(files: DwarfFiles<'a>) -> Option<Self> {
        let mut dwarf = load(files.main);
        if let Some(supplementary) = files.supplementary {
            dwarf.set_sup(load(supplementary));
        }
        let dwarf = Arc::new(dwarf);
        let context = Context::from_arc_dwarf(Arc::clone(&dwarf)).ok()?;
        let package = files.package.and_then(load_package);
        let declarations = RefCell::new(Declarations::new(dwarf));
        Some(Self { files, context, package, declarations, split: RefCell::default() })
    }

    /// Completes a lookup, loading the split DWARF that it needs.
    fn complete<L: LookupContinuation<Buf = Slice<'a>>>(&self, mut result: LookupResult<L>) -> L::Output {
        loop {
            match result {
                LookupResult::Output(output) => return output,
                LookupResult::Load { load, continuation } => result = continuation.resume(self.load_split(&load)),
            }
        }
    }

    fn load_split(&self, wanted: &SplitDwarfLoad<Slice<'a>>) -> Option<Arc<Dwarf<Slice<'a>>>> {
        if let Some(package) = &self.package
            && let Ok(Some(dwarf)) = package.find_cu(wanted.dwo_id, &wanted.parent)
        {
            return Some(Arc::new(dwarf));
        }
        let unit = split_unit(wanted.comp_dir, wanted.path, wanted.dwo_id);
        let open = || (self.files.split)(&unit).and_then(|object| self.files.opened.add(object));
        let object = (*self.split.borrow_mut().entry(unit.directory.join(&unit.name)).or_insert_with(open))?;
        let mut dwarf = Dwarf::load::<_, gimli::Error>(|id| Ok(section(object, id.dwo_name()))).ok()?;
        dwarf.file_type = DwarfFileType::Dwo;
        dwarf.make_dwo(&wanted.parent);
        // Type units may come first, but readers take the first unit.
        let mut units = dwarf.units();
        let mut start = None;
        while let Ok(Some(header)) = units.next() {
            let offset = header.debug_info_offset();
            if dwarf.unit(header).is_ok_and(|unit| unit.dwo_id == Some(wanted.dwo_id)) {
                start = offset;
                break;
            }
        }
        let mut info = section(object, SectionId::DebugInfo.dwo_name());
        info.skip(start?.0).ok()?;
        dwarf.debug_info = gimli::DebugInfo::from(info);
        Some(Arc::new(dwarf))
    }

    /// The name of the outermost function: from the symbol table if DWARF has only the source name, or has another function whose
    /// code the linker found to be identical. A clone is shown as the function that it was cloned from.
    fn outermost<'n>(
        &'n self,
        declared: &Declaration<'a>,
        name: &'n [u8],
        symbol: Option<(u64, &'n [u8])>,
    ) -> &'n [u8] {
        let is_clone = |symbol: &[u8]| symbol.strip_prefix(name).is_some_and(|suffix| suffix.starts_with(b"."));
        match symbol {
            Some((_, symbol)) if !(declared.has_linkage_name && is_clone(symbol)) => symbol,
            _ => name,
        }
    }

    fn emit(&self, address: u64, mut frames: FrameIter<'_, Slice<'a>>, found: &mut dyn FnMut(&Frame<'_>)) -> bool {
        let symbol = self.files.table.find(address);
        let mut unit = None;
        let Ok(mut next) = frames.next() else { return false };
        let mut is_known = false;
        while let Some(frame) = next {
            // If a caller cannot be read, the last known function is the outermost.
            next = frames.next().unwrap_or(None);
            let is_inlined = next.is_some();
            let declared = frame.dw_die_offset.map(|entry| {
                let unit = unit.get_or_insert_with(|| self.complete(self.context.find_dwarf_and_unit(address)));
                let find = |unit| self.declarations.borrow_mut().find(unit, entry);
                unit.map_or_else(Declaration::default, find)
            });
            let name = frame.function.map_or(&[][..], |function| function.name.bytes());
            let declared = declared.unwrap_or_default();
            let location = frame.location.as_ref();
            let shown = if is_inlined { name } else { self.outermost(&declared, name, symbol) };
            if shown.is_empty() && location.is_none() {
                continue;
            }
            is_known = true;
            found(&Frame {
                name: shown,
                start_line: declared.line,
                file: location.and_then(|location| location.file).unwrap_or_default().as_bytes(),
                line: location.and_then(|location| location.line).unwrap_or_default(),
                column: location.and_then(|location| location.column).unwrap_or_default(),
                is_inlined,
                symbol_start: symbol.filter(|_| !is_inlined).map(|(start, _)| start),
            });
        }
        is_known
    }
}

impl Lookup for DwarfLookup<'_> {
    fn look_up(&self, address: u64, found: &mut dyn FnMut(&Frame<'_>)) {
        // The last address is in no range, and addr2line would compute the one after it.
        let frames = (address != u64::MAX).then(|| self.complete(self.context.find_frames(address)));
        let is_known = match frames {
            Some(Ok(frames)) => self.emit(address, frames, found),
            Some(Err(_)) | None => false,
        };
        if !is_known {
            self.files.table.look_up(address, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::object::tests::object;
    use super::*;

    #[test]
    fn lines_of_an_image() {
        let object = object();
        let (table, opened) = (SymbolTable::new(&object, None), Arena::default());
        let split: &dyn Fn(&SplitUnit) -> Option<Object> = &|_| None;
        let files =
            DwarfFiles { main: &object, supplementary: None, package: None, split, table: &table, opened: &opened };
        let lookup = DwarfLookup::new(files).unwrap();
        let mut lines = Vec::new();
        for address in [0x1000, 0x1007, 0x1008, 0x1018, 0x2000] {
            lookup.look_up(address, &mut |frame| {
                lines.push((String::from_utf8_lossy(frame.name).into_owned(), frame.line, frame.symbol_start));
            });
        }
        let line = |name: &str, line, start| (name.to_owned(), line, Some(start));
        let [first, second] = [0x1000, 0x1010];
        assert_eq!(
            lines,
            [line("first", 10, first), line("first", 10, first), line("first", 11, first), line("second", 21, second)]
        );
    }
}
