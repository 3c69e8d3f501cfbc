//! What is mapped where in each process, by quipper's rules, and where it would be if it were packed from address 0 on.
//!
//! A map that covers others, or reaches into them, takes their place, all of it; one that lies within another splits that.
//! A process has, when a record first tells of it, what its parent has, or else the kernel; what either maps later it does not get.

use crate::abi;
use crate::abi::record::RecordType;
use crate::abi::record::comm::Comm;
use crate::abi::record::task::Task;
use crate::session::range_map::{Entry, RangeMap};
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use hashbrown::HashMap;
use std::ops::RangeInclusive;

/// The process that the kernel's maps are told of.
pub const KERNEL: u32 = u32::MAX;
/// Where kernels are.
const KERNEL_START: u64 = 1 << 63;
const PAGE: u64 = 4096;
/// From so many maps of a process on only the place behind the last is looked at for another.
const MANY: usize = 10_000;
/// How many pages it is remembered of what is there.
const REMEMBERED: usize = 1 << 12;

/// A map as it was laid down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Laid {
    /// First address.
    pub start: u64,
    /// Bytes.
    pub len: u64,
    /// What is added, wrapping, to an address for where it is packed.
    pub shift: u64,
}

/// What is at an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The number of its map, in the order in which they were told.
    pub number: u32,
    /// What is added, wrapping, to an address for where it is packed.
    pub shift: u64,
}

/// The maps of all processes.
#[derive(Debug)]
pub struct Spaces {
    processes: HashMap<u32, Space>,
    is_packed: bool,
    /// How many maps there were.
    told: u32,
    /// Another number whenever a map changes what is where.
    generation: u64,
    pages: Vec<Page>,
}

/// What is remembered of a page that lies in one map.
#[derive(Clone, Debug, Default)]
struct Page {
    pid: u32,
    number: u64,
    generation: u64,
    found: Found,
}

/// The maps of a process. Parent and child share what neither of them has changed.
#[derive(Clone, Debug, Default)]
struct Space {
    /// Maps, and what others left of them.
    maps: RangeMap<Found>,
    /// Where they are packed.
    packed: RangeMap<()>,
}

impl Spaces {
    /// No maps. Only where they are packed it is found out where.
    pub fn new(is_packed: bool) -> Self {
        let pages = vec![Page::default(); REMEMBERED];
        Self { processes: HashMap::new(), is_packed, told: 0, generation: 1, pages }
    }

    /// Takes what a record tells of processes; of maps whoever reads them does.
    pub fn apply(&mut self, meta: &Meta, raw: &Raw<'_>) {
        let (body, _) = meta.events.split(raw);
        match raw.header().kind {
            RecordType::FORK => {
                if let Ok((task, _)) = abi::parse::<Task>(body, raw.endian(), ()) {
                    self.fork(task.pid, task.ppid);
                }
            }
            RecordType::COMM => {
                if let Ok((comm, _)) = abi::parse::<Comm>(body, raw.endian(), ()) {
                    self.meet(comm.pid);
                }
            }
            _ => {}
        }
    }

    /// A process begins.
    pub fn fork(&mut self, pid: u32, parent: u32) {
        if !self.processes.contains_key(&pid) {
            let parents = self.processes.get(&parent).or(self.processes.get(&KERNEL)).cloned().unwrap_or_default();
            self.processes.insert(pid, parents);
        }
    }

    /// A process is met.
    pub fn meet(&mut self, pid: u32) {
        self.fork(pid, KERNEL);
    }

    /// Something is mapped. `None` where that cannot be: nothing, or beyond the last address.
    pub fn map(&mut self, pid: u32, start: u64, len: u64, pgoff: u64) -> Option<Laid> {
        let number = self.told;
        self.told += 1;
        let last = start.checked_add(len.checked_sub(1)?)?;
        // Old recorders tell the kernel from address 0 on, and where it is as the offset.
        let is_old_kernel = start <= KERNEL_START && pgoff > KERNEL_START && last >= KERNEL_START && pgoff < last;
        let start = if is_old_kernel { pgoff } else { start };
        self.meet(pid);
        let space = self.processes.get_mut(&pid)?;
        self.generation += 1;
        let shift = space.map(start, last, number, self.is_packed)?;
        Some(Laid { start, len: (last - start).wrapping_add(1), shift })
    }

    /// What is at an address of a process.
    #[inline]
    pub fn find(&mut self, pid: u32, address: u64) -> Option<Found> {
        let number = address / PAGE;
        let at = (number ^ u64::from(pid)) as usize % REMEMBERED;
        let page = &self.pages[at];
        if (page.number, page.pid, page.generation) == (number, pid, self.generation) {
            return Some(page.found);
        }
        self.meet(pid);
        let Entry { start, last, value: found } = self.processes.get(&pid)?.maps.find(address)?;
        if start <= number * PAGE && last >= number * PAGE + (PAGE - 1) {
            self.pages[at] = Page { pid, number, generation: self.generation, found };
        }
        Some(found)
    }
}

