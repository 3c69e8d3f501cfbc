//! Prints thread, CPU, time, period and event.

use super::fields::{FieldSet, PID, TID};
use super::number;
use super::printer::{Head, Printer};
use chrono::{DateTime, Local};
use std::io::Write;

/// Width of the comm.
const COMM_WIDTH: usize = 16;

/// Width of the CPU.
const CPU_WIDTH: usize = 3;

/// Width of the seconds of a time.
const SECONDS_WIDTH: usize = 5;

/// Width of a period.
const PERIOD_WIDTH: usize = 10;

/// Width of `misc`.
const MISC_WIDTH: usize = 6;

/// Width of `flags`, which only traces of instructions have.
const FLAGS_WIDTH: usize = 24;

/// Name of the thread.
pub(super) fn comm(head: &Head<'_>, _: FieldSet, out: &mut Vec<u8>) {
    // The width is in bytes.
    let width = if head.has_chain { 0 } else { COMM_WIDTH };
    out.resize(out.len() + usize::saturating_sub(width, head.comm.len()), b' ');
    out.extend_from_slice(head.comm.as_bytes());
    out.push(b' ');
}

/// Process ID, and the thread ID if it is printed.
pub(super) fn pid(head: &Head<'_>, fields: FieldSet, out: &mut Vec<u8>) {
    let width = head.style.id_width();
    number::right(out, head.task.0 as i32, width);
    if fields.has(TID) {
        out.push(b'/');
        number::left(out, head.task.1 as i32, width);
    }
    out.push(b' ');
}

/// Thread ID, unless it is printed with the process ID.
pub(super) fn tid(head: &Head<'_>, fields: FieldSet, out: &mut Vec<u8>) {
    if !fields.has(PID) {
        number::right(out, head.task.1 as i32, head.style.id_width());
        out.push(b' ');
    }
}

/// CPU.
pub(super) fn cpu(head: &Head<'_>, _: FieldSet, out: &mut Vec<u8>) {
    out.push(b'[');
    number::zeros(out, head.cpu as i32, CPU_WIDTH);
    out.extend_from_slice(b"] ");
}

/// CPU mode and flags of the record.
pub(super) fn misc(head: &Head<'_>, _: FieldSet, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{:MISC_WIDTH$}", format!("{}{}", head.mode(), head.flags));
}

/// Time of day in the local time zone, as perf prints it.
pub(super) fn time_of_day(head: &Head<'_>, _: FieldSet, out: &mut Vec<u8>) {
    let Some(wall) = head.wall_clock(head.time) else { return out.extend_from_slice(b"disabled ") };
    let (seconds, nanoseconds) = ((wall / 1_000_000_000) as i64, (wall % 1_000_000_000) as u32);
    let time = DateTime::from_timestamp(seconds, nanoseconds).unwrap_or_default().with_timezone(&Local);
    let format = if head.is_exact { "%F %T%.9f " } else { "%F %T%.6f " };
    // Writing to a vector cannot fail.
    let _ = write!(out, "{}", time.format(format));
}

/// Time in seconds.
pub(super) fn time(head: &Head<'_>, _: FieldSet, out: &mut Vec<u8>) {
    let (seconds, nanoseconds) = (head.printed_time / 1_000_000_000, (head.printed_time % 1_000_000_000) as i32);
    number::right(out, seconds, SECONDS_WIDTH);
    out.push(b'.');
    match head.is_exact {
        true => number::zeros(out, nanoseconds, 9),
        false => number::zeros(out, nanoseconds / 1000, 6),
    }
    out.extend_from_slice(b": ");
}

/// Period.
pub(super) fn period(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let attr = &printer.sample.decoded.event.attr;
    number::right(out, printer.sample.period.unwrap_or(attr.sample_period), PERIOD_WIDTH);
    out.push(b' ');
}

/// Name of the event.
pub(super) fn event(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    // The width is in bytes.
    out.resize(out.len() + printer.longest_event - printer.event.len(), b' ');
    out.extend_from_slice(printer.event.as_bytes());
    out.extend_from_slice(b": ");
}

/// Flags of traced instructions, which samples do not have.
pub(super) fn flags(_: &mut Printer<'_>, out: &mut Vec<u8>) {
    let _ = write!(out, "{:FLAGS_WIDTH$}", "");
}
