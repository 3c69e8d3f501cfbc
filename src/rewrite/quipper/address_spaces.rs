//! Address spaces by quipper's rules, and their layout when mappings are packed from address 0.
//!
//! A mapping that covers or partly overlaps others replaces them entirely; one within another splits it. When a process first
//! appears, it inherits the mappings of its parent or else of the kernel; later mappings of either are not inherited.

use hashbrown::HashMap;
use perf_data::abi;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::comm::Comm;
use perf_data::abi::record::task::Task;
use perf_data::session::map::PAGE;
use perf_data::session::range_map::{RangeEntry, RangeMap};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::ops::RangeInclusive;

/// The process of kernel mappings.
pub(crate) const KERNEL: u32 = u32::MAX;
/// Start of the kernel half.
const KERNEL_START: u64 = 1 << 63;
/// From this many mappings of a process on, a new one is always packed after the last.
const MANY: usize = 10_000;
/// Number of pages in the lookup cache.
const CACHED_PAGES: usize = 1 << 12;

/// A mapping in its address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Start address.
    pub start: u64,
    /// Length in bytes.
    pub len: u64,
    /// Wrapping offset from an address to its packed address.
    pub shift: u64,
}

/// The mapping at an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundMapping {
    /// Number of the mapping, in the order of the records.
    pub number: u32,
    /// Wrapping offset from an address to its packed address.
    pub shift: u64,
}

/// The address spaces of all processes.
#[derive(Debug)]
pub(crate) struct AddressSpaces {
    processes: HashMap<u32, AddressSpace>,
    is_packed: bool,
    /// Number of mappings so far.
    count: u32,
    /// Changes with every mapping; invalidates the cache.
    generation: u64,
    pages: Vec<Page>,
}

/// A cached page that lies within one mapping.
#[derive(Clone, Debug, Default)]
struct Page {
    pid: u32,
    number: u64,
    generation: u64,
    mapping: FoundMapping,
}

/// The mappings of a process. Parent and child share them until either changes.
#[derive(Clone, Debug, Default)]
struct AddressSpace {
    /// The mappings, or their remaining parts.
    maps: RangeMap<FoundMapping>,
    /// The packed ranges.
    packed: RangeMap<()>,
}

impl AddressSpaces {
    /// Creates empty address spaces. Packed addresses are only computed if `is_packed`.
    pub(crate) fn new(is_packed: bool) -> Self {
        let pages = vec![Page::default(); CACHED_PAGES];
        Self { processes: HashMap::new(), is_packed, count: 0, generation: 1, pages }
    }

    /// Processes FORK and COMM records. The caller processes mappings.
    pub(crate) fn apply(&mut self, meta: &Meta, raw: &Raw<'_>) {
        let (body, _) = meta.events.split(raw);
        match raw.header().kind {
            RecordType::FORK => {
                if let Ok((task, _)) = abi::parse::<Task>(body, raw.endian(), ()) {
                    self.fork(task.pid, task.ppid);
                }
            }
            RecordType::COMM => {
                if let Ok((comm, _)) = abi::parse::<Comm>(body, raw.endian(), ()) {
                    self.ensure(comm.pid);
                }
            }
            _ => {}
        }
    }

    /// Adds a process with the mappings of its parent, unless it exists.
    pub(crate) fn fork(&mut self, pid: u32, parent: u32) {
        if !self.processes.contains_key(&pid) {
            let parents = self.processes.get(&parent).or(self.processes.get(&KERNEL)).cloned().unwrap_or_default();
            self.processes.insert(pid, parents);
        }
    }

    /// Adds a process with the mappings of the kernel, unless it exists.
    pub(crate) fn ensure(&mut self, pid: u32) {
        self.fork(pid, KERNEL);
    }

    /// Adds a mapping; `None` if it is empty or exceeds the address space.
    pub(crate) fn map(&mut self, pid: u32, start: u64, len: u64, pgoff: u64) -> Option<Placement> {
        let number = self.count;
        self.count += 1;
        let last = start.checked_add(len.checked_sub(1)?)?;
        // Old versions of perf recorded the kernel from address 0 on, with its real start as the offset.
        let is_old_kernel = start <= KERNEL_START && pgoff > KERNEL_START && last >= KERNEL_START && pgoff < last;
        let start = if is_old_kernel { pgoff } else { start };
        self.ensure(pid);
        let space = self.processes.get_mut(&pid)?;
        self.generation += 1;
        let shift = space.map(start, last, number, self.is_packed)?;
        Some(Placement { start, len: (last - start).wrapping_add(1), shift })
    }

