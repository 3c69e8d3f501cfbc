//! Keeps samples of certain events: `--event`.

use super::deferred::DeferredChains;
use super::event_list::event_names;
use super::lineage::KeptEvents;
use super::own_ids::OwnIds;
use super::pass::{extend, follow_in_sample_time};
use crate::rewrite::framework::pass::{Pass, PreScan};
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use crate::rewrite::framework::replacement::RecordBuffer;
use crate::rewrite::header::Header;
use crate::suggest::unknown;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::read_format::ReadFormat;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::view::SampleView;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::event_name::{event_name, is_called};
use perf_data::stream::events::EventIndex;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::{Before, Stage};
use std::collections::BTreeSet;

/// Keeps samples of certain events.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Event {
    /// Keep only samples of these events, with or without their modifiers, separated by commas.
    #[cfg_attr(feature = "cli", arg(long = "event", id = "event", value_name = "EVENTS", value_parser = checked_names))]
    pub names: Vec<String>,

    /// Keep the attrs and other metadata of events that --event removes.
    #[cfg_attr(feature = "cli", arg(long))]
    pub keep_attrs: bool,
}

impl Event {
    /// The filter of these.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), keep_attrs: false }
    }
}

impl PassOptions for Event {
    fn pass(&self, _: &PassContext) -> Box<dyn Pass> {
        Box::new(EventPass::new(self.wanted(), self.keep_attrs))
    }
}

impl Event {
    /// The single names.
    pub fn wanted(&self) -> Vec<String> {
        // Those of a command line have been checked.
        self.names.iter().flat_map(|list| event_names(list).unwrap_or_else(|_| vec![list.clone()])).collect()
    }
}

#[cfg(feature = "cli")]
fn checked_names(list: &str) -> std::result::Result<String, String> {
    event_names(list).map(|_| list.to_owned())
}

/// Keeps samples of certain events, and removes the other events from the recording. A group whose members are read with each
/// other's samples (`:S`) is kept whole if any of its events is wanted.
#[derive(Debug)]
pub struct EventPass {
    wanted: Wanted,
    keep_attrs: bool,
    seen: Vec<EventUse>,
    selection: Selection,
}

#[derive(Debug)]
enum Wanted {
    /// Events of these names, with or without their modifiers.
    Names(Vec<String>),
    /// The event of this number.
    Number(EventIndex),
}

/// What the first pass finds about an event.
#[derive(Debug, Default)]
struct EventUse {
    /// Events whose values are in its samples.
    group: BTreeSet<EventIndex>,
    /// Times of its first and last sample.
    times: Option<(u64, u64)>,
    deferred: DeferredChains,
    /// Whether it writes to the AUX area.
    is_aux: bool,
}

/// The events and their related records that are kept.
#[derive(Debug, Default)]
struct Selection {
    events: KeptEvents,
    /// The deferred call chains of kept samples.
    deferred: DeferredChains,
    /// Whether the AUX area is removed, because no kept event writes to it.
    removes_aux: bool,
}

impl EventPass {
    /// Creates a filter by name, with or without modifiers. `keep_attrs` keeps the metadata of the other events.
    pub fn new(wanted: Vec<String>, keep_attrs: bool) -> Self {
        Self { wanted: Wanted::Names(wanted), keep_attrs, seen: Vec::new(), selection: Selection::default() }
    }

    /// Creates a filter of the event of this number.
    pub fn for_event(event: EventIndex) -> Self {
        Self { wanted: Wanted::Number(event), keep_attrs: false, seen: Vec::new(), selection: Selection::default() }
    }

    /// The events whose samples are kept.
    fn kept(&self) -> impl Iterator<Item = &EventUse> {
        self.seen.iter().zip(&self.selection.events.0).filter(|(_, is_kept)| **is_kept).map(|(seen, _)| seen)
    }
}

impl Pass for EventPass {
    fn name(&self) -> String {
        "--event".to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        self.seen.clear();
        Some(PreScan::in_file_order(EventScan {
            wanted: &self.wanted,
            seen: &mut self.seen,
            selection: &mut self.selection,
        }))
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        let mut times = None;
        for (first, last) in self.kept().filter_map(|seen| seen.times) {
            extend(&mut times, Some(first));
            extend(&mut times, Some(last));
        }
        follow_in_sample_time(header, times)?;
        if self.keep_attrs {
            return Ok(());
        }
        for (event, is_kept) in header.events.iter_mut().zip(&self.selection.events.0) {
            if !is_kept {
                *event = None;
            }
        }
        if self.selection.removes_aux {
            header.features.remove(&FeatureId::AUXTRACE);
        }
        Ok(())
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        Box::new(Before::new(EventStage { pass: self, changed: RecordBuffer::default() }, sink))
    }
}

