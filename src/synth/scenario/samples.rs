//! The samples of a thread for an event.

use super::code;
use super::plan::{BEGIN, Sampled, Scenario, Space, Stack, Thread};
use super::run::PAGE;
use super::share::{Random, Shares};
use super::slices::Slices;
use crate::abi::Endian;
use crate::abi::branch::{BranchEntry, BranchFlags, BranchStack};
use crate::abi::callchain::Context;
use crate::abi::data_src::DataSrc;
use crate::abi::read_format::{ReadFormat, ReadValue, ReadValues};
use crate::abi::record::CpuMode;
use crate::abi::regs::{Regs, RegsAbi};
use crate::abi::sample::{AuxSample, Callchain, Raw, Sample, StackUser};
use crate::abi::sample_type::{BranchSampleType, SampleType};
use crate::abi::transaction::Transaction;
use crate::abi::weight::Weight;
use crate::error::Result;
use crate::stream::Sink;
use crate::synth::template::Template;
use crate::synth::tracepoint::Tracepoint;
use crate::synth::{Event, Recorder};

/// Nanoseconds of a second, in hundredths of which threads are busy.
const HUNDRED_SECONDS: u128 = 100_000_000_000;

/// Where stacks are, if the scenario does not say it.
const STACK: u64 = 0x7ffd_0000_0000;

/// The samples of a thread for an event.
pub(super) struct Samples<'a> {
    number: usize,
    stacks: Vec<Prepared<'a>>,
    /// What counters count, if the samples have that.
    counters: Option<Counters>,
    slices: Option<Slices>,
    /// How many are left.
    left: u64,
    /// Nanoseconds that the thread runs between them, or that are between them.
    step: u64,
    /// The same, since the beginning.
    passed: u64,
    random: Random,
    shares: Shares,
}

/// A stack with its sample, of which little changes.
struct Prepared<'a> {
    stack: &'a Stack,
    mode: CpuMode,
    sample: Sample,
    changing: Changing,
    /// Its bytes, as soon as there was one.
    template: Option<Template>,
}

/// What of a sample tells where it is besides its instruction pointer and its call chain.
#[derive(Clone, Copy)]
struct Changing {
    /// Which of the registers.
    ip_of_user: Option<usize>,
    ip_of_interrupt: Option<usize>,
}

impl<'a> Samples<'a> {
    /// `None` where there are none.
    pub fn new(
        scenario: &'a Scenario,
        thread: &'a Thread,
        slices: Option<Slices>,
        events: &'a [Event],
        number: usize,
        duration: u64,
        seed: u64,
    ) -> Option<Self> {
        let (event, sampled) = (events.get(number)?, scenario.events.get(number)?);
        let per_hundred_seconds = u128::from(sampled.rate) * u128::from(thread.busy);
        let left = (u128::from(duration) * per_hundred_seconds / HUNDRED_SECONDS) as u64;
        let step = match slices {
            Some(_) => HUNDRED_SECONDS / 100 / u128::from(sampled.rate.max(1)),
            None => HUNDRED_SECONDS / per_hundred_seconds.max(1),
        } as u64;
        let mut random = Random::new(scenario.seed, seed);
        let passed = random.below(step.max(1));
        let shares = Shares::new(thread.stacks.iter().map(|stack| stack.percent));
        let prepare = |stack| Prepared::new(scenario, thread, stack, event);
        let stacks = thread.stacks.iter().map(prepare).collect();
        let counters = event.has(SampleType::READ).then(|| Counters::new(events, number, sampled, thread.cpu));
        let samples = Self { number, stacks, counters, slices, left, step, passed, random, shares };
        (left > 0).then_some(samples)
    }

    /// About how many bytes a stack's sample for an event takes in memory besides what every one does.
    pub fn size(stack: &Stack, event: &Event, sampled: &Sampled) -> usize {
        /// Bytes of a counter, of a branch.
        const COUNTER: usize = 64;
        const BRANCH: usize = 32;
        let has = |field, size: usize| if event.has(field) { size } else { 0 };
        let told = &stack.sample;
        let raw = match &event.tracepoint {
            Some(tracepoint) => usize::try_from(tracepoint.size()).unwrap_or(usize::MAX),
            None => told.raw.as_ref().map_or(0, |raw| raw.data.len()),
        };
        let of_group = event.attr.read_format.contains(ReadFormat::GROUP);
        [
            event.attr.sample_stack_user as usize,
            has(SampleType::RAW, raw),
            has(SampleType::CALLCHAIN, size_of_val(&stack.chain[..])),
            has(SampleType::BRANCH_STACK, stack.branches.len() * BRANCH),
            has(SampleType::AUX, told.aux.as_ref().map_or(0, |aux| aux.data.len())),
            has(SampleType::READ, if of_group { sampled.group.len() * COUNTER } else { COUNTER }),
        ]
        .into_iter()
        .fold(0, usize::saturating_add)
    }

    /// When the next one is.
    pub fn time(&self) -> Option<u64> {
        (self.left > 0).then(|| match self.slices {
            Some(slices) => slices.time(self.passed),
            None => BEGIN + self.passed,
        })
    }

