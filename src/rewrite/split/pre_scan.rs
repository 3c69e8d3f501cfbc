//! First pass of a split: finds the parts and the processes related to each.

use super::criterion::By;
use super::partition::{Choice, PartCriteria, PartKey};
use crate::rewrite::filter::deferred::DeferredChains;
use crate::rewrite::filter::pass::extend;
use crate::rewrite::filter::related_processes::ProcessTree;
use hashbrown::{HashMap, HashSet};
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::view::SampleView;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// What the first pass finds about a part.
#[derive(Debug, Default)]
pub(crate) struct PartScan {
    /// Times of its first and last sample.
    pub times: Option<(u64, u64)>,
    /// The processes of its samples.
    pub processes: HashSet<u32>,
    /// Deferred user call chains that its samples refer to.
    pub deferred: DeferredChains,
    latest: Option<u32>,
}

/// The sink of the first pass.
pub(crate) struct SplitScan {
    by: By,
    choice: Choice,
    /// Forks and mappings of processes.
    pub process_tree: ProcessTree,
    /// The parts by key.
    pub parts: HashMap<PartKey, PartScan>,
    /// Samples that lack the field to split by.
    without_field: u64,
}

impl SplitScan {
    /// Creates the first pass.
    pub(crate) fn new(by: By, choice: Choice) -> Self {
        Self { by, choice, process_tree: ProcessTree::default(), parts: HashMap::new(), without_field: 0 }
    }
}

/// Decodes a sample; `None` if it is malformed.
pub(crate) fn read<'a>(view: &mut SampleView<'a>, meta: &Meta, raw: &Raw<'a>) -> Option<()> {
    let (_, event) = meta.events.find(raw)?;
    event.fill_sample(view, raw).ok()
}

impl Sink for SplitScan {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        match raw.header().kind {
            RecordType::SAMPLE => {}
            RecordType::AUXTRACE_INFO | RecordType::AUXTRACE => {
                let problem = format!("{}: an AUX area can only be split by event", self.by);
                return Err(Error::not_found(problem).remedy("by", "event"));
            }
            kind if kind.is_frame() => return Ok(()),
            _ => {
                self.choice.note(meta, raw);
                self.process_tree.note(meta, raw);
                return Ok(());
            }
        }
        // A malformed sample goes to the part of the previous one.
        let mut view = SampleView::default();
        if read(&mut view, meta, raw).is_none() {
            return Ok(());
        }
        let Some(key) = self.choice.sample_key(PartCriteria::by_sample(&view), raw.header().len() as u64) else {
            self.without_field += 1;
            return Ok(());
        };
        let part = self.parts.entry(key).or_default();
        extend(&mut part.times, view.time);
        part.deferred.wanted_by(&view);
        if let Some((pid, _)) = view.task.filter(|&(pid, _)| part.latest != Some(pid)) {
            part.processes.insert(pid);
            part.latest = Some(pid);
        }
        Ok(())
    }

    fn end(&mut self, _: &Meta) -> Result<()> {
        if self.without_field > 0 {
            let missing_field = match self.by {
                By::Time(_) | By::Share(_) => "time; record with perf record --timestamp",
                By::Cpu => "CPU; record with perf record --sample-cpu",
                _ => "process and thread",
            };
            let (by, count) = (self.by, self.without_field);
            let (samples, have) = if count == 1 { ("sample", "has") } else { ("samples", "have") };
            return Err(Error::not_found(format!("{by}: {count} {samples} {have} no {missing_field}")));
        }
        if self.parts.is_empty() {
            return Err(Error::not_found(format!("{}: the recording has no samples to split", self.by)));
        }
        Ok(())
    }
}

/// Finds the times of the first and the last sample.
#[derive(Debug, Default)]
pub(crate) struct Times(pub Option<(u64, u64)>);

impl Sink for Times {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if raw.header().kind == RecordType::SAMPLE {
            extend(&mut self.0, meta.events.time(raw));
        }
        Ok(())
    }
}
