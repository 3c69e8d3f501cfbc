//! Pairs the entries and exits of system calls.

use super::names::syscall_name;
use super::{CallTimes, SyscallTimes, Syscalls, ThreadSyscalls};
use crate::profile::weight::event_roles::EventRoles;
use crate::profile::weight::number::NumberField;
use hashbrown::HashMap;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::sample::view::SampleView;
use perf_data::error::{Error, Result};
use perf_data::session::Session;
use perf_data::stream::event_name::event_name;
use perf_data::stream::events::{Event, EventIndex};
use perf_data::stream::ledger::{Ledger, counted};
use perf_data::stream::meta::Meta;
use perf_data::tracepoint::tracepoints::Tracepoint;
use std::cmp::Reverse;

/// Measures system calls. Memory depends on the number of threads, and of the system calls that each uses.
#[derive(Debug, Default)]
pub(crate) struct SyscallCollector {
    roles: EventRoles<Role>,
    /// Names of the system calls that events are about.
    names: Vec<String>,
    threads: HashMap<u32, Thread>,
    counts: UnpairedCounts,
}

/// What an event says of a system call.
#[derive(Debug)]
struct Role {
    is_entry: bool,
    syscall: SyscallOfEvent,
    /// What an exit returns.
    result: Option<NumberField>,
}

/// The system call that an event is about.
#[derive(Debug)]
enum SyscallOfEvent {
    /// The one with the number in this field: `raw_syscalls`.
    Number(NumberField),
    /// The one of this name, as a number that no system call has.
    Name(i64),
}

/// The system calls of a thread.
#[derive(Debug, Default)]
struct Thread {
    pid: u32,
    /// The system call that it is in, with the time of the entry.
    entered: Option<(i64, u64)>,
    calls: HashMap<i64, Calls>,
}

/// Calls of one system call.
#[derive(Debug, Default)]
struct Calls {
    calls: u64,
    errors: u64,
    times: CallTimes,
}

/// Entries and exits that do not belong together.
#[derive(Debug, Default)]
struct UnpairedCounts {
    entries: u64,
    exits: u64,
    unreadable: u64,
}

/// The highest error number that the kernel returns.
const MAX_ERRNO: i64 = 4095;

impl SyscallCollector {
    /// Uses a sample; returns whether it is of a system call.
    pub(crate) fn sample(&mut self, meta: &Meta, index: EventIndex, view: &SampleView<'_>) -> bool {
        self.update(meta);
        let Some(role) = self.roles.get(index) else { return false };
        let number = match &role.syscall {
            SyscallOfEvent::Number(field) => view.raw.and_then(|payload| field.read(payload)),
            SyscallOfEvent::Name(number) => Some(*number),
        };
        let (Some(number), Some((pid, tid)), Some(time)) = (number, view.task, view.time) else {
            self.counts.unreadable += 1;
            return true;
        };
        let thread = self.threads.entry(tid).or_default();
        thread.pid = pid;
        let entered = thread.entered.take();
        if role.is_entry {
            self.counts.entries += u64::from(entered.is_some());
            thread.entered = Some((number, time));
            return true;
        }
        let calls = thread.calls.entry(number).or_default();
        calls.calls += 1;
        let result = role.result.as_ref().zip(view.raw).and_then(|(field, payload)| field.read(payload));
        calls.errors += u64::from(result.is_some_and(|result| (-MAX_ERRNO..0).contains(&result)));
        match entered {
            Some((entered, since)) if entered == number && since <= time => calls.times.add(time - since),
            _ => self.counts.exits += 1,
        }
        true
    }

    fn update(&mut self, meta: &Meta) {
        let Self { roles, names, .. } = self;
        roles.update(meta, |event, tracepoint| role(event, tracepoint?, names));
    }

    /// The result; adds messages to the ledger.
    ///
    /// # Errors
    /// If the recording has no exits of system calls.
    pub(crate) fn finish(mut self, meta: &Meta, session: &Session, ledger: &mut Ledger) -> Result<Syscalls> {
        self.update(meta);
        if !self.roles.iter().any(|role| !role.is_entry) && !meta.events.list().is_empty() {
            let problem = "the recording does not show when system calls return; record with 'perf trace record', or with \
                           'perf record -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit'";
            return Err(Error::input(&meta.files[0], None, problem.to_owned()));
        }
        let UnpairedCounts { entries, exits, unreadable } = self.counts;
        let open = self.threads.values().filter(|thread| thread.entered.is_some()).count() as u64;
        let unpaired = [
            (exits, "began before the recording, or while events were lost, and have no time"),
            (entries + open, "did not return in the recording, or while events were lost, and are not counted"),
        ];
        for (count, problem) in unpaired.into_iter().filter(|(count, _)| *count > 0) {
            ledger.change(format!("system calls: {count} {problem}"));
        }
        if unreadable > 0 {
            let samples = counted(unreadable, "sample");
            ledger.note(format!("system calls: {samples} without a thread, a time or the number of the call"));
        }
        self.roles.sampling().into_iter().for_each(|warning| ledger.note(warning));
        let machine = meta.string(FeatureId::ARCH).unwrap_or_default();
        let name = |number: i64| match usize::try_from(-1 - number) {
            Ok(index) => self.names.get(index).cloned().unwrap_or_default(),
            Err(_) => syscall_name(&machine, number).map_or_else(|| number.to_string(), str::to_owned),
        };
        let threads = self.threads.iter().map(|(&tid, thread)| {
            let calls = thread.calls.iter();
            let mut calls: Vec<_> = calls
                .map(|(&number, &Calls { calls, errors, times })| SyscallTimes {
                    name: name(number),
                    calls,
                    errors,
                    times,
                })
                .collect();
            calls.sort_by(|a, b| (b.times.total, b.calls, &a.name).cmp(&(a.times.total, a.calls, &b.name)));
            let comm = session.thread(tid).and_then(|thread| thread.comm);
            ThreadSyscalls { pid: thread.pid, tid, comm, calls }
        });
        let mut threads: Vec<_> = threads.filter(|thread| !thread.calls.is_empty()).collect();
        threads.sort_by_key(|thread| (Reverse(thread.total()), thread.tid));
        Ok(Syscalls { threads })
    }
}

/// What an event says of a system call; its name, if it has no number, is added to those of others.
fn role(event: &Event, tracepoint: &Tracepoint, names: &mut Vec<String>) -> Option<Role> {
    let name = event_name(event);
    let (group, name) = name.split_once(':')?;
    // perf may have added modifiers.
    let name = name.split(':').next()?;
    let (is_entry, name) = match (name.strip_prefix("sys_enter"), name.strip_prefix("sys_exit")) {
        (Some(name), _) => (true, name),
        (None, Some(name)) => (false, name),
        (None, None) => return None,
    };
    let field = |name| NumberField::new(tracepoint, name);
    let syscall = match (group, name.strip_prefix('_')) {
        ("raw_syscalls", None) => SyscallOfEvent::Number(field("id")?),
        ("syscalls", Some(name)) => SyscallOfEvent::Name(number_of_name(name, names)),
        _ => return None,
    };
    Some(Role { is_entry, syscall, result: field("ret") })
}

/// The number that stands for a name: that of no system call.
fn number_of_name(name: &str, names: &mut Vec<String>) -> i64 {
    let index = names.iter().position(|other| other == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    -1 - index as i64
}
