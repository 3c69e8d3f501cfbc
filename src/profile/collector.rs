//! From records in time order to a [`Profile`].

use super::event::{ProfileEvent, period};
use super::frames::SampledStack;
use super::labels::{Label, LabelReader, LabelSets, LabelValue, LabelledSample};
use super::mappings::Mappings;
use super::options::{ProfileOptions, Split};
use super::parts::{Key, Parts};
use super::resolved::{self, ResolvedStacks};
use super::selection::Selection;
use super::stacks::{FrameId, StackId, Stacks};
use super::waiting::{Incomplete, UserFrames, Waiting};
use super::weights::Weights;
use super::{Frame, Place, Profile, Row, Tables};
use crate::abi;
use crate::abi::feature::FeatureId;
use crate::abi::record::lost::{Lost, LostSamples};
use crate::abi::record::{CpuMode, RecordType};
use crate::abi::sample_type::{BranchSampleType, SampleType};
use crate::abi::sample_view::{SampleLayout, SampleView};
use crate::container::read::Container;
use crate::error::{Error, Result};
use crate::session::map::{Map, MapId};
use crate::session::names::Names;
use crate::session::space::Space;
use crate::session::{Applied, Seen, Session};
use crate::stream::events::EventIndex;
use crate::stream::ledger::{Ledger, Reason};
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use crate::stream::{Sink, is_used_by_stream};
use std::sync::Arc;

/// Collects stacks and values from records. They must come in time order ([`Order`](crate::stream::order::Order)).
#[derive(Default)]
pub struct Collector<'a> {
    split: Option<Split>,
    lost_as_samples: bool,
    data_addresses: bool,
    /// Labels that the recording has to tell.
    asked_for: Vec<Label>,
    selection: Selection,
    label_reader: LabelReader,
    /// Takes samples one by one, where they are not to be kept.
    taker: Option<&'a mut dyn TakeSamples>,
    session: Session,
    ledger: Ledger,
    stacks: Stacks,
    mappings: Mappings,
    resolved: ResolvedStacks<1>,
    label_sets: LabelSets,
    weights: Weights,
    waiting: Waiting,
    parts: Parts,
    missing: Missing,
    /// Samples that are in the profile.
    samples: u64,
    /// Of the sample at hand, kept for their memory.
    frames: Vec<FrameId>,
    labels: Vec<LabelValue>,
    found: Vec<(EventIndex, u64)>,
}

/// What takes samples one by one.
pub trait TakeSamples {
    /// Takes a sample.
    ///
    /// # Errors
    /// Where it cannot go on.
    fn take(&mut self, sample: &TakenSample<'_>) -> Result<()>;
}

/// A sample on its way to where it is taken.
#[derive(Clone, Copy, Debug)]
pub struct TakenSample<'a> {
    /// Its stack, leaf first.
    pub frames: &'a [FrameId],
    /// Its labels.
    pub labels: &'a [LabelValue],
    /// The events that it stands for, and how much of each.
    pub weights: &'a [(EventIndex, u64)],
    /// How many samples it is.
    pub samples: u64,
    /// Texts of labels.
    pub names: &'a Names,
}

/// Samples that are known to tell more than the profile has.
#[derive(Default)]
struct Missing {
    /// Samples with a copy of the stack instead of a call chain.
    stack_dumps: u64,
    /// Samples whose user frames never came.
    deferred: u64,
}

/// A sample's stack, as far as the sample tells it.
#[derive(Clone, Copy)]
struct Resolved {
    stack: StackId,
    /// What the record is known by that its user frames come in, where they come apart.
    cookie: Option<u64>,
}

/// Where in the stack the address is that stands for what was lost: in no address space that there is.
const LOST: u64 = 9 << 60;

