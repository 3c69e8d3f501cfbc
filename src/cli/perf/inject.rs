//! `perf inject`: build IDs, JIT symbols and sleep times, by `perfconv inject`.

use super::option::{Given, PerfOption, names};
use super::{Call, input};
use crate::cli::args::InjectArgs;
use crate::cli::failure::Failure;
use crate::cli::{convert, usage};
use clap::{Args, Command, FromArgMatches};
use std::ffi::OsString;
use std::process::ExitCode;

const GUESTS: &str = "perfconv reads recordings of one machine; use the real perf";
const KERNEL: &str = "kernel symbols are not needed; omit it";

/// The options of perf 6.1.
pub(super) const OPTIONS: &[PerfOption] = &[
    PerfOption::flag(names!("build-ids")).short('b'),
    PerfOption::flag(names!("force")).short('f'),
    PerfOption::value(names!("input")).short('i'),
    PerfOption::flag(names!("jit")).short('j'),
    PerfOption::value(names!("vmlinux")).short('k').refused(KERNEL),
    PerfOption::value(names!("output")).short('o'),
    PerfOption::flag(names!("sched-stat")).short('s'),
    PerfOption::flag(names!("verbose")).short('v'),
    PerfOption::flag(names!("buildid-all")),
    PerfOption::optional(names!("guest-data")).refused(GUESTS),
    PerfOption::value(names!("guestmount")).refused(GUESTS),
    PerfOption::flag(names!("ignore-vmlinux")).refused(KERNEL),
    PerfOption::optional(names!("itrace")),
    PerfOption::value(names!("kallsyms")).refused(KERNEL),
    PerfOption::value(names!("known-build-ids")),
    PerfOption::flag(names!("strip")),
    PerfOption::optional(names!("vm-time-correlation")).refused(GUESTS),
];

/// Options without a value that `perfconv inject` has under the same names.
const SAME_FLAGS: [&str; 6] = ["build-ids", "force", "jit", "sched-stat", "verbose", "buildid-all"];

/// Options with a value that `perfconv inject` has under the same names.
const SAME_VALUES: [&str; 3] = ["input", "output", "known-build-ids"];

/// Rewrites the recording.
///
/// # Errors
/// If the options are invalid, or the recording cannot be read or written.
pub(super) fn run(call: &Call<'_>) -> Result<ExitCode, Failure> {
    if let Some(operand) = call.given.operands().first() {
        return Err(Failure::Usage(format!("perf inject: unexpected argument '{}'", operand.display())));
    }
    if call.given.has("strip") && !call.given.has("itrace") {
        return Err(Failure::Usage("perf inject: --strip requires --itrace".to_owned()));
    }
    let parser = InjectArgs::augment_args(Command::new("perfconv").no_binary_name(true));
    let parsed = parser.try_get_matches_from(arguments(&call.given)?);
    let parsed = parsed.and_then(|matches| InjectArgs::from_arg_matches(&matches));
    let args = parsed.map_err(|error| Failure::Usage(usage::message(&error)))?;
    convert::rewrite(args.rewrite().map_err(Failure::Usage)?)
}

/// The arguments of `perfconv inject`.
///
/// # Errors
/// If the recording cannot be read.
fn arguments(given: &Given) -> Result<Vec<OsString>, Failure> {
    let mut arguments: Vec<OsString> =
        SAME_FLAGS.iter().filter(|flag| given.has(flag)).map(|flag| format!("--{flag}").into()).collect();
    for option in SAME_VALUES {
        if let Some(value) = given.value(option) {
            arguments.extend([format!("--{option}").into(), value]);
        }
    }
    if let Some(letters) = given.text("itrace")
        && input::may_have_trace(given)?
    {
        arguments.push(format!("--itrace={letters}").into());
        arguments.extend(given.has("strip").then(|| "--strip".into()));
    }
    Ok(arguments)
}
