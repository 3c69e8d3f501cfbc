//! Prints decoded samples as `perf script` does.

use perf_data::abi::attr::{Attr, AttrType};
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::{Body, Record, RecordType};
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::stream::Sink;
use perf_data::stream::events::Event;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::collections::HashMap;
use std::path::Path;
use std::slice;

/// Reads what perf prints samples from, or returns why perf prints them differently.
pub(super) fn records(path: &Path) -> perfconv::Result<Result<Records, &'static str>> {
    let source = Source::open(Input::Path(path.to_path_buf()), ReadOptions::default())?;
    let mut order = Order::new(Records::default(), ReadOptions::default());
    let (meta, _) = source.run(&mut order)?;
    let list = order.into_inner();
    let attrs: Vec<&Attr> = meta.events.list().iter().map(|event| &event.attr).collect();
    let is_powerpc = meta.string(FeatureId::ARCH).is_some_and(|arch| arch.starts_with("ppc"));
    let has_time = |attr: &&&Attr| attr.sample_type.contains(SampleType::TIME);
    let timed = attrs.iter().filter(has_time).count();
    let mut other_stacks = attrs.iter().find_map(|attr| prints_other_stacks(attr));
    if is_powerpc {
        other_stacks = Some("without stacks, from which perf omits possibly stale entries on PowerPC");
    }
    Ok(if attrs.iter().any(|attr| !attr.flags.contains(AttrFlags::SAMPLE_ID_ALL)) {
        Err("perf does not sort records if some have no time")
    } else if timed != 0 && timed != attrs.len() {
        Err("perf prints no times if some events have none")
    } else {
        Ok(Records { events: meta.events.list().to_vec(), other_stacks, ..list })
    })
}

/// Why perf prints other stacks than those in an event's samples, if it does.
fn prints_other_stacks(attr: &Attr) -> Option<&'static str> {
    if attr.sample_type.contains(SampleType::STACK_USER) {
        Some("without stacks, whose user frames perf unwinds")
    } else if attr.sample_type.contains(SampleType::CALLCHAIN) && attr.sample_regs_user == ARM64_LINK_REGISTER {
        Some("without stacks, to which perf adds the caller in the link register")
    } else {
        None
    }
}

/// The register that perf records on arm64 to find the caller of a leaf function.
const ARM64_LINK_REGISTER: u64 = 1 << 30;

/// Records that determine the printed samples.
#[derive(Default)]
pub(super) struct Records {
    events: Vec<Event>,
    /// Why perf prints other stacks than those in the samples, if it does.
    pub other_stacks: Option<&'static str>,
    /// In time order.
    list: Vec<Line>,
    /// User frames of deferred call chains, by cookie.
    deferred: HashMap<u64, Vec<u64>>,
}

enum Line {
    Comm { tid: u32, comm: String },
    Fork { tid: u32, ptid: u32 },
    Exit { tid: u32 },
    Sample(Sample),
}

struct Sample {
    tid: u32,
    event: usize,
    /// CPU and time, as printed.
    head: String,
    period: u64,
    /// IDs and values of counters.
    read: Vec<(u64, u64)>,
    ips: Vec<u64>,
}

