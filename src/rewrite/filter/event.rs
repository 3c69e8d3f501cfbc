//! Samples of certain events: `--event`.

use super::deferred::DeferredChains;
use super::event_list::event_names;
use super::lineage::Staying;
use super::pass::{extend, follow_in_sample_time};
use crate::abi::bytes::Reader;
use crate::abi::feature::FeatureId;
use crate::abi::read_format::ReadFormat;
use crate::abi::record::RecordType;
use crate::abi::sample_view::SampleView;
use crate::error::{Error, Result};
use crate::rewrite::header::Header;
use crate::rewrite::option::{Outputs, Parameter, PassOption};
use crate::rewrite::pass::{Pass, PreScan};
use crate::rewrite::replacement::RecordBuffer;
use crate::rewrite::request::PassFactory;
use crate::stream::Sink;
use crate::stream::event_name::{event_name, is_called};
use crate::stream::events::EventIndex;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use crate::stream::stage::{Before, Stage};
use std::collections::BTreeSet;

/// `--event`: the names in a list.
pub const EVENT: Parameter<Vec<String>> = Parameter::repeated("--event", "EVENTS", event_names);

const KEEP_ATTRS: Parameter<()> = Parameter::flag("--keep-attrs");

/// The options of this pass.
pub const OPTIONS: &[PassOption] = &[
    PassOption::new(
        &EVENT,
        Outputs::All,
        "Only samples of these events, with or without their modifiers, separated by commas",
        |values| {
            let (wanted, keep_attrs) = (values.of(&EVENT).concat(), values.has(&KEEP_ATTRS));
            Ok(PassFactory::new(move |_| EventPass::new(wanted.clone(), keep_attrs)))
        },
    ),
    PassOption::setting(
        &KEEP_ATTRS,
        &["--event"],
        Outputs::Records,
        "Keep what the recording tells of events that --event leaves out",
    ),
];

/// Keeps the samples of certain events, and leaves out of the recording the events that go. A group whose members are read
/// with each other's samples (`:S`) is one: it stays where any of them is wanted.
#[derive(Debug)]
pub struct EventPass {
    wanted: Wanted,
    keep_attrs: bool,
    seen: Vec<Seen>,
    stay: Stay,
}

/// Which events are wanted.
#[derive(Debug)]
enum Wanted {
    /// Those of these names, with or without their modifiers.
    Names(Vec<String>),
    /// The one of this number.
    Number(EventIndex),
}

/// What the first look finds of an event.
#[derive(Debug, Default)]
struct Seen {
    /// Events that are read with its samples.
    group: BTreeSet<EventIndex>,
    /// Times of its first and last sample.
    times: Option<(u64, u64)>,
    deferred: DeferredChains,
    /// Whether it writes to the AUX area.
    is_aux: bool,
}

/// What stays.
#[derive(Debug, Default)]
struct Stay {
    events: Staying,
    /// The chains that samples wait for.
    deferred: DeferredChains,
    /// Whether the AUX area goes, as none of the events that write to it stays.
    aux_goes: bool,
}

impl EventPass {
    /// Those of these names, with or without their modifiers. With `keep_attrs` what tells of the others stays.
    pub fn new(wanted: Vec<String>, keep_attrs: bool) -> Self {
        Self { wanted: Wanted::Names(wanted), keep_attrs, seen: Vec::new(), stay: Stay::default() }
    }

    /// The one of this number.
    pub fn of(event: EventIndex) -> Self {
        Self { wanted: Wanted::Number(event), keep_attrs: false, seen: Vec::new(), stay: Stay::default() }
    }

    /// Those of which samples stay.
    fn staying(&self) -> impl Iterator<Item = &Seen> {
        self.seen.iter().zip(&self.stay.events.0).filter(|(_, stays)| **stays).map(|(seen, _)| seen)
    }
}

impl Pass for EventPass {
    fn name(&self) -> String {
        EVENT.name().to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        self.seen.clear();
        Some(PreScan::in_file_order(LookForEvents { wanted: &self.wanted, seen: &mut self.seen, stay: &mut self.stay }))
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        let mut times = None;
        for (first, last) in self.staying().filter_map(|seen| seen.times) {
            extend(&mut times, Some(first));
            extend(&mut times, Some(last));
        }
        follow_in_sample_time(header, times)?;
        if self.keep_attrs {
            return Ok(());
        }
        for (event, stays) in header.events.iter_mut().zip(&self.stay.events.0) {
            if !stays {
                *event = None;
            }
        }
        if self.stay.aux_goes {
            header.features.remove(&FeatureId::AUXTRACE);
        }
        Ok(())
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        Box::new(Before::new(OfEvents { pass: self, changed: RecordBuffer::default() }, sink))
    }
}

