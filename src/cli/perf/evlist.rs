//! `perf evlist`: the events of a recording.

use super::option::{PerfOption, names};
use super::{Call, input};
use crate::cli::failure::Failure;
use crate::cli::output;
use crate::cli::report::printable_line;
use perf_data::abi::attr::AttrType;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::stream::meta::Meta;
use perfconv::inspect::info::events::EventNames;
use perfconv::inspect::info::{Parts, events};
use std::process::ExitCode;

/// The options of perf 6.1.
pub(super) const OPTIONS: &[PerfOption] = &[
    PerfOption::flag(names!("force")).short('f'),
    PerfOption::flag(names!("freq")).short('F'),
    PerfOption::flag(names!("group")).short('g'),
    PerfOption::value(names!("input")).short('i'),
    PerfOption::flag(names!("verbose")).short('v'),
    PerfOption::flag(names!("trace-fields")).refused("'perf script' prints the fields with their values"),
];

/// Prints the events.
///
/// # Errors
/// If the options conflict, or the recording cannot be read.
pub(super) fn run(call: &Call<'_>) -> Result<ExitCode, Failure> {
    let given = &call.given;
    let (is_verbose, has_frequency, is_grouped) = (given.has("verbose"), given.has("freq"), given.has("group"));
    if is_grouped && (is_verbose || has_frequency) {
        return Err(Failure::Usage("perf evlist: --group cannot be used with --verbose or --freq".to_owned()));
    }
    let info = input::info(&input::path(given), Parts { events: true, ..Parts::default() })?;
    let meta = &info.meta;
    let mut lines = match (is_verbose, is_grouped) {
        (true, _) => events::lines(meta, EventNames::Perf),
        (_, true) => events::groups(meta, EventNames::Perf),
        (false, false) => names(meta, has_frequency),
    };
    if meta.events.list().iter().any(|event| event.attr.kind == AttrType::TRACEPOINT) {
        lines.push("# Tip: use 'perf evlist --trace-fields' to show fields for tracepoint events".to_owned());
    }
    let text: String = lines.iter().map(|line| printable_line(line) + "\n").collect();
    output::print(text.as_bytes())?;
    info.failure.map_or(Ok(ExitCode::SUCCESS), |error| Err(error.into()))
}

/// The names of the events, with their frequency or period if it is asked for.
fn names(meta: &Meta, has_frequency: bool) -> Vec<String> {
    let line = |event: events::EventInfo<'_>| {
        let term = if event.attr.flags.contains(AttrFlags::FREQ) { "sample_freq" } else { "sample_period" };
        let frequency = if has_frequency { format!(": {term}={}", event.attr.sample_period) } else { String::new() };
        event.name + &frequency
    };
    events::events(meta, EventNames::Perf).into_iter().map(line).collect()
}
