//! Times of samples, lifetimes of threads and context switches, for formats with a time axis.

use super::intervals::Intervals;
use super::weight::SampleWeight;
use hashbrown::HashMap;
use perf_data::abi;
use perf_data::abi::attr::AttrType;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::bytes::ByteReader;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::task::Task;
use perf_data::abi::record::{Misc, RecordType};
use perf_data::abi::sample::view::SampleView;
use perf_data::session::names::{NameId, Names};
use perf_data::session::{Applied, Session};
use perf_data::stream::events::{Event, EventIndex, is_time};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::tracepoint::tracepoints::{Tracepoint, Tracepoints};
use std::collections::BTreeMap;

/// When a sample was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occurrence {
    /// Nanoseconds of the recording's clock; of the sample before, if the sample has no time.
    pub time: u64,
    /// RAW bytes of a tracepoint, in [`Tables::names`](super::Tables::names).
    pub payload: Option<NameId>,
}

/// A thread, from its start to its exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadLife {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Its last name; `None` if unknown.
    pub comm: Option<NameId>,
    /// When it was created; `None` if before the recording.
    pub start: Option<u64>,
    /// When it exited; `None` if after the recording.
    pub end: Option<u64>,
}

/// A context switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Nanoseconds of the recording's clock.
    pub time: u64,
    /// CPU, if recorded.
    pub cpu: Option<u32>,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// What happened to the thread.
    pub kind: SwitchKind,
}

/// What a context switch did to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchKind {
    /// It began to run.
    In,
    /// It stopped running, and waits.
    Out,
    /// It stopped running, although it could run.
    Preempted,
}

/// A time in which a thread ran, as far as recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// When it began to run.
    pub from: Option<u64>,
    /// When it stopped.
    pub to: Option<u64>,
    /// CPU, if recorded.
    pub cpu: Option<u32>,
    /// Whether it stopped although it could run.
    pub is_preempted: bool,
}

/// Threads and their context switches over time.
#[derive(Debug, Default)]
pub struct Timeline {
    /// Threads in the order in which they were first mentioned. A thread ID that was reused has several.
    pub threads: Vec<ThreadLife>,
    /// Context switches in time order.
    pub switches: Vec<Switch>,
    /// Clock of the times, as in `clock_gettime(2)`; `None` for that of perf.
    pub clock: Option<i32>,
    /// Formats of tracepoints, by event.
    pub tracepoints: HashMap<EventIndex, Tracepoint>,
    /// If all samples are intervals: what these are.
    pub intervals: Option<Intervals>,
    /// Index of the latest thread with an ID.
    latest: HashMap<u32, usize>,
    /// Time of the latest sample.
    time: u64,
}

impl Timeline {
    /// Applies a record that the session has applied; returns whether either has used it.
    pub(super) fn record(&mut self, meta: &Meta, raw: &Raw<'_>, session: &Session, applied: Applied) -> Applied {
        if !matches!(raw.header().kind, RecordType::SWITCH | RecordType::SWITCH_CPU_WIDE) {
            self.record_thread(meta, raw, session);
            return applied;
        }
        let (_, trailer) = meta.events.split(raw);
        let trailer = trailer.and_then(|id| Some((id.task?, id.time?, id.cpu)));
        let Some(((pid, tid), time, cpu)) = trailer else { return applied };
        let misc = raw.header().misc;
        let kind = match misc.contains(Misc::SWITCH_OUT) {
            false => SwitchKind::In,
            true if misc.contains(Misc::SWITCH_OUT_PREEMPT) => SwitchKind::Preempted,
            true => SwitchKind::Out,
        };
        self.switches.push(Switch { time, cpu: cpu.map(|(cpu, _)| cpu), pid, tid, kind });
        Applied::Consumed
    }

    /// Applies a record about threads that the session has applied.
    pub(crate) fn record_thread(&mut self, meta: &Meta, raw: &Raw<'_>, session: &Session) {
        let (body, _) = meta.events.split(raw);
        let task = || abi::parse::<Task>(body, raw.endian(), ()).ok().map(|(task, _)| task);
        match raw.header().kind {
            RecordType::COMM => {
                let mut ids = ByteReader::new(body, raw.endian());
                if let (Some(pid), Some(tid)) = (ids.u32(), ids.u32()) {
                    self.thread(pid, tid).comm = session.thread(tid).and_then(|thread| thread.comm);
                }
            }
            RecordType::FORK => {
                if let Some(Task { pid, tid, time, .. }) = task() {
                    self.start(pid, tid, Some(time).filter(|&time| is_time(time)));
                    self.thread(pid, tid).comm = session.thread(tid).and_then(|thread| thread.comm);
                }
            }
            RecordType::EXIT => {
                if let Some(Task { pid, tid, time, .. }) = task() {
                    self.thread(pid, tid).end = Some(time).filter(|&time| is_time(time));
                }
            }
            _ => {}
        }
    }

    /// The time of the latest sample.
    pub(super) fn latest_time(&self) -> Occurrence {
        Occurrence { time: self.time, payload: None }
    }

    /// Adds the thread of a sample; returns when the sample was taken.
    pub(super) fn occurrence(&mut self, event: &Event, view: &SampleView<'_>, names: &mut Names) -> Occurrence {
        if let Some((pid, tid)) = view.task {
            self.thread(pid, tid);
        }
        self.time = view.time.filter(|&time| is_time(time)).unwrap_or(self.time);
        let payload = view.raw.filter(|_| event.attr.kind == AttrType::TRACEPOINT);
        Occurrence { time: self.time, payload: payload.map(|payload| names.id(payload)) }
    }

