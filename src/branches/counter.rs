//! Counts the branches of a recording, in one pass over its records.

use super::location::Location;
use super::objects::{Objects, PageCache};
use super::remapping::Remapping;
use super::stack_samples::StackWriter;
use super::tally::BranchTally;
use super::trace_table::{AddressTrace, LocatedTrace, RangeKind, Trace, TraceTable};
use super::{BranchCounts, MAX_RANGE};
use crate::profile::collect::branch_entries::{branch_entries, is_not_taken, is_on_wrong_path};
use crate::profile::collect::dispatch::{DecodedSample, SampleConsumer, dispatch};
use crate::profile::event::ProfileEvent;
use crate::profile::unwind::deferred::UserFrames;
use hashbrown::HashMap;
use perf_data::abi::record::{CpuMode, RecordType};
use perf_data::abi::sample::branch::{BranchEntry, BranchFlags, BranchStackView};
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample_type::BranchSampleType;
use perf_data::error::Result;
use perf_data::session::{Applied, Session};
use perf_data::stream::Sink;
use perf_data::stream::events::EventIndex;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Counts branches. Records must arrive in time order.
pub struct BranchCounter {
    session: Session,
    ledger: Ledger,
    pages: PageCache,
    objects: Option<Objects>,
    traces: TraceTable,
    addresses: HashMap<Location, u64>,
    /// By event.
    events: BTreeMap<EventIndex, String>,
    tally: BranchTally,
    /// Samples with call chains, if they are kept.
    stacks: Option<StackWriter>,
    remapped: Vec<Remapping>,
    /// Scratch buffers.
    chain: Vec<Location>,
    branches: Vec<(Location, Location)>,
}

impl Default for BranchCounter {
    fn default() -> Self {
        Self {
            session: Session::default(),
            ledger: Ledger::default(),
            pages: PageCache::default(),
            objects: None,
            traces: TraceTable::default(),
            addresses: HashMap::new(),
            events: BTreeMap::new(),
            tally: BranchTally::default(),
            stacks: None,
            remapped: Vec::new(),
            chain: Vec::new(),
            branches: Vec::new(),
        }
    }
}

impl BranchCounter {
    /// Also keeps samples with a call chain, in a temporary file in a directory if there are many.
    #[must_use]
    pub fn with_call_chains(self, spool_dir: Option<PathBuf>) -> Self {
        Self { stacks: Some(StackWriter::new(spool_dir)), ..self }
    }

    /// Counts code in memory that it was moved to as that of its file.
    #[must_use]
    pub fn with_remapped(self, remapped: Vec<Remapping>) -> Self {
        Self { remapped, ..self }
    }

    /// The counts, after the end of the stream, and what happened to the records.
    ///
    /// # Errors
    /// If samples with call chains cannot be written to a temporary file.
    pub fn finish(self) -> Result<(BranchCounts, Ledger)> {
        let mut addresses: Vec<_> = self.addresses.into_iter().collect();
        addresses.sort_unstable();
        let objects = self.objects.map(Objects::finish).unwrap_or_default();
        let events = self.events.into_values().collect();
        let stacks = self.stacks.map(StackWriter::finish).transpose()?.unwrap_or_default();
        let mut tally = self.tally;
        let traces = self.traces.finish(&mut tally);
        Ok((BranchCounts { objects, traces, addresses, events, tally, stacks }, self.ledger))
    }

    fn count_stack(&mut self, decoded: DecodedSample<'_>, stack: BranchStackView<'_>, pid: u32) {
        let Self { session, pages, objects: Some(objects), traces, tally, branches, .. } = self else { return };
        let keeps_branches = self.stacks.is_some();
        branches.clear();
        tally.samples += 1;
        tally.entries += stack.len() as u64;
        let (entries, is_repeated) = branch_entries(&stack, decoded.raw.endian());
        tally.duplicates += u64::from(is_repeated);
        let view = pages.view();
        let mut next = 0;
        for entry in entries {
            if is_on_wrong_path(&entry) {
                tally.wrong_path += 1;
                continue;
            }
            let BranchEntry { from, to, flags } = entry;
            tally.missing_ends += u64::from(from == 0 || to == 0);
            if to != 0 && !is_not_taken(flags) {
                let key = AddressTrace { view, from, to, next };
                let is_mispredicted = flags.get(BranchFlags::MISPRED) == 1;
                let mut locate = |address| pages.locate(session, objects, pid, address);
                let located = traces.add(key, is_mispredicted, tally, || located(key, &mut locate));
                if keeps_branches && located.is_inside() {
                    branches.push((located.trace.from, located.trace.to));
                }
            }
            // Without a source, it is unknown where the code before the branch ended.
            next = from;
        }
    }

    /// Keeps the branches that were counted last, with the call chain of their sample.
    fn keep_stack(&mut self, decoded: DecodedSample<'_>, pid: u32) -> Result<()> {
        let Self { session, pages, objects: Some(objects), stacks: Some(stacks), chain, branches, .. } = self else {
            return Ok(());
        };
        let Some(frames) = decoded.view.callchain else { return Ok(()) };
        chain.clear();
        let addresses = frames.iter().filter(|&word| Context::of(word).is_none());
        chain.extend(addresses.map(|address| pages.locate(session, objects, pid, address)));
        stacks.add(chain, branches)
    }
}

