//! Generates the records of a scenario in time order.

use super::plan::{BEGIN, PlannedSpace, PlannedThread, Program, RecordContent, Scenario, ScenarioRecord};
use super::samples::{ScenarioSamples, sample_at};
use super::slices::{Slices, SwitchRecords};
use super::switch_samples::SwitchSamples;
use crate::synth::{Event, Map, Recorder, Stamp};
use perf_data::abi::record::cgroup::Cgroup;
use perf_data::abi::record::comm::Comm;
use perf_data::abi::record::mmap::Mmap;
use perf_data::abi::record::{Body, Misc};
use perf_data::abi::text::PaddedStr;
use perf_data::container::read::Container;
use perf_data::error::{Error, Result};
use perf_data::session::map::PAGE;
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::Form;
use perf_data::stream::write::pipe::ToPipe;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Cursor;

/// Maximum size of the records of a recording built in memory, as needed for corruption.
const MAX_IN_MEMORY: u64 = 1 << 28;

/// Memory of a prepared sample besides [its contents](Samples::size), and the limit on all of them.
const SAMPLE: usize = 1024;
const MAX_PREPARED: usize = 1 << 28;

/// A source of records in time order; the sources are merged.
enum Lane<'a> {
    SwitchRecords(SwitchRecords),
    SwitchSamples(Box<SwitchSamples>),
    Samples(Box<ScenarioSamples<'a>>),
}

impl Lane<'_> {
    /// Time of the next record; `None` at the end.
    fn time(&self) -> Option<u64> {
        match self {
            Self::SwitchRecords(switches) => switches.time(),
            Self::SwitchSamples(switches) => switches.time(),
            Self::Samples(samples) => samples.time(),
        }
    }

    fn record<S: Sink>(&mut self, recorder: &mut Recorder<S>) -> Result<()> {
        match self {
            Self::SwitchRecords(switches) => switches.record(recorder),
            Self::SwitchSamples(switches) => switches.record(recorder),
            Self::Samples(samples) => samples.record(recorder),
        }
    }
}

impl Scenario {
    /// Streams the recording, `scale` times as long as the scenario says, in constant memory. [Corruption](Self::damage) is only
    /// applied by [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// If it exceeds the range of times, a record does not match its event, or the sink fails.
    pub fn run(&self, scale: u64, sink: &mut dyn Sink) -> Result<(Meta, Ledger)> {
        self.run_within(scale, u64::MAX, sink)
    }

    /// Streams a recording whose records have at most `limit` bytes.
    ///
    /// # Errors
    /// As [`run`](Self::run), and if the records exceed the limit.
    pub fn run_within(&self, scale: u64, limit: u64, sink: &mut dyn Sink) -> Result<(Meta, Ledger)> {
        let mut metadata = self.metadata.clone();
        super::super::bpf::describe(&self.bpf, &mut metadata);
        let events = metadata.events();
        let too_long = || Error::too_large("the recording exceeds the range of its clock");
        let duration = self.duration.checked_mul(scale).ok_or_else(too_long)?;
        BEGIN.checked_add(duration).filter(|&end| end < u64::MAX / 4).ok_or_else(too_long)?;
        let mut recorder = Recorder::new(&metadata, sink)?;
        let mut records = self.records.iter().peekable();
        while let Some(given) = records.next_if(|given| given.stamp.time == 0) {
            self.record_given(given, &events, &mut recorder)?;
        }
        self.record_initial_state(&mut recorder)?;
        self.check_memory(&events)?;
        let mut lanes = self.lanes(&events, duration);
        let mut next: BinaryHeap<_> =
            lanes.iter().enumerate().filter_map(|(number, lane)| Some(Reverse((lane.time()?, number)))).collect();
        while let Some(Reverse((time, number))) = next.pop() {
            while let Some(given) = records.next_if(|given| given.stamp.time <= time) {
                self.record_given(given, &events, &mut recorder)?;
            }
            lanes[number].record(&mut recorder)?;
            next.extend(lanes[number].time().map(|time| Reverse((time, number))));
            if recorder.written() > limit {
                return Err(Error::too_large(format!("the records exceed {limit} bytes")));
            }
        }
        records.try_for_each(|given| self.record_given(given, &events, &mut recorder))?;
        recorder.finish()
    }

    /// The bytes of a file or pipe with the recording, with corruption applied.
    ///
    /// # Errors
    /// As [`run`](Self::run); if it takes too much memory, or the container is a directory.
    pub fn to_bytes(&self, scale: u64, container: Container, form: Form) -> Result<(Vec<u8>, Meta, Ledger)> {
        let run = |sink: &mut dyn Sink| self.run_within(scale, MAX_IN_MEMORY, sink);
        let (mut bytes, (meta, ledger)) = match container {
            Container::File => {
                let mut file = ToFile::new(Cursor::new(Vec::new()), form);
                let streamed = run(&mut file)?;
                (file.into_inner().map(Cursor::into_inner).unwrap_or_default(), streamed)
            }
            Container::Pipe => {
                let mut pipe = ToPipe::new(Vec::new(), form);
                let streamed = run(&mut pipe)?;
                (pipe.into_inner(), streamed)
            }
            Container::Directory => return Err(Error::invalid("only files and pipes can be corrupted")),
        };
        if let Some(damage) = &self.damage {
            damage.on(&mut bytes, container, self.metadata.endian)?;
        }
        Ok((bytes, meta, ledger))
    }

