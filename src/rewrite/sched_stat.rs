//! Merges scheduler samples to show where and how long tasks slept: `--sched-stat`, as in perf inject.
//!
//! A `sched:sched_switch` sample has the call chain in which a task went to sleep; a later `sched:sched_stat_*` sample has the
//! duration.

use crate::rewrite::framework::pass::{Pass, PreScan};
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use crate::rewrite::framework::replacement::RecordBuffer;
use hashbrown::HashMap;
use perf_data::abi::bytes::Integer;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::{RecordHeader, RecordType};
use perf_data::abi::sample::field::SampleField;
use perf_data::abi::sample::view::SampleView;
use perf_data::container::read::ReadOptions;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::event_name::event_name;
use perf_data::stream::events::{Event, EventIndex};
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::{Before, Stage};
use perf_data::tracepoint::tracepoints::Tracepoints;
use perf_data::tracepoint::value::FieldValue;

/// Merges sched_stat and sched_switch samples.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct SchedStat {}

impl PassOptions for SchedStat {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        Box::new(SchedStatPass { options: context.read.clone() })
    }
}

/// The merging pass.
///
/// A `sched:sched_stat_*` sample is replaced by the latest `sched:sched_switch` sample of its task, with the time and period of
/// the former. Samples of `sched:sched_switch` and `sched:sched_process_exit`, and `sched_stat` samples without a switch, are
/// dropped; other records are kept. The output is in time order.
#[derive(Debug, Default)]
pub struct SchedStatPass {
    /// Read options: directory of temporary files, memory limits.
    pub options: ReadOptions,
}

impl Pass for SchedStatPass {
    fn name(&self) -> String {
        "--sched-stat".to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        Some(PreScan::at_meta(check))
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        Box::new(Order::new(
            Before::new(
                Merge { roles: Roles::default(), switches: HashMap::new(), changed: RecordBuffer::default() },
                sink,
            ),
            self.options.clone(),
        ))
    }
}

/// How samples of an event are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Switch,
    Exit,
    Stat,
    Other,
}

impl Role {
    fn from_event_name(name: &str) -> Self {
        match name {
            "sched:sched_switch" => Self::Switch,
            "sched:sched_process_exit" => Self::Exit,
            _ if name.starts_with("sched:sched_stat_") => Self::Stat,
            _ => Self::Other,
        }
    }
}

/// Checks that the required events and tracepoint formats exist.
fn check(meta: &Meta) -> Result<()> {
    let mut roles = Roles::default();
    roles.update(meta);
    let has = |role| roles.list.contains(&role);
    let missing = match () {
        () if !has(Role::Switch) => "sched:sched_switch",
        () if !has(Role::Stat) => "sched:sched_stat_*",
        () if roles.tracepoints.is_empty() => "tracepoint formats (TRACING_DATA)",
        () => return Ok(()),
    };
    let names: Vec<_> = meta.events.list().iter().map(event_name).collect();
    Err(Error::not_found(format!("--sched-stat: the recording has no {missing}; its events are: {}", names.join(", "))))
}

/// The roles of events, and the tracepoint formats known so far.
#[derive(Default)]
struct Roles {
    list: Vec<Role>,
    tracepoints: Tracepoints,
}

impl Roles {
    fn update(&mut self, meta: &Meta) {
        let events = meta.events.list();
        let new = &events[self.list.len().min(events.len())..];
        self.list.extend(new.iter().map(|event| Role::from_event_name(&event_name(event))));
        if self.tracepoints.is_empty()
            && let Some(section) = meta.features.get(&FeatureId::TRACING_DATA)
        {
            self.tracepoints = Tracepoints::read(section);
        }
    }

    fn role(&mut self, meta: &Meta, event: EventIndex) -> Role {
        if self.list.len() <= event as usize {
            self.update(meta);
        }
        self.list.get(event as usize).copied().unwrap_or(Role::Other)
    }

    /// The task that a `sched_stat_*` sample is about.
    fn pid(&self, event: &Event, raw: &[u8]) -> Option<u32> {
        let mut values = self.tracepoints.get(event.attr.config)?.values(raw);
        values.find_map(|(field, value)| match value {
            FieldValue::Signed(pid) if field.name == "pid" => Some(pid as u32),
            FieldValue::Unsigned(pid) if field.name == "pid" => Some(pid as u32),
            _ => None,
        })
    }
}

struct Merge {
    roles: Roles,
    /// The latest switch of each thread, with its event.
    switches: HashMap<u32, (EventIndex, Box<[u8]>)>,
    changed: RecordBuffer,
}

impl Merge {
    /// Processes a sample; returns whether it is passed on unchanged.
    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut (impl Sink + ?Sized)) -> Result<bool> {
        let Some((index, event)) = meta.events.find(raw) else { return Ok(true) };
        let role = self.roles.role(meta, index);
        if role == Role::Other {
            return Ok(true);
        }
        let Ok(view) = SampleView::read(raw.body(), &event.layout, raw.endian()) else { return Ok(true) };
        let Some((_, tid)) = view.task else { return Ok(true) };
        match role {
            Role::Switch => drop(self.switches.insert(tid, (index, raw.bytes().into()))),
            Role::Exit => drop(self.switches.remove(&tid)),
            Role::Stat => self.merge(meta, raw, (event, &view), sink)?,
            Role::Other => {}
        }
        Ok(false)
    }

    fn merge(
        &mut self,
        meta: &Meta,
        raw: &Raw<'_>,
        (event, view): (&Event, &SampleView<'_>),
        sink: &mut (impl Sink + ?Sized),
    ) -> Result<()> {
        let pid = view.raw.and_then(|raw| self.roles.pid(event, raw));
        let Some((index, switch)) = pid.and_then(|pid| self.switches.get(&pid)) else { return Ok(()) };
        let Some(switch_event) = meta.events.list().get(*index as usize) else { return Ok(()) };
        self.changed.record.clear();
        self.changed.record.extend_from_slice(switch);
        let layout = &switch_event.layout;
        let mut put = |field: SampleField, value: Option<u64>| {
            let at = layout.word_at(field).map(|at| RecordHeader::SIZE + 8 * at);
            let slot = at.and_then(|at| self.changed.record.get_mut(at..at + 8));
            if let (Some(slot), Some(value)) = (slot, value) {
                slot.copy_from_slice(&value.to_bytes(raw.endian()));
            }
        };
        put(SampleField::Time, view.time);
        put(SampleField::Period, view.period);
        self.changed.pass(sink, meta, raw)
    }
}

impl<S: Sink + ?Sized> Stage<S> for Merge {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        if raw.header().kind == RecordType::SAMPLE && !self.sample(meta, raw, sink)? {
            return Ok(());
        }
        sink.record(meta, raw)
    }
}
