//! Counts of `perf stat record`: settings, and the latest value of each counter.

use super::header::micros;
use crate::profile::event::ProfileEvent;
use hashbrown::HashMap;
use perf_data::abi;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::cpu_map::{CpuMap, CpuSet};
use perf_data::abi::record::event_update::{EventUpdate, EventUpdateValue, Scale};
use perf_data::abi::record::stat::{Stat, StatConfig, StatConfigTag, StatRound};
use perf_data::abi::record::thread_map::ThreadMap;
use perf_data::stream::events::Event;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use serde::Serialize;
use std::collections::BTreeMap;

/// Widest column of event names that others are aligned to: one long name would move all counts out of a terminal.
const MAX_WIDTH: usize = 200;

/// The counters of a recording of `perf stat record`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// What counts are aggregated by: `none`, `global`, `socket`, `thread` and so on. The recorded counts are always those of
    /// each CPU or thread.
    pub aggregation: Option<String>,
    /// Interval between two rounds in milliseconds; 0 if there is only one round, at the end.
    pub interval: Option<u64>,
    /// Whether `perf stat report` scales counts by the time that their counters were running.
    pub scale: Option<bool>,
    /// Number of finished rounds.
    pub rounds: u64,
    /// End of the last round, in nanoseconds since the start.
    pub time: Option<u64>,
    /// The counters, in the order of their first values.
    pub list: Vec<Counter>,
    /// Names of the events without a counter: the machine does not support them.
    pub not_supported: Vec<String>,
}

/// The sum of an event's counters.
struct Total<'a> {
    counter: &'a Counter,
    value: f64,
    /// Whether any of them ran.
    is_counted: bool,
}

/// A counter: an event on a CPU or of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counter {
    /// Name of the event.
    pub event: String,
    /// Unit of the value multiplied by `factor`.
    pub unit: Option<String>,
    /// Factor of the value.
    pub factor: Option<Scale>,
    /// CPU and thread that it counts.
    #[serde(flatten)]
    pub target: CounterTarget,
    /// Count since the start.
    pub value: u64,
    /// Time that the event was enabled, in nanoseconds.
    pub enabled: u64,
    /// Time that the event was counted, in nanoseconds.
    pub running: u64,
}

/// Words of perf for a counter that never ran, and for an event that no counter counts.
const NOT_COUNTED: &str = "not counted";
const NOT_SUPPORTED: &str = "not supported";

impl Counter {
    /// Whether it ran: otherwise its value is not 0, but unknown.
    fn is_counted(&self) -> bool {
        self.running > 0
    }
}

/// CPU and thread of a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct CounterTarget {
    /// CPU; `None` for any.
    pub cpu: Option<i32>,
    /// Thread; `None` for any.
    pub thread: Option<i64>,
}

/// CPUs and threads that STAT records refer to by index.
#[derive(Debug, Default)]
pub struct Targets {
    cpus: Vec<i32>,
    threads: Vec<i64>,
}

impl Targets {
    /// Updates the CPUs from a CPU_MAP record, the threads from a THREAD_MAP record.
    pub fn apply(&mut self, raw: &Raw<'_>) {
        match raw.header().kind {
            RecordType::CPU_MAP => {
                let map = abi::parse::<CpuMap>(raw.body(), raw.endian(), ()).ok();
                self.cpus = map.and_then(|(map, _)| map.data.cpus).map(|cpus| entries(&cpus)).unwrap_or_default();
            }
            RecordType::THREAD_MAP => {
                let map = abi::parse::<ThreadMap>(raw.body(), raw.endian(), ()).ok();
                let entries = map.map(|(map, _)| map.entries).unwrap_or_default();
                self.threads = entries.iter().map(|entry| entry.pid).collect();
            }
            _ => {}
        }
    }

    /// Target of a count. The CPU is a number, or before perf 5.18 an index into the CPU map; the thread is always an index.
    pub fn target(&self, stat: &Stat) -> CounterTarget {
        let cpu = stat.cpu as i32;
        let is_number = self.cpus.is_empty() || self.cpus.contains(&cpu);
        let cpu = if is_number { cpu } else { self.cpus.get(stat.cpu as usize).copied().unwrap_or(cpu) };
        let thread = self.threads.get(stat.thread as usize).copied().unwrap_or(stat.thread.into());
        CounterTarget { cpu: Some(cpu).filter(|&cpu| cpu >= 0), thread: Some(thread).filter(|&thread| thread >= 0) }
    }
}

/// CPUs of a CPU map, -1 for any.
fn entries(cpus: &CpuSet) -> Vec<i32> {
    let numbers = || cpus.numbers().into_iter().map(|cpu| cpu as i32);
    match cpus {
        CpuSet::Cpus { cpu } => cpu.iter().map(|&cpu| if cpu == u16::MAX { -1 } else { cpu.into() }).collect(),
        CpuSet::Range { any_cpu: 1.., .. } => [-1].into_iter().chain(numbers()).collect(),
        _ => numbers().collect(),
    }
}

