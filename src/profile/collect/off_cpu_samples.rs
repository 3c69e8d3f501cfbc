//! Waits of threads, as samples of a profile.
//!
//! The stack in which a thread waits is that of its `sched_switch` sample; in recordings with switch records only, of its latest
//! sample. It is resolved when that is taken, while the mappings are those of that time, and added when the wait has ended. This
//! happens on the thread that reads the records in order: each wait needs the sample before.

use super::collector::Collector;
use super::dispatch::DecodedSample;
use super::observation::Observation;
use crate::profile::intern::frames::SampledStack;
use crate::profile::intern::resolver::{Resolved, Viewer};
use crate::profile::intern::stacks::StackId;
use crate::profile::labels::{Label, LabelKey, LabelValue, LabelledSample};
use crate::profile::scheduling::SchedulingCollector;
use crate::profile::timeline::Occurrence;
use crate::profile::weight::off_cpu::{EndedWait, Waits};
use crate::profile::weight::sample_weight::derived;
use crate::profile::weight::scheduler::{ContextSwitch, SchedulerEvent, SchedulerEvents, SwitchSource};
use hashbrown::HashMap;
use perf_data::abi::Endian;
use perf_data::abi::bytes::ByteReader;
use perf_data::abi::record::task::Task;
use perf_data::abi::record::{CpuMode, RecordType};
use perf_data::abi::sample::view::SampleView;
use perf_data::error::{Error, Result};
use perf_data::session::Applied;
use perf_data::session::map::MapId;
use perf_data::session::names::NameId;
use perf_data::stream::events::is_time;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Collects the waits of a recording.
#[derive(Default)]
pub(super) struct OffCpuSamples {
    events: SchedulerEvents,
    waits: Waits<HeldSample>,
    /// Whether samples have the label `state`.
    has_state: bool,
    /// Whether other samples than those of the scheduler are kept.
    keeps_samples: bool,
    /// Measures the scheduling of threads, if requested. Waits are then no samples.
    scheduling: Option<SchedulingCollector>,
    /// With that, the latest samples of threads: few of their stacks are shown.
    stops: HashMap<u32, UnresolvedStop>,
    /// Whether filters select samples: waits of threads without samples are not selected then.
    has_filters: bool,
    /// Whether filters have not selected a sample so far: otherwise, those of stops need not be looked up.
    has_unselected: bool,
    /// Numbers of samples that were used and that were not, for the ledger, which finds the counts of a type more slowly.
    used: [u64; 2],
}

/// A sample whose stack is resolved only if it precedes the worst delay so far of its thread.
#[derive(Debug, Default)]
struct UnresolvedStop {
    pid: u32,
    ip: Option<u64>,
    mode: CpuMode,
    endian: Option<Endian>,
    chain: Vec<[u8; 8]>,
    /// Whether filters select it.
    is_selected: bool,
}

/// The latest sample of a thread, until a wait with its stack has ended.
#[derive(Debug)]
pub(super) struct HeldSample {
    /// Its labels and part.
    observation: Observation,
    stack: Resolved,
    main_map: Option<MapId>,
    /// Its payload, of the begin of a span in a profile with times.
    pub(super) payload: Option<NameId>,
    /// Whether filters select it, and thus what is measured from it.
    is_selected: bool,
}

impl HeldSample {
    /// Adds a label with a text.
    pub(super) fn add_label(&mut self, label: Label, text: NameId) {
        self.observation.labels.push(LabelValue { key: LabelKey::Known(label), value: text.0.into() });
    }
}

impl UnresolvedStop {
    /// Reuses the memory of the thread's sample before.
    fn set(&mut self, view: &SampleView<'_>, mode: CpuMode, raw: &Raw<'_>) {
        let pid = view.task.map_or(u32::MAX, |(pid, _)| pid);
        (self.pid, self.ip, self.mode, self.endian) = (pid, view.ip, mode, Some(raw.endian()));
        self.is_selected = raw.is_selected();
        self.chain.clear();
        self.chain.extend_from_slice(view.callchain.map(|chain| chain.as_chunks()).unwrap_or_default());
    }
}

