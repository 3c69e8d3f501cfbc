//! Sends each record to the parts that need it.

use super::partition::{Choice, PartCriteria, PartKey};
use super::pre_scan::{PartScan, read};
use crate::rewrite::filter::deferred::{Chain, deferred_chain};
use crate::rewrite::filter::related_processes::described_process;
use crate::rewrite::framework::rounds::Rounds;
use hashbrown::HashMap;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::descriptor::Lifetime;
use perf_data::abi::sample::view::SampleView;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::counts::Counts;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::ops::Range;

/// Which records go to which parts.
pub(crate) struct Routes {
    /// Number of the part of each key.
    by_key: HashMap<PartKey, usize>,
    /// Numbers of the parts related to each process.
    by_process: HashMap<u32, Vec<usize>>,
    /// The first part that needs each deferred user call chain.
    by_chain: HashMap<Chain, usize>,
    /// The parts.
    pub parts: Vec<PartScan>,
    /// Whether parts are slices of time, which need nothing after their last sample.
    is_sliced: bool,
}

impl Routes {
    /// Creates the routes from the parts of the first pass, in the order of their keys.
    pub(crate) fn new(keys: Vec<PartKey>, parts: Vec<PartScan>, is_sliced: bool) -> Self {
        let mut by_process: HashMap<u32, Vec<usize>> = HashMap::new();
        let mut by_chain = HashMap::new();
        for (number, part) in parts.iter().enumerate() {
            part.deferred.iter().for_each(|chain| _ = by_chain.entry(chain).or_insert(number));
            part.processes.iter().for_each(|&pid| by_process.entry(pid).or_default().push(number));
        }
        let by_key = keys.into_iter().enumerate().map(|(number, key)| (key, number)).collect();
        Self { by_key, by_process, by_chain, parts, is_sliced }
    }

    /// The part that needs a CALLCHAIN_DEFERRED record; the first part for a malformed one.
    fn chain_part(&self, meta: &Meta, raw: &Raw<'_>) -> Option<usize> {
        deferred_chain(meta, raw).map_or(Some(0), |(chain, _)| self.by_chain.get(&chain).copied())
    }

    /// Calls the function with each part that needs a record of state.
    fn needing(
        &self,
        meta: &Meta,
        raw: &Raw<'_>,
        time: Option<u64>,
        mut take: impl FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        let is_needed = |number: &usize| match (time, self.parts[*number].times) {
            (Some(time), Some((_, last))) if self.is_sliced => time <= last,
            _ => true,
        };
        match described_process(meta, raw) {
            Some(pid) => {
                let parts = self.by_process.get(&pid).map(Vec::as_slice).unwrap_or_default();
                parts.iter().copied().filter(is_needed).try_for_each(take)
            }
            None => (0..self.parts.len()).filter(is_needed).try_for_each(&mut take),
        }
    }
}

/// An output part.
pub(crate) struct SplitPart {
    /// Metadata of the part.
    pub meta: Meta,
    /// Its rounds.
    pub rounds: Rounds,
    /// Sink of its records.
    pub sink: Box<dyn Sink>,
}

/// Sends the records of a recording to some of its parts.
pub(crate) struct Router<'a> {
    routes: &'a Routes,
    choice: Choice,
    /// The parts being written, and their numbers among all parts.
    parts: Vec<SplitPart>,
    numbers: Range<usize>,
    /// The part of the latest sample.
    latest: usize,
    /// Records written, by type.
    pub written: Counts,
    /// Records that no part needs, by type.
    pub unneeded: Counts,
}

impl<'a> Router<'a> {
    /// Creates a router to the parts from number `first` on.
    pub(crate) fn new(routes: &'a Routes, choice: Choice, parts: Vec<SplitPart>, first: usize) -> Self {
        let numbers = first..first + parts.len();
        Self { routes, choice, parts, numbers, latest: 0, written: Counts::default(), unneeded: Counts::default() }
    }

    /// The single part of a record of an event, such as a sample.
    fn one(&mut self, meta: &Meta, raw: &Raw<'_>) -> usize {
        let kind = raw.header().kind;
        if kind == RecordType::CALLCHAIN_DEFERRED
            && let Some(number) = self.routes.chain_part(meta, raw)
        {
            return number;
        }
        let key = match kind {
            RecordType::SAMPLE => {
                let mut view = SampleView::default();
                let is_read = read(&mut view, meta, raw).is_some();
                let criteria = PartCriteria::by_sample(&view);
                if is_read { self.choice.sample_key(criteria, raw.header().len() as u64) } else { None }
            }
            _ => self.choice.key(PartCriteria::by_trailer(meta, raw)),
        };
        let number = key.and_then(|key| self.routes.by_key.get(&key).copied());
        if kind == RecordType::SAMPLE {
            self.latest = number.unwrap_or(self.latest);
        }
        number.unwrap_or(self.latest)
    }

    /// Number of FINISHED_ROUND records added.
    pub(crate) fn marks(&self) -> u64 {
        self.parts.iter().map(|part| part.rounds.marks()).sum()
    }

    /// Ends all parts.
    ///
    /// # Errors
    /// Errors of their sinks.
    pub(crate) fn finish(&mut self) -> Result<()> {
        for SplitPart { meta, sink, .. } in &mut self.parts {
            sink.end(meta)?;
        }
        Ok(())
    }
}

/// Whether records of a type describe lasting state. Unknown types may.
fn is_state(kind: RecordType) -> bool {
    kind.descriptor().is_none_or(|descriptor| descriptor.lifetime == Lifetime::State)
}

impl Sink for Router<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let kind = raw.header().kind;
        if kind.is_frame() || kind.is_header() || kind == RecordType::FINISHED_ROUND {
            return Ok(());
        }
        let time = meta.events.time(raw);
        if !is_state(kind) {
            let number = self.one(meta, raw);
            if self.numbers.contains(&number) {
                let part = &mut self.parts[number - self.numbers.start];
                self.written.add(kind);
                part.rounds.pass(&part.meta, raw, time.is_some(), &mut part.sink)?;
            }
            return Ok(());
        }
        self.choice.note(meta, raw);
        let (parts, numbers, written) = (&mut self.parts, &self.numbers, &mut self.written);
        let mut is_needed = false;
        self.routes.needing(meta, raw, time, |number| {
            is_needed = true;
            if numbers.contains(&number) {
                let part = &mut parts[number - numbers.start];
                written.add(kind);
                part.rounds.pass(&part.meta, raw, time.is_some(), &mut part.sink)?;
            }
            Ok(())
        })?;
        if !is_needed {
            self.unneeded.add(kind);
        }
        Ok(())
    }
}