impl Sink for Collector<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        match raw.header.kind {
            RecordType::SAMPLE => return self.sample(meta, raw),
            kind @ (RecordType::LOST | RecordType::LOST_SAMPLES) => {
                if self.lost(meta, raw)?.is_some() {
                    self.ledger.consumed(kind, 1)
                } else {
                    self.drop(meta, raw)
                }
            }
            kind @ RecordType::CALLCHAIN_DEFERRED => {
                if self.deferred(meta, raw)?.is_some() {
                    self.ledger.consumed(kind, 1)
                } else {
                    self.drop(meta, raw)
                }
            }
            // What the stream itself uses is in its own account.
            kind if is_used_by_stream(kind) => {}
            kind => match self.session.apply(meta, raw) {
                Applied::Consumed => self.ledger.consumed(kind, 1),
                Applied::NotApplicable => self.ledger.not_applicable(kind, 1),
                Applied::Damaged => self.drop(meta, raw),
            },
        }
        Ok(())
    }
}

impl<'a> Collector<'a> {
    /// Collects what the options say.
    pub fn new(options: &ProfileOptions) -> Self {
        let labels = options.labels.clone().unwrap_or(ProfileOptions::DEFAULT_LABELS.to_vec());
        Self {
            split: options.split,
            lost_as_samples: options.lost_as_samples,
            data_addresses: options.data_addresses,
            asked_for: options.labels.clone().unwrap_or_default(),
            selection: Selection::new(options.events.clone()),
            label_reader: LabelReader::new(labels, options.thread_types.clone()),
            ..Self::default()
        }
    }

