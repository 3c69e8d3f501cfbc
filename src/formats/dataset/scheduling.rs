//! Time off the CPU and latency of samples.
//!
//! How long a thread waits is known when it runs again. Until then, the sample with the stack of the wait is held, one of each thread:
//! the rows of these samples follow later ones of other threads.

use super::collect::StackedSample;
use super::sample::SampleScheduling;
use crate::profile::collect::dispatch::DecodedSample;
use crate::profile::collect::values::Values;
use crate::profile::event::{ProfileEvent, Unit};
use crate::profile::weight::SampleWeight;
use crate::profile::weight::off_cpu::{EndedWait, Waits};
use crate::profile::weight::scheduler::{SchedulerEvent, SchedulerEvents};
use hashbrown::HashMap;
use perf_data::abi;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::task::Task;
use perf_data::session::Session;
use perf_data::stream::events::{EventIndex, is_time};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Measures time off the CPU and latency.
pub(super) struct RowScheduling {
    events: SchedulerEvents,
    waits: Waits<()>,
    /// Determines latency.
    values: Values,
    /// Samples whose threads can still wait, by thread: those of one record.
    held: HashMap<u32, HeldRows>,
    /// Whether each event counts nanoseconds.
    has_nanoseconds: Vec<bool>,
    /// Whether switch records were requested.
    has_switches: bool,
    /// Scratch buffer.
    weights: Vec<(EventIndex, u64)>,
}

/// The rows of a sample, until its thread has waited.
#[derive(Default)]
pub(super) struct HeldRows {
    rows: Vec<StackedSample>,
    /// Its longest wait.
    longest: u64,
}

impl RowScheduling {
    pub(super) fn new() -> Self {
        Self {
            events: SchedulerEvents::default(),
            waits: Waits::default(),
            values: Values::new(&SampleWeight::Latency, true, false),
            held: HashMap::new(),
            has_nanoseconds: Vec::new(),
            has_switches: false,
            weights: Vec::new(),
        }
    }

    fn is_recorded(&self) -> bool {
        self.has_switches || self.events.has_tracepoint || self.events.ends_with_samples
    }

    /// Measures the latency of a sample, and what it says about waits. Returns the thread whose samples with the stack of a wait it
    /// is, and the samples whose wait has ended.
    pub(super) fn sample(
        &mut self,
        decoded: DecodedSample<'_>,
        event_weights: &[(EventIndex, u64)],
        session: &Session,
    ) -> (Option<u32>, Vec<StackedSample>) {
        let DecodedSample { meta, index, view, .. } = decoded;
        self.update(meta);
        if !self.is_recorded() {
            return (None, Vec::new());
        }
        self.weights.clear();
        self.weights.extend_from_slice(event_weights);
        self.values.replace(decoded, session, &mut self.weights);
        let scheduler_event = self.events.sample(meta, index, view);
        let mut ended = Vec::new();
        if self.events.ends_with_samples
            && let (Some((_, tid)), Some(time)) = (view.task, view.time)
            && let Some(wait) = self.waits.sampled(tid, time)
        {
            ended = self.ended(wait);
        }
        let switch = match scheduler_event {
            Some(SchedulerEvent::Switch(switch)) => Some(switch),
            _ => None,
        };
        if let Some(switch) = switch
            && let Some(wait) = self.waits.switch(switch)
        {
            ended.append(&mut self.ended(wait));
        }
        let has_stack = self.events.is_switch(index) || !self.events.has_tracepoint;
        let stopped = switch.and_then(|switch| switch.stopped).map(|(tid, _)| tid);
        let tid = stopped.or(view.task.map(|(_, tid)| tid)).filter(|&tid| has_stack && tid != 0);
        (tid, ended)
    }

    /// Determines what events measure that were not seen before.
    fn update(&mut self, meta: &Meta) {
        self.events.update(meta);
        let new = meta.events.list().get(self.has_nanoseconds.len()..).unwrap_or_default();
        self.has_switches |= new.iter().any(|event| event.attr.flags.contains(AttrFlags::CONTEXT_SWITCH));
        self.has_nanoseconds.extend(new.iter().map(|event| ProfileEvent::from(event).unit == Unit::Nanoseconds));
    }

    /// The latency of the latest sample for one of its events.
    pub(super) fn latency(&self, number: usize) -> SampleScheduling {
        if !self.is_recorded() {
            return SampleScheduling::default();
        }
        // The events with their values, and then as many with their latencies.
        let count = self.weights.len() / 2;
        let (event, value) = self.weights.get(number).copied().unwrap_or_default();
        let latency = self.weights.get(count + number).map_or(value, |(_, latency)| *latency);
        let is_time = self.has_nanoseconds.get(event as usize) == Some(&true);
        let parallelism = self.values.parallelism();
        SampleScheduling { latency: is_time.then_some(latency), parallelism, ..SampleScheduling::default() }
    }

    /// Holds the rows of a sample until its thread has waited. Returns those of the sample before.
    pub(super) fn hold(&mut self, tid: u32, rows: Vec<StackedSample>) -> Vec<StackedSample> {
        self.held.insert(tid, HeldRows { rows, longest: 0 }).unwrap_or_default().rows
    }

    /// Uses another record. Returns samples that are no longer held.
    pub(super) fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Vec<StackedSample> {
        let kind = raw.header().kind;
        let task = || abi::parse::<Task>(meta.events.split(raw).0, raw.endian(), ()).ok().map(|(task, _)| task);
        match kind {
            RecordType::SWITCH | RecordType::SWITCH_CPU_WIDE => {
                self.values.record(meta, raw, None);
                let switch = self.events.record(meta, raw).map(|(switch, _)| switch);
                switch.and_then(|switch| self.waits.switch(switch)).map_or_else(Vec::new, |wait| self.ended(wait))
            }
            RecordType::FORK => {
                let begun = task().filter(|task| is_time(task.time));
                begun.iter().for_each(|task| self.waits.begin(task.tid));
                Vec::new()
            }
            RecordType::EXIT => {
                let Some(Task { tid, .. }) = task() else { return Vec::new() };
                self.values.record(meta, raw, Some(tid));
                self.waits.exit(tid);
                self.held.remove(&tid).unwrap_or_default().rows
            }
            _ => Vec::new(),
        }
    }

    /// Adds a wait to the held samples of its thread. Returns them if they can have no other.
    fn ended(&mut self, wait: EndedWait) -> Vec<StackedSample> {
        let EndedWait { tid, nanoseconds, reason, .. } = wait;
        let Some(held) = self.held.get_mut(&tid) else { return Vec::new() };
        let is_longest = nanoseconds >= held.longest;
        held.longest = held.longest.max(nanoseconds);
        for (row, _) in &mut held.rows {
            let scheduling = &mut row.scheduling;
            scheduling.off_cpu = Some(scheduling.off_cpu.unwrap_or(0).saturating_add(nanoseconds));
            scheduling.state = if is_longest { Some(reason.text()) } else { scheduling.state };
        }
        if self.events.has_tracepoint { self.held.remove(&tid).unwrap_or_default().rows } else { Vec::new() }
    }

    /// Returns all samples that are held, in order of their threads.
    pub(super) fn finish(&mut self) -> Vec<StackedSample> {
        let mut held: Vec<_> = self.held.drain().collect();
        held.sort_unstable_by_key(|(tid, _)| *tid);
        held.into_iter().flat_map(|(_, held)| held.rows).collect()
    }
}
