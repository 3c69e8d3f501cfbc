//! Functions, inlined functions and lines from DWARF: in the file itself, in split DWARF, and in a supplementary file of dwz.
//!
//! Only what the addresses need is read: entries of types and of the bodies of other functions are passed over, and rows are read of
//! the line sequences that contain an address. 300 addresses of a C++ program of 115 MiB take 0.09 s of CPU time instead of 0.17 with
//! addr2line. Nothing recurses, so that a corrupt file cannot exceed the stack.

mod budget;
mod calls;
mod code_ranges;
mod description;
mod entries;
mod functions;
mod line_program;
mod lines;
mod scopes;
mod sections;
mod split;
mod unit_cache;
mod unit_ranges;
mod units;

pub(crate) use sections::{inflate, memory_size, split_units};
pub(crate) use unit_cache::DwarfCache;

use super::arena::Arena;
use super::find::candidate_paths::SplitUnit;
use super::lookup::{FramesKey, FunctionFrame, Lookup};
use super::object::Object;
use super::source_lookup::SourceFrame;
use super::table::SymbolTable;
use budget::Budget;
use calls::Call;
use description::{Description, Files};
use gimli::{EndianSlice, RunTimeEndian, UnitOffset};
use hashbrown::HashMap;
use lines::Location;
use split::{SplitDwarf, SplitFiles};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;
use unit_cache::UnitCache;
use unit_ranges::UnitRanges;
use units::{UnitView, Units};

/// Bytes of a section.
type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Files with parts of the DWARF of an object.
#[derive(Clone, Copy)]
pub(crate) struct DwarfFiles<'a> {
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
    /// What other lookups in these files have read.
    pub cache: &'a DwarfCache,
    /// Whether files and lines are looked up.
    pub has_lines: bool,
}

/// Lookup in the DWARF of an object. Each thread needs its own.
pub(crate) struct DwarfLookup<'a> {
    table: &'a SymbolTable,
    units: Units<'a>,
    supplementary: Option<Units<'a>>,
    split: SplitFiles<'a>,
    /// The part of each unit in split DWARF, if it has one.
    split_units: Vec<OnceCell<Option<Box<SplitDwarf<'a>>>>>,
    ranges: &'a UnitRanges,
    /// What was read of each unit.
    caches: &'a [OnceLock<Box<UnitCache>>],
    /// Functions by unit and entry: they are described once, not for each address in them or in code they are inlined into.
    descriptions: RefCell<HashMap<(usize, UnitOffset), Description<'a>>>,
    budget: Budget,
    has_lines: bool,
}

/// A function that an address is in, with the position in it.
struct Position<'l, 'a> {
    description: Description<'a>,
    location: Location<'l>,
    is_inlined: bool,
}

impl<'a> DwarfLookup<'a> {
    /// Reads the units of an object.
    pub(crate) fn new(files: DwarfFiles<'a>) -> Self {
        let budget = Budget::new(sections::size(files.main) + files.supplementary.map_or(0, sections::size));
        let mut dwarf = sections::load(files.main);
        if let Some(supplementary) = files.supplementary {
            dwarf.set_sup(sections::load(supplementary));
        }
        let units = Units::new(dwarf);
        Self {
            table: files.table,
            supplementary: files.supplementary.map(|file| Units::new(sections::load(file))),
            split: SplitFiles::new(files.package, files.split, files.opened),
            split_units: units.headers().map(|_| OnceCell::new()).collect(),
            ranges: files.cache.ranges(&units, &budget),
            caches: files.cache.units(&units),
            descriptions: RefCell::default(),
            units,
            budget,
            has_lines: files.has_lines,
        }
    }

