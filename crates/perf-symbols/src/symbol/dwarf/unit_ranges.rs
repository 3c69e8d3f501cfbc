//! Finds the units that have code at an address.

use super::budget::Budget;
use super::code_ranges::CodeRanges;
use super::lines::UnitLines;
use super::units::{UnitView, Units};
use gimli::{DebugInfoOffset, UnitType};
use hashbrown::HashMap;
use std::ops::Range;

/// Addresses of a unit.
struct UnitRange {
    addresses: Range<u64>,
    unit: u32,
    /// Smallest start of this range and those after it.
    least_start: u64,
}

/// The addresses of units, in the order of their ends.
pub(super) struct UnitRanges(Vec<UnitRange>);

impl UnitRanges {
    /// Reads the addresses of units: from `.debug_aranges`, or else from the unit itself, or else from its lines.
    pub(super) fn new(units: &Units<'_>, budget: &Budget) -> Self {
        let index = address_index(units, budget);
        let mut ranges = Vec::new();
        for (number, (offset, header)) in units.headers().enumerate() {
            let mut add = |addresses| ranges.push(UnitRange { addresses, unit: number as u32, least_start: 0 });
            match header.type_() {
                UnitType::Type { .. } | UnitType::SplitType { .. } | UnitType::Partial => {}
                _ => match index.get(&offset.0) {
                    Some(list) => list.iter().cloned().for_each(add),
                    None => {
                        if let Some(view) = units.unit(number) {
                            add_unit_ranges(view, budget, &mut add);
                        }
                    }
                },
            }
        }
        Self::sorted(ranges)
    }

    fn sorted(mut ranges: Vec<UnitRange>) -> Self {
        ranges.sort_by_key(|range| (range.addresses.end, range.unit));
        let mut least = u64::MAX;
        for range in ranges.iter_mut().rev() {
            least = least.min(range.addresses.start);
            range.least_start = least;
        }
        Self(ranges)
    }

    /// Numbers of the units with an address.
    pub(super) fn find(&self, address: u64) -> impl Iterator<Item = usize> {
        let first = self.0.partition_point(|range| range.addresses.end <= address);
        let near = self.0[first..].iter().take_while(move |range| range.least_start <= address);
        near.filter(move |range| range.addresses.contains(&address)).map(|range| range.unit as usize)
    }
}

/// Ranges that are not empty, by the offset of the unit.
fn address_index(units: &Units<'_>, budget: &Budget) -> HashMap<usize, Vec<Range<u64>>> {
    let (mut index, mut headers) = (HashMap::<usize, Vec<Range<u64>>>::new(), units.dwarf().debug_aranges.headers());
    while let Ok(Some(header)) = headers.next() {
        let DebugInfoOffset(unit) = header.debug_info_offset();
        let mut entries = header.entries();
        // One entry whose end overflows, as that of data at the last address, does not end the list.
        while budget.spend(1)
            && let Some(entry) = entries.next().transpose()
        {
            let Ok(entry) = entry else { continue };
            let range = entry.range();
            if range.begin < range.end {
                index.entry(unit).or_default().push(range.begin..range.end);
            }
        }
    }
    index
}

/// Ranges of a unit that is in no index.
fn add_unit_ranges(view: UnitView<'_, '_>, budget: &Budget, add: &mut dyn FnMut(Range<u64>)) {
    let root = view.unit.header.root_offset();
    let tag = view.walk(root).and_then(|mut walk| walk.next()).map(|entry| entry.tag);
    // Others refer to the entries of a partial unit, which has no code.
    let Some(ranges) = CodeRanges::parse(view.unit, root).filter(|_| tag != Some(gimli::DW_TAG_partial_unit)) else {
        return;
    };
    if !ranges.each(view.unit, budget, &mut *add) {
        UnitLines::new(view.unit, budget).ranges().for_each(add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(list: &[(u64, u64, u32)], address: u64) -> Vec<usize> {
        let range = |&(start, end, unit)| UnitRange { addresses: start..end, unit, least_start: 0 };
        UnitRanges::sorted(list.iter().map(range).collect()).find(address).collect()
    }

    #[test]
    fn all_units_with_an_address() {
        let list = [(0, 100, 0), (10, 20, 1), (15, 40, 2), (50, 60, 1)];
        let at = |address| units(&list, address);
        assert_eq!((at(5), at(16), at(20), at(55)), (vec![0], vec![1, 2, 0], vec![2, 0], vec![1, 0]));
        assert_eq!((at(99), at(100), units(&[], 1)), (vec![0], vec![], vec![]));
    }
}
