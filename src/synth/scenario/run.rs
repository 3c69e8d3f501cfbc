//! The records of a scenario, in the order of time.

use super::plan::{BEGIN, Program, Scenario, ScenarioRecord, Space, Thread, What};
use super::samples::Samples;
use super::slices::{Comings, Slices};
use crate::abi::record::cgroup::Cgroup;
use crate::abi::record::comm::Comm;
use crate::abi::record::mmap::Mmap;
use crate::abi::record::{Body, Misc};
use crate::abi::text::PaddedStr;
use crate::container::read::Container;
use crate::error::{Error, Result};
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::write::file::ToFile;
use crate::stream::write::form::Form;
use crate::stream::write::pipe::ToPipe;
use crate::synth::{Event, Map, Recorder, Stamp};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Cursor;

/// Bytes of a page, of code and of data.
pub(super) const PAGE: u64 = 0x1000;

/// The most bytes of records of a recording that is made in memory, as one that is damaged is.
const MOST_IN_MEMORY: u64 = 1 << 28;

/// Bytes that a sample takes in memory besides [what is in it](Samples::size), and the most of all.
const SAMPLE: usize = 1024;
const MOST_PREPARED: usize = 1 << 28;

/// What comes one after the other, while other things do too.
enum Lane<'a> {
    Comings(Comings),
    Samples(Box<Samples<'a>>),
}

impl Lane<'_> {
    /// When the next one is; `None` at the end.
    fn time(&self) -> Option<u64> {
        match self {
            Self::Comings(comings) => comings.time(),
            Self::Samples(samples) => samples.time(),
        }
    }

    fn record<S: Sink>(&mut self, recorder: &mut Recorder<S>) -> Result<()> {
        match self {
            Self::Comings(comings) => comings.record(recorder),
            Self::Samples(samples) => samples.record(recorder),
        }
    }
}

impl Scenario {
    /// Streams the recording: it takes so many times as long as the scenario says, in memory that does not depend on that.
    /// What [damage](Self::damage) there is to be is left to [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// Where that would take longer than times can tell, a record does not fit the events, or the sink cannot go on.
    pub fn run(&self, scale: u64, sink: &mut dyn Sink) -> Result<(Meta, Ledger)> {
        self.run_within(scale, u64::MAX, sink)
    }

    /// Streams a recording of which the records take up to so many bytes.
    ///
    /// # Errors
    /// Those of [`run`](Self::run), and where the records take more.
    pub fn run_within(&self, scale: u64, most: u64, sink: &mut dyn Sink) -> Result<(Meta, Ledger)> {
        let mut about = self.about.clone();
        super::super::bpf::describe(&self.bpf, &mut about);
        let events = about.events();
        let too_long = || Error::too_large("the recording would end later than its clock can tell");
        let duration = self.duration.checked_mul(scale).ok_or_else(too_long)?;
        BEGIN.checked_add(duration).filter(|&end| end < u64::MAX / 4).ok_or_else(too_long)?;
        let mut recorder = Recorder::new(&about, sink)?;
        let mut records = self.records.iter().peekable();
        while let Some(told) = records.next_if(|told| told.stamp.time == 0) {
            told.record(&mut recorder)?;
        }
        self.record_initial_state(&mut recorder)?;
        self.demand_room(&events)?;
        let mut lanes = self.lanes(&events, duration);
        let mut next: BinaryHeap<_> =
            lanes.iter().enumerate().filter_map(|(number, lane)| Some(Reverse((lane.time()?, number)))).collect();
        while let Some(Reverse((time, number))) = next.pop() {
            while let Some(told) = records.next_if(|told| told.stamp.time <= time) {
                told.record(&mut recorder)?;
            }
            lanes[number].record(&mut recorder)?;
            next.extend(lanes[number].time().map(|time| Reverse((time, number))));
            if recorder.written() > most {
                return Err(Error::too_large(format!("the records would take more than {most} bytes")));
            }
        }
        records.try_for_each(|told| told.record(&mut recorder))?;
        recorder.finish()
    }

