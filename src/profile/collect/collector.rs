//! Builds a [`Profile`] from records in time order.
//!
//! `docs/architecture.md` follows a sample through the library; here is what happens in this file:
//!
//! 1. [`dispatch`] calls `sample` with its event and fields, after the session has seen all earlier records.
//! 2. `observe` fills an [`Observation`]: the events with their values, and labels and part from [`SampleContexts`].
//! 3. `add_with_stack` passes the recorded chain to the [`StackCollector`], whose threads resolve and count stacks.
//! 4. The few samples with stacks that are needed at once are resolved here, or wait for their user frames (CALLCHAIN_DEFERRED).
//! 5. `add` adds these to the rows of a part, or passes the sample to a [`SampleSink`].
//! 6. `finish` looks up the functions of all frames and returns the profiles.

mod finish;

use super::branch_ranges::BranchRangeCounter;
use super::dispatch::{DecodedSample, SampleConsumer, dispatch};
use super::observation::Observation;
use super::off_cpu_samples::OffCpuSamples;
use super::omissions::IncompleteStacks;
use super::parts::{PartKey, Parts, packed};
use super::sample_batch::UseOfStack;
use super::sample_context::{SampleContext, SampleContexts};
use super::sample_sink::{ResolvedSample, SampleSink};
use super::selection::Selection;
use super::span_samples::SpanBegin;
use super::stack_collector::StackCollector;
use super::stack_counter::StackOptions;
use super::values::Values;
use super::weights::Weights;
use crate::profile::accesses::{self, AccessField, Accesses, NO_SOURCE};
use crate::profile::intern::frames::{Address, SampledStack};
use crate::profile::intern::resolver::{Resolved, Resolver};
use crate::profile::intern::stack_cache::StackCacheKey;
use crate::profile::intern::stacks::StackId;
use crate::profile::labels::{Label, LabelKey, LabelSets, LabelValue, LabelledSample, LabelsId};
use crate::profile::options::{FunctionNames, Measures, ProfileOptions, SplitBy};
use crate::profile::stack_cuts::StackCuts;
use crate::profile::symbolize::SymbolSources;
use crate::profile::syscalls::SyscallCollector;
use crate::profile::timeline::Timeline;
use crate::profile::unwind::deferred::{MAX_FRAMES, UserFrames, Waiting, WaitingSample};
use crate::profile::weight::sample_weight::{SampleWeight, derived};
use crate::profile::weight::spans::Spans;
use crate::profile::{Frame, Place, Row};
use hashbrown::HashMap;
use perf_data::abi;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::task::Task;
use perf_data::abi::record::thread_map::ThreadMap;
use perf_data::abi::record::{CpuMode, RecordType};
use perf_data::abi::sample::branch::BranchFlags;
use perf_data::abi::sample::callchain::deferred_cookie;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::BranchSampleType;
use perf_data::error::Result;
use perf_data::session::map::{Map, MapId};
use perf_data::session::names::NameId;
use perf_data::session::space::Space;
use perf_data::session::{Applied, Session};
use perf_data::stream::Sink;
use perf_data::stream::events::EventIndex;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::losses::ReportedLosses;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_symbols::symbol::hiperf::STACK_TABLE;
use std::mem;

/// Collects stacks and values from records. Records must be in time order ([`Order`](perf_data::stream::order::Order)).
#[derive(Default)]
pub(crate) struct Collector<'a> {
    split: Option<SplitBy>,
    lost_as_samples: bool,
    data_addresses: bool,
    leaves_only: bool,
    as_recorded: bool,
    branches: Option<BranchFlags>,
    /// Counts the code between branches, if the code of functions is read.
    pub(super) branch_ranges: Option<BranchRangeCounter>,
    reads_code: bool,
    pub(super) accesses: Accesses,
    cuts: StackCuts,
    names: FunctionNames,
    /// Labels that the user selected, which the recording must have.
    selected_labels: Vec<Label>,
    has_selected_labels: bool,
    selection: Selection,
    pub(super) contexts: SampleContexts,
    /// Receives samples one by one, instead of collecting rows.
    sink: Option<&'a mut dyn SampleSink>,
    pub(super) session: Session,
    /// The threads that perf was asked to record (THREAD_MAP).
    threads: Option<ThreadMap>,
    pub(super) ledger: Ledger,
    pub(super) stacks: StackCollector,
    pub(super) label_sets: LabelSets,
    /// What threads did, if that is kept.
    timeline: Option<Timeline>,
    weights: Weights,
    /// Values other than periods.
    weight: SampleWeight,
    values: Values,
    /// Collects waits instead of samples.
    pub(super) off_cpu: Option<Box<OffCpuSamples>>,
    /// Collects spans instead of samples.
    pub(super) spans: Option<Box<Spans<SpanBegin>>>,
    /// Whether these have the label `argument`.
    pub(super) has_argument: bool,
    /// Waits or spans that filters do not select.
    pub(super) unselected_intervals: u64,
    /// Measures system calls instead of collecting samples.
    syscalls: Option<Box<SyscallCollector>>,
    waiting: Waiting,
    pub(super) parts: Parts,
    incomplete: IncompleteStacks,
    symbols: SymbolSources,
    /// Number of samples in the profile.
    pub(super) samples: u64,
    /// The buffers of the sample before.
    spare: Observation,
}

