//! Inlined calls in a function.

use super::super::ranges::Ranges;
use super::Slice;
use super::budget::Budget;
use super::code_ranges::CodeRanges;
use super::units::UnitView;
use gimli::{Attribute, AttributeValue, UnitOffset, constants};
use std::cmp::Reverse;
use std::ops::Range;

/// Maximum number of calls in each other. Compilers inline a few dozen.
const DEPTH: usize = 4096;

/// A call that was inlined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    /// Entry of the called function.
    pub entry: UnitOffset,
    /// Number of the file with the call in the line program.
    pub file: Option<u64>,
    /// Line of the call; 0 if unknown.
    pub line: u32,
    /// Column of the call; 0 if unknown.
    pub column: u32,
    /// Distinguishes calls on the same line; 0 by default.
    pub discriminator: u32,
    /// The call that this one is in.
    pub caller: Option<u32>,
}

/// Maximum number of calls in a function: one of a damaged unit can hold all entries of the file.
const CALLS: usize = 1 << 20;

/// The inlined calls in a function.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    ranges: Ranges,
    /// The call of each range.
    owners: Vec<u32>,
}

/// Range of a call, in the order of starts, those around others first.
type Part = (u64, Reverse<u64>, usize, u32);

impl Calls {
    /// Reads the calls in a function.
    pub(super) fn new(view: UnitView<'_, '_>, budget: &Budget, function: UnitOffset) -> Self {
        let Some(mut walk) = view.walk(function) else { return Self::default() };
        let (mut calls, mut parts) = (Vec::new(), Vec::<Part>::new());
        // The calls around an entry, with their depths. Entries below `nested` belong to another function.
        let (mut around, mut nested): (Vec<(usize, u32)>, Option<usize>) = (Vec::new(), None);
        while let Some(entry) = walk.next() {
            while around.last().is_some_and(|&(depth, _)| depth >= entry.depth) {
                around.pop();
            }
            nested = nested.filter(|&depth| entry.depth > depth);
            match entry.tag {
                _ if nested.is_some() || entry.depth == 0 => {}
                constants::DW_TAG_subprogram => {
                    walk.skip_children(&entry);
                    nested = Some(entry.depth);
                }
                constants::DW_TAG_inlined_subroutine if around.len() < DEPTH && calls.len() < CALLS => {
                    let caller = around.last().map(|&(_, call)| call);
                    let Some((call, ranges)) = read_call(view, entry.offset, caller) else { continue };
                    let number = calls.len() as u32;
                    let depth = around.len();
                    let add = |range: Range<u64>| parts.push((range.start, Reverse(range.end), depth, number));
                    if ranges.each(view.unit, budget, add) {
                        calls.push(call);
                        around.push((entry.depth, number));
                    }
                }
                _ => {}
            }
        }
        budget.spend(walk.offset().0.saturating_sub(function.0));
        parts.sort_unstable();
        let ranges = Ranges::new(parts.iter().map(|&(start, Reverse(end), _, _)| (start, end)));
        Self { calls, ranges, owners: parts.into_iter().map(|(_, _, _, call)| call).collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// The number of the innermost call that an address is in.
    pub(super) fn innermost(&self, address: u64) -> Option<u32> {
        self.ranges.find(address).and_then(|part| self.owners.get(part)).copied()
    }

    /// The calls that an address is in, innermost first.
    pub(super) fn find(&self, address: u64) -> impl Iterator<Item = &Call> {
        let innermost = self.innermost(address);
        let call = |number: u32| self.calls.get(number as usize);
        std::iter::successors(innermost.and_then(call), move |inner| inner.caller.and_then(call))
    }
}

fn read_call(view: UnitView<'_, '_>, entry: UnitOffset, caller: Option<u32>) -> Option<(Call, CodeRanges)> {
    let mut entries = view.unit.entries_raw(Some(entry)).ok()?;
    let abbreviation = entries.read_abbreviation().ok()??;
    let mut call = Call { entry, file: None, line: 0, column: 0, discriminator: 0, caller };
    let mut ranges = CodeRanges::default();
    for spec in abbreviation.attributes() {
        let attribute = entries.read_attribute(*spec).ok()?;
        let number = |attribute: &Attribute<Slice<'_>>| attribute.udata_value().unwrap_or(0) as u32;
        match (attribute.name(), attribute.value()) {
            // Before DWARF 5, 0 stood for no file.
            (constants::DW_AT_call_file, AttributeValue::FileIndex(file)) => {
                call.file = Some(file).filter(|&file| file > 0 || view.unit.header.version() >= 5);
            }
            (constants::DW_AT_call_line, _) => call.line = number(&attribute),
            (constants::DW_AT_call_column, _) => call.column = number(&attribute),
            (constants::DW_AT_GNU_discriminator, _) => call.discriminator = number(&attribute),
            _ => ranges.attribute(view.unit, &attribute),
        }
    }
    Some((call, ranges))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::Slice;
    use super::super::functions::{Depth, Functions};
    use super::super::units::Units;
    use super::*;
    use gimli::{Dwarf, RunTimeEndian, SectionId};

    pub(crate) const FUNCTION: u8 = 2;
    const CALL: u8 = 3;
    const CALL_WITHOUT_CODE: u8 = 4;
    /// A type with the offset of the next entry.
    pub(crate) const TYPE: u8 = 5;
    pub(crate) const END: u8 = 0;

    /// The lowest address and the size of an entry.
    fn range(start: u64, size: u32) -> Vec<u8> {
        [&start.to_le_bytes()[..], &size.to_le_bytes()].concat()
    }

    pub(crate) fn entry(code: u8, start: u64, size: u32) -> Vec<u8> {
        [&[code][..], &range(start, size)].concat()
    }

    /// A unit from 0x1000 to 0x3000 with these entries.
    pub(crate) fn with_unit(entries: &[u8], test: impl FnOnce(UnitView<'_, '_>, &Budget)) {
        let low_and_high = [0x11, 1, 0x12, 6, 0, 0];
        let kind = |code, tag| [&[code, tag, 1][..], &low_and_high].concat();
        let without_code = vec![CALL_WITHOUT_CODE, 0x1d, 1, 0, 0];
        let with_sibling = vec![TYPE, 0x13, 1, 1, 0x13, 0, 0];
        let kinds = [kind(1, 0x11), kind(FUNCTION, 0x2e), kind(CALL, 0x1d), without_code, with_sibling, vec![0]];
        let abbreviations = kinds.concat();
        let entries = [&entry(1, 0x1000, 0x2000), entries, &[END]].concat();
        let length = (entries.len() + 7) as u32;
        let info = [&length.to_le_bytes()[..], &[4, 0, 0, 0, 0, 0, 8], &entries].concat();
        let load = |id| {
            let bytes = match id {
                SectionId::DebugAbbrev => &abbreviations[..],
                SectionId::DebugInfo => &info,
                _ => &[],
            };
            Ok::<_, gimli::Error>(Slice::new(bytes, RunTimeEndian::Little))
        };
        let units = Units::new(Dwarf::load(load).unwrap());
        test(units.unit(0).unwrap(), &Budget::new(info.len() as u64));
    }

    /// Number of calls that addresses of the function at 0x1000 are in.
    fn depths(entries: &[u8], addresses: &[u64]) -> Vec<usize> {
        let mut depths = Vec::new();
        with_unit(entries, |view, budget| {
            let functions = Functions::new(view, budget, Depth::Outer);
            let function = functions.find(0x1000).unwrap();
            assert!(functions.find(0x2004).is_some_and(|second| second != function));
            let calls = Calls::new(view, budget, function);
            depths = addresses.iter().map(|&address| calls.find(address).count()).collect();
        });
        depths
    }

    #[test]
    fn calls_are_found_in_their_callers() {
        let calls = [
            entry(FUNCTION, 0x1000, 0x100),
            entry(CALL, 0x1000, 0x20),
            entry(CALL, 0x1000, 0x10),
            vec![END, CALL_WITHOUT_CODE],
            entry(CALL, 0x1018, 4),
            vec![END, END, END],
            // A function in the function, whose calls are its own.
            entry(FUNCTION, 0x1080, 0x10),
            entry(CALL, 0x1080, 0x10),
            vec![END, END],
            entry(CALL, 0x1040, 0x10),
            vec![END, END],
            entry(FUNCTION, 0x2000, 0x10),
            vec![END],
        ];
        let addresses = [0x1000, 0x1010, 0x1018, 0x101c, 0x1020, 0x1040, 0x1080];
        assert_eq!(depths(&calls.concat(), &addresses), [2, 1, 2, 1, 0, 1, 0]);
    }

    #[test]
    fn calls_nested_without_end_cost_no_other_function() {
        for (depth, expected) in [(100, 100), (1_000_000, DEPTH)] {
            let call = entry(CALL, 0x1000, 0x10);
            let nested = [entry(FUNCTION, 0x1000, 0x10), call.repeat(depth), vec![END; depth + 1]].concat();
            let entries = [nested, entry(FUNCTION, 0x2000, 0x10), vec![END]].concat();
            assert_eq!(depths(&entries, &[0x1004]), [expected]);
        }
    }
}
