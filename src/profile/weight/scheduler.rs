//! Context switches and wakeups, from switch records and from samples of the scheduler's tracepoints.

use super::event_roles::EventRoles;
use super::number::NumberField;
use perf_data::abi::attr::AttrType;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::{Misc, RecordType};
use perf_data::abi::sample::view::SampleView;
use perf_data::stream::event_name::event_name;
use perf_data::stream::events::{Event, EventIndex};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::simpleperf_events;
use perf_data::tracepoint::tracepoints::Tracepoint;

/// Why a thread stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StopReason {
    /// It waits, and a signal can interrupt it.
    Blocked,
    /// It waits uninterruptibly, mostly for I/O.
    Uninterruptible,
    /// It could run, but another thread does.
    Preempted,
    /// It has exited.
    Exited,
    /// It waits or has been preempted: switch records of an old or unknown kernel do not distinguish these.
    Unknown,
}

impl StopReason {
    /// Text of the label `state`.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Uninterruptible => "uninterruptible",
            Self::Preempted => "preempted",
            Self::Exited => "exited",
            Self::Unknown => "unknown",
        }
    }

    /// By `prev_state` of `sched_switch`: bits of the kernel's `TASK_REPORT`, and one above them for a preempted thread, which moved
    /// from bit 10 to bit 8 in Linux 4.14.
    fn from_task_state(state: i64) -> Self {
        const UNINTERRUPTIBLE: i64 = 0x02;
        const REPORTED: i64 = 0xff;
        /// EXIT_DEAD and EXIT_ZOMBIE. TASK_DEAD of Linux before 4.14 is the TASK_PARKED of later ones.
        const EXITED: i64 = 0x10 | 0x20;
        match state & REPORTED {
            0 => Self::Preempted,
            state if state & EXITED != 0 => Self::Exited,
            state if state & UNINTERRUPTIBLE != 0 => Self::Uninterruptible,
            _ => Self::Blocked,
        }
    }
}

/// What recorded a switch. Recordings with both have each switch twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SwitchSource {
    Record,
    Tracepoint,
}

/// A context switch, as far as one record describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContextSwitch {
    pub time: u64,
    pub cpu: Option<u32>,
    pub source: SwitchSource,
    /// The thread that stopped.
    pub stopped: Option<(u32, StopReason)>,
    /// The thread that began to run.
    pub started: Option<u32>,
}

/// What a sample says about threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchedulerEvent {
    Switch(ContextSwitch),
    /// This thread was made runnable by the one that is sampled.
    Wakeup {
        woken: u32,
    },
}

/// Fields of a tracepoint of the scheduler.
#[derive(Debug)]
enum Role {
    Switch(Box<SwitchFields>),
    Wakeup {
        pid: NumberField,
        /// Whether it is `sched_wakeup`, which follows `sched_waking`.
        is_second: bool,
    },
    /// The sampled thread stops running. Its samples are without a format in recordings of simpleperf.
    Stop,
}

/// Fields of `sched_switch`.
#[derive(Debug)]
struct SwitchFields {
    prev_pid: NumberField,
    prev_state: NumberField,
    next_pid: NumberField,
}

/// Decodes context switches and wakeups.
#[derive(Debug, Default)]
pub(crate) struct SchedulerEvents {
    roles: EventRoles<Role>,
    /// Whether the recording has `sched_switch` with its format.
    pub has_tracepoint: bool,
    /// Whether it has waits that were recorded as such, of `perf record --off-cpu`.
    pub has_waits: bool,
    /// Whether it has switch records.
    pub has_records: bool,
    has_waking: bool,
    /// See [`marks_preemption`].
    marks_preemption: Option<bool>,
    /// Whether some of these are of all threads of a CPU.
    pub is_cpu_wide: bool,
    /// Whether nothing but the next sample of a thread shows that it runs again: simpleperf records no switches in.
    pub ends_with_samples: bool,
}

impl SchedulerEvents {
    /// Decodes a switch record.
    pub(crate) fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<(ContextSwitch, (u32, u32))> {
        let (_, trailer) = meta.events.split(raw);
        let trailer = trailer?;
        let ((pid, tid), time) = (trailer.task?, trailer.time?);
        self.has_records = true;
        self.is_cpu_wide |= raw.header().kind == RecordType::SWITCH_CPU_WIDE;
        let misc = raw.header().misc;
        let stopped = misc.contains(Misc::SWITCH_OUT).then_some(match misc.contains(Misc::SWITCH_OUT_PREEMPT) {
            true => StopReason::Preempted,
            false if *self.marks_preemption.get_or_insert_with(|| marks_preemption(meta)) => StopReason::Blocked,
            false => StopReason::Unknown,
        });
        let switch = ContextSwitch {
            time,
            cpu: trailer.cpu.map(|(cpu, _)| cpu),
            source: SwitchSource::Record,
            stopped: stopped.map(|reason| (tid, reason)),
            started: stopped.is_none().then_some(tid),
        };
        Some((switch, (pid, tid)))
    }

