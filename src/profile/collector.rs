//! From records in time order to a [`Profile`].

use super::event::ProfileEvent;
use super::frames::SampledStack;
use super::mappings::Mappings;
use super::resolved::{Key, Resolved, ResolvedStacks};
use super::stacks::{FrameId, StackId, Stacks};
use super::{Frame, Profile, Row};
use crate::abi;
use crate::abi::attr_flags::AttrFlags;
use crate::abi::feature::FeatureId;
use crate::abi::record::lost::{Lost, LostSamples};
use crate::abi::record::{Misc, RecordType};
use crate::abi::sample_view::SampleView;
use crate::container::walk::Damage;
use crate::error::Result;
use crate::session::map::MapId;
use crate::session::{Applied, Session};
use crate::stream::Sink;
use crate::stream::events::{Event, EventIndex};
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
    missing: MissingFrames,
    /// Frames of the stack at hand, kept for its memory.
    frames: Vec<FrameId>,
}

/// Samples whose stacks are known to lack frames.
#[derive(Default)]
struct MissingFrames {
    /// Samples with a copy of the stack instead of a call chain.
    stack_dumps: u64,
    /// Samples whose user frames come in a record of their own.
    deferred: u64,
}

impl Sink for Collector {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        match raw.header.kind {
            RecordType::SAMPLE => match self.sample(meta, raw) {
                Ok(()) => self.samples += 1,
                Err(reason) => self.ledger.dropped(RecordType::SAMPLE, reason),
            },
            kind @ (RecordType::LOST | RecordType::LOST_SAMPLES) => {
                self.lost(meta, raw);
                self.ledger.consumed(kind, 1);
            }
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
        if view.stack_user.is_some_and(|stack| stack.dyn_size > 0) {
            self.missing.stack_dumps += 1;
        }
        let stack = self.stack(pid, raw.header.misc, &view);
        let (samples, value) = self.rows.entry((stack, index)).or_default();
        *samples += 1;
        *value = value.saturating_add(weight(&view, event));
        if let Some(time) = view.time {
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
        let file = meta.files[raw.block.source as usize].clone();
        let what = format!("the {} record here is left out: {why}", raw.header.kind);
        self.ledger.damage(Damage { file, offset: raw.offset(), what });
        Reason::Damaged
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

    fn lost(&mut self, meta: &Meta, raw: &Raw<'_>) {
        let (body, _) = meta.events.split(raw);
        if raw.header.kind == RecordType::LOST {
            self.ledger.lost_records += abi::parse::<Lost>(body, raw.endian, ()).map_or(0, |(lost, _)| lost.lost);
        } else {
            self.ledger.lost_samples +=
                abi::parse::<LostSamples>(body, raw.endian, ()).map_or(0, |(lost, _)| lost.lost);
        }
    }

    /// What was collected, and what became of the records.
    pub fn finish(mut self, meta: &Meta) -> (Profile, Ledger) {
        self.ledger.emitted(RecordType::SAMPLE, self.samples);
        self.note_missing_frames();
        if self.rows.is_empty() {
            self.ledger.note("the recording has no samples: the profile is empty".to_owned());
        }
        let main_mapping = self.main_map.map(|id| self.mappings.id(id, self.session.map(id)));
        let clock = meta.clock_data();
        let wall_clock_start = self.times.zip(clock).and_then(|((first, _), clock)| {
            first
                .checked_sub(clock.clockid_ns)
                .map(|since| clock.wall_clock_ns + since)
                .or_else(|| clock.wall_clock_ns.checked_sub(clock.clockid_ns - first))
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

    fn note_missing_frames(&mut self) {
        let MissingFrames { stack_dumps, deferred } = self.missing;
        if stack_dumps > 0 {
            self.ledger.note(format!(
                "samples with a copy of the user stack (--call-graph dwarf): {stack_dumps}; it is not unwound, so that \
                 their user callers are missing"
            ));
        }
        if deferred > 0 {
            self.ledger.note(format!(
                "samples whose user callers come in records of their own (CALLCHAIN_DEFERRED): {deferred}; these are not \
                 put together"
            ));
        }
    }
}

/// How much of its event a sample stands for: its period, or else the one that the event was opened with.
fn weight(view: &SampleView<'_>, event: &Event) -> u64 {
    match view.period {
        Some(period) => period,
        None if event.attr.flags.contains(AttrFlags::FREQ) => 1,
        None => event.attr.sample_period.max(1),
    }
}