/// Address of the frame for lost samples; in no valid address space.
const LOST: u64 = 9 << 60;

impl Sink for Collector<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        dispatch(self, meta, raw)
    }
}

impl SampleConsumer for Collector<'_> {
    fn state(&mut self) -> (&mut Session, &mut Ledger) {
        (&mut self.session, &mut self.ledger)
    }

    fn sample(&mut self, sample: DecodedSample<'_>) -> Result<()> {
        let mut observation = mem::take(&mut self.spare);
        let added = self.observe(sample, &mut observation);
        self.spare = observation;
        added
    }

    fn user_frames(&mut self, _: &Meta, frames: UserFrames<'_>) -> Result<()> {
        let samples = self.waiting.take(frames.tid, frames.cookie);
        if samples.is_empty() {
            return Ok(());
        }
        let resolver = &mut self.stacks.direct.resolver;
        let user_frames = resolver.user_frames(&mut self.session, &frames);
        let mut room = MAX_FRAMES;
        for WaitingSample { frames, observation } in samples {
            let (stack, is_whole) = self.stacks.direct.resolver.completed_stack(&frames, &user_frames, &mut room);
            self.incomplete.too_deep += u64::from(!is_whole);
            self.add(&observation, stack, 1)?;
        }
        Ok(())
    }

    fn other(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Applied> {
        let used = match raw.header().kind {
            RecordType::LOST | RecordType::LOST_SAMPLES => self.lost(meta, raw)?,
            RecordType::THREAD_MAP => self.thread_map(meta, raw),
            kind => {
                let applied = self.session.apply(meta, raw);
                let applied = self.values_record(kind, meta, raw, applied)?;
                let Some(timeline) = &mut self.timeline else { return Ok(applied) };
                return Ok(timeline.record(meta, raw, &self.session, applied));
            }
        };
        Ok(if used.is_some() { Applied::Consumed } else { Applied::Damaged })
    }
}

impl<'a> Collector<'a> {
    pub(crate) fn new(options: &ProfileOptions) -> Self {
        // Branches have no other weight.
        let weight = options.weight.clone();
        let weight = if options.branches.is_none() { weight } else { SampleWeight::Period };
        let is_off_cpu = weight == SampleWeight::OffCpu;
        let selected_labels = || options.labels.iter().flatten().copied();
        let is_required = |label| options.required_labels.contains(&label);
        let has_label =
            |label| is_required(label) || options.labels.as_ref().is_none_or(|labels| labels.contains(&label));
        let has_state = has_label(Label::State);
        let has_parallelism =
            is_required(Label::Parallelism) || selected_labels().any(|label| label == Label::Parallelism);
        let is_measured = |label| match label {
            Label::State => is_off_cpu,
            Label::Parallelism => weight == SampleWeight::Latency,
            Label::Argument => matches!(&weight, SampleWeight::Span(span) if span.argument.is_some()),
            _ => false,
        };
        Self {
            split: options.split,
            lost_as_samples: options.lost_as_samples,
            data_addresses: options.data_addresses,
            leaves_only: options.leaves_only,
            reads_code: options.reads_code,
            branch_ranges: options.reads_code.then(BranchRangeCounter::default),
            cuts: options.cuts.clone(),
            names: options.names,
            timeline: options.timeline.then(Timeline::default),
            selected_labels: selected_labels().filter(|&label| !is_measured(label)).collect(),
            has_selected_labels: options.labels.is_some(),
            selection: Selection::new(options.events.clone()),
            contexts: SampleContexts::new(options),
            symbols: options.symbols.clone(),
            values: Values::new(&weight, options.keeps_periods, has_parallelism),
            spans: Self::spans(&weight),
            has_argument: has_label(Label::Argument),
            off_cpu: is_off_cpu.then(|| {
                let has_scheduling = options.measures == Measures::Scheduling;
                Box::new(OffCpuSamples::new(has_state, options.keeps_samples, has_scheduling))
            }),
            syscalls: (options.measures == Measures::Syscalls).then(Box::default),
            weight,
            as_recorded: options.as_recorded,
            branches: options.branches,
            accesses: options.accesses.clone(),
            stacks: StackCollector::new(StackOptions {
                as_recorded: options.as_recorded,
                distinguishes_processes: options.symbols.has_objects(),
                unmapped: options.unmapped(),
            }),
            ..Self::default()
        }
    }

