//! Samples of `sched_switch` and of wakeups, for a thread whose CPU is otherwise idle.

use super::plan::{BEGIN, FunctionLocation, PlannedSpace, PlannedThread, SampledSwitches, Scenario, Stack, Switches};
use super::samples::prepared_sample;
use super::slices::Slices;
use crate::synth::template::Template;
use crate::synth::{Event, Recorder};
use perf_data::abi::record::CpuMode;
use perf_data::abi::sample::Sample;
use perf_data::error::Result;
use perf_data::stream::Sink;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The samples of a thread.
pub(super) struct SwitchSamples {
    slices: Slices,
    /// Wakeups, switches to the thread, and switches from it.
    sources: Vec<Source>,
    /// Number of remaining periods.
    left: u64,
    period: u64,
    /// Index of the next source.
    next: usize,
}

/// Samples that differ only in their time.
struct Source {
    event: usize,
    mode: CpuMode,
    sample: Sample,
    /// The encoded sample, once there has been one.
    template: Option<Template>,
    ip: u64,
    /// Nanoseconds from the begin of the period.
    offset: u64,
}

/// Priority of threads by default, in tracepoints.
const PRIORITY: u64 = 120;

impl SwitchSamples {
    /// `None` if switches are not sampled.
    pub(super) fn new(
        scenario: &Scenario,
        thread: &PlannedThread,
        slices: Option<Slices>,
        switches: Switches,
        events: &[Event],
        duration: u64,
    ) -> Option<Self> {
        let SampledSwitches { switch, wakeup, delay, state } = switches.sampled?;
        let slices = slices.unwrap_or(Slices { every: switches.every, run: switches.every, delay });
        let (name, idle) =
            (json!(thread.comm.chars().take(15).collect::<String>()), json!(format!("swapper/{}", thread.cpu)));
        let task = |prefix: &str, (comm, tid): (&Value, u32)| {
            let fields = [("comm", comm.clone()), ("pid", json!(tid)), ("prio", json!(PRIORITY))];
            fields.map(|(field, value)| (format!("{prefix}{field}"), value))
        };
        let tid = thread.task.1;
        let switched = |prev: (&Value, u32), state: i64, next: (&Value, u32)| {
            let state = ("prev_state".to_owned(), json!(state));
            task("prev_", prev).into_iter().chain([state]).chain(task("next_", next)).collect::<BTreeMap<_, _>>()
        };
        let of_idle = |raw| {
            let leaf = FunctionLocation { space: PlannedSpace::Kernel, addr: 0, size: 1 };
            let stack = Stack {
                percent: 100,
                leaf,
                chain: Vec::new(),
                branches: Vec::new(),
                regs: BTreeMap::new(),
                raw,
                user_stack: None,
                sample: Sample::default(),
            };
            PlannedThread { task: (0, 0), stacks: vec![stack], ..thread.clone() }
        };
        let source = |event: usize, thread: &PlannedThread, offset: u64| {
            let stack = thread.stacks.first()?;
            let (mode, sample) = prepared_sample(scenario, thread, stack, events.get(event)?);
            Some(Source { event, mode, sample, template: None, ip: stack.leaf.addr, offset })
        };
        let woken: BTreeMap<_, _> =
            task("", (&name, tid)).into_iter().chain([("target_cpu".to_owned(), json!(thread.cpu))]).collect();
        let wakeup = wakeup.and_then(|event| source(event, &of_idle(woken), 0));
        let begun = source(switch, &of_idle(switched((&idle, 0), 0, (&name, tid))), delay)?;
        let mut stopping = PlannedThread { stacks: thread.stacks.iter().take(1).cloned().collect(), ..thread.clone() };
        stopping.stacks.first_mut()?.raw = switched((&name, tid), state, (&idle, 0));
        let stopped = source(switch, &stopping, delay.saturating_add(slices.run))?;
        let sources = wakeup.into_iter().chain([begun, stopped]).collect();
        Some(Self { slices, sources, left: duration.div_ceil(switches.every), period: 0, next: 0 })
    }

    /// Time of the next sample; `None` at the end.
    pub(super) fn time(&self) -> Option<u64> {
        let source = self.sources.get(self.next).filter(|_| self.left > 0)?;
        Some(BEGIN + self.period * self.slices.every + source.offset)
    }

    pub(super) fn record<S: Sink>(&mut self, recorder: &mut Recorder<S>) -> Result<()> {
        let Some(time) = self.time() else { return Ok(()) };
        let Some(source) = self.sources.get_mut(self.next) else { return Ok(()) };
        let template = match &source.template {
            Some(template) => template,
            None => {
                let put = |sample: &mut Sample, ip, time| {
                    sample.ip = sample.ip.map(|_| ip);
                    sample.time = sample.time.map(|_| time);
                };
                source.template.insert(recorder.template(source.event, source.mode, &mut source.sample, put)?)
            }
        };
        recorder.record_template(template, source.ip, time)?;
        self.next += 1;
        if self.next == self.sources.len() {
            (self.next, self.period, self.left) = (0, self.period + 1, self.left - 1);
        }
        Ok(())
    }
}