/// The first look: which events there are, and what belongs to each.
struct LookForEvents<'a> {
    wanted: &'a Wanted,
    seen: &'a mut Vec<Seen>,
    stay: &'a mut Stay,
}

impl LookForEvents<'_> {
    fn seen(&mut self, event: EventIndex) -> &mut Seen {
        let index = event as usize;
        if self.seen.len() <= index {
            self.seen.resize_with(index + 1, Seen::default);
        }
        &mut self.seen[index]
    }

    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<()> {
        let (index, event) = meta.events.of(raw)?;
        let mut view = SampleView::default();
        view.fill(raw.body(), &event.layout, raw.endian()).ok()?;
        let seen = self.seen(index);
        extend(&mut seen.times, view.time);
        seen.deferred.wanted_by(&view);
        if event.layout.read_format().contains(ReadFormat::GROUP | ReadFormat::ID) {
            let ids = view.read.iter().flat_map(|read| read.values()).filter_map(|value| value.id);
            seen.group.extend(ids.filter_map(|id| meta.events.by_id(id)));
        }
        Some(())
    }
}

impl Sink for LookForEvents<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        match raw.header().kind {
            RecordType::SAMPLE => drop(self.sample(meta, raw)),
            RecordType::AUX | RecordType::ITRACE_START => {
                if let Some((event, _)) = meta.events.of(raw) {
                    self.seen(event).is_aux = true;
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
            return Err(Error::not_found(format!(
                "--event: there is no event {missing}; the recording has {}: {}",
                names.len(),
                names.join(", ")
            )));
        }
        self.seen.resize_with(names.len(), Seen::default);
        let is_wanted = |(number, name): (usize, &String)| match self.wanted {
            Wanted::Names(wanted) => wanted.iter().any(|wanted| is_called(name, wanted)),
            Wanted::Number(wanted) => *wanted as usize == number,
        };
        let wanted: Vec<_> = names.iter().enumerate().map(is_wanted).collect();
        let is_in = |event: &EventIndex| wanted.get(*event as usize).copied().unwrap_or(false);
        let mut stays = wanted.clone();
        for (leader, seen) in self.seen.iter().enumerate() {
            if wanted[leader] || seen.group.iter().any(is_in) {
                stays[leader] = true;
                seen.group.iter().for_each(|&member| stays[member as usize] = true);
            }
        }
        let writes = |stays: bool| move |(seen, its): (&Seen, &bool)| seen.is_aux && *its == stays;
        let mut of_each = self.seen.iter().zip(&stays);
        let aux_goes = of_each.clone().any(writes(false)) && !of_each.any(writes(true));
        let mut deferred = DeferredChains::default();
        self.seen.iter().zip(&stays).filter(|(_, stays)| **stays).for_each(|(seen, _)| deferred.extend(&seen.deferred));
        *self.stay = Stay { events: Staying(stays), deferred, aux_goes };
        Ok(())
    }
}

/// Passes on what is of the events that stay.
struct OfEvents<'a> {
    pass: &'a EventPass,
    changed: RecordBuffer,
}

impl OfEvents<'_> {
    fn keeps(&self, meta: &Meta, raw: &Raw<'_>) -> bool {
        let Stay { events, deferred, aux_goes } = &self.pass.stay;
        match raw.header().kind {
            RecordType::SAMPLE
            | RecordType::LOST_SAMPLES
            | RecordType::READ
            | RecordType::THROTTLE
            | RecordType::UNTHROTTLE
            | RecordType::AUX
            | RecordType::ITRACE_START
            | RecordType::AUX_OUTPUT_HW_ID => meta.events.of(raw).is_none_or(|(event, _)| events.has(event)),
            RecordType::CALLCHAIN_DEFERRED => deferred.has(meta, raw),
            RecordType::AUXTRACE_INFO | RecordType::AUXTRACE | RecordType::AUXTRACE_ERROR => !aux_goes,
            RecordType::STAT => {
                let id = Reader::new(raw.body(), raw.endian()).u64();
                id.is_none_or(|id| events.has_id(meta, id))
            }
            _ => true,
        }
    }
}

impl<S: Sink + ?Sized> Stage<S> for OfEvents<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        if !self.keeps(meta, raw) {
            return Ok(());
        }
        let is_sample = raw.header().kind == RecordType::SAMPLE;
        let retold = match &self.pass.stay.events {
            events if !is_sample && !self.pass.keep_attrs => events.rewritten(meta, raw)?,
            _ => None,
        };
        match retold {
            None => sink.record(meta, raw),
            Some(record) => {
                self.changed.record = record;
                self.changed.pass(sink, meta, raw)
            }
        }
    }
}
