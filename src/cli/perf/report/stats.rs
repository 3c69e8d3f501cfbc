//! `perf report --stats`: records by type, and samples by event.

use crate::cli::failure::Failure;
use crate::cli::output;
use crate::cli::perf::input;
use crate::cli::perf::option::Given;
use crate::cli::report::printable_line;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perfconv::inspect::info::events::{self, EventNames};
use perfconv::inspect::info::{Info, Parts};
use std::fmt::Write;
use std::path::Path;

/// Options that would change what is counted.
const FILTERS: [&str; 8] = ["comms", "cpu", "dsos", "header", "pid", "symbols", "tid", "time"];

/// Prints the numbers.
///
/// # Errors
/// If samples are selected, or the recording cannot be read.
pub(super) fn print(given: &Given, path: &Path) -> Result<(), Failure> {
    if let Some(option) = FILTERS.into_iter().find(|option| given.has(option)) {
        return Err(Failure::Usage(format!("perf report: --stats counts all records; omit --{option}")));
    }
    let info = input::info(path, Parts { stats: true, ..Parts::default() })?;
    if info.meta.features.contains_key(&FeatureId::AUXTRACE) {
        let problem = "has AUX area traces, for which perf counts otherwise; use 'perfconv info --stats'";
        return Err(Failure::Failed(format!("perf report: {}: {problem}", path.display())));
    }
    output::print(text(&info)?.as_bytes())?;
    info.failure.map_or(Ok(()), |error| Err(error.into()))
}

fn text(info: &Info) -> Result<String, Failure> {
    let Some(stats) = &info.stats else { return Ok(String::new()) };
    let events = events::events(&info.meta, EventNames::Perf);
    let with_samples: Vec<_> = events.iter().zip(&stats.samples).filter(|(_, event)| event.samples > 0).collect();
    let lost = stats.lost_samples;
    if lost > 0 && with_samples.len() != 1 {
        let problem =
            "perf report: --stats: which of the events lost samples is not counted; use 'perfconv info --stats'";
        return Err(Failure::Usage(problem.to_owned()));
    }
    let total: u64 = stats.records.values().map(|count| count.records).sum();
    let mut out = format!("\nAggregated stats:\n{:>16} events: {total:>10}\n", "TOTAL");
    for (kind, count) in &stats.records {
        let percent = count.records as f64 * 100.0 / total as f64;
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{:>16} events: {:>10}  ({percent:4.1}%)", perf_name(*kind), count.records);
    }
    for (event, samples) in with_samples {
        let _ = writeln!(out, "{} stats:", printable_line(&event.name));
        let _ = writeln!(out, "{:>16} events: {:>10}", "SAMPLE", samples.samples);
        if lost > 0 {
            let _ = writeln!(out, "{:>16} events: {lost:>10}", "LOST_SAMPLES");
        }
    }
    Ok(out)
}

/// The name that perf prints of a type of record.
fn perf_name(kind: RecordType) -> String {
    let name = kind.name().map_or_else(|| kind.0.to_string(), str::to_owned);
    name.strip_prefix("HEADER_").map(str::to_owned).unwrap_or(name)
}