    /// Finds the mapping at an address of a process.
    #[inline]
    pub(crate) fn find(&mut self, pid: u32, address: u64) -> Option<FoundMapping> {
        let number = address / PAGE;
        let at = (number ^ u64::from(pid)) as usize % CACHED_PAGES;
        let page = &self.pages[at];
        if (page.number, page.pid, page.generation) == (number, pid, self.generation) {
            return Some(page.mapping);
        }
        self.ensure(pid);
        let RangeEntry { start, last, value: mapping } = self.processes.get(&pid)?.maps.find(address)?;
        if start <= number * PAGE && last >= number * PAGE + (PAGE - 1) {
            self.pages[at] = Page { pid, number, generation: self.generation, mapping };
        }
        Some(mapping)
    }
}

impl AddressSpace {
    fn map(&mut self, start: u64, last: u64, number: u32, is_packed: bool) -> Option<u64> {
        let around = self
            .maps
            .at_or_before(last)
            .filter(|part| part.start <= start && part.last >= last && (part.start, part.last) != (start, last));
        let Some(part) = around else {
            let first = self.maps.find(start).map_or(start, |part| part.start);
            self.unmap_all(first..=last, is_packed);
            return self.insert(start, last, number, is_packed);
        };
        self.maps.remove(part.start);
        self.packed.remove(packed(part).start);
        if part.start < start {
            self.insert(part.start, start - 1, part.value.number, is_packed);
        }
        let shift = self.insert(start, last, number, is_packed);
        if part.last > last {
            self.insert(last + 1, part.last, part.value.number, is_packed);
        }
        shift
    }

    fn unmap_all(&mut self, starts: RangeInclusive<u64>, is_packed: bool) {
        let removed: Vec<_> = match is_packed {
            true => self.maps.starting(starts.clone()).map(packed).collect(),
            false => Vec::new(),
        };
        self.maps.remove_starting(starts);
        // One rebuild is faster than the removal of most ranges, one by one.
        if removed.len() > self.packed.count() / 2 {
            self.packed = self.maps.iter().map(packed).collect();
        } else {
            removed.iter().for_each(|range| self.packed.remove(range.start));
        }
    }

    /// Adds a range that overlaps no other, packed into the first gap that is large enough, at the same offset in its page.
    fn insert(&mut self, start: u64, last: u64, number: u32, is_packed: bool) -> Option<u64> {
        let mut shift = 0;
        if is_packed {
            let to = self.first_gap(start % PAGE, last - start)?;
            self.packed.insert_free(to, to + (last - start), ());
            shift = to.wrapping_sub(start);
        }
        self.maps.insert_free(start, last, FoundMapping { number, shift });
        Some(shift)
    }

    /// The first gap for `more + 1` bytes at this offset in a page.
    fn first_gap(&self, offset: u64, more: u64) -> Option<u64> {
        let fits = |end: u64| {
            end.checked_next_multiple_of(PAGE)?.checked_add(offset).filter(|to| to.checked_add(more).is_some())
        };
        if self.packed.count() >= MANY {
            return fits(self.packed.iter().next_back()?.last.checked_add(1)?);
        }
        let mut end = Some(0);
        for next in self.packed.iter() {
            if let Some(to) = end.and_then(fits).filter(|&to| to + more < next.start) {
                return Some(to);
            }
            end = next.last.checked_add(1);
        }
        end.and_then(fits)
    }
}

