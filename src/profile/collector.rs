//! From records in time order to a [`Profile`].

use super::event::{ProfileEvent, period};
use super::frames::SampledStack;
use super::mappings::Mappings;
use super::resolved::{Key, Resolved, ResolvedStacks};
use super::stacks::{FrameId, StackId, Stacks};
use super::{Frame, Profile, Row};
use crate::abi;
use crate::abi::feature::FeatureId;
use crate::abi::read_format::ReadFormat;
use crate::abi::record::lost::{Lost, LostSamples};
use crate::abi::record::{Misc, RecordType};
use crate::abi::sample_type::SampleType;
use crate::abi::sample_view::SampleView;
use crate::container::read::Container;
use crate::error::Result;
use crate::session::map::MapId;
use crate::session::{Applied, Session};
use crate::stream::Sink;
use crate::stream::events::{Event, EventIndex, is_time};
use crate::stream::is_used_by_stream;
use crate::stream::ledger::{Ledger, Reason};
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use hashbrown::HashMap;

/// Collects stacks and values from records. They must come in time order ([`Order`](crate::stream::order::Order)).
#[derive(Default)]
pub struct Collector {
    session: Session,
    ledger: Ledger,
    stacks: Stacks,
    mappings: Mappings,
    resolved: ResolvedStacks,
    rows: HashMap<(StackId, EventIndex), (u64, u64)>,
    /// Samples that are in the rows.
    samples: u64,
    times: Option<(u64, u64)>,
    main_map: Option<MapId>,
    missing: Missing,
    /// Frames of the stack at hand, kept for its memory.
    frames: Vec<FrameId>,
}

/// Samples that are known to tell more than the profile has.
#[derive(Default)]
struct Missing {
    /// Samples with a copy of the stack instead of a call chain.
    stack_dumps: u64,
    /// Samples whose user frames come in a record of their own.
    deferred: u64,
    /// Samples with the counters of all events of a group.
    group_reads: u64,
}

impl Sink for Collector {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        match raw.header.kind {
            RecordType::SAMPLE => match self.sample(meta, raw) {
                Ok(()) => self.samples += 1,
                Err(reason) => self.ledger.dropped(RecordType::SAMPLE, reason),
            },
            kind @ (RecordType::LOST | RecordType::LOST_SAMPLES) => match self.lost(meta, raw) {
                Ok(()) => self.ledger.consumed(kind, 1),
                Err(_) => {
                    let reason = self.damaged(meta, raw, "its fields do not fit its size");
                    self.ledger.dropped(kind, reason);
                }
            },
            // What the stream itself uses is in its own account.
            kind if is_used_by_stream(kind) => {}
            RecordType::CALLCHAIN_DEFERRED => self.ledger.dropped(RecordType::CALLCHAIN_DEFERRED, Reason::Deferred),
            kind => match self.session.apply(meta, raw) {
                Applied::Consumed => self.ledger.consumed(kind, 1),
                Applied::NotApplicable => self.ledger.not_applicable(kind, 1),
                Applied::Damaged => {
                    let reason = self.damaged(meta, raw, "its fields do not fit its size");
                    self.ledger.dropped(kind, reason);
                }
            },
        }
        Ok(())
    }
}

