//! Samples of a thread for one event.

use super::code;
use super::plan::{BEGIN, PlannedSpace, PlannedThread, Sampled, Scenario, Stack};
use super::share::{Random, Shares};
use super::slices::Slices;
use crate::synth::template::Template;
use crate::synth::tracepoint::Tracepoint;
use crate::synth::{Event, Recorder};
use perf_data::abi::Endian;
use perf_data::abi::read_format::{ReadFormat, ReadValue, ReadValues};
use perf_data::abi::record::CpuMode;
use perf_data::abi::sample::branch::{BranchEntry, BranchFlags, BranchStack};
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample::regs::{Regs, RegsAbi};
use perf_data::abi::sample::{Callchain, Raw, Sample, StackUser};
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::error::Result;
use perf_data::session::map::PAGE;
use perf_data::stream::Sink;

/// Nanoseconds in a hundred seconds: the product of rate and busy percentage is per hundred seconds.
const HUNDRED_SECONDS: u128 = 100_000_000_000;

/// Address of stacks, if the scenario does not set the stack pointer.
const STACK: u64 = 0x7ffd_0000_0000;

/// Generates the samples of a thread for one event.
pub(super) struct ScenarioSamples<'a> {
    number: usize,
    stacks: Vec<Prepared<'a>>,
    /// Counters, if samples contain their values.
    counters: Option<Counters>,
    slices: Option<Slices>,
    /// Number of remaining samples.
    left: u64,
    /// Nanoseconds of thread time between samples, or of wall time without context switches.
    step: u64,
    /// Thread or wall time from the beginning to the next sample, in nanoseconds.
    passed: u64,
    random: Random,
    shares: Shares,
}

/// A stack with its prepared sample.
struct Prepared<'a> {
    stack: &'a Stack,
    mode: CpuMode,
    sample: Sample,
    changing: Changing,
    /// The encoded sample, once there has been one.
    template: Option<Template>,
}

/// Registers that contain the instruction pointer of a sample.
#[derive(Clone, Copy)]
struct Changing {
    /// Index of the instruction pointer in the user registers, and in the interrupt registers.
    ip_of_user: Option<usize>,
    ip_of_interrupt: Option<usize>,
}

impl<'a> ScenarioSamples<'a> {
    /// `None` if there are no samples.
    pub(super) fn new(
        scenario: &'a Scenario,
        thread: &'a PlannedThread,
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

    /// Approximate memory of the prepared sample of a stack, beyond the fixed part.
    pub(super) fn size(stack: &Stack, event: &Event, sampled: &Sampled) -> usize {
        /// Size of a counter, and of a branch.
        const COUNTER: usize = 64;
        const BRANCH: usize = 32;
        let has = |field, size: usize| if event.has(field) { size } else { 0 };
        let given = &stack.sample;
        let raw = match &event.tracepoint {
            Some(tracepoint) => usize::try_from(tracepoint.size()).unwrap_or(usize::MAX),
            None => given.raw.as_ref().map_or(0, |raw| raw.data.len()),
        };
        let reads_group = event.attr.read_format.contains(ReadFormat::GROUP);
        [
            event.attr.sample_stack_user as usize,
            has(SampleType::RAW, raw),
            has(SampleType::CALLCHAIN, size_of_val(&stack.chain[..])),
            has(SampleType::BRANCH_STACK, stack.branches.len() * BRANCH),
            has(SampleType::AUX, given.aux.as_ref().map_or(0, |aux| aux.data.len())),
            has(SampleType::READ, if reads_group { sampled.group.len() * COUNTER } else { COUNTER }),
        ]
        .into_iter()
        .fold(0, usize::saturating_add)
    }

    /// Time of the next sample; `None` at the end.
    pub(super) fn time(&self) -> Option<u64> {
        (self.left > 0).then(|| match self.slices {
            Some(slices) => slices.time(self.passed),
            None => BEGIN + self.passed,
        })
    }

    pub(super) fn record<S: Sink>(&mut self, recorder: &mut Recorder<S>) -> Result<()> {
        let Some(time) = self.time() else { return Ok(()) };
        self.left -= 1;
        self.passed += self.step;
        let number = self.shares.next(&mut self.random);
        let Some(prepared) = number.and_then(|number| self.stacks.get_mut(number)) else { return Ok(()) };
        let leaf = prepared.stack.leaf;
        let ip = leaf.addr + self.random.below(leaf.size);
        // Counter values differ in each sample, which a template does not provide for.
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
                let template = recorder.template(self.number, prepared.mode, &mut prepared.sample, put)?;
                prepared.template.insert(template)
            }
        };
        recorder.record_template(template, ip, time)
    }
}