    /// Records the names and mappings at the beginning.
    fn record_initial_state<S: Sink>(&self, recorder: &mut Recorder<S>) -> Result<()> {
        for program in self.programs.iter().filter(|program| program.is_kernel()) {
            recorder.record(program.space.mode(), &Body::Mmap(program.kernel_map()), Stamp::default())?;
        }
        for program in &self.bpf {
            recorder.record(Misc::empty(), &program.ksymbol(), Stamp::default())?;
            recorder.record(Misc::empty(), &program.loaded(), Stamp::default())?;
        }
        let mut cgroups: Vec<_> = self.processes.iter().filter_map(|process| process.cgroup.as_ref()).collect();
        cgroups.sort();
        cgroups.dedup();
        for (id, path) in cgroups {
            let body = Cgroup { id: *id, path: PaddedStr::new(path.as_bytes(), 8) };
            recorder.record(Misc::empty(), &Body::Cgroup(body), Stamp::default())?;
        }
        let mut threads = self.threads.iter().peekable();
        for process in &self.processes {
            let pid = process.pid;
            while let Some(PlannedThread { task: (_, tid), comm, .. }) = threads.next_if(|thread| thread.task.0 == pid)
            {
                let body = Comm { pid, tid: *tid, comm: PaddedStr::new(comm.as_bytes(), 8) };
                recorder.record(Misc::empty(), &Body::Comm(body), Stamp::at(0, pid, *tid))?;
            }
            let space = if process.is_guest { PlannedSpace::GuestUser } else { PlannedSpace::User };
            for &number in &process.programs {
                let mmap = self.programs[number].map().mmap2(pid, pid);
                recorder.record(space.mode(), &Body::Mmap2(mmap), Stamp::at(0, pid, pid))?;
            }
        }
        Ok(())
    }

    /// Checks that one sample for each stack and event fits in memory.
    fn check_memory(&self, events: &[Event]) -> Result<()> {
        let stacks: Vec<_> = self.threads.iter().flat_map(|thread| &thread.stacks).collect();
        let size = |stack| {
            let sizes =
                events.iter().zip(&self.events).map(|(event, sampled)| ScenarioSamples::size(stack, event, sampled));
            sizes.fold(0, usize::saturating_add)
        };
        let own = stacks.len().saturating_mul(events.len()).saturating_mul(SAMPLE);
        let fits = own <= MAX_PREPARED
            && stacks.iter().map(|stack| size(stack)).fold(own, usize::saturating_add) <= MAX_PREPARED;
        let (stacks, events) = (stacks.len(), events.len());
        let too_many = || {
            Error::too_large(format!(
                "one sample for each of {stacks} stacks and {events} events takes too much memory"
            ))
        };
        fits.then_some(()).ok_or_else(too_many)
    }

    fn record_given<S: Sink>(
        &self,
        given: &ScenarioRecord,
        events: &[Event],
        recorder: &mut Recorder<S>,
    ) -> Result<()> {
        match &given.content {
            RecordContent::Record { misc, body, payload } => recorder.record_before(*misc, body, given.stamp, payload),
            RecordContent::Bytes(bytes) => recorder.unchecked(bytes),
            RecordContent::Sample { time, thread } => {
                let event = given.stamp.event;
                match sample_at(self, thread, (events, event), *time) {
                    Some((mode, mut sample)) => recorder.sample(event, mode, &mut sample),
                    None => Ok(()),
                }
            }
        }
    }

    /// The record sources of each thread: context switches, and samples of each event.
    fn lanes<'a>(&'a self, events: &'a [Event], duration: u64) -> Vec<Lane<'a>> {
        let threads = self.threads.iter().filter(|thread| thread.busy > 0 && !thread.stacks.is_empty());
        let threads: Vec<_> = threads.map(|thread| (thread, Slices::new(thread, self.switches))).collect();
        let switch_lanes = self.switches.iter().flat_map(|switches| {
            threads.iter().map(|(thread, slices)| {
                let sampled = SwitchSamples::new(self, thread, *slices, *switches, events, duration);
                let records = || Lane::SwitchRecords(SwitchRecords::new(thread, *slices, *switches, duration));
                sampled.map_or_else(records, |samples| Lane::SwitchSamples(Box::new(samples)))
            })
        });
        let mut lanes: Vec<_> = switch_lanes.collect();
        let mut seeds = 0..;
        for (thread, slices) in &threads {
            for number in 0..events.len() {
                // Each source has its own seed, independent of the others.
                let Some(seed) = seeds.next() else { continue };
                let samples = ScenarioSamples::new(self, thread, *slices, events, number, duration, seed);
                lanes.extend(samples.map(|samples| Lane::Samples(Box::new(samples))));
            }
        }
        lanes
    }
}

impl Program {
    /// Whether it is a kernel rather than a BPF program.
    pub(super) fn is_kernel(&self) -> bool {
        self.space != PlannedSpace::User && self.path != "[bpf]"
    }

    /// The mapping of the file up to the end of its code, as a loader would create it.
    fn map(&self) -> Map {
        let len = self.image.end().next_multiple_of(PAGE);
        Map::new(&self.path, self.base, len).build_id(&self.image.build_id())
    }

    /// The mapping of a kernel as in perf: without a process, with the address of `_text` instead of a file offset.
    fn kernel_map(&self) -> Mmap {
        let addr = self.base + PAGE;
        let filename = PaddedStr::new(format!("{}_text", self.path).as_bytes(), 8);
        let pid = if self.space == PlannedSpace::Kernel { u32::MAX } else { 0 };
        let len = (self.image.end() - PAGE).next_multiple_of(PAGE);
        Mmap { pid, tid: 0, addr, len, pgoff: addr, filename }
    }
}
