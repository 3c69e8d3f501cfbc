//! Reports as comma-separated values.

use super::{Settings, spans};
use crate::profile::Profile;
use crate::report::Usage;
use crate::report::comparison::Comparison;
use crate::report::location::Locations;
use csv::Writer;
use perf_data::error::{Error, Result};
use std::io::{self, Write};

/// Columns with counts.
const COUNTS: [&str; 4] = ["total_samples", "total_value", "self_samples", "self_value"];

/// Writes a line for each entry: the event, its keys, samples and values of the entry in total and by itself, and how long its spans
/// are.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write(profile: &Profile, locations: &Locations, settings: &Settings, out: &mut dyn Write) -> Result<()> {
    let failed = |error: csv::Error| Error::Output(io::Error::other(error));
    let mut table = Writer::from_writer(out);
    let keys = settings.keys.iter().map(|key| key.name());
    let lengths = if profile.has_lengths() { &spans::CSV[..] } else { &[] };
    let columns = ["of_event"].into_iter().chain(keys).chain(COUNTS).chain(lengths.iter().copied());
    table.write_record(columns).map_err(failed)?;
    for top in settings.lists(profile, locations) {
        for entry in settings.entries(&top) {
            let (total, own) = (entry.usage.total, entry.usage.own);
            let counts = [total.samples, total.value, own.samples, own.value].into_iter();
            let lengths = entry.lengths.iter().flat_map(|lengths| spans::numbers(lengths));
            let counts: Vec<_> = counts.chain(lengths).map(|count| count.to_string()).collect();
            let event = &*profile.tables.events[entry.event as usize].name;
            let cells = entry.cells.iter().map(|cell| &**cell).chain(counts.iter().map(String::as_str));
            table.write_record([event].into_iter().chain(cells)).map_err(failed)?;
        }
    }
    table.flush().map_err(Error::Output)
}

/// Writes a line for each entry of comparisons: the event, its keys, samples and values before and after, the change of the share in
/// percentage points, and how much of it can be noise.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_comparisons(
    profile: &Profile,
    comparisons: &[Comparison],
    settings: &Settings,
    out: &mut dyn Write,
) -> Result<()> {
    let failed = |error: csv::Error| Error::Output(io::Error::other(error));
    let mut table = Writer::from_writer(out);
    let keys = settings.keys.iter().map(|key| key.name());
    let counts = ["before", "after"].into_iter().flat_map(|side| COUNTS.map(|count| format!("{side}_{count}")));
    let counts: Vec<_> = counts.chain(["change", "noise"].map(str::to_owned)).collect();
    table
        .write_record(["of_event"].into_iter().chain(keys).chain(counts.iter().map(String::as_str)))
        .map_err(failed)?;
    for comparison in comparisons {
        let event = &*profile.tables.events[comparison.events[1] as usize].name;
        for entry in settings.compared(comparison) {
            let counts = entry.usage.into_iter().flat_map(|Usage { own, total }| {
                [total.samples, total.value, own.samples, own.value].map(|count| count.to_string())
            });
            let points = [entry.change(), entry.noise].map(|points| format!("{points:.4}"));
            let counts: Vec<_> = counts.chain(points).collect();
            let cells = entry.cells.iter().map(|cell| &**cell).chain(counts.iter().map(String::as_str));
            table.write_record([event].into_iter().chain(cells)).map_err(failed)?;
        }
    }
    table.flush().map_err(Error::Output)
}