/// A sample of a stack of a thread, with its mode. Its time is set where it is recorded.
pub(super) fn prepared_sample(
    scenario: &Scenario,
    thread: &PlannedThread,
    stack: &Stack,
    event: &Event,
) -> (CpuMode, Sample) {
    let Prepared { mode, sample, .. } = Prepared::new(scenario, thread, stack, event);
    (mode, sample)
}

/// The sample of a thread with one stack, at a time.
pub(super) fn sample_at(
    scenario: &Scenario,
    thread: &PlannedThread,
    (events, number): (&[Event], usize),
    time: u64,
) -> Option<(CpuMode, Sample)> {
    let (event, sampled) = (events.get(number)?, scenario.events.get(number)?);
    let stack = thread.stacks.first()?;
    let Prepared { mode, mut sample, changing, .. } = Prepared::new(scenario, thread, stack, event);
    changing.put(&mut sample, stack.leaf.addr, time);
    let counters = event.has(SampleType::READ).then(|| Counters::new(events, number, sampled, thread.cpu));
    sample.read = counters.map(|mut counters| counters.count(time));
    Some((mode, sample))
}

impl<'a> Prepared<'a> {
    fn new(scenario: &Scenario, thread: &PlannedThread, stack: &'a Stack, event: &Event) -> Self {
        let has = |field| event.has(field);
        let endian = scenario.metadata.endian;
        let given = &stack.sample;
        // Missing fields that are not zero. The recorder sets IDs.
        let mut sample = Sample {
            ip: Some(stack.leaf.addr),
            task: Some(thread.task),
            cpu: Some((thread.cpu, 0)),
            // With a frequency, periods would vary; a constant is as good.
            period: given.period.or(Some(event.attr.sample_period)),
            phys_addr: given.phys_addr.or(given.addr),
            cgroup: given.cgroup.or(Some(thread.cgroup)),
            data_page_size: given.data_page_size.or(Some(PAGE)),
            code_page_size: given.code_page_size.or(Some(PAGE)),
            callchain: has(SampleType::CALLCHAIN).then(|| Callchain { ips: stack.chain.clone() }),
            branch_stack: has(SampleType::BRANCH_STACK).then(|| branch_stack(stack, event)),
            raw: has(SampleType::RAW).then(|| raw(stack, thread, event, endian)),
            ..given.clone()
        };
        let derived = SampleType::IDENTIFIER | SampleType::ID | SampleType::STREAM_ID | SampleType::READ;
        sample.set_fields(event.attr.sample_type - derived);
        let user = user_frames(stack);
        let registers = scenario.registers;
        let regs = |mask: u64, ip: Option<u64>| {
            let Some(ip) = ip else { return Regs { abi: RegsAbi::NONE, regs: Vec::new() } };
            let value = |bit: usize| {
                let name = registers.and_then(|registers| registers.names.get(bit)).copied().unwrap_or_default();
                let default_value = match registers {
                    Some(registers) if bit == registers.ip => ip,
                    Some(registers) if bit == registers.sp => STACK,
                    _ => 0,
                };
                stack.regs.get(name).copied().unwrap_or(default_value)
            };
            Regs { abi: RegsAbi::ABI_64, regs: (0..64).filter(|bit| mask >> bit & 1 != 0).map(value).collect() }
        };
        let (user_mask, interrupt_mask) = (event.attr.sample_regs_user, event.attr.sample_regs_intr);
        sample.regs_user = has(SampleType::REGS_USER).then(|| regs(user_mask, user.first().copied()));
        sample.regs_intr = has(SampleType::REGS_INTR).then(|| regs(interrupt_mask, Some(stack.leaf.addr)));
        sample.stack_user = has(SampleType::STACK_USER).then(|| stack_user(stack, &user, event, endian));
        let ip_index = |mask: u64| {
            let registers = registers.filter(|registers| mask >> registers.ip & 1 != 0)?;
            let is_told = stack.regs.contains_key(registers.names[registers.ip]);
            (!is_told).then(|| (mask & ((1 << registers.ip) - 1)).count_ones() as usize)
        };
        let is_user = matches!(stack.leaf.space, PlannedSpace::User | PlannedSpace::GuestUser);
        Self {
            stack,
            mode: stack.leaf.space.mode(),
            sample,
            changing: Changing {
                ip_of_user: ip_index(user_mask).filter(|_| is_user),
                ip_of_interrupt: ip_index(interrupt_mask),
            },
            template: None,
        }
    }
}