    /// Passes samples on one by one; the profile then has no rows.
    pub(crate) fn with_sample_sink(self, sink: &'a mut dyn SampleSink) -> Self {
        Self { sink: Some(sink), ..self }
    }

    /// Adds a sample.
    fn observe(&mut self, sample: DecodedSample<'_>, observation: &mut Observation) -> Result<()> {
        let DecodedSample { meta, raw, index, event, view } = sample;
        // Of a sample of hiperf, the ID of its stack follows.
        let has_stack_id = view.tail.len() == 8 && meta.features.contains_key(&FeatureId(STACK_TABLE));
        if !view.tail.is_empty() && !view.is_partial && !has_stack_id {
            let why = format!("{} bytes follow the last field, possibly of other records", view.tail.len());
            let problem = format!("sample is larger than its fields: {why}");
            self.ledger.damage(meta.damage(raw.block(), raw.at(), problem));
        }
        if self.off_cpu.is_some() && !self.observe_waits(sample)? {
            return Ok(());
        }
        if self.spans.is_some() {
            return self.observe_span(sample);
        }
        if let Some(syscalls) = &mut self.syscalls {
            match syscalls.sample(meta, index, view) {
                true => self.ledger.consumed(RecordType::SAMPLE, 1),
                false => self.ledger.not_applicable(RecordType::SAMPLE, 1),
            }
            return Ok(());
        }
        let is_wait = self.off_cpu.is_some() && event.is_off_cpu();
        let Observation { weights, labels, .. } = observation;
        weights.clear();
        match self.branches {
            Some(_) if view.branch_stack.is_none_or(|branches| branches.is_empty()) => {}
            Some(_) => weights.push((index, 1)),
            None if is_wait => weights.push((derived(0), view.period.unwrap_or(0))),
            None => self.weights.append(view, index, &meta.events, weights),
        }
        if !self.selection.is_all() && !is_wait {
            weights.retain(|&(event, _)| self.selection.has(event, &meta.events));
        }
        if !raw.is_selected() {
            weights.clear();
        }
        match weights.is_empty() {
            true => self.values.unselected(sample, &self.session),
            false => self.values.replace(sample, &self.session, weights),
        }
        if weights.is_empty() {
            // The event is not selected, no counter has increased, or there are no branches.
            self.ledger.not_applicable(RecordType::SAMPLE, 1);
            return Ok(());
        }
        // A stack dump without a call chain has not been unwound.
        if raw.call_chain().is_none() && view.stack_user.is_some_and(|stack| stack.dyn_size > 0) {
            self.incomplete.stack_dumps += 1;
        }
        let mode = event.cpu_mode(view, raw);
        let sample = LabelledSample { view, layout: &event.layout, mode, comm: None, event: Some((meta, index)) };
        let Self { contexts, session, label_sets, parts, .. } = self;
        let mut context = contexts.context(session, (label_sets, parts), sample, labels);
        observation.part = context.part;
        self.note(observation, view.time, context.main_map);
        if let Some(timeline) = &mut self.timeline {
            observation.occurrence = timeline.occurrence(event, view, &mut self.session.names);
        }
        self.samples += 1;
        if self.accesses.is_any() {
            context = self.read_access(observation, context, mode, view, &event.layout);
        }
        if let Some(label) = self.values.label() {
            self.read_labels(observation, context);
            observation.labels.push(label);
            context.labels = None;
        }
        self.count_ranges(context, view, &event.layout, raw.endian());
        if let Some(flags) = self.branches {
            return self.add_branches(observation, context, flags, view, raw.endian());
        }
        self.add_with_stack(observation, context, mode, view, &event.layout)
    }