impl Sink for Records {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        if raw.header().kind == RecordType::SAMPLE {
            let (index, event) = meta.events.find(raw).expect("the sample should have an event");
            let similar = meta.events.list().iter().filter(|other| other.attr.kind == event.attr.kind);
            let mut sample_types = similar.map(|event| event.layout.sample_type());
            let has_cpu = sample_types.any(|sample_type| sample_type.contains(SampleType::CPU));
            self.list.push(Line::Sample(sample(raw, index as usize, event, has_cpu)));
            return Ok(());
        }
        let record = Record::read(raw.bytes(), &meta.context(raw)).expect("the record should be complete");
        match record.body {
            Body::Comm(comm) => {
                let text = String::from_utf8_lossy(comm.comm.text()).into_owned();
                self.list.push(Line::Comm { tid: comm.tid, comm: text });
            }
            Body::Fork(task) => self.list.push(Line::Fork { tid: task.tid, ptid: task.ptid }),
            Body::Exit(task) => self.list.push(Line::Exit { tid: task.tid }),
            Body::CallchainDeferred(chain) => {
                self.deferred.insert(chain.cookie, chain.ips);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Decodes a sample. The CPU is printed if any event of the same type has it.
fn sample(raw: &Raw<'_>, event: usize, of: &Event, has_cpu: bool) -> Sample {
    let view = SampleView::read(raw.body(), &of.layout, raw.endian()).expect("the sample should be complete");
    let mut head = String::new();
    if has_cpu {
        head += &format!(" [{:03}]", view.cpu.map_or(-1, |(cpu, _)| cpu as i32));
    }
    if let Some(time) = view.time {
        head += &format!(" {}.{:06}:", time / 1_000_000_000, time % 1_000_000_000 / 1000);
    }
    let read = view.read.as_ref().map(|read| read.values().map(|v| (v.id.unwrap_or_default(), v.value)).collect());
    let is_tracepoint = of.attr.kind == AttrType::TRACEPOINT;
    let ips = match view.callchain {
        Some(chain) => chain.iter().collect(),
        None if is_tracepoint => Vec::new(),
        None => view.ip.into_iter().collect(),
    };
    let tid = view.task.map_or(u32::MAX, |(_, tid)| tid);
    let period = view.period.unwrap_or(of.attr.sample_period);
    Sample { tid, event, head, period, read: read.unwrap_or_default(), ips }
}

impl Records {
    /// Prints the samples as perf does, optionally without the names of exited threads.
    pub(super) fn print(&self, forgets_ended: bool) -> Vec<String> {
        let mut comms: HashMap<u32, String> = HashMap::from([(0, "swapper".into())]);
        // The last known values of counters.
        let mut counters: HashMap<u64, u64> = HashMap::new();
        let mut lines = Vec::new();
        for line in &self.list {
            match line {
                Line::Comm { tid, comm } => {
                    comms.insert(*tid, comm.clone());
                }
                Line::Fork { tid, ptid } => {
                    if let Some(comm) = comms.get(ptid).cloned() {
                        comms.insert(*tid, comm);
                    }
                }
                Line::Exit { tid } if forgets_ended => {
                    comms.remove(tid);
                }
                Line::Exit { .. } => {}
                Line::Sample(sample) => {
                    let comm = comms.get(&sample.tid).cloned().unwrap_or_else(|| format!(":{}", sample.tid as i32));
                    let mut line = |event: usize, period| {
                        let event = &self.events[event];
                        let name = event.name.as_deref().unwrap_or("?");
                        let is_tracepoint = event.attr.kind == AttrType::TRACEPOINT;
                        let period = if is_tracepoint { String::new() } else { format!(" {period}") };
                        let ips: String = self.frames(&sample.ips).iter().map(|ip| format!(" {ip:x}")).collect();
                        lines.push(format!("{comm} {}{}{period} {name}:{ips}", sample.tid as i32, sample.head));
                    };
                    if sample.read.is_empty() {
                        line(sample.event, sample.period);
                    }
                    // For samples with counter values, perf prints one sample per counter that has increased.
                    for (id, value) in &sample.read {
                        let period = value - counters.insert(*id, *value).unwrap_or(0);
                        let event = self.events.iter().position(|event| event.ids.contains(id));
                        if period > 0 {
                            line(event.unwrap_or(sample.event), period);
                        }
                    }
                }
            }
        }
        lines
    }

    /// The frames of a call chain, without context markers and with its deferred user frames. If those are missing, perf prints
    /// the cookie.
    fn frames(&self, chain: &[u64]) -> Vec<u64> {
        let (chain, user) = match chain {
            [chain @ .., mark, cookie] if *mark == Context::USER_DEFERRED.0 => {
                (chain, self.deferred.get(cookie).map_or(slice::from_ref(cookie), |ips| ips))
            }
            _ => (chain, &[][..]),
        };
        chain.iter().chain(user).copied().filter(|&ip| Context::of(ip).is_none()).take(MAX_STACK).collect()
    }
}

/// The maximum number of frames that perf prints.
const MAX_STACK: usize = 127;