/// Collects counters from records.
#[derive(Debug, Default)]
pub struct Collector {
    targets: Targets,
    config: BTreeMap<u64, u64>,
    factors: HashMap<u64, Scale>,
    indexes: HashMap<(u64, CounterTarget), usize>,
    latest: Vec<(CounterTarget, Stat)>,
    rounds: u64,
    time: Option<u64>,
}

impl Collector {
    /// Processes a record; most types have no effect.
    #[inline(never)]
    pub fn apply(&mut self, raw: &Raw<'_>) {
        let (body, endian) = (raw.body(), raw.endian());
        match raw.header().kind {
            RecordType::STAT_CONFIG => {
                let config = abi::parse::<StatConfig>(body, endian, ()).ok();
                let terms = config.into_iter().flat_map(|(config, _)| config.data);
                self.config.extend(terms.map(|term| (term.tag.0, term.val)));
            }
            RecordType::EVENT_UPDATE => {
                if let Ok((update, _)) = abi::parse::<EventUpdate>(body, endian, ())
                    && let Some(EventUpdateValue::Scale(factor)) = update.value
                {
                    self.factors.insert(update.id, factor);
                }
            }
            RecordType::STAT => {
                let Ok((stat, _)) = abi::parse::<Stat>(body, endian, ()) else { return };
                let target = self.targets.target(&stat);
                let index = *self.indexes.entry((stat.id, target)).or_insert(self.latest.len());
                match self.latest.get_mut(index) {
                    Some(latest) => *latest = (target, stat),
                    None => self.latest.push((target, stat)),
                }
            }
            RecordType::STAT_ROUND => {
                let Ok((round, _)) = abi::parse::<StatRound>(body, endian, ()) else { return };
                (self.rounds, self.time) = (self.rounds + 1, Some(round.time));
            }
            _ => self.targets.apply(raw),
        }
    }

    /// The collected counters; `None` if there are none.
    pub fn finish(self, meta: &Meta) -> Option<Counters> {
        let config = |tag: StatConfigTag| self.config.get(&tag.0).copied();
        let counter = |&(target, stat): &(CounterTarget, Stat)| {
            let event = meta.events.by_id(stat.id).map(|index| &meta.events.list()[index as usize]);
            let first_id = event.and_then(|event| event.ids.first());
            Counter {
                event: event.map_or_else(|| "(unknown)".to_owned(), |event| ProfileEvent::from(event).name),
                unit: event.and_then(|event| event.unit.clone()),
                factor: first_id.and_then(|id| self.factors.get(id)).copied(),
                target,
                value: stat.val,
                enabled: stat.ena,
                running: stat.run,
            }
        };
        let has_counter = |event: &Event| self.latest.iter().any(|(_, stat)| event.ids.contains(&stat.id));
        let events = meta.events.list().iter().filter(|event| !has_counter(event));
        let version = meta.string(FeatureId::VERSION).unwrap_or_default();
        (!self.latest.is_empty()).then(|| Counters {
            aggregation: config(StatConfigTag::AGGR_MODE).map(|mode| aggregation(mode, &version)),
            interval: config(StatConfigTag::INTERVAL),
            scale: config(StatConfigTag::SCALE).map(|scale| scale != 0),
            rounds: self.rounds,
            time: self.time,
            list: self.latest.iter().map(counter).collect(),
            not_supported: events.map(|event| ProfileEvent::from(event).name).collect(),
        })
    }
}

/// Name of an `enum aggr_mode`, whose numbers depend on the version of perf: `cache` was added in 6.5, `cluster` in 6.9.
fn aggregation(mode: u64, version: &str) -> String {
    const MODES: [&str; 10] =
        ["none", "global", "socket", "die", "cluster", "cache", "core", "thread", "unset", "node"];
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u32>().ok());
    let skipped = match (numbers.next().flatten(), numbers.next().flatten()) {
        _ if mode < 4 => Some(0),
        (Some(major), Some(minor)) if (major, minor) < (6, 5) => Some(2),
        (Some(6), Some(5..9)) => Some(1),
        (Some(_), Some(_)) => Some(0),
        _ => None,
    };
    let name = skipped.and_then(|skipped| MODES.get(usize::try_from(mode).ok()? + skipped));
    name.map_or_else(|| format!("mode {mode}"), |name| (*name).to_owned())
}