impl Space {
    fn map(&mut self, start: u64, last: u64, number: u32, is_packed: bool) -> Option<u64> {
        let around = self
            .maps
            .at_or_before(last)
            .filter(|part| part.start <= start && part.last >= last && (part.start, part.last) != (start, last));
        let Some(part) = around else {
            let first = self.maps.find(start).map_or(start, |part| part.start);
            self.unmap_all(first..=last, is_packed);
            return self.lay(start, last, number, is_packed);
        };
        self.maps.remove(part.start);
        self.packed.remove(packed(part).start);
        if part.start < start {
            self.lay(part.start, start - 1, part.value.number, is_packed);
        }
        let shift = self.lay(start, last, number, is_packed);
        if part.last > last {
            self.lay(last + 1, part.last, part.value.number, is_packed);
        }
        shift
    }

    fn unmap_all(&mut self, starts: RangeInclusive<u64>, is_packed: bool) {
        let gone: Vec<_> = match is_packed {
            true => self.maps.starting(starts.clone()).map(packed).collect(),
            false => Vec::new(),
        };
        self.maps.remove_starting(starts);
        if gone.len() > self.packed.count() / 2 {
            self.packed = self.maps.iter().map(packed).collect();
        } else {
            gone.iter().for_each(|gone| self.packed.remove(gone.start));
        }
    }

    /// Adds what reaches into nothing else, packed into the first place that is large enough. It stays where it was in its
    /// page.
    fn lay(&mut self, start: u64, last: u64, number: u32, is_packed: bool) -> Option<u64> {
        let mut shift = 0;
        if is_packed {
            let to = self.place(start % PAGE, last - start)?;
            self.packed.insert_free(to, to + (last - start), ());
            shift = to.wrapping_sub(start);
        }
        self.maps.insert_free(start, last, Found { number, shift });
        Some(shift)
    }

    /// The first place for as many bytes and one more, so far from the beginning of a page.
    fn place(&self, offset: u64, more: u64) -> Option<u64> {
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

/// Where a map is packed.
fn packed(part: Entry<Found>) -> Entry<()> {
    let Entry { start, last, value: Found { shift, .. } } = part;
    Entry { start: start.wrapping_add(shift), last: last.wrapping_add(shift), value: () }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PID: u32 = 7;

    fn to(spaces: &mut Spaces, pid: u32, address: u64) -> Option<u64> {
        spaces.find(pid, address).map(|found| address.wrapping_add(found.shift))
    }

    #[test]
    fn maps_are_packed_from_zero_and_stay_where_they_are_in_their_page() {
        let mut spaces = Spaces::new(true);
        let kernel = spaces.map(KERNEL, 0, u64::MAX, 0xffff_ffff_8100_0190).unwrap();
        assert_eq!((kernel.start, kernel.len), (0xffff_ffff_8100_0190, u64::MAX - 0xffff_ffff_8100_0190));
        assert_eq!(to(&mut spaces, KERNEL, 0xffff_ffff_8100_0200), Some(0x200));
        spaces.map(PID, 0x7000_0000, 0x2000, 0).unwrap();
        assert_eq!(to(&mut spaces, PID, 0x7000_0010), Some(0x7f00_0010), "behind the kernel");
        assert_eq!(to(&mut spaces, PID, 0x7000_2000), None);
        assert_eq!(to(&mut spaces, 8, 0xffff_ffff_8100_0200), Some(0x200), "every process has the kernel");
        assert_eq!(to(&mut spaces, 8, 0x7000_0010), None);
    }

    #[test]
    fn a_map_within_another_splits_it_and_one_that_reaches_into_it_takes_its_place() {
        let mut spaces = Spaces::new(true);
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
    fn a_place_that_was_left_is_taken_again_if_it_is_large_enough() {
        let mut spaces = Spaces::new(true);
        for start in [0x1_0000, 0x2_0000, 0x3_0000] {
            spaces.map(PID, start, 0x2000, 0).unwrap();
        }
        spaces.map(PID, 0x2_1000, 0x3000, 0).unwrap();
        assert_eq!(to(&mut spaces, PID, 0x2_1000), Some(0x6000), "it is too large for what was left");
        spaces.map(PID, 0x9_0000, 0x1000, 0).unwrap();
        assert_eq!(to(&mut spaces, PID, 0x9_0000), Some(0x2000));
    }

    #[test]
    fn a_map_takes_the_place_of_many_and_their_room_is_free_again() {
        for count in [10, 150, 1000] {
            let mut spaces = Spaces::new(true);
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
    fn what_cannot_be_mapped_is_not() {
        let mut spaces = Spaces::new(true);
        assert_eq!(spaces.map(PID, 1, 0, 0), None);
        assert_eq!(spaces.map(PID, u64::MAX, 2, 0), None);
        assert!(spaces.map(PID, 0, u64::MAX, 0).is_some());
        assert!(spaces.map(PID, u64::MAX - 0xfff, 0x1000, 0).is_some());
        assert_eq!(spaces.find(PID, 5), None, "there was no room for both");
    }

    #[test]
    fn a_child_has_what_its_parent_had_when_it_began() {
        let mut spaces = Spaces::new(false);
        spaces.map(PID, 0x1000, 0x1000, 0).unwrap();
        spaces.fork(8, PID);
        spaces.map(PID, 0x5000, 0x1000, 0).unwrap();
        assert!(spaces.find(8, 0x1000).is_some() && spaces.find(8, 0x5000).is_none());
        assert!(spaces.find(PID, 0x5000).is_some());
    }
}