    pub fn record<S: Sink>(&mut self, recorder: &mut Recorder<S>) -> Result<()> {
        let Some(time) = self.time() else { return Ok(()) };
        self.left -= 1;
        self.passed += self.step;
        let number = self.shares.next(&mut self.random);
        let Some(prepared) = number.and_then(|number| self.stacks.get_mut(number)) else { return Ok(()) };
        let leaf = prepared.stack.leaf;
        let ip = leaf.addr + self.random.below(leaf.size);
        if let Some(counters) = &mut self.counters {
            prepared.changing.put(&mut prepared.sample, ip, time);
            prepared.sample.read = Some(counters.count(time));
            return recorder.sample(self.number, prepared.mode, &mut prepared.sample);
        }
        let template = match &prepared.template {
            Some(template) => template,
            None => {
                let changing = prepared.changing;
                let put = |sample: &mut Sample, ip, time| changing.put(sample, ip, time);
                let made = recorder.template(self.number, prepared.mode, &mut prepared.sample, put)?;
                prepared.template.insert(made)
            }
        };
        recorder.record_template(template, ip, time)
    }
}

impl<'a> Prepared<'a> {
    fn new(scenario: &Scenario, thread: &Thread, stack: &'a Stack, event: &Event) -> Self {
        let has = |field| event.has(field);
        let told = &stack.sample;
        let mut sample = Sample {
            ip: has(SampleType::IP).then_some(stack.leaf.addr),
            task: has(SampleType::TID).then_some(thread.task),
            time: has(SampleType::TIME).then_some(0),
            cpu: has(SampleType::CPU).then_some((thread.cpu, 0)),
            // With a frequency each sample has a period of its own; that they are alike is as good as anything.
            period: has(SampleType::PERIOD).then(|| told.period.unwrap_or(event.attr.sample_period)),
            addr: has(SampleType::ADDR).then(|| told.addr.unwrap_or_default()),
            phys_addr: has(SampleType::PHYS_ADDR).then(|| told.phys_addr.or(told.addr).unwrap_or_default()),
            data_src: has(SampleType::DATA_SRC).then(|| told.data_src.unwrap_or(DataSrc(0))),
            transaction: has(SampleType::TRANSACTION).then(|| told.transaction.unwrap_or(Transaction::empty())),
            cgroup: has(SampleType::CGROUP).then(|| told.cgroup.unwrap_or(thread.cgroup)),
            data_page_size: has(SampleType::DATA_PAGE_SIZE).then(|| told.data_page_size.unwrap_or(PAGE)),
            code_page_size: has(SampleType::CODE_PAGE_SIZE).then(|| told.code_page_size.unwrap_or(PAGE)),
            aux: has(SampleType::AUX).then(|| told.aux.clone().unwrap_or(AuxSample { data: Vec::new() })),
            ..Sample::default()
        };
        let weighs = has(SampleType::WEIGHT) || has(SampleType::WEIGHT_STRUCT);
        sample.weight = weighs.then(|| told.weight.unwrap_or(Weight(0)));
        sample.callchain = has(SampleType::CALLCHAIN).then(|| Callchain { ips: stack.chain.clone() });
        sample.branch_stack = has(SampleType::BRANCH_STACK).then(|| branch_stack(stack, event));
        let endian = scenario.about.endian;
        sample.raw = has(SampleType::RAW).then(|| raw(stack, thread, event, endian));
        let user = user_frames(stack);
        let registers = scenario.registers;
        let regs = |mask: u64, ip: Option<u64>| {
            let Some(ip) = ip else { return Regs { abi: RegsAbi::NONE, regs: Vec::new() } };
            let value = |bit: usize| {
                let name = registers.and_then(|registers| registers.names.get(bit)).copied().unwrap_or_default();
                let made = match registers {
                    Some(registers) if bit == registers.ip => ip,
                    Some(registers) if bit == registers.sp => STACK,
                    _ => 0,
                };
                stack.regs.get(name).copied().unwrap_or(made)
            };
            Regs { abi: RegsAbi::ABI_64, regs: (0..64).filter(|bit| mask >> bit & 1 != 0).map(value).collect() }
        };
        let (user_mask, interrupt_mask) = (event.attr.sample_regs_user, event.attr.sample_regs_intr);
        sample.regs_user = has(SampleType::REGS_USER).then(|| regs(user_mask, user.first().copied()));
        sample.regs_intr = has(SampleType::REGS_INTR).then(|| regs(interrupt_mask, Some(stack.leaf.addr)));
        sample.stack_user = has(SampleType::STACK_USER).then(|| stack_user(stack, &user, event, endian));
        let place = |mask: u64| {
            let registers = registers.filter(|registers| mask >> registers.ip & 1 != 0)?;
            let is_told = stack.regs.contains_key(registers.names[registers.ip]);
            (!is_told).then(|| (mask & ((1 << registers.ip) - 1)).count_ones() as usize)
        };
        let is_user = matches!(stack.leaf.space, Space::User | Space::GuestUser);
        Self {
            stack,
            mode: stack.leaf.space.mode(),
            sample,
            changing: Changing {
                ip_of_user: place(user_mask).filter(|_| is_user),
                ip_of_interrupt: place(interrupt_mask),
            },
            template: None,
        }
    }
}