impl Counters {
    /// Sums over all CPUs and threads by event, as printed by `perf stat report`.
    pub fn totals(&self) -> Vec<String> {
        let mut totals: Vec<Total<'_>> = Vec::new();
        for counter in &self.list {
            let (value, is_counted) = (self.estimate(counter), counter.is_counted());
            match totals.iter_mut().find(|other| other.counter.event == counter.event) {
                Some(total) => (total.value, total.is_counted) = (total.value + value, total.is_counted || is_counted),
                None => totals.push(Total { counter, value, is_counted }),
            }
        }
        let total = |Total { counter, value, is_counted }: Total<'_>| match (counter.factor, &counter.unit) {
            _ if !is_counted => format!("<{NOT_COUNTED}> {}", counter.event),
            (Some(factor), Some(unit)) => format!("{:.2} {unit} {}", value * factor.value(), counter.event),
            _ => format!("{value:.0} {}", counter.event),
        };
        let not_supported = self.not_supported.iter().map(|event| format!("<{NOT_SUPPORTED}> {event}"));
        totals.into_iter().map(total).chain(not_supported).collect()
    }

    /// The value that a counter would have if it had been running all the time.
    fn estimate(&self, counter: &Counter) -> f64 {
        let Counter { value, enabled, running, .. } = *counter;
        let is_partial = self.scale == Some(true) && 0 < running && running < enabled;
        if is_partial { value as f64 * enabled as f64 / running as f64 } else { value as f64 }
    }

    /// Settings in words.
    pub fn settings(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        words.extend(self.aggregation.as_ref().map(|aggregation| format!("aggregation {aggregation}")));
        words.extend(self.interval.filter(|&interval| interval > 0).map(|interval| format!("interval {interval} ms")));
        words.extend(self.scale.map(|scale| if scale { "scaled" } else { "not scaled" }.to_owned()));
        let rounds = format!("{} round{}", self.rounds, if self.rounds == 1 { "" } else { "s" });
        words.push(self.time.map_or(rounds.clone(), |time| format!("{rounds} in {} s", micros(time))));
        words.join(", ")
    }

    /// Table of the counters.
    pub fn lines(&self) -> Vec<String> {
        let width =
            self.list.iter().map(|counter| counter.event.chars().count()).max().unwrap_or(0).clamp(20, MAX_WIDTH);
        let row = |cells: [&str; 6]| {
            let [event, cpu, thread, value, enabled, running] = cells;
            format!("{event:<width$} {cpu:>5} {thread:>8} {value:>16} {enabled:>14} {running:>14}")
        };
        let any = || "any".to_owned();
        let mut lines = vec![format!("counters    {}", self.settings())];
        lines.push(row(["event", "cpu", "thread", "value", "enabled", "running"]));
        for counter in &self.list {
            let Counter { event, target, value, enabled, running, .. } = counter;
            let cpu = target.cpu.map_or_else(any, |cpu| cpu.to_string());
            let thread = target.thread.map_or_else(any, |thread| thread.to_string());
            let [value, enabled, running] = [value, enabled, running].map(u64::to_string);
            let value = if counter.is_counted() { &*value } else { NOT_COUNTED };
            lines.push(row([event, &cpu, &thread, value, &enabled, &running]));
        }
        lines.extend(self.not_supported.iter().map(|event| row([event, "-", "-", NOT_SUPPORTED, "-", "-"])));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregation_modes_depend_on_the_version_of_perf() {
        for (mode, version, name) in [
            (1, "", "global"),
            (5, "", "mode 5"),
            (4, "6.1.187", "core"),
            (5, "5.10.262", "thread"),
            (4, "6.6.1", "cache"),
            (7, "6.12.117", "thread"),
            (9, "7.2", "node"),
            (70, "7.2", "mode 70"),
        ] {
            assert_eq!(aggregation(mode, version), name, "{mode} {version}");
        }
    }

    #[test]
    fn cpus_are_numbers_or_indices_and_threads_are_indices() {
        let stat = |cpu, thread| Stat { id: 1, cpu, thread, val: 0, ena: 0, run: 0 };
        let targets = Targets { cpus: vec![2, 3], threads: vec![-1, 70] };
        assert_eq!(targets.target(&stat(3, 1)), CounterTarget { cpu: Some(3), thread: Some(70) });
        assert_eq!(targets.target(&stat(0, 0)), CounterTarget { cpu: Some(2), thread: None });
        let any = Targets { cpus: entries(&CpuSet::Cpus { cpu: vec![u16::MAX] }), threads: vec![70] };
        assert_eq!(any.target(&stat(u32::MAX, 0)), any.target(&stat(0, 0)));
        assert_eq!(any.target(&stat(0, 0)), CounterTarget { cpu: None, thread: Some(70) });
    }

    #[test]
    fn totals_are_sums_and_estimates() {
        let counter = |event: &str, value, running| Counter {
            event: event.into(),
            unit: None,
            factor: None,
            target: CounterTarget::default(),
            value,
            enabled: 100,
            running,
        };
        let list = vec![counter("a", 10, 100), counter("b", 3, 100), counter("a", 10, 50)];
        let mut counters = Counters { scale: Some(true), list, ..Counters::default() };
        assert_eq!(counters.totals(), ["30 a", "3 b"]);
        (counters.list[1].unit, counters.list[1].factor) = (Some("J".into()), Some(Scale(0.5_f64.to_bits())));
        counters.scale = Some(false);
        assert_eq!(counters.totals(), ["20 a", "1.50 J b"]);
        counters.list = vec![counter("a", 0, 0), counter("b", 0, 0), counter("b", 4, 100)];
        counters.not_supported = vec!["c".to_owned()];
        assert_eq!(counters.totals(), ["<not counted> a", "4 b", "<not supported> c"]);
        assert!(counters.lines()[2].contains("not counted") && counters.lines()[5].contains("not supported"));
    }
}