    /// Passes samples on as they come: the profile has no rows then.
    pub fn passing_samples_to(self, taker: &'a mut dyn TakeSamples) -> Self {
        Self { taker: Some(taker), ..self }
    }

    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let kind = RecordType::SAMPLE;
        let Some((index, event)) = meta.events.of(raw) else {
            self.ledger.dropped(kind, Reason::UnknownEvent);
            return Ok(());
        };
        let mut view = SampleView::default();
        if let Err(field) = view.fill(raw.body(), &event.layout, raw.endian) {
            self.drop_because(meta, raw, &format!("its field {field} does not fit its size"));
            return Ok(());
        }
        if !view.tail.is_empty() && SampleType::KNOWN.contains(event.layout.sample_type) {
            let why = format!("{} bytes follow its last field, which may have been other records", view.tail.len());
            self.note_damage(meta, raw, &format!("the sample here is larger than its fields: {why}"));
        }
        self.found.clear();
        self.weights.of(&view, index, &meta.events, &mut self.found);
        if !self.selection.is_all() {
            self.found.retain(|&(event, _)| self.selection.has(event, &meta.events));
        }
        if self.found.is_empty() {
            // Of an event that is not wanted, or nothing was added to its counters.
            self.ledger.not_applicable(kind, 1);
            return Ok(());
        }
        if view.stack_user.is_some_and(|stack| stack.dyn_size > 0) {
            self.missing.stack_dumps += 1;
        }
        let pid = view.task.map(|(pid, _)| pid);
        let mode = raw.header.misc.cpu_mode();
        let seen = self.session.seen(pid.unwrap_or(u32::MAX));
        self.labels.clear();
        let labelled = LabelledSample { view: &view, layout: &event.layout, mode, comm: seen.comm };
        self.label_reader.read(&labelled, &mut self.session, &mut self.labels);
        let resolved = self.stack(seen, mode, &view, &event.layout);
        let part = self.parts.index(Key::of(self.split, pid, view.cgroup, &self.session));
        self.note(part, view.time, seen.main_map);
        self.samples += 1;
        match (resolved.cookie, view.task) {
            (Some(cookie), Some((_, tid))) => {
                let frames = self.stacks.stack(resolved.stack).to_vec();
                let (labels, weights) = (self.labels.clone(), self.found.clone());
                self.waiting.add(tid, cookie, Incomplete { frames, labels, weights, part });
                Ok(())
            }
            _ => self.add(part, resolved.stack, 1),
        }
    }

    /// Adds the sample at hand, of these frames.
    fn add(&mut self, part: usize, stack: u32, samples: u64) -> Result<()> {
        let Self { taker, stacks, session, label_sets, parts, labels, found, .. } = self;
        if let Some(taker) = taker {
            let frames = stacks.stack(stack);
            return taker.take(&TakenSample { frames, labels, weights: found, samples, names: &session.names });
        }
        let labels = label_sets.id(labels);
        for &(event, value) in &*found {
            let part = if self.split == Some(Split::Event) { parts.index(Key::Event(event)) } else { part };
            parts.add(part, Row { stack, labels, event, samples, value });
        }
        Ok(())
    }

    /// Takes note of the sample at hand in its parts.
    #[inline]
    fn note(&mut self, part: usize, time: Option<u64>, main_map: Option<MapId>) {
        for &(event, _) in &self.found {
            let part = if self.split == Some(Split::Event) { self.parts.index(Key::Event(event)) } else { part };
            let part = self.parts.part(part);
            part.note(time, event);
            part.main_map = part.main_map.or(main_map);
        }
    }

    /// The sample's stack: remembered where the same chain was seen in the same maps.
    fn stack(&mut self, seen: Seen, mode: CpuMode, view: &SampleView<'_>, layout: &SampleLayout) -> Resolved {
        let pid = view.task.map_or(u32::MAX, |(pid, _)| pid);
        let is_call_stack = layout.branch_sample_type.contains(BranchSampleType::CALL_STACK);
        let calls = view.branch_stack.filter(|calls| is_call_stack && !calls.is_empty());
        let sampled = SampledStack { ip: view.ip, space: mode.into(), callchain: view.callchain, calls };
        if calls.is_some() || self.data_addresses {
            return self.resolve(pid, &sampled, view.addr);
        }
        let chain = view.callchain.map(|chain| chain.as_chunks()).unwrap_or_default();
        let key = resolved::Key { view: [seen.view], ip: view.ip, mode, chain };
        if let Some(stack) = self.resolved.find(&key) {
            return Resolved { stack, cookie: None };
        }
        let resolved = self.resolve(pid, &sampled, None);
        // A chain with a cookie does not come again.
        if resolved.cookie.is_none() {
            self.resolved.insert(&key, resolved.stack);
        }
        resolved
    }

    fn resolve(&mut self, pid: u32, sampled: &SampledStack<'_>, data: Option<u64>) -> Resolved {
        self.frames.clear();
        let mut frames = std::mem::take(&mut self.frames);
        if let Some(data) = data.filter(|&data| self.data_addresses && data != 0) {
            frames.push(self.frame(pid, sampled.space, data));
        }
        let cookie = sampled.for_each(|found| frames.push(self.frame(pid, found.space, found.address)));
        if frames.is_empty() && cookie.is_none() {
            // Every sample has a stack, also one of an event that records no address.
            frames.push(self.stacks.frame_id(Frame { place: Place::Outside(Space::Unknown), address: 0 }));
        }
        let stack = self.stacks.stack_id(&frames);
        self.frames = frames;
        Resolved { stack, cookie }
    }

    fn frame(&mut self, pid: u32, space: Space, address: u64) -> FrameId {
        let map = self.session.map_at(pid, space, address);
        let place = match map {
            Some(id) => Place::In(self.mappings.id(id, self.session.map(id))),
            None => Place::Outside(space),
        };
        self.stacks.frame_id(Frame { place, address })
    }

    /// Completes the samples that waited for a record's frames. `None` where it cannot be read.
    fn deferred(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Option<()>> {
        let Some(UserFrames { cookie, pid, tid, chain }) = UserFrames::read(meta, raw) else { return Ok(None) };
        for sample in self.waiting.take(tid, cookie) {
            let mut frames = sample.frames.clone();
            let user = SampledStack { ip: None, space: Space::User, callchain: Some(chain), calls: None };
            user.for_each(|found| frames.push(self.frame(pid, found.space, found.address)));
            self.complete(sample, &frames)?;
        }
        Ok(Some(()))
    }

    /// Adds a sample that waited.
    fn complete(&mut self, sample: Incomplete, frames: &[FrameId]) -> Result<()> {
        let stack = self.stacks.stack_id(frames);
        (self.labels, self.found) = (sample.labels, sample.weights);
        self.add(sample.part, stack, 1)
    }

    /// Counts what the kernel could not write. `None` where the record cannot be read.
    fn lost(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Option<()>> {
        let (body, trailer) = meta.events.split(raw);
        let read = match raw.header.kind {
            RecordType::LOST => abi::parse::<Lost>(body, raw.endian, ()).map(|(lost, _)| (lost.lost, 0)),
            _ => abi::parse::<LostSamples>(body, raw.endian, ()).map(|(lost, _)| (0, lost.lost)),
        };
        let Ok((records, samples)) = read else { return Ok(None) };
        self.ledger.lost(records, samples);
        let count = if meta.tells_lost_samples() { samples } else { records };
        let index = meta.events.of(raw).map_or(0, |(index, _)| index);
        if !self.lost_as_samples || count == 0 || !self.selection.has(index, &meta.events) {
            return Ok(Some(()));
        }
        let Some(event) = meta.events.list().get(index as usize) else { return Ok(Some(())) };
        let each = period(&event.attr).unwrap_or(1);
        let mapping = self.mappings.made_up(&Map::new(LOST, 1, 0, b"[lost]", None));
        let frame = self.stacks.frame_id(Frame { place: Place::In(mapping), address: LOST });
        let stack = self.stacks.stack_id(&[frame]);
        let pid = trailer.and_then(|trailer| trailer.task).map(|(pid, _)| pid);
        let part = self.parts.index(Key::of(self.split, pid, None, &self.session));
        self.labels.clear();
        self.found.clear();
        self.found.push((index, each.saturating_mul(count)));
        let main_map = pid.and_then(|pid| self.session.process(pid)).and_then(|process| process.main_map);
        self.note(part, None, main_map);
        self.add(part, stack, count).map(Some)
    }

    /// Counts a record that cannot be read.
    fn drop(&mut self, meta: &Meta, raw: &Raw<'_>) {
        self.drop_because(meta, raw, "its fields do not fit its size");
    }

    fn drop_because(&mut self, meta: &Meta, raw: &Raw<'_>, why: &str) {
        self.note_damage(meta, raw, &format!("the {} record here is left out: {why}", raw.header.kind));
        self.ledger.dropped(raw.header.kind, Reason::Damaged);
    }

    fn note_damage(&mut self, meta: &Meta, raw: &Raw<'_>, what: &str) {
        self.ledger.damage(meta.damage(raw.block, raw.at, what.to_owned()));
    }

    /// What was collected, a profile for each part, and what became of the records.
    ///
    /// # Errors
    /// Where an event or a label was asked for that the recording does not have.
    pub fn finish(mut self, meta: &Meta) -> Result<(Vec<Profile>, Ledger)> {
        self.selection.check(meta)?;
        check_labels(&self.asked_for, meta)?;
        for sample in self.waiting.take_all() {
            self.missing.deferred += 1;
            let frames = sample.frames.clone();
            self.complete(sample, &frames)?;
        }
        self.ledger.emitted(RecordType::SAMPLE, self.samples);
        self.note_missing();
        let samples = self.ledger.of(RecordType::SAMPLE);
        if samples.emitted + samples.dropped() == 0 {
            let not_applicable = samples.not_applicable;
            self.note_empty(meta, not_applicable);
            self.parts.index(Key::All);
        }
        let mut parts: Vec<(Profile, Key)> = Vec::new();
        let list = std::mem::take(&mut self.parts).into_list();
        let is_empty = list.iter().all(|part| part.has_samples.is_empty());
        for mut part in list.into_iter().filter(|part| is_empty || !part.has_samples.is_empty()) {
            let main_mapping = part.main_map.map(|id| self.mappings.id(id, self.session.map(id)));
            let profile = Profile {
                rows: part.rows(),
                has_samples: std::mem::take(&mut part.has_samples),
                main_mapping,
                times: part.times(),
                wall_clock_start: wall_clock(meta, part.times()),
                ..Profile::default()
            };
            parts.push((profile, part.key));
        }
        let tables = Arc::new(Tables {
            events: meta.events.list().iter().map(ProfileEvent::from).collect(),
            mappings: self.mappings.finish(meta),
            stacks: self.stacks,
            labels: self.label_sets,
            names: self.session.names,
            perf_version: meta.string(FeatureId::VERSION),
            command: meta.cmdline().map(|arguments| arguments.join(" ")),
        });
        let named = parts.into_iter().map(|(profile, key)| Profile {
            name: name_of(key, &tables),
            tables: tables.clone(),
            ..profile
        });
        Ok((named.collect(), self.ledger))
    }

    /// Says why there are no samples.
    fn note_empty(&mut self, meta: &Meta, not_applicable: u64) {
        // The main file of a folder that was recorded by several threads is a whole recording by itself.
        if meta.container == Container::File && meta.features.contains_key(&FeatureId::DIR_FORMAT) {
            let what = "the samples of this recording are in the files beside it: name the folder to read them";
            self.ledger.missing(what.to_owned());
        } else if not_applicable > 0 {
            let what = "none of the samples is of an event that was asked for: the profile is empty";
            self.ledger.note(what.to_owned());
        } else {
            self.ledger.note("the recording has no samples: the profile is empty".to_owned());
        }
    }

    fn note_missing(&mut self) {
        let Missing { stack_dumps, deferred } = self.missing;
        if stack_dumps > 0 {
            self.ledger.missing(format!(
                "samples with a copy of the user stack (--call-graph dwarf): {stack_dumps}; it is not unwound, so that \
                 their user callers are missing"
            ));
        }
        if deferred > 0 {
            self.ledger.missing(format!(
                "samples whose user callers should have come in records of their own (CALLCHAIN_DEFERRED) and did not: \
                 {deferred}"
            ));
        }
    }
}

/// Checks that some event tells each of the labels.
fn check_labels(asked_for: &[Label], meta: &Meta) -> Result<()> {
    let events = meta.events.list();
    let is_told = |label: &Label| events.is_empty() || events.iter().any(|event| label.is_in(&event.layout));
    match asked_for.iter().find(|label| !is_told(label)) {
        None => Ok(()),
        Some(label) => {
            let told: Vec<_> = Label::ALL.iter().filter(|label| is_told(label)).map(|label| label.key()).collect();
            let what = format!("its samples do not tell {}; they tell {}", label.key(), told.join(", "));
            Err(Error::input(&meta.files[0], None, what))
        }
    }
}

/// The wall clock at the first sample, where it is known how the clocks relate.
fn wall_clock(meta: &Meta, times: Option<(u64, u64)>) -> Option<u64> {
    let ((first, _), clock) = times.zip(meta.clock_data())?;
    let since = i128::from(first) - i128::from(clock.clockid_ns);
    u64::try_from(i128::from(clock.wall_clock_ns) + since).ok()
}

/// What to call a part.
fn name_of(key: Key, tables: &Tables) -> Option<String> {
    Some(match key {
        Key::All => return None,
        Key::Unknown => "unknown".to_owned(),
        Key::Pid(pid) => pid.to_string(),
        Key::Name(name) => String::from_utf8_lossy(tables.names.name(name)).into_owned(),
        Key::Cgroup(id) => format!("cgroup-{id}"),
        Key::Event(event) => tables.events[event as usize].name.clone(),
    })
}