/// The packed range of a mapping.
fn packed(part: RangeEntry<FoundMapping>) -> RangeEntry<()> {
    let RangeEntry { start, last, value: FoundMapping { shift, .. } } = part;
    RangeEntry { start: start.wrapping_add(shift), last: last.wrapping_add(shift), value: () }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PID: u32 = 7;

    fn to(spaces: &mut AddressSpaces, pid: u32, address: u64) -> Option<u64> {
        spaces.find(pid, address).map(|mapping| address.wrapping_add(mapping.shift))
    }

    #[test]
    fn packs_mappings_from_zero_and_keeps_page_offsets() {
        let mut spaces = AddressSpaces::new(true);
        let kernel = spaces.map(KERNEL, 0, u64::MAX, 0xffff_ffff_8100_0190).unwrap();
        assert_eq!((kernel.start, kernel.len), (0xffff_ffff_8100_0190, u64::MAX - 0xffff_ffff_8100_0190));
        assert_eq!(to(&mut spaces, KERNEL, 0xffff_ffff_8100_0200), Some(0x200));
        spaces.map(PID, 0x7000_0000, 0x2000, 0).unwrap();
        assert_eq!(to(&mut spaces, PID, 0x7000_0010), Some(0x7f00_0010), "after the kernel");
        assert_eq!(to(&mut spaces, PID, 0x7000_2000), None);
        assert_eq!(to(&mut spaces, 8, 0xffff_ffff_8100_0200), Some(0x200), "every process has the kernel");
        assert_eq!(to(&mut spaces, 8, 0x7000_0010), None);
    }

    #[test]
    fn an_inner_mapping_splits_and_an_overlapping_one_replaces() {
        let mut spaces = AddressSpaces::new(true);
        spaces.map(PID, 0x1_0000, 0x5000, 0).unwrap();
        spaces.map(PID, 0x1_2000, 0x1000, 0).unwrap();
        let numbers = [0x1_1fff, 0x1_2000, 0x1_3000].map(|at| spaces.find(PID, at).unwrap().number);
        assert_eq!(numbers, [0, 1, 0]);
        assert_eq!(
            [0x1_1000, 0x1_2000, 0x1_4fff].map(|at| to(&mut spaces, PID, at).unwrap()),
            [0x1000, 0x2000, 0x4fff]
        );
        spaces.map(PID, 0x1_4000, 0x4000, 0).unwrap();
        assert_eq!(spaces.find(PID, 0x1_3000), None);
        assert_eq!(to(&mut spaces, PID, 0x1_4000), Some(0x3000));
    }

    #[test]
    fn reuses_a_gap_that_is_large_enough() {
        let mut spaces = AddressSpaces::new(true);
        for start in [0x1_0000, 0x2_0000, 0x3_0000] {
            spaces.map(PID, start, 0x2000, 0).unwrap();
        }
        spaces.map(PID, 0x2_1000, 0x3000, 0).unwrap();
        assert_eq!(to(&mut spaces, PID, 0x2_1000), Some(0x6000), "too large for the gap");
        spaces.map(PID, 0x9_0000, 0x1000, 0).unwrap();
        assert_eq!(to(&mut spaces, PID, 0x9_0000), Some(0x2000));
    }

    #[test]
    fn frees_the_ranges_of_replaced_mappings() {
        for count in [10, 150, 1000] {
            let mut spaces = AddressSpaces::new(true);
            for number in 0..1000 {
                spaces.map(PID, 0x10_0000 + number * PAGE, PAGE, 0).unwrap();
            }
            spaces.map(PID, 0x10_0000, count * PAGE, 0).unwrap();
            let after = count * PAGE;
            assert_eq!(to(&mut spaces, PID, 0x10_0000), Some(0));
            assert_eq!(to(&mut spaces, PID, 0x10_0000 + after), Some(after).filter(|_| count < 1000));
            assert_eq!(spaces.processes[&PID].packed.count() as u64, 1001 - count);
        }
    }

    #[test]
    fn rejects_empty_and_wrapping_mappings() {
        let mut spaces = AddressSpaces::new(true);
        assert_eq!(spaces.map(PID, 1, 0, 0), None);
        assert_eq!(spaces.map(PID, u64::MAX, 2, 0), None);
        assert!(spaces.map(PID, 0, u64::MAX, 0).is_some());
        assert!(spaces.map(PID, u64::MAX - 0xfff, 0x1000, 0).is_some());
        assert_eq!(spaces.find(PID, 5), None, "there is no room for both");
    }

    #[test]
    fn a_child_inherits_only_mappings_from_before_the_fork() {
        let mut spaces = AddressSpaces::new(false);
        spaces.map(PID, 0x1000, 0x1000, 0).unwrap();
        spaces.fork(8, PID);
        spaces.map(PID, 0x5000, 0x1000, 0).unwrap();
        assert!(spaces.find(8, 0x1000).is_some() && spaces.find(8, 0x5000).is_none());
        assert!(spaces.find(PID, 0x5000).is_some());
    }
}
