//! The records of a scenario, in the order of time.

use super::plan::{Program, Scenario, Thread};
use super::share::{Random, Shares};
use crate::abi::Endian;
use crate::abi::branch::{BranchEntry, BranchFlags, BranchStack};
use crate::abi::callchain::Context;
use crate::abi::data_src::DataSrc;
use crate::abi::record::comm::Comm;
use crate::abi::record::{Body, CpuMode, Misc};
use crate::abi::sample::{Callchain, Raw, Sample};
use crate::abi::sample_type::SampleType;
use crate::abi::text::PaddedStr;
use crate::abi::weight::Weight;
use crate::error::{Error, Result};
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::synth::tracepoint::Tracepoint;
use crate::synth::{Event, Map, Recorder, Stamp};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bytes of a page, of code and of data.
const PAGE: u64 = 0x1000;

/// Nanoseconds of a second, in hundredths of which threads are busy.
const HUNDRED_SECONDS: u128 = 100_000_000_000;

impl Scenario {
    /// Streams the recording: it takes so many times as long as the scenario says, in memory that does not depend on that.
    ///
    /// # Errors
    /// Where that would take longer than times can tell, a record does not fit the events, or the sink cannot go on.
    pub fn run(&self, scale: u64, sink: &mut dyn Sink) -> Result<(Meta, Ledger)> {
        let events = self.about.events();
        let too_long = || Error::Refused("the recording would end later than its clock can tell".to_owned());
        let duration = self.duration.checked_mul(scale).ok_or_else(too_long)?;
        self.begin().checked_add(duration).ok_or_else(too_long)?;
        let mut recorder = Recorder::new(&self.about, sink)?;
        self.tell_what_was_there(&mut recorder)?;
        let mut lanes: Vec<_> = self.lanes(&events, duration);
        let mut next: BinaryHeap<_> = lanes
            .iter()
            .enumerate()
            .filter(|(_, lane)| lane.left > 0)
            .map(|(n, lane)| Reverse((lane.time, n)))
            .collect();
        let mut records = self.records.iter().peekable();
        while let Some(Reverse((time, number))) = next.pop() {
            while let Some(told) = records.next_if(|told| told.stamp.time <= time) {
                recorder.record(told.misc, &told.body, told.stamp)?;
            }
            let lane = &mut lanes[number];
            lane.sample(&mut recorder)?;
            lane.left -= 1;
            if lane.left > 0 {
                lane.time += lane.step;
                next.push(Reverse((lane.time, number)));
            }
        }
        records.try_for_each(|told| recorder.record(told.misc, &told.body, told.stamp))?;
        recorder.finish()
    }

    /// Tells names and maps of the processes that are there when the recording begins.
    fn tell_what_was_there<S: Sink>(&self, recorder: &mut Recorder<S>) -> Result<()> {
        for process in &self.processes {
            let pid = process.pid;
            for Thread { task: (_, tid), comm, .. } in self.threads.iter().filter(|thread| thread.task.0 == pid) {
                let body = Comm { pid, tid: *tid, comm: PaddedStr::new(comm.as_bytes(), 8) };
                recorder.record(Misc::empty(), &Body::Comm(body), Stamp::at(0, pid, *tid))?;
            }
            for &number in &process.programs {
                let mmap = self.programs[number].map().mmap2(pid, pid);
                recorder.record(CpuMode::USER, &Body::Mmap2(mmap), Stamp::at(0, pid, pid))?;
            }
        }
        Ok(())
    }

    /// The samples of each thread and event.
    fn lanes<'a>(&'a self, events: &'a [Event], duration: u64) -> Vec<Lane<'a>> {
        let mut lanes = Vec::new();
        for thread in self.threads.iter().filter(|thread| thread.busy > 0 && !thread.stacks.is_empty()) {
            for (number, (event, rate)) in events.iter().zip(&self.rates).enumerate() {
                let per_hundred_seconds = u128::from(*rate) * u128::from(thread.busy);
                let left = (u128::from(duration) * per_hundred_seconds / HUNDRED_SECONDS) as u64;
                let step = (HUNDRED_SECONDS / per_hundred_seconds) as u64;
                let mut random = Random::new(self.seed, lanes.len() as u64);
                let time = self.begin() + random.below(step.max(1));
                let shares = Shares::new(thread.stacks.iter().map(|stack| stack.percent));
                let sample = Sample { task: Some(thread.task), cpu: Some((thread.cpu, 0)), ..Sample::default() };
                let endian = self.about.endian;
                lanes.push(Lane { thread, number, event, endian, left, step, time, random, shares, sample });
            }
        }
        lanes
    }
}

impl Program {
    /// All of its code, mapped.
    fn map(&self) -> Map {
        let len = (self.image.end() - PAGE).next_multiple_of(PAGE);
        Map::of(&self.path, self.base + PAGE, len).pgoff(PAGE).build_id(&self.image.build_id())
    }
}

/// The samples of a thread for an event.
struct Lane<'a> {
    thread: &'a Thread,
    number: usize,
    event: &'a Event,
    endian: Endian,
    /// How many are left.
    left: u64,
    /// Nanoseconds between them.
    step: u64,
    /// When the next one is.
    time: u64,
    random: Random,
    shares: Shares,
    /// The last one, whose memory is used again.
    sample: Sample,
}

impl Lane<'_> {
    fn sample<S: Sink>(&mut self, recorder: &mut Recorder<S>) -> Result<()> {
        let Some(stack) = self.shares.next(&mut self.random).and_then(|number| self.thread.stacks.get(number)) else {
            return Ok(());
        };
        let sample = &mut self.sample;
        let has = |field| self.event.has(field);
        let ip = stack.leaf.addr + self.random.below(stack.leaf.size);
        (sample.ip, sample.time) = (Some(ip), Some(self.time));
        if has(SampleType::CALLCHAIN) {
            let chain = &mut sample.callchain.get_or_insert_with(Callchain::default).ips;
            chain.clear();
            chain.extend([Context::USER.0, ip]);
            chain.extend(&stack.callers);
        }
        if has(SampleType::BRANCH_STACK) {
            let none = || BranchStack { hw_idx: None, entries: Vec::new(), counters: Vec::new() };
            let entries = &mut sample.branch_stack.get_or_insert_with(none).entries;
            entries.clear();
            let flags = BranchFlags(BranchFlags::PREDICTED.set(0, 1));
            entries.extend(stack.branches.iter().map(|&(from, to)| BranchEntry { from, to, flags }));
        }
        if has(SampleType::RAW) {
            let data = Tracepoint::raw(self.event.attr.config, self.thread.task.1, &[], self.endian);
            sample.raw = Some(Raw { data });
        }
        sample.addr = has(SampleType::ADDR).then_some(stack.addr);
        sample.phys_addr = has(SampleType::PHYS_ADDR).then_some(stack.addr);
        sample.data_src = has(SampleType::DATA_SRC).then_some(DataSrc(stack.data_src));
        let weighs = has(SampleType::WEIGHT) || has(SampleType::WEIGHT_STRUCT);
        sample.weight = weighs.then_some(Weight(stack.weight));
        sample.data_page_size = has(SampleType::DATA_PAGE_SIZE).then_some(PAGE);
        sample.code_page_size = has(SampleType::CODE_PAGE_SIZE).then_some(PAGE);
        recorder.sample(self.number, CpuMode::USER, sample)
    }
}
