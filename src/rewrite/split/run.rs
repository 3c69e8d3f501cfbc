//! Drives a split: a first pass finds the parts, then each record is sent to the parts that need it. If there are too many parts
//! to write at once, the recording is read several times.

use super::criterion::By;
use super::partition::{Choice, PartKey, names};
use super::pre_scan::{PartScan, SplitScan, Times, read};
use super::route::{Router, Routes, SplitPart};
use crate::rewrite::embedded_symbols::parts::retain_objects;
use crate::rewrite::filter::event::EventPass;
use crate::rewrite::filter::pass::follow_in_sample_time;
use crate::rewrite::framework::passes::Passes;
use crate::rewrite::framework::rounds::Rounds;
use crate::rewrite::header::Header;
use perf_data::abi::feature::{FeatureId, build_ids};
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::view::SampleView;
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::container::write::encoded;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::counts::Counts;
use perf_data::stream::event_name::event_name;
use perf_data::stream::events::EventIndex;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::{Gap, Raw};
use perf_data::stream::source::Source;
use perf_data::stream::stage::{Before, Stage};
use std::collections::BTreeSet;

/// How to split a recording.
#[derive(Clone, Copy, Debug)]
pub struct SplitOptions {
    /// The criterion.
    pub by: By,
    /// Maximum number of parts.
    pub max_parts: usize,
    /// Maximum number of parts written at once.
    pub at_once: usize,
}

/// Creates the sink of a part from the part's name and the number of parts written at once.
pub type MakePart<'a> = dyn FnMut(&str, usize) -> Result<Box<dyn Sink>> + 'a;

/// Splits a recording; returns the number of parts.
///
/// # Errors
/// Fails if the recording cannot be read, samples lack the field to split by, there would be too many parts, or a sink fails.
pub fn split(
    input: Input,
    read: &ReadOptions,
    options: SplitOptions,
    make: &mut MakePart<'_>,
) -> Result<(usize, Ledger)> {
    let (input, damage) = input.repeatable(read)?;
    let split = SplitRun { input, read, options };
    let (count, mut ledger) = if options.by == By::Event { split.by_event(make)? } else { split.by_sample(make)? };
    damage.into_iter().for_each(|damage| ledger.damage(damage));
    Ok((count, ledger))
}

struct SplitRun<'a> {
    input: Input,
    read: &'a ReadOptions,
    options: SplitOptions,
}

impl SplitRun<'_> {
    fn open(&self) -> Result<Source> {
        Source::open(self.input.clone(), self.read.clone())
    }

    fn in_order(&self, sink: &mut impl Sink) -> Result<(Meta, Ledger)> {
        self.open()?.run(&mut Order::new(sink, self.read.clone()))
    }

    fn check(&self, count: usize) -> Result<()> {
        let (by, max_parts) = (self.options.by, self.options.max_parts);
        if count > max_parts {
            return Err(Error::too_large(format!("{by}: the split would create {count} parts"))
                .remedy("overwrite", format!("to allow more than {max_parts}")));
        }
        Ok(())
    }

    fn by_sample(&self, make: &mut MakePart<'_>) -> Result<(usize, Ledger)> {
        let by = self.options.by;
        let mut times = Times::default();
        // Shares are of the time between the first and the last sample, which must be known before any sample is assigned.
        if matches!(by, By::Share(_)) {
            self.open()?.run(&mut times)?;
        }
        let choice = || Choice::new(by, times.0);
        let mut scan = SplitScan::new(by, choice());
        let (meta, _) = self.in_order(&mut scan)?;
        let SplitScan { process_tree, mut parts, .. } = scan;
        self.check(parts.len())?;
        // Done only after the check: with a long chain of forks, each of many parts would have as many ancestors.
        parts.values_mut().for_each(|part| process_tree.add_ancestors(&mut part.processes));
        let mut parts: Vec<(PartKey, PartScan)> = parts.into_iter().collect();
        parts.sort_by(|(one, _), (other, _)| one.cmp(other));
        let names = names(by, &parts.iter().map(|(key, _)| key).collect::<Vec<_>>());
        let (keys, parts) = parts.into_iter().unzip();
        let routes = Routes::new(keys, parts, by.is_sliced());
        let has_file = |part: &PartScan, name: &[u8]| process_tree.has_file(name, &part.processes);

        let (mut written, mut unneeded, mut marks) = (Counts::default(), Counts::default(), 0);
        let mut ledger = Ledger::default();
        // The recording is read once for each batch: only so many parts can be written at once.
        for first in (0..names.len()).step_by(self.options.at_once.max(1)) {
            let count = self.options.at_once.min(names.len() - first);
            let mut batch = Vec::new();
            for (part, name) in routes.parts.iter().zip(&names).skip(first).take(count) {
                let meta = part_meta(&meta, part, |name| has_file(part, name))?;
                let mut sink = make(name, count)?;
                sink.begin(&meta)?;
                batch.push(SplitPart { meta, rounds: Rounds::default(), sink });
            }
            let mut router = Router::new(&routes, choice(), batch, first);
            (_, ledger) = self.in_order(&mut router)?;
            router.finish()?;
            marks += router.marks();
            router.written.iter().for_each(|(kind, count)| written.add_many(kind, count));
            unneeded = router.unneeded;
        }
        account(&mut ledger, &written, &unneeded, marks, &by.to_string());
        Ok((names.len(), ledger))
    }

    /// Splits by event with the event filter, one event at a time.
    fn by_event(&self, make: &mut MakePart<'_>) -> Result<(usize, Ledger)> {
        let mut scan = WithSamples(BTreeSet::new());
        let (meta, mut ledger) = self.open()?.run(&mut scan)?;
        if scan.0.is_empty() {
            return Err(Error::not_found(format!("{}: the recording has no samples to split", self.options.by)));
        }
        self.check(scan.0.len())?;
        let mut written = Counts::default();
        let mut count = 0;
        while let Some(event) = scan.0.pop_first() {
            let Some(descriptor) = meta.events.list().get(event as usize) else { continue };
            let mut sink = make(&format!("event-{}", event_name(descriptor)), 1)?;
            let mut passes = Passes::default();
            passes.push(EventPass::for_event(event));
            let mut counted = Before::new(CountedPart::default(), &mut *sink);
            let (part, _) = passes.run(self.input.clone(), self.read, &mut counted)?;
            counted.stage.written.iter().for_each(|(kind, count)| written.add_many(kind, count));
            count += 1;
            // The other events of its group are in the same part.
            let ids = part.events.list().iter().flat_map(|event| &event.ids);
            let in_part: BTreeSet<_> = ids.filter_map(|&id| meta.events.by_id(id)).collect();
            scan.0.retain(|event| !in_part.contains(event));
        }
        account(&mut ledger, &written, &Counts::default(), 0, &self.options.by.to_string());
        Ok((count, ledger))
    }
}