/// The first pass: collects the events and what belongs to each.
struct EventScan<'a> {
    wanted: &'a Wanted,
    seen: &'a mut Vec<EventUse>,
    selection: &'a mut Selection,
}

impl EventScan<'_> {
    fn event_use(&mut self, event: EventIndex) -> &mut EventUse {
        let index = event as usize;
        if self.seen.len() <= index {
            self.seen.resize_with(index + 1, EventUse::default);
        }
        &mut self.seen[index]
    }

    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<()> {
        let (index, event) = meta.events.find(raw)?;
        let mut view = SampleView::default();
        view.fill(raw.body(), &event.layout, raw.endian()).ok()?;
        let seen = self.event_use(index);
        extend(&mut seen.times, view.time);
        seen.deferred.wanted_by(&view);
        if event.layout.read_format().contains(ReadFormat::GROUP | ReadFormat::ID) {
            let ids = view.read.iter().flat_map(|read| read.values()).filter_map(|value| value.id);
            seen.group.extend(ids.filter_map(|id| meta.events.by_id(id)));
        }
        Some(())
    }
}

impl Sink for EventScan<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        match raw.header().kind {
            RecordType::SAMPLE => drop(self.sample(meta, raw)),
            RecordType::AUX | RecordType::ITRACE_START => {
                if let Some((event, _)) = meta.events.find(raw) {
                    self.event_use(event).is_aux = true;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        let names: Vec<_> = meta.events.list().iter().map(event_name).collect();
        if let Wanted::Names(wanted) = self.wanted
            && let Some(missing) = wanted.iter().find(|wanted| !names.iter().any(|name| is_called(name, wanted)))
        {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            return Err(Error::not_found(format!("--event: {}", unknown("event", missing, &names))));
        }
        self.seen.resize_with(names.len(), EventUse::default);
        let is_wanted = |(number, name): (usize, &String)| match self.wanted {
            Wanted::Names(wanted) => wanted.iter().any(|wanted| is_called(name, wanted)),
            Wanted::Number(wanted) => *wanted as usize == number,
        };
        let wanted: Vec<_> = names.iter().enumerate().map(is_wanted).collect();
        let is_in = |event: &EventIndex| wanted.get(*event as usize).copied().unwrap_or(false);
        let mut kept = wanted.clone();
        for (leader, seen) in self.seen.iter().enumerate() {
            if wanted[leader] || seen.group.iter().any(is_in) {
                kept[leader] = true;
                seen.group.iter().for_each(|&member| kept[member as usize] = true);
            }
        }
        let writes = |kept: bool| move |(seen, is_kept): (&EventUse, &bool)| seen.is_aux && *is_kept == kept;
        let mut events = self.seen.iter().zip(&kept);
        let removes_aux = events.clone().any(writes(false)) && !events.any(writes(true));
        let mut deferred = DeferredChains::default();
        self.seen
            .iter()
            .zip(&kept)
            .filter(|(_, is_kept)| **is_kept)
            .for_each(|(seen, _)| deferred.extend(&seen.deferred));
        *self.selection = Selection { events: KeptEvents(kept), deferred, removes_aux };
        Ok(())
    }
}

/// Passes on the records of the kept events.
struct EventStage<'a> {
    pass: &'a EventPass,
    changed: RecordBuffer,
}

impl EventStage<'_> {
    fn keeps(&self, meta: &Meta, raw: &Raw<'_>) -> bool {
        let Selection { events, deferred, removes_aux } = &self.pass.selection;
        match raw.header().kind {
            RecordType::CALLCHAIN_DEFERRED => deferred.has(meta, raw),
            RecordType::AUXTRACE_INFO | RecordType::AUXTRACE | RecordType::AUXTRACE_ERROR => !removes_aux,
            kind if kind >= RecordType::USER_START => {
                OwnIds::read(meta, raw).event.is_none_or(|id| events.has_id(meta, id))
            }
            kind => !kind.is_event_record() || meta.events.find(raw).is_none_or(|(event, _)| events.has(event)),
        }
    }
}

impl<S: Sink + ?Sized> Stage<S> for EventStage<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        if !self.keeps(meta, raw) {
            return Ok(());
        }
        let is_sample = raw.header().kind == RecordType::SAMPLE;
        let rewritten = match &self.pass.selection.events {
            events if !is_sample && !self.pass.keep_attrs => events.rewritten(meta, raw)?,
            _ => None,
        };
        match rewritten {
            None => sink.record(meta, raw),
            Some(record) => {
                self.changed.record = record;
                self.changed.pass(sink, meta, raw)
            }
        }
    }
}