    /// Decodes a sample, if it is of a tracepoint of the scheduler.
    pub(crate) fn sample(&mut self, meta: &Meta, index: EventIndex, view: &SampleView<'_>) -> Option<SchedulerEvent> {
        self.update(meta);
        let role = self.roles.get(index)?;
        if matches!(role, Role::Stop) {
            return Some(SchedulerEvent::Switch(ContextSwitch {
                time: view.time?,
                cpu: view.cpu.map(|(cpu, _)| cpu),
                source: SwitchSource::Tracepoint,
                stopped: view.task.map(|(_, tid)| (tid, StopReason::Unknown)),
                started: None,
            }));
        }
        let (payload, tid) = (view.raw?, |field: &NumberField, payload| field.read(payload).map(|tid| tid as u32));
        Some(match role {
            Role::Switch(fields) => {
                let SwitchFields { prev_pid, prev_state, next_pid } = &**fields;
                let reason = prev_state.read(payload).map_or(StopReason::Unknown, StopReason::from_task_state);
                SchedulerEvent::Switch(ContextSwitch {
                    time: view.time?,
                    cpu: view.cpu.map(|(cpu, _)| cpu),
                    source: SwitchSource::Tracepoint,
                    stopped: tid(prev_pid, payload).map(|tid| (tid, reason)),
                    started: tid(next_pid, payload),
                })
            }
            // On the CPU of the woken thread, later, if that is another: sched_waking has the thread that wakes it.
            Role::Wakeup { is_second: true, .. } if self.has_waking => return None,
            Role::Wakeup { pid, .. } => SchedulerEvent::Wakeup { woken: tid(pid, payload)? },
            Role::Stop => return None,
        })
    }

    /// Whether the stacks of an event's samples are those of threads that stop running.
    pub(crate) fn is_switch(&self, index: EventIndex) -> bool {
        matches!(self.roles.get(index), Some(Role::Switch(_) | Role::Stop))
    }

    /// See [`EventRoles::sampling`].
    pub(crate) fn sampling(&self) -> Option<String> {
        self.roles.sampling()
    }

    /// Determines the roles of events that were not seen before.
    #[inline]
    pub(crate) fn update(&mut self, meta: &Meta) {
        let Self { roles, has_tracepoint, has_waits, has_waking, ends_with_samples, .. } = self;
        roles.update(meta, |event, tracepoint| {
            let meta_info = meta.features.get(&simpleperf_events::META_INFO);
            *ends_with_samples = meta_info.is_some_and(|meta_info| simpleperf_events::traces_off_cpu(meta_info));
            *has_waits |= event.is_off_cpu();
            *has_waking |= event_name(event).starts_with("sched:sched_waking");
            let role = role(event, tracepoint, *ends_with_samples);
            *has_tracepoint |= matches!(role, Some(Role::Switch(_) | Role::Stop));
            role
        });
    }
}

/// What an event says about threads.
fn role(event: &Event, tracepoint: Option<&Tracepoint>, ends_with_samples: bool) -> Option<Role> {
    if event.attr.kind != AttrType::TRACEPOINT {
        return None;
    }
    let name = event_name(event);
    if ends_with_samples && name == "sched:sched_switch" {
        return Some(Role::Stop);
    }
    let field = |name| NumberField::new(tracepoint?, name);
    // perf may have added modifiers.
    match name.strip_prefix("sched:")?.split(':').next()? {
        "sched_switch" => Some(Role::Switch(Box::new(SwitchFields {
            prev_pid: field("prev_pid")?,
            prev_state: field("prev_state")?,
            next_pid: field("next_pid")?,
        }))),
        name @ ("sched_wakeup" | "sched_wakeup_new" | "sched_waking") => {
            Some(Role::Wakeup { pid: field("pid")?, is_second: name == "sched_wakeup" })
        }
        _ => None,
    }
}

/// Whether the kernel marks the switch records of preempted threads, which it does since Linux 4.17.
fn marks_preemption(meta: &Meta) -> bool {
    let release = meta.string(FeatureId::OSRELEASE).unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(4), Some(17))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_old_and_new_kernels() {
        use StopReason::{Blocked, Exited, Preempted, Uninterruptible};
        for (state, reason) in [
            (0, Preempted),
            (0x100, Preempted),
            (0x400, Preempted),
            (1, Blocked),
            (2, Uninterruptible),
            // TASK_KILLABLE, and TASK_IDLE.
            (0x82, Uninterruptible),
            (0x80, Blocked),
            (0x20, Exited),
            (4, Blocked),
        ] {
            assert_eq!(StopReason::from_task_state(state), reason, "{state:#x}");
        }
    }
}