/// The objects of a trace.
fn located(trace: AddressTrace, locate: &mut dyn FnMut(u64) -> Location) -> LocatedTrace {
    let AddressTrace { from, to, next, .. } = trace;
    let mut location = |address| if address == 0 { Location::OUTSIDE } else { locate(address) };
    let (from, to) = (location(from), location(to));
    let after = (next != 0).then(|| location(next));
    let end = after.filter(|&after| is_possible(to, after));
    let range = match after {
        Some(after) if to.object().is_some() || after != Location::OUTSIDE => match end {
            Some(_) => RangeKind::Possible,
            None => RangeKind::Impossible,
        },
        _ => RangeKind::Unknown,
    };
    LocatedTrace { trace: Trace { from, to, next: end }, range }
}

/// Whether code can have been executed from `start` to a branch at `end`.
fn is_possible(start: Location, end: Location) -> bool {
    start.object() == end.object()
        && (start.object().is_none() || end.offset().wrapping_sub(start.offset()) <= MAX_RANGE)
}

impl SampleConsumer for BranchCounter {
    fn state(&mut self) -> (&mut Session, &mut Ledger) {
        (&mut self.session, &mut self.ledger)
    }

    fn sample(&mut self, decoded: DecodedSample<'_>) -> Result<()> {
        let objects = self.objects.get_or_insert_with(|| Objects::new(decoded.meta));
        if matches!(decoded.cpu_mode(), CpuMode::GUEST_KERNEL | CpuMode::GUEST_USER) {
            self.tally.guests += 1;
            self.ledger.not_applicable(RecordType::SAMPLE, 1);
            return Ok(());
        }
        self.events.entry(decoded.index).or_insert_with(|| ProfileEvent::from(decoded.event).name);
        let pid = decoded.view.task.map_or(u32::MAX, |(pid, _)| pid);
        self.pages.select(self.session.mark_running(pid).view);
        if let Some(ip) = decoded.view.ip {
            let location = self.pages.locate(&self.session, objects, pid, ip);
            *self.addresses.entry(location).or_default() += 1;
        }
        let is_call_stack = decoded.event.layout.branch_sample_type().contains(BranchSampleType::CALL_STACK);
        match decoded.view.branch_stack.filter(|stack| !stack.is_empty()) {
            Some(_) if is_call_stack => self.tally.call_stacks += 1,
            Some(stack) => {
                self.count_stack(decoded, stack, pid);
                self.keep_stack(decoded, pid)?;
            }
            None => self.tally.without_stack += 1,
        }
        self.ledger.emitted(RecordType::SAMPLE, 1);
        Ok(())
    }