    /// Calls `on_position` with each function of a unit that an address is in. Whether the unit has the address.
    fn in_unit(&self, number: usize, address: u64, on_position: &mut dyn FnMut(Position<'_, 'a>)) -> bool {
        let (Some(lines_view), Some(cache)) = (self.units.unit(number), self.caches.get(number)) else { return false };
        let cache = cache.get_or_init(Box::default);
        let (own, view) = self.code(number, lines_view);
        let function = cache.function(view, &self.budget, address);
        let lines = self.has_lines.then(|| cache.lines(lines_view.unit, &self.budget));
        let location = lines.and_then(|lines| lines.find(lines_view.unit, &self.budget, address));
        let Some(function) = function else {
            let Some(location) = location else { return false };
            on_position(Position { description: Description::default(), location, is_inlined: false });
            return true;
        };
        let mut location = location.unwrap_or_default();
        let describe = |entry| self.describe(number, own, view, entry);
        let calls = cache.calls(view, &self.budget, function);
        for call in calls.find(address) {
            on_position(Position { description: describe(call.entry), location, is_inlined: true });
            let path = |file| lines.map(|lines| lines.path(lines_view.unit, &self.budget, file));
            let file = call.file.and_then(path).unwrap_or_default();
            let Call { line, column, discriminator, .. } = *call;
            location = Location { file, line, column, discriminator };
        }
        on_position(Position { description: describe(function), location, is_inlined: false });
        true
    }
}

impl<'a> DwarfLookup<'a> {
    /// The unit with the entries of a unit, and the units of its file: those in split DWARF, or the unit itself.
    fn code<'l>(&'l self, number: usize, unit: UnitView<'l, 'a>) -> (&'l Units<'a>, UnitView<'l, 'a>) {
        let open = || self.split.open(&self.units, unit.unit, &self.budget).map(Box::new);
        let split = self.split_units.get(number).and_then(|split| split.get_or_init(open).as_ref());
        split.map_or((&self.units, unit), |split| split.view())
    }

    /// Describes a function or an inlined call by its unit and entry.
    fn describe(&self, number: usize, own: &Units<'a>, view: UnitView<'_, 'a>, entry: UnitOffset) -> Description<'a> {
        let files = Files { own, supplementary: self.supplementary.as_ref(), budget: &self.budget };
        let mut descriptions = self.descriptions.borrow_mut();
        let read = || Description::read(&files, view, entry);
        descriptions.entry((number, entry)).or_insert_with(read).clone()
    }

    /// Calls `on_range` with each range of code, and the name, of all functions in the units that have one of these addresses.
    pub(crate) fn each_function(&self, addresses: &[u64], on_range: &mut dyn FnMut(&'a [u8], Range<u64>)) {
        let numbers: BTreeSet<usize> = addresses.iter().flat_map(|&address| self.ranges.find(address)).collect();
        for number in numbers {
            let (Some(view), Some(cache)) = (self.units.unit(number), self.caches.get(number)) else { continue };
            let cache = cache.get_or_init(Box::default);
            let (own, view) = self.code(number, view);
            for (range, entry) in cache.functions(view, &self.budget).ranges() {
                on_range(self.describe(number, own, view, *entry).plain_name(), range.clone());
            }
        }
    }

    /// Calls `on_frame` with each function that an address is in, innermost first; not at all if none is known.
    pub(crate) fn each_source_frame(&self, address: u64, on_frame: &mut dyn FnMut(SourceFrame<'_>)) {
        let mut emit = |position: Position<'_, 'a>| {
            let Position { description, location, .. } = position;
            on_frame(SourceFrame {
                function: description.plain_name(),
                declaration: description.line,
                line: location.line,
                discriminator: location.discriminator,
            });
        };
        let _ = self.ranges.find(address).any(|number| self.in_unit(number, address, &mut emit));
    }
}

/// The name of the outermost function: from the symbol table if DWARF has only the source name, or has another function whose
/// code the linker found to be identical. A clone is shown as the function that it was cloned from.
fn outermost<'n>(description: &'n Description<'_>, symbol: Option<(u64, &'n [u8])>) -> &'n [u8] {
    let name = description.name();
    let is_clone = |symbol: &[u8]| symbol.strip_prefix(name).is_some_and(|suffix| suffix.starts_with(b"."));
    match symbol {
        Some((_, symbol)) if !(description.has_linkage_name && is_clone(symbol)) => symbol,
        _ => name,
    }
}