impl Changing {
    /// Stores address and time of a sample.
    fn put(self, sample: &mut Sample, ip: u64, time: u64) {
        if let Some(field) = &mut sample.ip {
            *field = ip;
        }
        if let Some(field) = &mut sample.time {
            *field = time;
        }
        // The first entry of a call chain is a context marker.
        if let Some(entry) = sample.callchain.as_mut().and_then(|chain| chain.ips.get_mut(1)) {
            *entry = ip;
        }
        for (regs, index) in [(&mut sample.regs_user, self.ip_of_user), (&mut sample.regs_intr, self.ip_of_interrupt)] {
            if let Some(register) = regs.as_mut().zip(index).and_then(|(regs, index)| regs.regs.get_mut(index)) {
                *register = ip;
            }
        }
    }
}

/// User addresses of the call chain, innermost first.
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

/// The user stack: the one of the scenario, or a generated one with return addresses.
fn stack_user(stack: &Stack, user: &[u64], event: &Event, endian: Endian) -> StackUser {
    let size = event.attr.sample_stack_user as usize;
    let generated = || code::stack(user.get(1..).unwrap_or_default(), endian);
    let mut data = stack.user_stack.clone().unwrap_or_else(generated);
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

/// RAW bytes: the fields of a tracepoint; for other events, those of the scenario.
fn raw(stack: &Stack, thread: &PlannedThread, event: &Event, endian: Endian) -> Raw {
    let Some(tracepoint) = &event.tracepoint else {
        return stack.sample.raw.clone().unwrap_or(Raw { data: vec![0; 4] });
    };
    let own = tracepoint.fields.iter().flat_map(|field| {
        let given = stack.raw.get(field.name()).and_then(|value| field.bytes(value, endian));
        given.unwrap_or_else(|| vec![0; field.size as usize])
    });
    let own: Vec<u8> = own.collect();
    Raw { data: Tracepoint::raw(event.attr.config, thread.task.1, &own, endian) }
}

/// Values of the counters of an event or its group.
struct Counters {
    format: ReadFormat,
    /// ID of each counter, and its increment per sample.
    members: Vec<(u64, u64)>,
    samples: u64,
}

impl Counters {
    fn new(events: &[Event], number: usize, sampled: &Sampled, cpu: u32) -> Self {
        let format = events.get(number).map_or(ReadFormat::empty(), |event| event.attr.read_format);
        let reads_group = format.contains(ReadFormat::GROUP);
        let members = if reads_group { sampled.group.clone() } else { number..number + 1 };
        let members = events.get(members).unwrap_or_default().iter().map(|event| {
            let id = event.ids.get(cpu as usize % event.ids.len().max(1)).copied().unwrap_or_default();
            (id, event.attr.sample_period)
        });
        Self { format, members: members.collect(), samples: 0 }
    }

    /// The values at a time, one sample later than the previous call.
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