    /// Adds a sample with its recorded stack, which is resolved later unless it is needed at once.
    fn add_with_stack(
        &mut self,
        observation: &mut Observation,
        context: SampleContext,
        mode: CpuMode,
        view: &SampleView<'_>,
        layout: &SampleLayout,
    ) -> Result<()> {
        let viewer = context.viewer(view);
        let sampled = self.sampled_stack(mode, view, layout);
        if self.sink.is_some() || self.is_resolved_at_once(&sampled) {
            let resolved = self.stack_at_once(context, mode, view, layout);
            return self.add_or_wait(observation, context, view, resolved);
        }
        let labels = context.labels.unwrap_or_else(|| self.label_sets.id(&observation.labels));
        if self.timeline.is_some() {
            let sample = self.stacks.next_sample();
            self.add_timed(observation, labels, 1, sample);
            let Self { stacks, session, .. } = self;
            stacks.add((&sampled, mode), viewer, session, UseOfStack::Sample(sample));
            return Ok(());
        }
        for &(event, value) in &observation.weights {
            let row = packed(self.part_for_event(context.part, event), labels);
            let Self { stacks, session, .. } = self;
            stacks.add((&sampled, mode), viewer, session, UseOfStack::Row { row, event: event.into(), value });
        }
        Ok(())
    }

