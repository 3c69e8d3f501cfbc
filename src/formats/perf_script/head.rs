//! Prints thread, CPU, time, period and event.

use super::fields::{FieldSet, PID, TID};
use super::printer::{Head, Printer};
use std::io::Write;

/// Width of the comm.
const COMM_WIDTH: usize = 16;

/// Width of `misc`.
const MISC_WIDTH: usize = 6;

/// Width of `flags`, which only traces of instructions have.
const FLAGS_WIDTH: usize = 24;

/// Name of the thread.
pub fn comm(head: &Head<'_>, _: FieldSet, out: &mut Vec<u8>) {
    // The width is in bytes.
    let width = if head.has_chain { 0 } else { COMM_WIDTH };
    out.resize(out.len() + usize::saturating_sub(width, head.comm.len()), b' ');
    out.extend_from_slice(head.comm.as_bytes());
    out.push(b' ');
}

/// Process ID, and the thread ID if it is printed.
pub fn pid(head: &Head<'_>, fields: FieldSet, out: &mut Vec<u8>) {
    let width = head.style.id_width();
    // Writing to a vector cannot fail.
    let _ = write!(out, "{:width$}", head.task.0 as i32);
    let _ = if fields.has(TID) { write!(out, "/{:<width$} ", head.task.1 as i32) } else { write!(out, " ") };
}

/// Thread ID, unless it is printed with the process ID.
pub fn tid(head: &Head<'_>, fields: FieldSet, out: &mut Vec<u8>) {
    if !fields.has(PID) {
        let width = head.style.id_width();
        let _ = write!(out, "{:width$} ", head.task.1 as i32);
    }
}

/// CPU.
pub fn cpu(head: &Head<'_>, _: FieldSet, out: &mut Vec<u8>) {
    let _ = write!(out, "[{:03}] ", head.cpu as i32);
}

/// CPU mode and flags of the record.
pub fn misc(head: &Head<'_>, _: FieldSet, out: &mut Vec<u8>) {
    let _ = write!(out, "{:MISC_WIDTH$}", format!("{}{}", head.mode(), head.flags));
}

/// Time in seconds.
pub fn time(head: &Head<'_>, _: FieldSet, out: &mut Vec<u8>) {
    let (seconds, nanoseconds) = (head.time / 1_000_000_000, head.time % 1_000_000_000);
    let _ = match head.is_exact {
        true => write!(out, "{seconds:5}.{nanoseconds:09}: "),
        false => write!(out, "{seconds:5}.{:06}: ", nanoseconds / 1000),
    };
}

/// Period.
pub fn period(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let attr = &printer.sample.decoded.event.attr;
    let _ = write!(out, "{:10} ", printer.sample.period.unwrap_or(attr.sample_period));
}

/// Name of the event.
pub fn event(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(printer.event.as_bytes());
    out.extend_from_slice(b": ");
}

/// Flags of traced instructions, which samples do not have.
pub fn flags(_: &mut Printer<'_>, out: &mut Vec<u8>) {
    let _ = write!(out, "{:FLAGS_WIDTH$}", "");
}