impl Changing {
    /// Puts in where and when a sample is.
    fn put(self, sample: &mut Sample, ip: u64, time: u64) {
        if let Some(place) = &mut sample.ip {
            *place = ip;
        }
        if let Some(place) = &mut sample.time {
            *place = time;
        }
        if let Some(place) = sample.callchain.as_mut().and_then(|chain| chain.ips.get_mut(1)) {
            *place = ip;
        }
        for (regs, place) in [(&mut sample.regs_user, self.ip_of_user), (&mut sample.regs_intr, self.ip_of_interrupt)] {
            if let Some(place) = regs.as_mut().zip(place).and_then(|(regs, place)| regs.regs.get_mut(place)) {
                *place = ip;
            }
        }
    }
}

/// Addresses in user space, the innermost first.
fn user_frames(stack: &Stack) -> Vec<u64> {
    let mut is_user = false;
    let mut frames = Vec::new();
    for &word in &stack.chain {
        match Context::of(word) {
            Some(context) => is_user = matches!(context, Context::USER | Context::GUEST_USER),
            None if is_user => frames.push(word),
            None => {}
        }
    }
    frames
}

/// The user stack: that of the scenario, or one that leads to the callers.
fn stack_user(stack: &Stack, user: &[u64], event: &Event, endian: Endian) -> StackUser {
    let size = event.attr.sample_stack_user as usize;
    let made = || code::stack(user.get(1..).unwrap_or_default(), endian);
    let mut data = stack.user_stack.clone().unwrap_or_else(made);
    let is_there = !user.is_empty() && size > 0;
    let dyn_size = data.len().min(size) as u64;
    data.resize(if is_there { size } else { 0 }, 0);
    StackUser { data, dyn_size: if is_there { dyn_size } else { 0 } }
}

fn branch_stack(stack: &Stack, event: &Event) -> BranchStack {
    let has = |kind| event.attr.branch_sample_type.contains(kind);
    let entry = |&(from, to, flags): &(u64, u64, u64)| BranchEntry { from, to, flags: BranchFlags(flags) };
    let counters = if has(BranchSampleType::COUNTERS) { vec![1; stack.branches.len()] } else { Vec::new() };
    let hw_idx = has(BranchSampleType::HW_INDEX).then_some(0);
    BranchStack { hw_idx, entries: stack.branches.iter().map(entry).collect(), counters }
}

/// The event's own bytes: the fields of a tracepoint; of others, what the scenario tells.
fn raw(stack: &Stack, thread: &Thread, event: &Event, endian: Endian) -> Raw {
    let Some(tracepoint) = &event.tracepoint else {
        return stack.sample.raw.clone().unwrap_or(Raw { data: vec![0; 4] });
    };
    let own = tracepoint.fields.iter().flat_map(|field| {
        let told = stack.raw.get(field.name()).and_then(|value| field.bytes(value, endian));
        told.unwrap_or_else(|| vec![0; field.size as usize])
    });
    let own: Vec<u8> = own.collect();
    Raw { data: Tracepoint::raw(event.attr.config, thread.task.1, &own, endian) }
}

/// What the counters of an event, or of its group, stand at.
struct Counters {
    format: ReadFormat,
    /// Id of each, and what it gains between two samples.
    members: Vec<(u64, u64)>,
    samples: u64,
}

impl Counters {
    fn new(events: &[Event], number: usize, sampled: &Sampled, cpu: u32) -> Self {
        let format = events.get(number).map_or(ReadFormat::empty(), |event| event.attr.read_format);
        let is_of_group = format.contains(ReadFormat::GROUP);
        let members = if is_of_group { sampled.group.clone() } else { number..number + 1 };
        let members = events.get(members).unwrap_or_default().iter().map(|event| {
            let id = event.ids.get(cpu as usize % event.ids.len().max(1)).copied().unwrap_or_default();
            (id, event.attr.sample_period)
        });
        Self { format, members: members.collect(), samples: 0 }
    }

    /// What they stand at at a time, a sample later than the last time.
    fn count(&mut self, time: u64) -> ReadValues {
        self.samples += 1;
        let has = |bit| self.format.contains(bit);
        let passed = time - BEGIN;
        let time_enabled = has(ReadFormat::TOTAL_TIME_ENABLED).then_some(passed);
        let time_running = has(ReadFormat::TOTAL_TIME_RUNNING).then_some(passed);
        let samples = self.samples;
        let values = self.members.iter().map(|&(id, gain)| ReadValue {
            value: gain.wrapping_mul(samples),
            id: has(ReadFormat::ID).then_some(id),
            lost: has(ReadFormat::LOST).then_some(0),
        });
        let values: Vec<_> = values.collect();
        match values.first() {
            Some(&ReadValue { value, id, lost }) if !has(ReadFormat::GROUP) => {
                ReadValues::Single { value, time_enabled, time_running, id, lost }
            }
            _ => ReadValues::Group { time_enabled, time_running, values },
        }
    }
}
