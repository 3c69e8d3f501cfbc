//! Counts the branches of a recording, in one pass over its records.

use super::location::Location;
use super::objects::{Objects, PageCache};
use super::tally::BranchTally;
use super::trace_table::{Trace, TraceTable};
use super::{BranchCounts, MAX_RANGE};
use crate::profile::collect::dispatch::{DecodedSample, SampleConsumer, dispatch};
use crate::profile::event::ProfileEvent;
use crate::profile::unwind::deferred::UserFrames;
use hashbrown::HashMap;
use perf_data::abi::record::{CpuMode, RecordType};
use perf_data::abi::sample::branch::{BranchFlags, BranchStackView};
use perf_data::abi::sample_type::BranchSampleType;
use perf_data::error::Result;
use perf_data::session::Session;
use perf_data::stream::Sink;
use perf_data::stream::events::EventIndex;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::collections::BTreeMap;

/// A repeated newest entry is that of a loop if it jumps back by at most this many bytes. A branch that is taken twice in a row without
/// another in between jumps back.
const LOOP: u64 = 0x1000;

/// A branch on a wrong path, in [`BranchFlags::SPEC`].
const WRONG_PATH: u64 = 1;

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
        }
    }
}

impl BranchCounter {
    /// The counts, after the end of the stream, and what happened to the records.
    pub fn finish(self) -> (BranchCounts, Ledger) {
        let mut addresses: Vec<_> = self.addresses.into_iter().collect();
        addresses.sort_unstable();
        let objects = self.objects.map(Objects::finish).unwrap_or_default();
        let events = self.events.into_values().collect();
        (BranchCounts { objects, traces: self.traces.finish(), addresses, events, tally: self.tally }, self.ledger)
    }

    fn count_stack(&mut self, decoded: DecodedSample<'_>, stack: BranchStackView<'_>, pid: u32) {
        let Self { session, pages, objects: Some(objects), traces, tally, .. } = self else { return };
        let endian = decoded.raw.endian();
        let mut locate = |address| pages.locate(session, objects, pid, address);
        tally.samples += 1;
        tally.entries += stack.len() as u64;
        let mut words = stack.entries.iter();
        // The newest entry of Skylake can be repeated.
        let newest = |words: &mut dyn Iterator<Item = u64>| Some([words.next()?, words.next()?, words.next()?]);
        let mut ahead = stack.entries.iter();
        if let (Some([from, to, _]), Some(second)) = (newest(&mut ahead), newest(&mut ahead))
            && second[..2] == [from, to]
            && from.wrapping_sub(to) > LOOP
        {
            tally.duplicates += 1;
            newest(&mut words);
        }
        let mut next = None;
        while let Some([from, to, flags]) = newest(&mut words) {
            let flags = BranchFlags::from_word(flags, endian);
            if flags.get(BranchFlags::SPEC) == WRONG_PATH {
                tally.wrong_path += 1;
                continue;
            }
            tally.missing_ends += u64::from(from == 0 || to == 0);
            let source = if from == 0 { Location::OUTSIDE } else { locate(from) };
            if to != 0 {
                let target = locate(to);
                let is_range = next.is_some() && (target.object().is_some() || next != Some(Location::OUTSIDE));
                let end = next.filter(|&next| is_possible(target, next));
                tally.ranges += u64::from(is_range);
                tally.impossible_ranges += u64::from(is_range && end.is_none());
                if source.object().is_some() || target.object().is_some() {
                    let trace = Trace { from: source, to: target, next: end };
                    traces.add(trace, flags.get(BranchFlags::MISPRED) == 1);
                } else {
                    tally.outside += 1;
                }
            }
            // Without a source, it is unknown where the code before the branch ended.
            next = (from != 0).then_some(source);
        }
    }
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
            Some(stack) => self.count_stack(decoded, stack, pid),
            None => self.tally.without_stack += 1,
        }
        self.ledger.emitted(RecordType::SAMPLE, 1);
        Ok(())
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