impl OffCpuSamples {
    pub(super) fn new(has_state: bool, keeps_samples: bool, has_scheduling: bool) -> Self {
        Self {
            has_state,
            keeps_samples,
            scheduling: has_scheduling.then(SchedulingCollector::default),
            ..Self::default()
        }
    }

    /// Whether the waits are samples of their own, of `perf record --off-cpu`. Switches are then not used, which would count them
    /// twice.
    fn has_recorded_waits(&mut self, meta: &Meta) -> bool {
        self.events.update(meta);
        self.scheduling.is_none() && self.events.has_waits
    }

    /// A thread was created or has exited, or events were lost.
    pub(super) fn record(&mut self, kind: RecordType, task: Option<Task>) {
        match (kind, task) {
            // perf writes those of threads that exist at the beginning, without a time.
            (RecordType::FORK, Some(Task { tid, time, .. })) if is_time(time) => {
                self.waits.begin(tid);
                self.scheduling.iter_mut().for_each(|scheduling| scheduling.begin(tid));
            }
            (RecordType::EXIT, Some(Task { tid, .. })) => {
                self.waits.exit(tid);
                self.stops.remove(&tid);
            }
            (RecordType::LOST, _) => self.waits.lost(),
            _ => {}
        }
    }

    /// Adds messages to the ledger.
    ///
    /// # Errors
    /// If the recording does not show when threads wait.
    pub(super) fn finish(mut self, meta: &Meta, ledger: &mut Ledger) -> Result<Option<SchedulingCollector>> {
        let [used, unused] = self.used;
        ledger.consumed(RecordType::SAMPLE, used);
        ledger.not_applicable(RecordType::SAMPLE, unused);
        if self.has_recorded_waits(meta) {
            return Ok(None);
        }
        if !self.events.has_tracepoint && !self.events.has_records && !meta.events.list().is_empty() {
            let problem = "the recording does not show when threads wait: it has neither context switches nor samples of \
                           sched:sched_switch or offcpu-time; record with 'perf record -e sched:sched_switch -a -g', \
                           'perf record --off-cpu' or 'perf record --switch-events'";
            return Err(Error::input(&meta.files[0], None, problem.to_owned()));
        }
        let mut counts = self.waits.finish();
        if self.scheduling.is_some() {
            // It has no stacks of waits.
            (counts.earlier_stacks, counts.without_stacks) = (0, 0);
        }
        if self.events.ends_with_samples {
            let note = "simpleperf records when threads stop running; a wait lasts until the next sample of its thread, as in simpleperf";
            ledger.change(note.to_owned());
        }
        if counts.unpaired > counts.waits {
            let hint = "the recording shows when threads stop running, but for most not when they run again; record with \
                        'perf record -e sched:sched_switch -a -g', or add --switch-events";
            ledger.note(hint.to_owned());
        }
        self.events.sampling().into_iter().for_each(|warning| ledger.note(warning));
        ledger.change(counts.message());
        counts.warnings().for_each(|warning| ledger.note(warning));
        Ok(self.scheduling)
    }
}

