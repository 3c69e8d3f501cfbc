//! System calls of threads, as text, JSON and comma-separated values.

use super::json;
use super::style::{Style, line};
use super::threads::{comm, microseconds, milliseconds, name, omitted};
use crate::profile::Profile;
use crate::profile::syscalls::{CallTimes, SyscallTimes, Syscalls, ThreadSyscalls};
use csv::Writer;
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::counted;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::{self, Write};

/// A table for each thread; at most `limit` threads, and as many system calls of each.
pub(super) fn text(profile: &Profile, syscalls: &Syscalls, limit: usize, style: Style) -> String {
    let mut text = String::new();
    for thread in syscalls.threads.iter().take(limit) {
        let ThreadSyscalls { pid, tid, calls, .. } = thread;
        let count = counted(calls.iter().map(|call| call.calls).sum(), "system call");
        let heading =
            format!("{}: {count}, {} ms", name(profile, thread.comm, *pid, *tid), milliseconds(thread.total()));
        line!(text, "{}", style.heading(&heading));
        line!(text, "     calls   errors     total us       min us      mean us       max us      +-%  system call");
        for SyscallTimes { name, calls, errors, times } in calls.iter().take(limit) {
            // Times of calls that began before the recording are not known.
            let time = |time| if times.count > 0 { microseconds(time) } else { "-".to_owned() };
            let [total, min, max] = [times.total, times.min, times.max].map(time);
            let mean = time(times.mean().unwrap_or(0));
            let error = times.error_percent();
            line!(text, "{calls:>10} {errors:>8} {total:>12} {min:>12} {mean:>12} {max:>12} {error:>8.2}  {name}");
        }
        omitted(calls.len(), limit, &mut text);
        line!(text, "");
    }
    omitted(syscalls.threads.len(), limit, &mut text);
    text.truncate(text.trim_end_matches('\n').len() + 1);
    text
}

/// Writes one object with an entry for each system call of each thread, with times in nanoseconds; those that are not recorded are
/// null.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_json(profile: &Profile, syscalls: &Syscalls, limit: usize, out: &mut dyn Write) -> Result<()> {
    let entries = rows(syscalls, limit).map(|(thread, call)| {
        let SyscallTimes { name, calls, errors, times } = call;
        let CallTimes { total, min, max, .. } = *times;
        let time = |time: u64| (times.count > 0).then_some(time);
        json!({
            "comm": comm(profile, thread.comm),
            "pid": thread.pid,
            "tid": thread.tid,
            "syscall": name,
            "calls": calls,
            "errors": errors,
            "total_ns": time(total),
            "min_ns": time(min),
            "mean_ns": times.mean(),
            "max_ns": time(max),
        })
    });
    let entries: Vec<Value> = entries.collect();
    let mut object = json::end(profile, Vec::new());
    object.remove("events");
    object.insert("entries".to_owned(), entries.into());
    writeln!(out, "{}", Value::from(object)).map_err(Error::Output)
}

/// Writes a line for each system call of each thread, with times in nanoseconds.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_csv(profile: &Profile, syscalls: &Syscalls, limit: usize, out: &mut dyn Write) -> Result<()> {
    let failed = |error: csv::Error| Error::Output(io::Error::other(error));
    let mut table = Writer::from_writer(out);
    let columns = ["comm", "pid", "tid", "syscall", "calls", "errors", "total_ns", "min_ns", "mean_ns", "max_ns"];
    table.write_record(columns).map_err(failed)?;
    for (thread, SyscallTimes { name, calls, errors, times }) in rows(syscalls, limit) {
        let comm = comm(profile, thread.comm).map_or_else(String::new, Cow::into_owned);
        let measured = [times.total, times.min, times.mean().unwrap_or(0), times.max];
        let measured = measured.map(|time| if times.count > 0 { time.to_string() } else { String::new() });
        let ids = [comm, thread.pid.to_string(), thread.tid.to_string(), name.clone()];
        let counts = [calls, errors].map(|count| count.to_string());
        table.write_record(ids.into_iter().chain(counts).chain(measured)).map_err(failed)?;
    }
    table.flush().map_err(Error::Output)
}

/// The system calls of at most `limit` threads.
fn rows(syscalls: &Syscalls, limit: usize) -> impl Iterator<Item = (&ThreadSyscalls, &SyscallTimes)> {
    let threads = syscalls.threads.iter().take(limit);
    threads.flat_map(|thread| thread.calls.iter().map(move |call| (thread, call)))
}