impl Lookup for DwarfLookup<'_> {
    fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
        let symbol = self.table.find(address);
        let mut is_known = false;
        let mut emit = |position: Position<'_, '_>| {
            let Position { description, location, is_inlined } = position;
            let name = if is_inlined { description.name() } else { outermost(&description, symbol) };
            let Location { file, line, column, .. } = location;
            if name.is_empty() && file.is_empty() && line == 0 {
                return;
            }
            is_known = true;
            let symbol_start = symbol.filter(|_| !is_inlined).map(|(start, _)| start);
            let start_line = description.line;
            on_frame(&FunctionFrame { name, start_line, file, line, column, is_inlined, symbol_start });
        };
        // The first unit that has the address counts; others have it in their ranges only.
        let _ = self.ranges.find(address).any(|number| self.in_unit(number, address, &mut emit));
        if !is_known {
            self.table.look_up(address, on_frame);
        }
    }

    fn frames_key(&self, address: u64) -> Option<FramesKey> {
        let unit = self.ranges.find(address).next()?;
        let (view, cache) = (self.units.unit(unit)?, self.caches.get(unit)?.get()?);
        let (_, code) = self.code(unit, view);
        let function = cache.function(code, &self.budget, address)?;
        let row = match self.has_lines {
            true => cache.lines(view.unit, &self.budget).row_id(view.unit, &self.budget, address)?,
            false => 0,
        };
        let call = cache.calls(code, &self.budget, function).innermost(address);
        let symbol_start = self.table.find(address).map(|(start, _)| start);
        Some(FramesKey { unit, function: function.0, call, row, symbol_start })
    }

    fn source(&self, address: u64) -> Option<Vec<u8>> {
        self.ranges.find(address).find_map(|number| {
            let view = self.units.unit(number)?;
            let lines = self.caches.get(number)?.get_or_init(Box::default).lines(view.unit, &self.budget);
            lines.source(view.unit, &self.budget, address).map(|text| text.slice().to_vec())
        })
    }

    fn exceeds_limit(&self) -> bool {
        // Without debug information, there is nothing to spend.
        let is_spent = self.budget.is_spent() && self.units.headers().next().is_some();
        is_spent || self.units.exceeds_limit() || self.supplementary.as_ref().is_some_and(Units::exceeds_limit)
    }
}

#[cfg(test)]
mod tests {
    use super::super::object::tests::object;
    use super::*;

    #[test]
    fn lines_of_an_image() {
        let object = object();
        let (table, opened, cache) = (SymbolTable::new(&object, None), Arena::default(), DwarfCache::default());
        let split: &dyn Fn(&SplitUnit) -> Option<Object> = &|_| None;
        let lookup = |has_lines| {
            let (supplementary, package) = (None, None);
            let (table, opened, cache) = (&table, &opened, &cache);
            let files = DwarfFiles { main: &object, supplementary, package, split, table, opened, cache, has_lines };
            DwarfLookup::new(files)
        };
        let frames = |lookup: &DwarfLookup<'_>| {
            let mut frames = Vec::new();
            for address in [0x1000, 0x1007, 0x1008, 0x1018, 0x2000] {
                lookup.look_up(address, &mut |frame| {
                    frames.push((String::from_utf8_lossy(frame.name).into_owned(), frame.line, frame.symbol_start));
                });
            }
            frames
        };
        let line = |name: &str, line, start| (name.to_owned(), line, Some(start));
        let [first, second] = [0x1000, 0x1010];
        let with_lines = frames(&lookup(true));
        assert_eq!(
            with_lines,
            [line("first", 10, first), line("first", 10, first), line("first", 11, first), line("second", 21, second)]
        );
        let names = with_lines.into_iter().map(|(name, _, start)| (name, 0, start));
        assert!(names.eq(frames(&lookup(false))));
    }
}