    /// The stack of a sample as recorded.
    fn sampled_stack<'s>(&self, mode: CpuMode, view: &SampleView<'s>, layout: &SampleLayout) -> SampledStack<'s> {
        let is_call_stack = layout.branch_sample_type().contains(BranchSampleType::CALL_STACK);
        // Without an instruction pointer, the leaf comes from the call chain.
        let needs_callers = !self.leaves_only || view.ip.is_none();
        let calls = view.branch_stack.filter(|calls| is_call_stack && needs_callers && !calls.is_empty());
        let callchain = view.callchain.filter(|_| needs_callers);
        SampledStack { ip: view.ip, space: mode.into(), callchain, calls, repeats_leaf: self.as_recorded }
    }

    /// Whether the cache of stacks, whose key has no more than the call chain, does not apply to a stack.
    fn is_resolved_at_once(&self, sampled: &SampledStack<'_>) -> bool {
        let has_cookie = sampled.callchain.and_then(deferred_cookie).is_some();
        // Labels refer to the frames of data, which keep their numbers if all stacks are resolved in one place.
        sampled.calls.is_some() || self.data_addresses || self.accesses.is_any() || has_cookie
    }

    /// Resolves the stack of a sample that is needed at once.
    pub(super) fn stack_at_once(
        &mut self,
        context: SampleContext,
        mode: CpuMode,
        view: &SampleView<'_>,
        layout: &SampleLayout,
    ) -> Resolved {
        let viewer = context.viewer(view);
        let sampled = self.sampled_stack(mode, view, layout);
        if self.is_resolved_at_once(&sampled) {
            let data = view.addr.filter(|&data| self.data_addresses && data != 0);
            return self.stacks.direct.resolver.stack(&self.session, viewer, &sampled, data);
        }
        let chain = sampled.callchain.map(|chain| chain.as_chunks()).unwrap_or_default();
        let key = StackCacheKey { view: [context.view, 0, 0], ip: view.ip, mode, chain };
        let Self { stacks, session, .. } = self;
        let stack = stacks.direct.stack(&key, || session.address_space(viewer.pid), &sampled);
        Resolved { stack, cookie: None }
    }

    /// Adds the fields of a memory access to the labels of its sample, and replaces its value. Returns its context.
    fn read_access(
        &mut self,
        observation: &mut Observation,
        context: SampleContext,
        mode: CpuMode,
        view: &SampleView<'_>,
        layout: &SampleLayout,
    ) -> SampleContext {
        self.read_labels(observation, context);
        let viewer = context.viewer(view);
        let address = view.addr.unwrap_or(0);
        let space = match address >> 63 {
            // perf looks for data in the address space of the code, also where the kernel accesses that of a process.
            _ if self.as_recorded => mode.into(),
            1 => Space::Kernel,
            _ => Space::User,
        };
        for &field in &self.accesses.fields {
            let value = match field {
                AccessField::Source => view.data_src.unwrap_or(NO_SOURCE.0),
                AccessField::Address => address,
                AccessField::Frame => {
                    let resolver = &mut self.stacks.direct.resolver;
                    let address = Address { address, space, is_caller: false };
                    resolver.data_frame(&self.session, viewer, address).into()
                }
                AccessField::PhysicalAddress => view.phys_addr.unwrap_or(0),
                AccessField::Weight => accesses::weight(view, layout),
                AccessField::InstructionLatency => accesses::instruction_latency(view, layout),
            };
            observation.labels.push(LabelValue { key: LabelKey::Access(field), value });
        }
        if self.accesses.counts_weight {
            let weight = accesses::weight(view, layout).max(1);
            observation.weights.iter_mut().for_each(|(_, value)| *value = weight);
        }
        SampleContext { labels: None, ..context }
    }

    /// Adds a sample, or stores it until its deferred user frames arrive.
    fn add_or_wait(
        &mut self,
        observation: &mut Observation,
        context: SampleContext,
        view: &SampleView<'_>,
        resolved: Resolved,
    ) -> Result<()> {
        self.read_labels(observation, context);
        let (Some(cookie), Some((_, tid))) = (resolved.cookie, view.task) else {
            return self.add(observation, resolved.stack, 1);
        };
        self.wait_for_user_frames(tid, cookie, resolved.stack, mem::take(observation));
        Ok(())
    }

    /// Stores a sample until its deferred user frames arrive.
    pub(super) fn wait_for_user_frames(&mut self, tid: u32, cookie: u64, stack: StackId, observation: Observation) {
        let frames = self.stacks.direct.resolver.stacks.stack(stack).to_vec();
        self.waiting.add(tid, cookie, WaitingSample { frames, observation });
    }

    /// Fills the labels from their ID, if only that is known.
    pub(super) fn read_labels(&self, observation: &mut Observation, context: SampleContext) {
        if let Some(labels) = context.labels {
            observation.labels.clear();
            observation.labels.extend_from_slice(self.label_sets.labels(labels));
        }
    }

    /// Adds a sample with this stack.
    pub(super) fn add(&mut self, observation: &Observation, stack: StackId, samples: u64) -> Result<()> {
        let Observation { part, labels, weights, .. } = observation;
        let Self { sink, stacks, session, .. } = self;
        if let Some(sink) = sink {
            let (frames, names) = (stacks.direct.resolver.stacks.stack(stack), &session.names);
            return sink.sample(&ResolvedSample { stack, frames, labels, weights, samples, names });
        }
        let labels = self.label_sets.id(labels);
        if self.timeline.is_some() {
            let sample = self.stacks.next_sample();
            self.stacks.set_stack(sample, stack);
            self.add_timed(observation, labels, samples, sample);
            return Ok(());
        }
        for &(event, value) in weights {
            let part = self.part_for_event(*part, event);
            self.parts.part(part).add(Row { stack, labels, event, samples, value });
        }
        Ok(())
    }

    /// Adds the rows of samples with their time. The number of a sample stands for its stack until all are known.
    fn add_timed(&mut self, observation: &Observation, labels: LabelsId, samples: u64, sample: u32) {
        for &(event, value) in &observation.weights {
            let part = self.part_for_event(observation.part, event);
            let row = Row { stack: sample, labels, event, samples, value };
            self.parts.part(part).add_timed(row, observation.occurrence);
        }
    }

    /// The part of a sample for one of its events.
    #[inline]
    fn part_for_event(&mut self, part: usize, event: EventIndex) -> usize {
        if self.split == Some(SplitBy::Event) { self.parts.index(PartKey::Event(event)) } else { part }
    }

    /// Updates the metadata of a sample's parts.
    #[inline]
    pub(super) fn note(&mut self, observation: &Observation, time: Option<u64>, main_map: Option<MapId>) {
        let Observation { part, weights, .. } = observation;
        if self.split != Some(SplitBy::Event) {
            return self.parts.part(*part).note(time, main_map, weights.len() as u64);
        }
        for &(event, _) in weights {
            let part = self.parts.index(PartKey::Event(event));
            self.parts.part(part).note(time, main_map, 1);
        }
    }

    /// Uses a record for the values of samples, after the session has applied it.
    fn values_record(&mut self, kind: RecordType, meta: &Meta, raw: &Raw<'_>, applied: Applied) -> Result<Applied> {
        if self.weight.is_per_sample() {
            return Ok(applied);
        }
        let used = match kind {
            RecordType::SWITCH | RecordType::SWITCH_CPU_WIDE if self.off_cpu.is_some() => {
                self.switch_record(meta, raw)?
            }
            _ => {
                let task = || abi::parse::<Task>(meta.events.split(raw).0, raw.endian(), ()).ok();
                let is_task = matches!(kind, RecordType::FORK | RecordType::EXIT);
                let task = is_task.then(task).flatten().map(|(task, _)| task);
                self.off_cpu.iter_mut().for_each(|off_cpu| off_cpu.record(kind, task));
                self.values.record(meta, raw, task.map(|task| task.tid))
            }
        };
        Ok(if matches!(used, Applied::Consumed) { used } else { applied })
    }

    /// Counts lost records and samples; `None` if the record is malformed.
    fn lost(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Option<()>> {
        let Some(losses) = ReportedLosses::decode(meta, raw) else { return Ok(None) };
        self.off_cpu.iter_mut().for_each(|off_cpu| off_cpu.record(RecordType::LOST, None));
        self.ledger.lost(losses);
        let count = if meta.counts_lost_samples() { losses.samples } else { losses.records };
        let index = meta.events.find(raw).map_or(0, |(index, _)| index);
        if !self.lost_as_samples
            || !self.weight.is_per_sample()
            || count == 0
            || !self.selection.has(index, &meta.events)
        {
            return Ok(Some(()));
        }
        let Some(event) = meta.events.list().get(index as usize) else { return Ok(Some(())) };
        let each = event.fixed_period().unwrap_or(1);
        let Resolver { mappings, stacks, .. } = &mut self.stacks.direct.resolver;
        let mapping = mappings.number(&Map::new(LOST, 1, 0, b"[lost]", None));
        let frame = stacks.frame_id(Frame { place: Place::In(mapping), address: LOST, is_caller: false });
        let stack = stacks.stack_id(&[frame]);
        let (_, trailer) = meta.events.split(raw);
        let pid = trailer.and_then(|trailer| trailer.task).map(|(pid, _)| pid);
        let observation = Observation {
            part: self.parts.index(PartKey::for_sample(self.split, pid, None, &self.session)),
            weights: vec![(index, each.saturating_mul(count))],
            labels: Vec::new(),
            occurrence: self.timeline.as_ref().map(Timeline::latest_time).unwrap_or_default(),
        };
        let main_map = pid.and_then(|pid| self.session.process(pid)).and_then(|process| process.main_map);
        self.note(&observation, None, main_map);
        self.add(&observation, stack, count).map(Some)
    }

    /// Adds a thread to those of a profile with times.
    pub(super) fn note_thread(&mut self, task: Option<(u32, u32)>) {
        if let Some((timeline, (pid, tid))) = self.timeline.as_mut().zip(task) {
            timeline.thread(pid, tid);
        }
    }

    /// A payload, of a profile with times.
    pub(super) fn timed_payload(&mut self, payload: Option<&[u8]>) -> Option<NameId> {
        let payload = payload.filter(|_| self.timeline.is_some())?;
        Some(self.session.names.id(payload))
    }

    /// The names of the threads with samples at the end.
    fn thread_comms(&self) -> HashMap<u32, NameId> {
        let tids = self.label_sets.iter().filter_map(|labels| {
            let is_tid = |label: &&LabelValue| label.key == LabelKey::Known(Label::Tid);
            labels.iter().find(is_tid).map(|label| label.value as u32)
        });
        tids.filter_map(|tid| Some((tid, self.session.thread(tid)?.comm?))).collect()
    }

    /// Stores the recorded threads; `None` if the record is malformed.
    fn thread_map(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<()> {
        let (threads, _) = abi::parse(meta.events.split(raw).0, raw.endian(), ()).ok()?;
        self.threads = Some(threads);
        Some(())
    }
}
