//! Resolves samples in one thread, and sends them in batches to another.

use super::sample_details::Details;
use crate::profile::Frame;
use crate::profile::collect::dispatch::{DecodedSample, SampleConsumer, count_lost, dispatch};
use crate::profile::collect::omissions::IncompleteStacks;
use crate::profile::collect::weights::Weights;
use crate::profile::event::ProfileEvent;
use crate::profile::intern::frames::SampledStack;
use crate::profile::intern::resolver::{Resolver, Viewer};
use crate::profile::intern::stacks::FrameId;
use crate::profile::unwind::deferred::{MAX_FRAMES, UserFrames, Waiting};
use hashbrown::HashMap;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample_type::BranchSampleType;
use perf_data::error::Result;
use perf_data::recording::pull::Batches;
use perf_data::session::map::Map;
use perf_data::session::names::NameId;
use perf_data::session::{Applied, ProcessFiles, Session};
use perf_data::stream::Sink;
use perf_data::stream::events::EventIndex;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::tracepoint::tracepoints::Tracepoints;
use perf_symbols::symbolizer::recorded_build_ids::BuildIds;
use std::sync::Arc;

/// Maximum number of samples in a batch: handing one over wakes a thread, which costs as much as many samples.
const BATCH: usize = 1024;

/// Number of frames at which a batch is full, which bounds the memory of batches of deep stacks.
const FRAMES_PER_BATCH: usize = 1 << 16;

/// Resolved samples on their way between threads.
#[derive(Default)]
pub(super) struct SampleBatch {
    pub samples: Vec<SampleFields>,
    /// Stacks of the samples, concatenated.
    pub stacks: Vec<FrameId>,
    pub new: NewEntries,
}

impl SampleBatch {
    /// Adds a sample whose stack is the concatenation of `frames`, and counts it.
    fn add(&mut self, mut fields: SampleFields, frames: &[&[FrameId]], ledger: &mut Ledger) {
        let start = self.stacks.len();
        frames.iter().for_each(|frames| self.stacks.extend_from_slice(frames));
        fields.stack = (start as u32, (self.stacks.len() - start) as u32);
        self.samples.push(fields);
        ledger.emitted(RecordType::SAMPLE, 1);
    }
}

/// New table entries that a batch refers to.
#[derive(Default)]
pub(super) struct NewEntries {
    pub events: Vec<ProfileEvent>,
    pub mappings: Vec<Map>,
    pub frames: Vec<Frame>,
    pub threads: Vec<String>,
    pub process_files: Arc<ProcessFiles>,
    /// Formats of tracepoints, once they are known.
    pub tracepoints: Option<Arc<Tracepoints>>,
}

/// The fields of a sample.
#[derive(Clone)]
pub(super) struct SampleFields {
    pub event: EventIndex,
    pub time: Option<u64>,
    pub task: Option<(u32, u32)>,
    pub cpu: Option<u32>,
    pub period: u64,
    pub addr: Option<u64>,
    pub thread: Option<u32>,
    pub details: Option<Box<Details>>,
    /// Start and length of the stack in the batch.
    pub stack: (u32, u32),
}

/// A sample that waits for its deferred user call chain.
struct WaitingFields {
    fields: SampleFields,
    frames: Vec<FrameId>,
}

/// Resolves samples, and sends them in batches.
pub(super) struct Sender {
    batches: Batches<SampleBatch>,
    batch: SampleBatch,
    session: Session,
    pub ledger: Ledger,
    resolver: Resolver,
    build_ids: Option<BuildIds>,
    waiting: Waiting<WaitingFields>,
    incomplete: IncompleteStacks,
    weights: Weights,
    /// Indexes of the thread names already sent.
    threads: HashMap<NameId, u32>,
    tracepoints: Option<Arc<Tracepoints>>,
    /// Numbers of events, mappings and frames already sent.
    sent: (usize, usize, usize),
}

impl Sender {
    pub(super) fn new(batches: Batches<SampleBatch>) -> Self {
        Self {
            batches,
            batch: SampleBatch::default(),
            session: Session::default(),
            ledger: Ledger::default(),
            resolver: Resolver::default(),
            build_ids: None,
            waiting: Waiting::default(),
            incomplete: IncompleteStacks::default(),
            weights: Weights::default(),
            threads: HashMap::new(),
            tracepoints: None,
            sent: (0, 0, 0),
        }
    }

    fn send_if_full(&mut self, meta: &Meta) -> Result<()> {
        let is_full = self.batch.samples.len() >= BATCH || self.batch.stacks.len() >= FRAMES_PER_BATCH;
        if is_full { self.send(meta) } else { Ok(()) }
    }