    /// Takes the clock and the formats of tracepoints from the recording.
    pub(super) fn finish(mut self, meta: &Meta, weight: &SampleWeight) -> Self {
        let mut attrs = meta.events.list().iter().map(|event| &event.attr);
        self.clock = attrs.find(|attr| attr.flags.contains(AttrFlags::USE_CLOCKID)).map(|attr| attr.clockid);
        let data = meta.features.get(&FeatureId::TRACING_DATA);
        let formats = data.map(|data| Tracepoints::read(data)).unwrap_or_default();
        for (index, event) in (0..).zip(meta.events.list()).filter(|(_, event)| event.attr.kind == AttrType::TRACEPOINT)
        {
            self.tracepoints.extend(formats.get(event.attr.config).map(|tracepoint| (index, tracepoint.clone())));
        }
        self.intervals = match weight {
            SampleWeight::Span(span) => Some(Intervals::spans(span, &self, meta)),
            // Waits that perf recorded can be sums of several, which have no begin.
            SampleWeight::OffCpu if !meta.events.list().iter().any(Event::is_off_cpu) => Some(Intervals::default()),
            _ => None,
        };
        self
    }

    /// The latest thread with this ID; added if there is none, or if the ID has moved to another process.
    pub(crate) fn thread(&mut self, pid: u32, tid: u32) -> &mut ThreadLife {
        let Self { threads, latest, .. } = self;
        let existing = latest.get(&tid).copied().filter(|&index| threads[index].pid == pid);
        let index = existing.unwrap_or_else(|| {
            threads.push(ThreadLife { pid, tid, comm: None, start: None, end: None });
            latest.insert(tid, threads.len() - 1);
            threads.len() - 1
        });
        &mut threads[index]
    }

    fn start(&mut self, pid: u32, tid: u32, start: Option<u64>) {
        let thread = self.thread(pid, tid);
        // The thread ID is reused: a new entry is added below.
        if thread.end.is_some() || thread.start.is_some() {
            self.latest.remove(&tid);
        }
        self.thread(pid, tid).start = start;
    }

    /// The times in which each thread ran, by its index.
    pub fn running(&self) -> BTreeMap<usize, Vec<Running>> {
        let by_id = self.by_id();
        let mut times: BTreeMap<usize, Vec<Running>> = BTreeMap::new();
        // Indexes of the times without an end. All CPUs have idle threads with the ID 0, which run at the same time.
        let mut open: HashMap<(usize, Option<u32>), usize> = HashMap::new();
        for &Switch { time, cpu, pid, tid, kind } in &self.switches {
            let Some(thread) = by_id.at(pid, tid, time) else { continue };
            let times = times.entry(thread).or_default();
            let is_preempted = kind == SwitchKind::Preempted;
            let key = (thread, cpu.filter(|_| tid == 0));
            match (kind, open.remove(&key)) {
                (SwitchKind::In, _) => {
                    open.insert(key, times.len());
                    times.push(Running { from: Some(time), to: None, cpu, is_preempted });
                }
                (_, Some(index)) => (times[index].to, times[index].is_preempted) = (Some(time), is_preempted),
                // It was switched in before the recording, or that record was lost.
                (_, None) => times.push(Running { from: None, to: Some(time), cpu, is_preempted }),
            }
        }
        times
    }

    /// The threads by their IDs.
    pub fn by_id(&self) -> ThreadIds<'_> {
        let mut by_id: HashMap<_, Vec<usize>> = HashMap::new();
        for (index, thread) in self.threads.iter().enumerate() {
            by_id.entry((thread.pid, thread.tid)).or_default().push(index);
        }
        ThreadIds { threads: &self.threads, by_id }
    }
}

/// Threads by process and thread ID.
#[derive(Debug)]
pub struct ThreadIds<'a> {
    threads: &'a [ThreadLife],
    /// Indexes, in time order.
    by_id: HashMap<(u32, u32), Vec<usize>>,
}

impl ThreadIds<'_> {
    /// The index of the thread that had an ID at a time.
    pub fn at(&self, pid: u32, tid: u32, time: u64) -> Option<usize> {
        let lives = self.by_id.get(&(pid, tid))?;
        let has_begun = |&&life: &&usize| self.threads[life].start.is_none_or(|start| start <= time);
        // A time before the first known start belongs to the first thread.
        lives.iter().rev().find(has_begun).or(lives.first()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_threads_run_on_their_own_cpus() {
        let mut timeline = Timeline::default();
        timeline.thread(0, 0);
        let switches =
            [(1, 0, SwitchKind::In), (2, 1, SwitchKind::In), (3, 0, SwitchKind::Out), (5, 1, SwitchKind::Out)];
        timeline.switches =
            switches.map(|(time, cpu, kind)| Switch { time, cpu: Some(cpu), pid: 0, tid: 0, kind }).to_vec();
        let times: Vec<_> = timeline.running()[&0].iter().map(|time| (time.cpu, time.from, time.to)).collect();
        assert_eq!(times, [(Some(0), Some(1), Some(3)), (Some(1), Some(2), Some(5))]);
    }

    #[test]
    fn a_reused_thread_id_has_several_lives() {
        let mut timeline = Timeline::default();
        timeline.thread(7, 8);
        timeline.start(7, 8, Some(100));
        timeline.thread(7, 8).end = Some(200);
        timeline.start(7, 8, Some(300));
        timeline.thread(9, 8);
        let lives: Vec<_> = timeline.threads.iter().map(|life| (life.pid, life.start, life.end)).collect();
        assert_eq!(lives, [(7, Some(100), Some(200)), (7, Some(300), None), (9, None, None)]);
        let at = |time| timeline.by_id().at(7, 8, time);
        assert_eq!([at(50), at(250), at(300), timeline.by_id().at(7, 7, 1)], [Some(0), Some(0), Some(1), None]);
    }
}
