//! Context switches, tracepoints and exits of threads, as events of ftrace on a CPU.

use super::packets::Packets;
use super::proto::generic_ftrace_event::Field;
use super::proto::{
    FtraceEvent, FtraceEventBundle, GenericFtraceEvent, SchedProcessFreeFtraceEvent, SchedSwitchFtraceEvent,
    SchedWakeupFtraceEvent, TracePacket,
};
use crate::formats::framework::tracks::{own_values, thread_name};
use crate::profile::Profile;
use crate::profile::labels::Label;
use crate::profile::timeline::{Switch, SwitchKind};
use hashbrown::HashMap;
use perf_data::error::Result;
use perf_data::session::thread_name::unnamed_thread;
use perf_data::tracepoint::tracepoints::Tracepoint;
use perf_data::tracepoint::value::FieldValue;
use std::collections::BTreeMap;

/// Events in a packet.
const BUNDLE: usize = 256;

/// Threads that can run, and that wait.
mod state {
    pub(super) const RUNNABLE: i64 = 0;
    pub(super) const SLEEPING: i64 = 1;
}

/// Events that are not yet written, by CPU.
struct Bundles<'p, 'a> {
    by_cpu: BTreeMap<u32, Vec<FtraceEvent>>,
    packets: &'p mut Packets<'a>,
}

impl Bundles<'_, '_> {
    fn add(&mut self, cpu: u32, event: FtraceEvent) -> Result<()> {
        let events = self.by_cpu.entry(cpu).or_default();
        events.push(event);
        if events.len() < BUNDLE { Ok(()) } else { self.write(cpu) }
    }

    fn write(&mut self, cpu: u32) -> Result<()> {
        let event = self.by_cpu.remove(&cpu).unwrap_or_default();
        let bundle = FtraceEventBundle { cpu: Some(cpu), event };
        self.packets.add_independent(None, TracePacket { ftrace_events: Some(bundle), ..TracePacket::default() })
    }

    fn finish(mut self) -> Result<()> {
        while let Some((&cpu, _)) = self.by_cpu.first_key_value() {
            self.write(cpu)?;
        }
        Ok(())
    }
}

/// Writes the events of a profile.
///
/// # Errors
/// Errors of the output.
pub(super) fn write(profile: &Profile, packets: &mut Packets<'_>) -> Result<()> {
    let mut bundles = Bundles { by_cpu: BTreeMap::new(), packets };
    let has_switches = profile.tables.timeline.switches.iter().any(|switch| switch.cpu.is_some());
    add_switches(profile, &mut bundles)?;
    // Switch records also say when a thread began to run. With them, the tracepoint is an event like others.
    add_tracepoints(profile, !has_switches, &mut bundles)?;
    add_exits(profile, &mut bundles)?;
    bundles.finish()
}

/// Adds the context switches with a CPU. Each record is about one thread; before and after it, the CPU is idle, unless another thread
/// began to run in between.
fn add_switches(profile: &Profile, bundles: &mut Bundles<'_, '_>) -> Result<()> {
    let tables = &*profile.tables;
    let by_id = tables.timeline.by_id();
    let mut running: HashMap<u32, (String, i32)> = HashMap::new();
    let idle = || (unnamed_thread(0).into_owned(), 0);
    for &Switch { time, cpu, pid, tid, kind } in &tables.timeline.switches {
        let Some(cpu) = cpu else { continue };
        let name = by_id.at(pid, tid, time).map(|thread| thread_name(tables, &tables.timeline.threads[thread]));
        let thread =
            if tid == 0 { idle() } else { (name.unwrap_or_else(|| unnamed_thread(tid).into_owned()), tid as i32) };
        // Not known of the first record of a CPU.
        let before = running.get(&cpu);
        let (prev, next, prev_state) = match kind {
            SwitchKind::In => (before.cloned().unwrap_or_else(idle), thread, state::RUNNABLE),
            _ if before.is_some_and(|before| before.1 != thread.1) => continue,
            SwitchKind::Out => (thread, idle(), state::SLEEPING),
            SwitchKind::Preempted => (thread, idle(), state::RUNNABLE),
        };
        running.insert(cpu, next.clone());
        if prev == next {
            continue;
        }
        let event = FtraceEvent {
            timestamp: Some(time),
            pid: Some(prev.1 as u32),
            sched_switch: Some(SchedSwitchFtraceEvent {
                prev_comm: Some(prev.0),
                prev_pid: Some(prev.1),
                prev_state: Some(prev_state),
                next_comm: Some(next.0),
                next_pid: Some(next.1),
                ..SchedSwitchFtraceEvent::default()
            }),
            ..FtraceEvent::default()
        };
        bundles.add(cpu, event)?;
    }
    Ok(())
}