    /// The bytes of a file or a pipe with the recording, with what damage there is to be.
    ///
    /// # Errors
    /// Those of [`run`](Self::run); where it takes too much memory, or it is to be a folder.
    pub fn to_bytes(&self, scale: u64, container: Container, form: Form) -> Result<(Vec<u8>, Meta, Ledger)> {
        let run = |sink: &mut dyn Sink| self.run_within(scale, MOST_IN_MEMORY, sink);
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
            Container::Directory => return Err(Error::invalid("what is damaged is a file or a pipe")),
        };
        if let Some(damage) = &self.damage {
            damage.on(&mut bytes, container, self.about.endian)?;
        }
        Ok((bytes, meta, ledger))
    }

    /// Tells names and maps of what is there when the recording begins.
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
            while let Some(Thread { task: (_, tid), comm, .. }) = threads.next_if(|thread| thread.task.0 == pid) {
                let body = Comm { pid, tid: *tid, comm: PaddedStr::new(comm.as_bytes(), 8) };
                recorder.record(Misc::empty(), &Body::Comm(body), Stamp::at(0, pid, *tid))?;
            }
            let space = if process.is_guest { Space::GuestUser } else { Space::User };
            for &number in &process.programs {
                let mmap = self.programs[number].map().mmap2(pid, pid);
                recorder.record(space.mode(), &Body::Mmap2(mmap), Stamp::at(0, pid, pid))?;
            }
        }
        Ok(())
    }

    /// Whether the samples of all stacks have room in memory, one of each event.
    fn demand_room(&self, events: &[Event]) -> Result<()> {
        let stacks: Vec<_> = self.threads.iter().flat_map(|thread| &thread.stacks).collect();
        let size = |stack| {
            let sizes = events.iter().zip(&self.events).map(|(event, of)| Samples::size(stack, event, of));
            sizes.fold(0, usize::saturating_add)
        };
        let own = stacks.len().saturating_mul(events.len()).saturating_mul(SAMPLE);
        let is_there = own <= MOST_PREPARED
            && stacks.iter().map(|stack| size(stack)).fold(own, usize::saturating_add) <= MOST_PREPARED;
        let (stacks, events) = (stacks.len(), events.len());
        let too_many =
            || Error::too_large(format!("a sample of each of {stacks} stacks and {events} events is too much"));
        is_there.then_some(()).ok_or_else(too_many)
    }

    /// What there is to tell of each thread: when it comes and goes, and its samples for each event.
    fn lanes<'a>(&'a self, events: &'a [Event], duration: u64) -> Vec<Lane<'a>> {
        let threads = self.threads.iter().filter(|thread| thread.busy > 0 && !thread.stacks.is_empty());
        let threads: Vec<_> = threads.map(|thread| (thread, Slices::of(thread, self.switches))).collect();
        let comings = self.switches.iter().flat_map(|switches| {
            threads.iter().map(|(thread, slices)| Lane::Comings(Comings::new(thread, *slices, *switches, duration)))
        });
        let mut lanes: Vec<_> = comings.collect();
        let mut seeds = 0..;
        for (thread, slices) in &threads {
            for number in 0..events.len() {
                // Whatever else there is, each has random numbers of its own.
                let Some(seed) = seeds.next() else { continue };
                let samples = Samples::new(self, thread, *slices, events, number, duration, seed);
                lanes.extend(samples.map(|samples| Lane::Samples(Box::new(samples))));
            }
        }
        lanes
    }
}

impl ScenarioRecord {
    fn record<S: Sink>(&self, recorder: &mut Recorder<S>) -> Result<()> {
        match &self.what {
            What::Record { misc, body, payload } => recorder.record_before(*misc, body, self.stamp, payload),
            What::Bytes(bytes) => recorder.unchecked(bytes),
        }
    }
}

impl Program {
    /// Whether it is a kernel, not a part that was added to one.
    pub(super) fn is_kernel(&self) -> bool {
        self.space != Space::User && self.path != "[bpf]"
    }

    /// The file from its beginning to the end of its code, mapped as a loader maps what its header says.
    fn map(&self) -> Map {
        let len = self.image.end().next_multiple_of(PAGE);
        Map::of(&self.path, self.base, len).build_id(&self.image.build_id())
    }

    /// All of a kernel's code, as perf tells it: of no process, with the address of `_text` where files have an offset.
    fn kernel_map(&self) -> Mmap {
        let addr = self.base + PAGE;
        let filename = PaddedStr::new(format!("{}_text", self.path).as_bytes(), 8);
        let pid = if self.space == Space::Kernel { u32::MAX } else { 0 };
        let len = (self.image.end() - PAGE).next_multiple_of(PAGE);
        Mmap { pid, tid: 0, addr, len, pgoff: addr, filename }
    }
}
