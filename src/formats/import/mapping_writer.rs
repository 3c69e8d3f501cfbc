//! What is mapped for the stacks of a recording that is being made: each map when the first stack needs it.

use super::maps::{ProcessMaps, Room, overlapping};
use super::placement::{Placed, PlacedFrame};
use super::source::SourceMapping;
use crate::abi::record::{Body, CpuMode};
use crate::abi::text::PaddedStr;
use crate::error::Result;
use crate::stream::Sink;
use crate::synth::{Map, Recorder, Stamp};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The process that has the kernel's maps.
const KERNEL: u32 = u32::MAX;

/// What has been mapped, in all processes.
pub struct Mapped<'a> {
    placed: &'a Placed,
    /// The placed maps, and behind them copies of those where others are in their places at the same moment.
    maps: Vec<SourceMapping>,
    /// Which of the placed ones have addresses that others have too.
    overlap: Vec<bool>,
    /// Where nothing is mapped.
    room: Room,
    /// The copies, by what they are copies of.
    copies: HashMap<u32, u32>,
    processes: HashMap<u32, ProcessMaps>,
}

impl<'a> Mapped<'a> {
    /// Nothing is mapped.
    pub fn new(placed: &'a Placed) -> Self {
        Self {
            placed,
            maps: placed.maps.clone(),
            overlap: overlapping(&placed.maps),
            room: placed.room.clone(),
            copies: HashMap::new(),
            processes: HashMap::new(),
        }
    }

    /// Whether a map has addresses that others have too.
    pub fn overlaps(&self, map: u32) -> bool {
        self.overlap[map as usize]
    }

    /// Has mapped what a stack needs of maps that overlap. The larger come first, as what is mapped later is over them: so each is
    /// mapped once for a stack at most, however many lie in each other.
    ///
    /// # Errors
    /// What the recorder says.
    pub fn map_overlapping(&mut self, stack: &[u32], stamp: Stamp, to: &mut Recorder<impl Sink>) -> Result<()> {
        let mut wanted: Vec<_> = stack
            .iter()
            .filter_map(|&frame| {
                let PlacedFrame { address, map, is_kernel } = self.placed.frames[frame as usize];
                let map = map.filter(|&map| self.overlaps(map))?;
                let SourceMapping { start, limit, .. } = self.maps[map as usize];
                Some((Reverse(limit - start), map, is_kernel, address))
            })
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut needed = BTreeSet::new();
        for same in wanted.chunk_by(|one, other| (one.1, one.2) == (other.1, other.2)) {
            let (_, map, is_kernel, _) = same[0];
            let maps = self.processes.entry(process(is_kernel, stamp)).or_default();
            if !same.iter().all(|&(.., address)| maps.has(address, map)) {
                if self.copies.contains_key(&map) {
                    continue;
                }
                let SourceMapping { start, limit, .. } = self.maps[map as usize];
                if needed.range((is_kernel, start)..(is_kernel, limit)).next().is_some() {
                    // Both cannot be at their places at once, and of the kernel there is one.
                    if !is_kernel {
                        self.copy(map);
                    }
                    continue;
                }
                self.map(map, is_kernel, stamp, to)?;
            }
            needed.extend(same.iter().map(|&(.., address)| (is_kernel, address)));
        }
        Ok(())
    }

    /// Where a frame's address is, when what it is in has been mapped.
    ///
    /// # Errors
    /// What the recorder says.
    pub fn address(&mut self, frame: PlacedFrame, stamp: Stamp, to: &mut Recorder<impl Sink>) -> Result<u64> {
        let PlacedFrame { address, map: Some(map), is_kernel } = frame else { return Ok(frame.address) };
        let maps = self.processes.entry(process(is_kernel, stamp)).or_default();
        if maps.has(address, map) {
            return Ok(address);
        }
        let number = match self.copies.get(&map) {
            Some(&copy) => copy,
            None if self.overlap[map as usize] => return Ok(address),
            None => map,
        };
        let copy = &self.maps[number as usize];
        // What there was no room for may reach beyond all addresses.
        let copied = (address - self.maps[map as usize].start).checked_add(copy.start);
        let Some(address) = copied.filter(|&copied| copy.has(copied)) else { return Ok(address) };
        if !maps.has(address, number) {
            self.map(number, is_kernel, stamp, to)?;
        }
        Ok(address)
    }

    /// Makes a copy of a map where nothing else is.
    fn copy(&mut self, map: u32) {
        let told = self.maps[map as usize].clone();
        let len = told.limit - told.start;
        let start = self.room.take(len);
        self.copies.insert(map, self.maps.len() as u32);
        self.maps.push(SourceMapping { start, limit: start.saturating_add(len), ..told });
    }

    fn map(&mut self, map: u32, is_kernel: bool, stamp: Stamp, to: &mut Recorder<impl Sink>) -> Result<()> {
        let process = process(is_kernel, stamp);
        let told = &self.maps[map as usize];
        self.processes.entry(process).or_default().map(map, told);
        let mut made = Map::of(String::new(), told.start, told.limit - told.start).pgoff(told.pgoff);
        if let Some(id) = &told.build_id {
            made = made.build_id(id);
        }
        let mode = if is_kernel { CpuMode::KERNEL } else { CpuMode::USER };
        let mut mmap = made.mmap2(process, if is_kernel { 0 } else { process });
        mmap.filename = PaddedStr::new(&told.path, 8);
        to.record(mode, &Body::Mmap2(mmap), stamp)
    }
}

/// The process that has a frame's map.
fn process(is_kernel: bool, stamp: Stamp) -> u32 {
    if is_kernel { KERNEL } else { stamp.task.0 }
}
