//! Writes mappings for the stacks of a recording, each when the first stack needs it.

use super::maps::{ProcessMaps, UnmappedRange, overlapping};
use super::placement::{FramePlacement, Placement};
use super::source::SourceMapping;
use crate::synth::{Map, Recorder, Stamp};
use hashbrown::HashMap;
use perf_data::abi::record::{Body, CpuMode};
use perf_data::abi::text::PaddedStr;
use perf_data::error::Result;
use perf_data::stream::Sink;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The pid of the kernel's maps.
const KERNEL: u32 = u32::MAX;

/// The mappings of all processes so far.
pub(super) struct MappingWriter<'a> {
    placed: &'a Placement,
    /// The placed maps, followed by copies of those that conflict with others in one stack.
    maps: Vec<SourceMapping>,
    /// Which placed maps overlap others.
    overlap: Vec<bool>,
    /// Unmapped addresses.
    unmapped: UnmappedRange,
    /// The copies by their originals.
    copies: HashMap<u32, u32>,
    processes: HashMap<u32, ProcessMaps>,
}

impl<'a> MappingWriter<'a> {
    /// Starts without mappings.
    pub(super) fn new(placed: &'a Placement) -> Self {
        Self {
            placed,
            maps: placed.maps.clone(),
            overlap: overlapping(&placed.maps),
            unmapped: placed.unmapped.clone(),
            copies: HashMap::new(),
            processes: HashMap::new(),
        }
    }

    /// Whether a map overlaps others.
    pub(super) fn overlaps(&self, map: u32) -> bool {
        self.overlap[map as usize]
    }

    /// Maps the overlapping maps that a stack needs. Larger ones come first, since later mappings replace earlier
    /// ones: each is mapped at most once per stack, however deeply they nest.
    ///
    /// # Errors
    /// Errors of the recorder.
    pub(super) fn map_overlapping(&mut self, stack: &[u32], stamp: Stamp, to: &mut Recorder<impl Sink>) -> Result<()> {
        let mut wanted: Vec<_> = stack
            .iter()
            .filter_map(|&frame| {
                let FramePlacement { address, map, is_kernel } = self.placed.frames[frame as usize];
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
                    // Both cannot be mapped at once, and there is only one kernel.
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

    /// Maps the object that contains a frame, if necessary, and returns the frame's address.
    ///
    /// # Errors
    /// Errors of the recorder.
    pub(super) fn address(&mut self, frame: FramePlacement, stamp: Stamp, to: &mut Recorder<impl Sink>) -> Result<u64> {
        let FramePlacement { address, map: Some(map), is_kernel } = frame else { return Ok(frame.address) };
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
        // Without enough unmapped addresses, the copy may exceed the address space.
        let copied = (address - self.maps[map as usize].start).checked_add(copy.start);
        let Some(address) = copied.filter(|&copied| copy.has(copied)) else { return Ok(address) };
        if !maps.has(address, number) {
            self.map(number, is_kernel, stamp, to)?;
        }
        Ok(address)
    }

    /// Copies a map to unmapped addresses.
    fn copy(&mut self, map: u32) {
        let original = self.maps[map as usize].clone();
        let len = original.limit - original.start;
        let start = self.unmapped.take(len);
        self.copies.insert(map, self.maps.len() as u32);
        self.maps.push(SourceMapping { start, limit: start.saturating_add(len), ..original });
    }

    fn map(&mut self, map: u32, is_kernel: bool, stamp: Stamp, to: &mut Recorder<impl Sink>) -> Result<()> {
        let process = process(is_kernel, stamp);
        let original = &self.maps[map as usize];
        self.processes.entry(process).or_default().map(map, original);
        let mut record = Map::new(String::new(), original.start, original.limit - original.start).pgoff(original.pgoff);
        if let Some(id) = &original.build_id {
            record = record.build_id(id);
        }
        let mode = if is_kernel { CpuMode::KERNEL } else { CpuMode::USER };
        let mut mmap = record.mmap2(process, if is_kernel { 0 } else { process });
        mmap.filename = PaddedStr::new(&original.path, 8);
        to.record(mode, &Body::Mmap2(mmap), stamp)
    }
}

/// The process that owns a frame's map.
fn process(is_kernel: bool, stamp: Stamp) -> u32 {
    if is_kernel { KERNEL } else { stamp.task.0 }
}