fn add_tracepoints(profile: &Profile, has_slices: bool, bundles: &mut Bundles<'_, '_>) -> Result<()> {
    let tables = &*profile.tables;
    for (row, occurrence) in profile.rows.iter().zip(&profile.occurrences) {
        let Some(tracepoint) = tables.timeline.tracepoints.get(&row.event) else { continue };
        let payload = occurrence.payload.map_or(&[][..], |payload| tables.names.name(payload));
        let label = |label| tables.labels.value(row.labels, label).map(|number| number as u32);
        let event = FtraceEvent {
            timestamp: Some(occurrence.time),
            pid: Some(label(Label::Tid).unwrap_or(0)),
            ..tracepoint_event(tracepoint, payload, has_slices)
        };
        bundles.add(label(Label::Cpu).unwrap_or(0), event)?;
    }
    Ok(())
}

fn tracepoint_event(tracepoint: &Tracepoint, payload: &[u8], has_slices: bool) -> FtraceEvent {
    let find = |wanted: &str| own_values(tracepoint, payload).find(|(name, _)| *name == wanted).map(|(_, value)| value);
    let text = |name: &str| find(name).map(|value| value.to_string());
    let long = |name: &str| match find(name)? {
        FieldValue::Signed(number) => Some(number),
        FieldValue::Unsigned(number) => Some(number as i64),
        _ => None,
    };
    let int = |name: &str| long(name).map(|number| number as i32);
    let wakeup = || SchedWakeupFtraceEvent {
        comm: text("comm"),
        pid: int("pid"),
        prio: int("prio"),
        success: int("success"),
        target_cpu: int("target_cpu"),
    };
    let event = FtraceEvent::default();
    match (&*tracepoint.system, &*tracepoint.name) {
        ("sched", "sched_switch") if has_slices => FtraceEvent {
            sched_switch: Some(SchedSwitchFtraceEvent {
                prev_comm: text("prev_comm"),
                prev_pid: int("prev_pid"),
                prev_prio: int("prev_prio"),
                prev_state: long("prev_state"),
                next_comm: text("next_comm"),
                next_pid: int("next_pid"),
                next_prio: int("next_prio"),
            }),
            ..event
        },
        ("sched", "sched_wakeup") => FtraceEvent { sched_wakeup: Some(wakeup()), ..event },
        ("sched", "sched_waking") => FtraceEvent { sched_waking: Some(wakeup()), ..event },
        (_, name) => {
            let field = own_values(tracepoint, payload).map(|(name, value)| field(name, value)).collect();
            FtraceEvent { generic: Some(GenericFtraceEvent { event_name: Some(name.to_owned()), field }), ..event }
        }
    }
}

fn field(name: &str, value: FieldValue<'_>) -> Field {
    let field = Field { name: Some(name.to_owned()), ..Field::default() };
    match value {
        FieldValue::Signed(number) => Field { int_value: Some(number), ..field },
        FieldValue::Unsigned(number) | FieldValue::Pointer(number) => Field { uint_value: Some(number), ..field },
        other => Field { str_value: Some(other.to_string()), ..field },
    }
}

/// Adds the exits of threads, whose CPU is not recorded.
fn add_exits(profile: &Profile, bundles: &mut Bundles<'_, '_>) -> Result<()> {
    let tables = &*profile.tables;
    let exits = tables.timeline.threads.iter().filter_map(|thread| Some((thread, thread.end?)));
    for (thread, end) in exits {
        let exit = SchedProcessFreeFtraceEvent {
            comm: Some(thread_name(tables, thread)),
            pid: Some(thread.tid as i32),
            ..SchedProcessFreeFtraceEvent::default()
        };
        let (timestamp, pid) = (Some(end), Some(thread.tid));
        bundles.add(0, FtraceEvent { timestamp, pid, sched_process_free: Some(exit), ..FtraceEvent::default() })?;
    }
    Ok(())
}
