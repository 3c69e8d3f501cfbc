//! The addresses of an entry's code: `DW_AT_low_pc` with `DW_AT_high_pc`, or `DW_AT_ranges`.

use super::Slice;
use super::budget::Budget;
use gimli::{Attribute, AttributeValue, RangeListsOffset, UnitOffset, UnitRef};
use std::ops::Range;

/// Cost of a range in bytes of the budget: the memory that it needs while the list of ranges grows and is sorted, so that this is
/// bounded, too.
const RANGE: usize = 96;

/// End of a range.
#[derive(Clone, Copy)]
enum RangeEnd {
    Address(u64),
    Size(u64),
}

/// Attributes with the addresses of an entry's code.
#[derive(Default)]
pub(super) struct CodeRanges {
    start: Option<u64>,
    end: Option<RangeEnd>,
    list: Option<RangeListsOffset>,
}

impl CodeRanges {
    /// Reads an entry.
    pub(super) fn parse<'a>(unit: UnitRef<'_, Slice<'a>>, entry: UnitOffset) -> Option<Self> {
        let mut entries = unit.entries_raw(Some(entry)).ok()?;
        let abbreviation = entries.read_abbreviation().ok()??;
        let mut ranges = Self::default();
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec).ok()?;
            ranges.attribute(unit, &attribute);
        }
        Some(ranges)
    }

    /// Takes an attribute of the entry. Others than those with addresses are ignored.
    pub(super) fn attribute<'a>(&mut self, unit: UnitRef<'_, Slice<'a>>, attribute: &Attribute<Slice<'a>>) {
        let address = || unit.attr_address(attribute.value()).ok().flatten();
        match attribute.name() {
            gimli::DW_AT_low_pc => self.start = address(),
            gimli::DW_AT_high_pc => {
                self.end = match attribute.value() {
                    AttributeValue::Udata(size) => Some(RangeEnd::Size(size)),
                    _ => address().map(RangeEnd::Address),
                }
            }
            gimli::DW_AT_ranges => self.list = unit.attr_ranges_offset(attribute.value()).ok().flatten(),
            _ => {}
        }
    }

    /// Calls `use_range` with each range that is not empty. Whether there is one.
    pub(super) fn each(
        &self,
        unit: UnitRef<'_, Slice<'_>>,
        budget: &Budget,
        mut use_range: impl FnMut(Range<u64>),
    ) -> bool {
        let mut is_any = false;
        let mut add = |range: Range<u64>| {
            if range.start < range.end {
                is_any = true;
                use_range(range);
            }
        };
        if let Some(list) = self.list {
            let Ok(mut ranges) = unit.ranges(list) else { return false };
            while budget.spend(RANGE)
                && let Ok(Some(range)) = ranges.next()
            {
                add(range.begin..range.end);
            }
        } else if let (Some(start), Some(end)) = (self.start, self.end) {
            let end = match end {
                RangeEnd::Address(end) => end,
                RangeEnd::Size(size) => start.wrapping_add(size),
            };
            add(start..end);
        }
        is_any
    }
}
