//! Finds the function of an address in a unit.

use super::super::ranges::Ranges;
use super::budget::Budget;
use super::code_ranges::CodeRanges;
use super::units::UnitView;
use gimli::{DwTag, UnitOffset, constants};
use std::cmp::Reverse;
use std::ops::Range;

/// The functions of a unit.
pub(super) struct Functions {
    ranges: Ranges,
    /// Each range with its entry.
    entries: Vec<(Range<u64>, UnitOffset)>,
    /// Whether entries were passed over.
    is_partial: bool,
}

/// How much of a unit is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Functions outside of types and other functions, where compilers put nearly all, if entries refer to the next one.
    Outer,
    /// All functions.
    All,
}

/// Entries of types, with many entries below them and rarely one of code.
fn is_type(tag: DwTag) -> bool {
    matches!(
        tag,
        constants::DW_TAG_class_type
            | constants::DW_TAG_structure_type
            | constants::DW_TAG_union_type
            | constants::DW_TAG_enumeration_type
            | constants::DW_TAG_interface_type
            | constants::DW_TAG_subroutine_type
            | constants::DW_TAG_array_type
    )
}

impl Functions {
    /// Reads the functions of a unit.
    pub(super) fn new(view: UnitView<'_, '_>, budget: &Budget, depth: Depth) -> Self {
        let (mut functions, mut is_partial) = (Vec::new(), false);
        let header = &view.unit.unit.header;
        let walk = view.walk(header.root_offset()).filter(|_| budget.spend(header.length_including_self()));
        if let Some(mut walk) = walk {
            while let Some(entry) = walk.next() {
                let is_function = entry.tag == constants::DW_TAG_subprogram;
                if is_function
                    && entry.has_code
                    && let Some(ranges) = CodeRanges::parse(view.unit, entry.offset)
                {
                    ranges.each(view.unit, budget, |range| {
                        functions.push((range.start, Reverse(range.end), entry.offset))
                    });
                }
                if depth == Depth::Outer && (is_function || is_type(entry.tag)) {
                    is_partial |= walk.skip_children(&entry);
                }
            }
        }
        // Of functions with the same code, the last one counts.
        functions.sort_unstable_by_key(|&(start, end, entry)| (start, end, entry.0));
        let ranges = Ranges::new(functions.iter().map(|&(start, Reverse(end), _)| (start, end)));
        let entries = functions.into_iter().map(|(start, Reverse(end), entry)| (start..end, entry)).collect();
        Self { ranges, entries, is_partial }
    }

    /// The entry of the innermost function with an address.
    pub(super) fn find(&self, address: u64) -> Option<UnitOffset> {
        self.ranges.find(address).and_then(|number| self.entries.get(number)).map(|(_, entry)| *entry)
    }

    /// All ranges of code with the entry of their function, sorted by address.
    pub(super) fn ranges(&self) -> &[(Range<u64>, UnitOffset)] {
        &self.entries
    }

    /// Whether there may be more functions.
    pub(super) fn is_partial(&self) -> bool {
        self.is_partial
    }
}
