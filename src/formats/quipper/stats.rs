//! Counts of records, and whether the addresses of samples are in mappings that were told.

use super::proto::perf_data_proto::{MMapEvent, PerfEvent, PerfEventStats, SampleEvent};
use crate::abi::record::RecordType;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The process that the kernel's mappings are told of.
const KERNEL: u32 = u32::MAX;
/// Where kernels are.
const KERNEL_START: u64 = 1 << 63;
const PAGE: u64 = 4096;
/// Call chain entries from here on are marks.
const MARKS: u64 = -4095_i64 as u64;

/// Addresses that are mapped: where each run of them begins, and its last one.
type Ranges = BTreeMap<u64, u64>;

/// Counts records as they pass.
#[derive(Default)]
pub struct Stats {
    counts: PerfEventStats,
    processes: HashMap<u32, Rc<Ranges>>,
    /// The run that the last address was found in, and its process.
    last: Option<(u32, u64, u64)>,
}

impl Stats {
    /// Looks at a record.
    pub fn look(&mut self, event: &PerfEvent) {
        let count = |count: &mut Option<u32>| *count = Some(count.unwrap_or(0).saturating_add(1));
        if let Some(sample) = &event.sample_event {
            count(&mut self.counts.num_sample_events);
            if self.is_mapped(sample) {
                count(&mut self.counts.num_sample_events_mapped);
            }
        } else if let Some(map) = &event.mmap_event {
            count(&mut self.counts.num_mmap_events);
            self.map(map);
        } else if let Some(fork) = &event.fork_event {
            count(&mut self.counts.num_fork_events);
            self.process(fork.pid(), fork.ppid());
        } else if event.exit_event.is_some() && event.header.is_some_and(|header| header.r#type() == RecordType::EXIT.0)
        {
            count(&mut self.counts.num_exit_events);
        }
    }

    /// The counts.
    pub fn finish(&self) -> PerfEventStats {
        let counts = &self.counts;
        PerfEventStats {
            num_events_read: None,
            num_sample_events: Some(counts.num_sample_events()),
            num_mmap_events: Some(counts.num_mmap_events()),
            num_fork_events: Some(counts.num_fork_events()),
            num_exit_events: Some(counts.num_exit_events()),
            num_sample_events_mapped: Some(counts.num_sample_events_mapped()),
            did_remap: Some(false),
        }
    }

    /// The mappings of a process. When it is first met it has those of its parent, or else the kernel's,
    /// as they are then.
    fn process(&mut self, pid: u32, parent: u32) -> &mut Rc<Ranges> {
        if !self.processes.contains_key(&pid) {
            let parents = self.processes.get(&parent).or(self.processes.get(&KERNEL)).cloned().unwrap_or_default();
            self.processes.insert(pid, parents);
        }
        self.processes.entry(pid).or_default()
    }

    fn map(&mut self, map: &MMapEvent) {
        let (mut start, Some(len)) = (map.start(), map.len().checked_sub(1)) else { return };
        let mut end = start.saturating_add(len);
        if start <= KERNEL_START && map.pgoff() > KERNEL_START && end >= KERNEL_START {
            // Old recorders tell the kernel from address 0 on, and where it is as the offset.
            start = map.pgoff() & !(PAGE - 1);
        }
        self.last = None;
        let ranges = Rc::make_mut(self.process(map.pid(), KERNEL));
        // Runs that touch become one.
        while let Some((&other, &other_end)) = ranges.range(..=end.saturating_add(1)).next_back() {
            if other_end.saturating_add(1) < start {
                break;
            }
            ranges.remove(&other);
            (start, end) = (start.min(other), end.max(other_end));
        }
        ranges.insert(start, end);
    }

    fn is_mapped(&mut self, sample: &SampleEvent) -> bool {
        let pid = sample.pid();
        // Where a branch stack is not full, nothing follows.
        let branches = sample.branch_stack.iter().take_while(|entry| entry.from_ip() != 0 && entry.to_ip() != 0);
        sample.ip.is_none_or(|ip| self.has(pid, ip))
            && sample.callchain.iter().all(|&address| address >= MARKS || self.has(pid, address))
            && branches.into_iter().all(|entry| self.has(pid, entry.from_ip()) && self.has(pid, entry.to_ip()))
    }

    fn has(&mut self, pid: u32, address: u64) -> bool {
        if self.last.is_some_and(|(of, start, end)| of == pid && (start..=end).contains(&address)) {
            return true;
        }
        let found = self.process(pid, KERNEL).range(..=address).next_back().map(|(&start, &end)| (pid, start, end));
        let found = found.filter(|&(_, _, end)| address <= end);
        self.last = found.or(self.last);
        found.is_some()
    }
}
