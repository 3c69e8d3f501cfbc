//! Messages of tests: what they compared or skipped.

use std::fmt::Arguments;
use std::io::{self, Write};
use std::thread;

/// Prints a line about the current test on standard error, which the test harness does not capture.
macro_rules! note {
    ($($argument:tt)*) => { $crate::common::note::print_note(format_args!($($argument)*)) };
}

/// See [`note`].
pub(crate) fn print_note(line: Arguments<'_>) {
    let current = thread::current();
    let test = current.name().and_then(|name| name.split_once("::")).map_or("", |(_, test)| test);
    // In one piece: tests run in parallel.
    let text = format!("{test}: {line}\n");
    io::stderr().write_all(text.as_bytes()).expect("standard error should be writable");
}
