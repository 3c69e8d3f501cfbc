//! How threads were scheduled, as text, JSON and comma-separated values.

use super::json;
use super::style::{Style, line};
use super::threads::{comm, milliseconds, name, omitted};
use crate::profile::Profile;
use crate::profile::scheduling::{Delay, NamedThread, Scheduling, ThreadScheduling, Wakeups};
use crate::report::location::Locations;
use csv::Writer;
use perf_data::error::{Error, Result};
use perf_data::printable;
use perf_data::stream::ledger::counted;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::{self, Write};

/// Number of functions that are shown of the stack of a delay, from the innermost.
const MAX_FUNCTIONS: usize = 3;

/// Tables of threads and wakeups, with at most `limit` lines each.
pub(super) fn text(
    profile: &Profile,
    scheduling: &Scheduling,
    locations: &Locations,
    limit: usize,
    style: Style,
) -> String {
    let Scheduling { threads, wakeups, times, has_states } = scheduling;
    let running = threads.iter().map(|thread| thread.running).sum();
    let (first, last) = times.unwrap_or_default();
    let mut text = String::new();
    let ran = counted(threads.len() as u64, "thread");
    let heading = format!("{ran}: {} ms on the CPU in {} ms", milliseconds(running), milliseconds(last - first));
    line!(text, "{}", style.heading(&heading));
    line!(
        text,
        "  running ms   blocked ms  uninterruptible  preempted ms   delayed ms  switches   worst delay ms at s  thread"
    );
    for thread in threads.iter().take(limit) {
        let times = [thread.running, thread.blocked, thread.uninterruptible, thread.preempted, thread.delayed];
        let [running, blocked, uninterruptible, preempted, delayed] = times.map(milliseconds);
        let recorded = |time, is_recorded: bool| if is_recorded { time } else { "-".to_owned() };
        let uninterruptible = recorded(uninterruptible, *has_states);
        // Without wakeups, it is not known since when a thread could run.
        let delayed = recorded(delayed, !wakeups.is_empty());
        let delay = thread.worst_delay.map_or((String::new(), String::new()), |delay| {
            (format!("{} {}", milliseconds(delay.duration), seconds(delay.end)), stack(profile, locations, delay))
        });
        line!(
            text,
            "{running:>12} {blocked:>12} {uninterruptible:>16} {preempted:>13} {delayed:>12} {:>9} {:>21}  {}{}",
            thread.switches,
            delay.0,
            name(profile, thread.comm, thread.pid, thread.tid),
            delay.1
        );
    }
    omitted(threads.len(), limit, &mut text);
    if wakeups.is_empty() {
        return text;
    }
    line!(text, "");
    line!(text, "{}", style.heading("who woke whom"));
    line!(text, "   wakeups  threads");
    for Wakeups { waker, woken, count } in wakeups.iter().take(limit) {
        let named = |thread: &NamedThread| name(profile, thread.comm, thread.pid, thread.tid);
        let waker = waker.as_ref().map_or_else(|| "[interrupt of an idle CPU]".to_owned(), named);
        line!(text, "{count:>10}  {waker} -> {}", named(woken));
    }
    omitted(wakeups.len(), limit, &mut text);
    text
}

/// Writes one object with an entry for each thread, and the wakeups, with times in nanoseconds; those that are not recorded are null.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_json(profile: &Profile, scheduling: &Scheduling, limit: usize, out: &mut dyn Write) -> Result<()> {
    let Scheduling { threads, wakeups, times, has_states } = scheduling;
    let threads = threads.iter().take(limit).map(|thread| {
        let worst = thread.worst_delay.map(|delay| json!({ "ns": delay.duration, "end": delay.end }));
        json!({
            "comm": comm(profile, thread.comm),
            "pid": thread.pid,
            "tid": thread.tid,
            "switches": thread.switches,
            "running_ns": thread.running,
            "blocked_ns": thread.blocked,
            "uninterruptible_ns": has_states.then_some(thread.uninterruptible),
            "preempted_ns": thread.preempted,
            "delayed_ns": (!wakeups.is_empty()).then_some(thread.delayed),
            "worst_delay": worst,
        })
    });
    let threads = Value::from(threads.collect::<Vec<_>>());
    let wakeups = wakeups.iter().take(limit);
    let wakeups = wakeups.map(|Wakeups { waker, woken, count }| {
        let waker = waker.map_or(0, |waker| waker.tid);
        json!({ "waker": waker, "woken": woken.tid, "count": count })
    });
    let mut object = json::end(profile, Vec::new());
    object.remove("events");
    object.insert("entries".to_owned(), threads);
    object.insert("wakeups".to_owned(), wakeups.collect::<Vec<_>>().into());
    object.insert("duration_ns".to_owned(), times.map(|(first, last)| last - first).into());
    writeln!(out, "{}", Value::from(object)).map_err(Error::Output)
}

/// Writes a line for each thread, with times in nanoseconds.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_csv(profile: &Profile, scheduling: &Scheduling, limit: usize, out: &mut dyn Write) -> Result<()> {
    let failed = |error: csv::Error| Error::Output(io::Error::other(error));
    let mut table = Writer::from_writer(out);
    let columns = [
        "comm",
        "pid",
        "tid",
        "switches",
        "running_ns",
        "blocked_ns",
        "uninterruptible_ns",
        "preempted_ns",
        "delayed_ns",
        "worst_delay_ns",
        "worst_delay_end_ns",
    ];
    table.write_record(columns).map_err(failed)?;
    for thread in scheduling.threads.iter().take(limit) {
        let ThreadScheduling { pid, tid, switches, running, .. } = *thread;
        let ThreadScheduling { blocked, uninterruptible, preempted, delayed, worst_delay, .. } = *thread;
        let comm = comm(profile, thread.comm).map_or_else(String::new, Cow::into_owned);
        let numbers =
            [switches, running, blocked, uninterruptible, preempted, delayed].map(|number| number.to_string());
        let delay = [worst_delay.map(|delay| delay.duration), worst_delay.map(|delay| delay.end)];
        let delay = delay.map(|number| number.map_or_else(String::new, |number| number.to_string()));
        let cells = [comm, pid.to_string(), tid.to_string()].into_iter().chain(numbers).chain(delay);
        table.write_record(cells).map_err(failed)?;
    }
    table.flush().map_err(Error::Output)
}

/// The innermost functions of the stack with which a delayed thread had stopped running.
fn stack(profile: &Profile, locations: &Locations, delay: Delay) -> String {
    let Some(stack) = delay.stack else { return String::new() };
    let frames = locations.stack_locations(profile.tables.stacks.stack(stack));
    let functions = frames.map(|location| locations.text(locations.get(location).function));
    let functions: Vec<_> = functions.take(MAX_FUNCTIONS).map(|name| printable::name(&name).into_owned()).collect();
    format!("  in {}", functions.join(" < "))
}

fn seconds(nanoseconds: u64) -> String {
    format!("{}.{:06}", nanoseconds / 1_000_000_000, nanoseconds / 1000 % 1_000_000)
}