impl Collector<'_> {
    /// Uses a sample for the waits of threads. Returns whether it is a wait itself, or kept beside them, and to be added as any other
    /// sample.
    pub(super) fn observe_waits(&mut self, sample: DecodedSample<'_>) -> Result<bool> {
        let Some(mut off_cpu) = self.off_cpu.take() else { return Ok(true) };
        if sample.event.is_off_cpu() && off_cpu.scheduling.is_none() {
            self.off_cpu = Some(off_cpu);
            return Ok(true);
        }
        let observed = self.observe_switch(&mut off_cpu, sample);
        self.off_cpu = Some(off_cpu);
        observed
    }

    fn observe_switch(&mut self, off_cpu: &mut OffCpuSamples, sample: DecodedSample<'_>) -> Result<bool> {
        let DecodedSample { meta, raw, index, event, view } = sample;
        if off_cpu.has_recorded_waits(meta) {
            self.ledger.not_applicable(RecordType::SAMPLE, (!off_cpu.keeps_samples).into());
            return Ok(off_cpu.keeps_samples);
        }
        off_cpu.has_unselected |= !raw.is_selected();
        let scheduler_event = off_cpu.events.sample(meta, index, view);
        // In a container, the tracepoint has other IDs than the sample.
        let stopped = match scheduler_event {
            Some(SchedulerEvent::Switch(switch)) => switch.stopped.map(|(tid, _)| tid),
            _ => None,
        };
        if off_cpu.events.ends_with_samples
            && let (Some((_, tid)), Some(time)) = (view.task, view.time)
            && let Some(wait) = off_cpu.waits.sampled(tid, time)
        {
            self.add_ended_wait(off_cpu, meta, wait)?;
        }
        let has_stack = off_cpu.events.is_switch(index) || !off_cpu.events.has_tracepoint;
        let tid = stopped.or(view.task.map(|(_, tid)| tid));
        if let Some(tid) = tid.filter(|&tid| has_stack && tid != 0) {
            let mode = event.cpu_mode(view, raw);
            if off_cpu.scheduling.is_some() {
                off_cpu.stops.entry(tid).or_default().set(view, mode, raw);
            } else {
                let sample =
                    LabelledSample { view, layout: &event.layout, mode, comm: None, event: Some((meta, index)) };
                let held = self.held_sample(sample, raw.is_selected());
                off_cpu.waits.set_sample(tid, held);
            }
        }
        let is_kept = off_cpu.keeps_samples && !off_cpu.events.is_switch(index) && scheduler_event.is_none();
        // Kept samples are counted where they are added.
        off_cpu.used[usize::from(!has_stack && scheduler_event.is_none())] += u64::from(!is_kept);
        match scheduler_event {
            Some(SchedulerEvent::Switch(switch)) => self.add_switch(off_cpu, meta, switch)?,
            Some(SchedulerEvent::Wakeup { woken }) => {
                if let (Some(scheduling), Some((_, waker)), Some(time)) =
                    (&mut off_cpu.scheduling, view.task, view.time)
                {
                    scheduling.wakeup((waker, raw.is_selected()), woken, time, &self.session);
                }
            }
            None => {}
        }
        Ok(is_kept)
    }

    /// Uses a switch record for the waits of threads.
    pub(super) fn switch_record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Applied> {
        let Some(mut off_cpu) = self.off_cpu.take() else { return Ok(Applied::NotApplicable) };
        off_cpu.has_filters |= !raw.is_selected();
        let has_recorded_waits = off_cpu.has_recorded_waits(meta);
        let added = match off_cpu.events.record(meta, raw).filter(|_| !has_recorded_waits) {
            Some((switch, _)) => self.add_switch(&mut off_cpu, meta, switch).map(|()| Applied::Consumed),
            None => Ok(Applied::NotApplicable),
        };
        self.off_cpu = Some(off_cpu);
        added
    }

    /// Resolves the stack and reads the labels of a sample.
    pub(super) fn held_sample(&mut self, sample: LabelledSample<'_>, is_selected: bool) -> HeldSample {
        let LabelledSample { view, layout, mode, .. } = sample;
        let mut observation = Observation::default();
        let Self { contexts, session, label_sets, parts, .. } = self;
        let context = contexts.context(session, (label_sets, parts), sample, &mut observation.labels);
        observation.part = context.part;
        self.read_labels(&mut observation, context);
        let stack = self.stack_at_once(context, mode, view, layout);
        self.note_thread(view.task);
        HeldSample { observation, stack, main_map: context.main_map, payload: None, is_selected }
    }

    /// Adds the wait that ends with a switch, if one does.
    fn add_switch(&mut self, off_cpu: &mut OffCpuSamples, meta: &Meta, switch: ContextSwitch) -> Result<()> {
        // The tracepoint has the state and the next thread; the records repeat it.
        let is_first = switch.source == SwitchSource::Tracepoint || !off_cpu.events.has_tracepoint;
        let wait = off_cpu.waits.switch(switch);
        let Some(scheduling) = &mut off_cpu.scheduling else {
            return wait.map_or(Ok(()), |wait| self.add_ended_wait(off_cpu, meta, wait));
        };
        let has_all = !off_cpu.has_filters && !off_cpu.has_unselected;
        let is_selected =
            |tid| has_all || off_cpu.stops.get(&tid).map_or(!off_cpu.has_filters, |stop| stop.is_selected);
        let delayed = if is_first { scheduling.switch(switch, &self.session, is_selected) } else { None };
        if let Some((tid, stop)) = delayed.and_then(|tid| Some((tid, off_cpu.stops.get(&tid)?))) {
            scheduling.set_stack(tid, self.stop_stack(stop));
        }
        Ok(())
    }

    /// Resolves the stack of a thread that stopped.
    fn stop_stack(&mut self, stop: &UnresolvedStop) -> StackId {
        let UnresolvedStop { pid, ip, mode, endian, chain, .. } = stop;
        let words = |endian| ByteReader::new(chain.as_flattened(), endian).words(chain.len() as u64);
        let callchain = endian.and_then(words);
        let sampled = SampledStack { ip: *ip, space: (*mode).into(), callchain, calls: None, repeats_leaf: false };
        let viewer = Viewer { pid: *pid, view: self.session.mark_running(*pid).view };
        self.stacks.direct.resolver.stack(&self.session, viewer, &sampled, None).stack
    }

    /// Adds a wait with the stack of the latest sample of its thread.
    fn add_ended_wait(&mut self, off_cpu: &OffCpuSamples, meta: &Meta, wait: EndedWait) -> Result<()> {
        let EndedWait { tid, end, .. } = wait;
        if let Some(held) = off_cpu.waits.sample(tid) {
            return self.add_wait(wait, held, off_cpu.has_state);
        }
        // Its labels are those that the thread has now.
        let pid = self.session.thread(tid).map_or(tid, |thread| thread.pid);
        let view = SampleView { task: Some((pid, tid)), time: Some(end), ..SampleView::default() };
        let Some(event) = meta.events.list().first() else { return Ok(()) };
        let sample =
            LabelledSample { view: &view, layout: &event.layout, mode: CpuMode::USER, comm: None, event: None };
        let held = self.held_sample(sample, !off_cpu.has_filters);
        self.add_wait(wait, &held, off_cpu.has_state)
    }

    fn add_wait(&mut self, wait: EndedWait, held: &HeldSample, has_state: bool) -> Result<()> {
        let EndedWait { tid, nanoseconds, end, reason } = wait;
        let state = has_state.then(|| self.session.names.id(reason.text().as_bytes()).0.into());
        let state = state.map(|value| LabelValue { key: LabelKey::Known(Label::State), value });
        self.add_interval((tid, nanoseconds, end), held, state)
    }

    /// Adds an interval of a thread, with its length and end, and the stack of a sample before.
    pub(super) fn add_interval(
        &mut self,
        (tid, nanoseconds, end): (u32, u64, u64),
        held: &HeldSample,
        state: Option<LabelValue>,
    ) -> Result<()> {
        let HeldSample { observation: Observation { part, labels, .. }, stack, main_map, payload, is_selected } = held;
        if !is_selected {
            self.unselected_intervals += 1;
            return Ok(());
        }
        let mut observation = Observation {
            part: *part,
            weights: vec![(derived(0), nanoseconds)],
            labels: labels.clone(),
            occurrence: Occurrence { time: end, payload: *payload },
        };
        observation.labels.extend(state);
        self.note(&observation, Some(end), *main_map);
        // It has no record of its own.
        self.ledger.added(RecordType::SAMPLE, 1);
        self.samples += 1;
        match stack.cookie {
            Some(cookie) => {
                self.wait_for_user_frames(tid, cookie, stack.stack, observation);
                Ok(())
            }
            None => self.add(&observation, stack.stack, 1),
        }
    }
}