impl Collector {
    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) -> std::result::Result<(), Reason> {
        let (index, event) = meta.events.of(raw).ok_or(Reason::UnknownEvent)?;
        let view = SampleView::read(raw.body(), &event.layout, raw.endian)
            .map_err(|field| self.damaged(meta, raw, &format!("its field {field} does not fit its size")))?;
        let pid = view.task.map_or(u32::MAX, |(pid, _)| pid);
        if !view.tail.is_empty() && SampleType::KNOWN.contains(event.layout.sample_type) {
            let why = format!("{} bytes follow its last field, which may have been other records", view.tail.len());
            self.note_damage(meta, raw, &format!("the sample here is larger than its fields: {why}"));
        }
        if view.read.is_some() && event.layout.read_format.contains(ReadFormat::GROUP) {
            self.missing.group_reads += 1;
        }
        if view.stack_user.is_some_and(|stack| stack.dyn_size > 0) {
            self.missing.stack_dumps += 1;
        }
        let stack = self.stack(pid, raw.header.misc, &view);
        let (samples, value) = self.rows.entry((stack, index)).or_default();
        *samples += 1;
        *value = value.saturating_add(weight(&view, event));
        if let Some(time) = view.time.filter(|&time| is_time(time)) {
            let (first, last) = self.times.get_or_insert((time, time));
            (*first, *last) = (time.min(*first), time.max(*last));
        }
        if self.main_map.is_none() {
            self.main_map = self.session.process(pid).and_then(|process| process.main_map);
        }
        Ok(())
    }

    /// Notes that a record cannot be used.
    fn damaged(&mut self, meta: &Meta, raw: &Raw<'_>, why: &str) -> Reason {
        self.note_damage(meta, raw, &format!("the {} record here is left out: {why}", raw.header.kind));
        Reason::Damaged
    }

    fn note_damage(&mut self, meta: &Meta, raw: &Raw<'_>, what: &str) {
        self.ledger.damage(meta.damage(raw.block, raw.at, what.to_owned()));
    }

    /// The number of a sample's stack: remembered where the same chain was seen in the same maps.
    fn stack(&mut self, pid: u32, misc: Misc, view: &SampleView<'_>) -> StackId {
        let key = Key {
            generation: self.session.generation(pid),
            ip: view.ip,
            mode: misc.cpu_mode(),
            chain: view.callchain.map(|chain| chain.as_bytes()).unwrap_or_default(),
        };
        let resolved = match self.resolved.find(&key) {
            Some(resolved) => resolved,
            None => {
                let resolved = self.resolve(pid, misc, view);
                self.resolved.insert(&key, resolved);
                resolved
            }
        };
        self.missing.deferred += u64::from(resolved.is_deferred);
        resolved.stack
    }

    fn resolve(&mut self, pid: u32, misc: Misc, view: &SampleView<'_>) -> Resolved {
        let sampled = SampledStack { ip: view.ip, space: misc.cpu_mode().into(), callchain: view.callchain };
        let Self { session, stacks, mappings, frames, .. } = self;
        frames.clear();
        let is_deferred = sampled.for_each(|found| {
            let map = session.map_at(pid, found.space, found.address);
            let mapping = map.map(|id| mappings.id(id, session.map(id)));
            frames.push(stacks.frame_id(Frame { mapping, address: found.address }));
        });
        if frames.is_empty() {
            // Every sample has a stack, also one of an event that records no address.
            frames.push(stacks.frame_id(Frame { mapping: None, address: 0 }));
        }
        Resolved { stack: stacks.stack_id(frames), is_deferred }
    }

    fn lost(&mut self, meta: &Meta, raw: &Raw<'_>) -> binrw::BinResult<()> {
        let (body, _) = meta.events.split(raw);
        let (records, samples) = match raw.header.kind {
            RecordType::LOST => (abi::parse::<Lost>(body, raw.endian, ())?.0.lost, 0),
            _ => (0, abi::parse::<LostSamples>(body, raw.endian, ())?.0.lost),
        };
        self.ledger.lost(records, samples);
        Ok(())
    }

    /// What was collected, and what became of the records.
    pub fn finish(mut self, meta: &Meta) -> (Profile, Ledger) {
        self.ledger.emitted(RecordType::SAMPLE, self.samples);
        self.note_missing();
        if self.samples == 0 && self.ledger.of(RecordType::SAMPLE).dropped() == 0 {
            // The main file of a folder that was recorded by several threads is a whole recording by itself.
            if meta.container == Container::File && meta.features.contains_key(&FeatureId::DIR_FORMAT) {
                let what = "the samples of this recording are in the files beside it: name the folder to read them";
                self.ledger.missing(what.to_owned());
            } else {
                self.ledger.note("the recording has no samples: the profile is empty".to_owned());
            }
        }
        let main_mapping = self.main_map.map(|id| self.mappings.id(id, self.session.map(id)));
        let clock = meta.clock_data();
        let wall_clock_start = self.times.zip(clock).and_then(|((first, _), clock)| {
            let since = i128::from(first) - i128::from(clock.clockid_ns);
            u64::try_from(i128::from(clock.wall_clock_ns) + since).ok()
        });
        let mut rows: Vec<Row> = self
            .rows
            .into_iter()
            .map(|((stack, event), (samples, value))| Row { stack, event, samples, value })
            .collect();
        rows.sort_unstable_by_key(|row| (row.stack, row.event));
        let profile = Profile {
            events: meta.events.list().iter().map(ProfileEvent::from).collect(),
            mappings: self.mappings.finish(meta),
            main_mapping,
            stacks: self.stacks,
            rows,
            times: self.times,
            wall_clock_start,
            perf_version: meta.string(FeatureId::VERSION),
            command: meta.cmdline().map(|arguments| arguments.join(" ")),
        };
        (profile, self.ledger)
    }

    fn note_missing(&mut self) {
        let Missing { stack_dumps, deferred, group_reads } = self.missing;
        if stack_dumps > 0 {
            self.ledger.missing(format!(
                "samples with a copy of the user stack (--call-graph dwarf): {stack_dumps}; it is not unwound, so that \
                 their user callers are missing"
            ));
        }
        if deferred > 0 {
            self.ledger.missing(format!(
                "samples whose user callers come in records of their own (CALLCHAIN_DEFERRED): {deferred}; these are not \
                 put together"
            ));
        }
        if group_reads > 0 {
            self.ledger.missing(format!(
                "samples with the counters of a whole group: {group_reads}; only the period of the event that sampled is \
                 counted"
            ));
        }
    }
}

/// How much of its event a sample stands for: its period, or else the one that follows from how the event was opened.
fn weight(view: &SampleView<'_>, event: &Event) -> u64 {
    view.period.or_else(|| period(&event.attr)).unwrap_or(1)
}
