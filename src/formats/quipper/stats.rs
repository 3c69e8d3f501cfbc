//! Counts records, and samples whose addresses are all mapped.

use super::proto::perf_data_proto::{MMapEvent, PerfEvent, PerfEventStats, SampleEvent};
use crate::rewrite::quipper::address_spaces::AddressSpaces;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample::view::SampleView;

/// Counts records.
pub(super) struct Stats {
    counts: PerfEventStats,
    spaces: AddressSpaces,
    did_remap: bool,
}

impl Stats {
    /// Starts at zero; `did_remap` is whether addresses were remapped.
    pub(super) fn new(did_remap: bool) -> Self {
        Self { counts: PerfEventStats::default(), spaces: AddressSpaces::new(false), did_remap }
    }

    /// Counts a record.
    pub(super) fn count(&mut self, event: &PerfEvent) {
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
            self.spaces.fork(fork.pid(), fork.ppid());
        } else if let Some(comm) = &event.comm_event {
            self.spaces.ensure(comm.pid());
        } else if event.exit_event.is_some() && event.header.is_some_and(|header| header.r#type() == RecordType::EXIT.0)
        {
            count(&mut self.counts.num_exit_events);
        }
    }

    /// Counts a sample without branch stack.
    pub(super) fn count_plain(&mut self, view: &SampleView<'_>) {
        let (pid, spaces) = (view.task.map_or(0, |(pid, _)| pid), &mut self.spaces);
        let mut has = |address| spaces.find(pid, address).is_some();
        let mut callers = view.callchain.iter().flat_map(|chain| chain.iter());
        let is_mapped =
            view.ip.is_none_or(&mut has) && callers.all(|address| Context::of(address).is_some() || has(address));
        let count = |count: &mut Option<u32>| *count = Some(count.unwrap_or(0).saturating_add(1));
        count(&mut self.counts.num_sample_events);
        if is_mapped {
            count(&mut self.counts.num_sample_events_mapped);
        }
    }

    /// Returns the counts.
    pub(super) fn finish(&self) -> PerfEventStats {
        let counts = &self.counts;
        PerfEventStats {
            num_events_read: None,
            num_sample_events: Some(counts.num_sample_events()),
            num_mmap_events: Some(counts.num_mmap_events()),
            num_fork_events: Some(counts.num_fork_events()),
            num_exit_events: Some(counts.num_exit_events()),
            num_sample_events_mapped: Some(counts.num_sample_events_mapped()),
            did_remap: Some(self.did_remap),
        }
    }

    fn map(&mut self, map: &MMapEvent) {
        self.spaces.map(map.pid(), map.start(), map.len(), map.pgoff());
    }

    fn is_mapped(&mut self, sample: &SampleEvent) -> bool {
        let (pid, spaces) = (sample.pid(), &mut self.spaces);
        let mut has = |address| spaces.find(pid, address).is_some();
        // A branch stack ends at the first empty entry.
        let mut branches = sample.branch_stack.iter().take_while(|entry| entry.from_ip() != 0 && entry.to_ip() != 0);
        sample.ip.is_none_or(&mut has)
            && sample.callchain.iter().all(|&address| Context::of(address).is_some() || has(address))
            && branches.all(|entry| has(entry.from_ip()) && has(entry.to_ip()))
    }
}