/// The metadata of a part before its first record.
fn part_meta(meta: &Meta, part: &PartScan, has_file: impl Fn(&[u8]) -> bool) -> Result<Meta> {
    let mut header = Header::new(meta);
    follow_in_sample_time(&mut header, part.times)?;
    header.build_ids.retain(|(_, build_id)| has_file(build_id.filename.text()));
    let mut features = header.features;
    retain_objects(&mut features, has_file, |pid| part.processes.contains(&pid));
    if !header.build_ids.is_empty() {
        let section = encoded(build_ids::to_bytes(&header.build_ids, meta.endian))?;
        features.insert(FeatureId::BUILD_ID, section.into());
    }
    let mut file_meta = meta.with(header.events.into_iter().flatten(), features, &header.event_types);
    (file_meta.container, file_meta.directory) = (Container::File, None);
    file_meta.build_id_records.clear();
    Ok(file_meta)
}

/// Accounts in the ledger for the records read. A record may be in several parts or in none.
fn account(ledger: &mut Ledger, written: &Counts, unneeded: &Counts, marks: u64, by: &str) {
    let kinds: Vec<_> = ledger.entries().keys().copied().collect();
    for kind in kinds {
        let read = ledger.counts(kind).unaccounted();
        if kind.is_frame() || kind.is_header() || kind == RecordType::FINISHED_ROUND && written.count(kind) == 0 {
            ledger.consumed(kind, read);
            continue;
        }
        let count = written.count(kind);
        let removed = unneeded.count(kind).max(read.saturating_sub(count).min(read));
        if removed > 0 && count < read {
            ledger.removed(kind, by, removed.min(read));
        }
        let left = ledger.counts(kind).unaccounted();
        if count > left {
            // State records that are in several parts.
            ledger.added(kind, count - left);
        }
        ledger.emitted(kind, count);
    }
    if marks > 0 {
        ledger.added(RecordType::FINISHED_ROUND, marks);
        ledger.emitted(RecordType::FINISHED_ROUND, marks);
    }
}

/// Collects the events that have samples.
struct WithSamples(BTreeSet<EventIndex>);

impl Sink for WithSamples {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if raw.header().kind == RecordType::SAMPLE
            && let Some((event, _)) = meta.events.find(raw)
            && !self.0.contains(&event)
            && read(&mut SampleView::default(), meta, raw).is_some()
        {
            self.0.insert(event);
        }
        Ok(())
    }
}

/// Counts written records.
#[derive(Default)]
struct CountedPart {
    written: Counts,
}

impl<S: Sink + ?Sized> Stage<S> for CountedPart {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        self.written.add(raw.header().kind);
        sink.record(meta, raw)
    }

    fn gap(&mut self, _: &Meta, _: &Gap<'_>, _: &mut S) -> Result<()> {
        Ok(())
    }
}