    fn send(&mut self, meta: &Meta) -> Result<()> {
        let build_ids = self.build_ids.get_or_insert_with(|| BuildIds::new(meta));
        let (events, mappings, frames) = &mut self.sent;
        let new = &mut self.batch.new;
        new.events.extend(meta.events.list()[*events..].iter().map(ProfileEvent::from));
        new.mappings.extend_from_slice(&self.resolver.mappings.list()[*mappings..]);
        new.mappings.iter_mut().for_each(|map| build_ids.complete(map));
        new.frames.extend(&self.resolver.stacks.frames()[*frames..]);
        new.process_files = Arc::clone(self.session.process_files());
        let data = meta.features.get(&FeatureId::TRACING_DATA).filter(|_| self.tracepoints.is_none());
        self.tracepoints = data.map(|data| Arc::new(Tracepoints::read(data))).or(self.tracepoints.take());
        new.tracepoints = self.tracepoints.clone();
        *events += new.events.len();
        *mappings += new.mappings.len();
        *frames += new.frames.len();
        self.batches.send(std::mem::take(&mut self.batch))
    }

    /// Index of the name of a thread.
    fn thread(&mut self, tid: u32) -> Option<u32> {
        let name = self.session.thread(tid)?.comm?;
        let next = self.threads.len() as u32;
        let Self { threads, batch, session, .. } = self;
        Some(*threads.entry(name).or_insert_with(|| {
            batch.new.threads.push(String::from_utf8_lossy(session.names.name(name)).into_owned());
            next
        }))
    }
}

impl SampleConsumer for Sender {
    fn state(&mut self) -> (&mut Session, &mut Ledger) {
        (&mut self.session, &mut self.ledger)
    }

    fn sample(&mut self, sample: DecodedSample<'_>) -> Result<()> {
        let DecodedSample { meta, raw, index, event, view } = sample;
        let has_dump = view.stack_user.is_some_and(|stack| stack.dyn_size > 0);
        self.incomplete.stack_dumps += u64::from(has_dump && raw.call_chain().is_none());
        let pid = view.task.map_or(u32::MAX, |(pid, _)| pid);
        let viewer = Viewer { pid, view: self.session.mark_running(pid).view };
        let is_call_stack = event.layout.branch_sample_type().contains(BranchSampleType::CALL_STACK);
        let sampled = SampledStack {
            ip: view.ip,
            space: sample.cpu_mode().into(),
            callchain: view.callchain,
            calls: view.branch_stack.filter(|calls| is_call_stack && !calls.is_empty()),
            repeats_leaf: false,
        };
        let resolved = self.resolver.stack(&self.session, viewer, &sampled, None);
        let mut details = Details::new(view, event, raw, &self.session);
        if view.read.is_some() {
            let counts = details.get_or_insert_default().counts.insert(Vec::new());
            self.weights.append(view, index, &meta.events, counts);
        }
        let fields = SampleFields {
            event: index,
            time: view.time,
            task: view.task,
            cpu: view.cpu.map(|(cpu, _)| cpu),
            period: view.period.or_else(|| event.fixed_period()).unwrap_or(1),
            addr: view.addr,
            thread: view.task.and_then(|(_, tid)| self.thread(tid)),
            details,
            stack: (0, 0),
        };
        let Self { resolver, waiting, batch, ledger, .. } = self;
        let frames = resolver.stacks.stack(resolved.stack);
        if let (Some(cookie), Some((_, tid))) = (resolved.cookie, view.task) {
            waiting.add(tid, cookie, WaitingFields { fields, frames: frames.to_vec() });
            return Ok(());
        }
        batch.add(fields, &[frames], ledger);
        self.send_if_full(meta)
    }

    fn user_frames(&mut self, meta: &Meta, frames: UserFrames<'_>) -> Result<()> {
        let waiting = self.waiting.take(frames.tid, frames.cookie);
        let user = self.resolver.user_frames(&mut self.session, &frames);
        let mut room = MAX_FRAMES;
        for sample in waiting {
            let fits = user.len() <= room;
            room = room.saturating_sub(user.len());
            self.incomplete.too_deep += u64::from(!fits);
            self.batch.add(sample.fields, &[&sample.frames, if fits { &user } else { &[] }], &mut self.ledger);
            self.send_if_full(meta)?;
        }
        Ok(())
    }

    fn other(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Applied> {
        match raw.header().kind {
            RecordType::LOST | RecordType::LOST_SAMPLES => Ok(count_lost(&mut self.ledger, meta, raw)),
            _ => Ok(self.session.apply(meta, raw)),
        }
    }
}

impl Sink for Sender {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        dispatch(self, meta, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        for sample in self.waiting.take_all() {
            self.incomplete.deferred += 1;
            self.batch.add(sample.fields, &[&sample.frames], &mut self.ledger);
            self.send_if_full(meta)?;
        }
        self.incomplete.note(&mut self.ledger);
        self.send(meta)
    }
}