    fn other(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Applied> {
        let Self { session, remapped, .. } = self;
        if remapped.iter().any(|remapping| remapping.is_over_file(session, meta, raw)) {
            self.tally.remapped += 1;
            return Ok(Applied::Consumed);
        }
        Ok(session.apply(meta, raw))
    }

    fn user_frames(&mut self, _: &Meta, _: UserFrames<'_>) -> Result<()> {
        Ok(())
    }
}

impl Sink for BranchCounter {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        dispatch(self, meta, raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recording;
    use crate::synth::{Event, Map, RecordingBuilder};
    use perf_data::abi::sample::Sample;
    use perf_data::abi::sample::branch::BranchStack;
    use perf_data::abi::sample_type::SampleType;

    const START: u64 = 0x40_0000;
    const OTHER: u64 = 0x7f00_0000_0000;

    fn entry(from: u64, to: u64) -> BranchEntry {
        BranchEntry { from, to, flags: BranchFlags::default().with(BranchFlags::PREDICTED, 1) }
    }

    /// The counts of a recording of a program and a library, with one sample that has these entries.
    fn counted_of(branches: BranchSampleType, entries: &[BranchEntry]) -> BranchCounts {
        let mut recording = RecordingBuilder::new();
        let mut event = Event::named("cycles:u").unwrap().with(SampleType::BRANCH_STACK);
        event.attr.branch_sample_type = branches;
        let event = recording.event(event);
        let process = recording.process(7, "app");
        process.map(7, Map::new("/bin/app", START, 0x10_0000)).map(7, Map::new("/lib/x.so", OTHER, 0x1000));
        let branch_stack = Some(BranchStack { entries: entries.to_vec(), ..BranchStack::default() });
        let sample =
            Sample { ip: Some(START + 8), task: Some((7, 7)), time: Some(5), branch_stack, ..Sample::default() };
        recording.sample(event, sample);
        let recording = Recording::from_bytes("x", recording.to_bytes().unwrap()).unwrap();
        recording.branches().unwrap().0
    }

    fn counted(entries: &[BranchEntry]) -> BranchCounts {
        counted_of(BranchSampleType::ANY, entries)
    }

    /// Traces as offsets in the program; 0 is outside of it.
    fn traces(counts: &BranchCounts) -> Vec<(u64, u64, Option<u64>, u64)> {
        let offset = |location: Location| if location.object() == Some(1) { location.offset() } else { 0 };
        let trace = |(trace, sum): &(Trace, _)| {
            let super::super::TraceCount { count, .. } = *sum;
            (offset(trace.from), offset(trace.to), trace.next.map(offset), count)
        };
        counts.traces.iter().map(trace).collect()
    }

    #[test]
    fn each_entry_but_the_newest_ends_a_range() {
        let at = |from: u64, to: u64| entry(START + from, START + to);
        let counts = counted(&[at(0x30, 0x20), at(0x30, 0x20), at(0x10, 0x20)]);
        assert_eq!(traces(&counts), [(0x10, 0x20, Some(0x30), 1), (0x30, 0x20, Some(0x30), 1), (0x30, 0x20, None, 1)]);
        assert_eq!((counts.tally.entries, counts.tally.ranges, counts.tally.duplicates), (3, 2, 0));
        assert_eq!(counts.addresses.iter().map(|(at, n)| (at.offset(), *n)).collect::<Vec<_>>(), [(8, 1)]);
    }

    #[test]
    fn a_repeated_newest_entry_that_is_no_loop_is_skipped() {
        for (from, to) in [(0x5000, 0x10), (0x10, 0x5000)] {
            let repeated = entry(START + from, START + to);
            let counts = counted(&[repeated, repeated]);
            assert_eq!((traces(&counts), counts.tally.duplicates), (vec![(from, to, None, 1)], 1));
        }
    }

    #[test]
    fn branches_that_were_not_taken_end_ranges_only() {
        let mut untaken = entry(START + 0x30, START + 0x50);
        untaken.flags = untaken.flags.with(BranchFlags::NOT_TAKEN, 1);
        let counts = counted(&[untaken, entry(START + 0x10, START + 0x20)]);
        assert_eq!(traces(&counts), [(0x10, 0x20, Some(0x30), 1)]);
    }

    #[test]
    fn branches_on_a_wrong_path_were_not_taken() {
        let mut wrong = entry(START + 0x90, START + 0x80);
        wrong.flags = wrong.flags.with(BranchFlags::SPEC, 1);
        let [new, old] = [entry(START + 0x30, START + 0x50), entry(START + 0x10, START + 0x20)];
        for stack in [&[wrong, new, old][..], &[new, wrong, old]] {
            let counts = counted(stack);
            assert_eq!(traces(&counts), [(0x10, 0x20, Some(0x30), 1), (0x30, 0x50, None, 1)]);
            assert_eq!(counts.tally.wrong_path, 1);
        }
    }

    #[test]
    fn missing_ends_are_unknown() {
        let old = entry(START + 0x10, START + 0x20);
        let without_target = counted(&[entry(START + 0x30, 0), old]);
        assert_eq!(traces(&without_target), [(0x10, 0x20, Some(0x30), 1)]);
        let without_source = counted(&[entry(0, START + 0x50), old]);
        assert_eq!(traces(&without_source), [(0, 0x50, None, 1), (0x10, 0x20, None, 1)]);
        assert_eq!((without_target.tally.missing_ends, without_source.tally.missing_ends), (1, 1));
    }

    #[test]
    fn ranges_that_no_code_has_are_not_counted() {
        let backwards = [entry(START + 0x10, START + 0x50), entry(START + 0x30, START + 0x20)];
        let into_another = [entry(OTHER + 0x10, START + 0x50), entry(START + 0x30, START + 0x20)];
        for stack in [backwards, into_another] {
            let counts = counted(&stack);
            let is_ended = traces(&counts).iter().any(|(_, to, next, _)| *to == 0x20 && next.is_some());
            assert_eq!((is_ended, counts.tally.ranges, counts.tally.impossible_ranges), (false, 1, 1), "{stack:x?}");
        }
        let counts = counted(&[entry(START + 0x10_0000 - 1, START), entry(START + 0x30, START)]);
        assert_eq!(counts.tally.impossible_ranges, 0);
    }

    #[test]
    fn hostile_addresses_are_outside() {
        let addresses = [0, 1, START - 1, u64::MAX, 1 << 63, OTHER + 0x1000, 1 << 48];
        let stack: Vec<_> = addresses.iter().flat_map(|&from| addresses.map(|to| entry(from, to))).collect();
        let counts = counted(&stack);
        assert_eq!((counts.traces.len(), counts.tally.entries), (0, 49));
        assert_eq!(counts.tally.outside, 6 * 7 - counts.tally.duplicates, "all with a target");
    }

    #[test]
    fn call_stacks_are_no_branches() {
        let stack = [entry(START + 0x10, START + 0x20)];
        let counts = counted_of(BranchSampleType::ANY | BranchSampleType::CALL_STACK, &stack);
        assert_eq!((counts.tally.call_stacks, counts.tally.samples, counts.traces.len()), (1, 0, 0));
    }
}
