//! Summary of a recording.

use super::header::{captured_on, micros};
use super::stats::Stats;
use perf_data::abi::feature::FeatureId;
use perf_data::container::read::Container;
use perf_data::printable;
use perf_data::stream::ledger::{Ledger, counted};
use perf_data::stream::meta::Meta;

/// Number of events and record types that are listed, in the width of a terminal.
const MAX_LISTED: usize = 4;

/// Origin and contents of a recording, in at most a dozen lines.
pub fn lines(meta: &Meta, stats: &Stats, ledger: &Ledger) -> Vec<String> {
    let text = |id| meta.string(id);
    let mut lines = Vec::new();
    let container = match meta.container {
        Container::File => "file",
        Container::Pipe => "pipe",
        Container::Directory => "directory",
    };
    let version = text(FeatureId::VERSION).map(|version| format!(" written by perf {version}"));
    let modified = captured_on(meta).map(|time| format!(", modified {time}"));
    // A recording in a directory is named after the directory, not after its main file.
    let name = meta.files[0].trim_end_matches("/data");
    lines.push(format!("{name}: {container}{}{}", version.unwrap_or_default(), modified.unwrap_or_default()));
    if let Some(cmdline) = meta.cmdline() {
        lines.push(format!("  command   {}", printable::name(&cmdline.join(" "))));
    }
    let host = [FeatureId::HOSTNAME, FeatureId::OSRELEASE, FeatureId::ARCH, FeatureId::CPUDESC];
    let host: Vec<String> = host.into_iter().filter_map(text).filter(|text| !text.is_empty()).collect();
    if !host.is_empty() {
        lines.push(format!("  host      {}", printable::name(&host.join(", "))));
    }
    if let Some((first, last)) = stats.sample_times {
        lines.push(format!("  time      {} s between the first and last sample", micros(last - first)));
    }
    if let Some(counters) = &stats.counters {
        lines.push(format!("  counters  {}", list_first(counters.totals().into_iter(), "events")));
        lines.push(format!("  counted   {}", counters.settings()));
    }
    let has_only_counters = stats.counters.is_some() && !stats.has_samples();
    let mut events: Vec<_> = stats.samples.iter().filter(|_| !has_only_counters).collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.samples));
    let samples = list_first(events.iter().map(|event| format!("{} {}", event.samples, event.event)), "events");
    lines.push(format!("  samples   {samples}"));
    if !stats.traces.is_empty() {
        let (buffers, bytes) =
            stats.traces.iter().fold((0, 0), |(buffers, bytes), trace| (buffers + trace.buffers, bytes + trace.bytes));
        let mut sources: Vec<_> = stats.traces.iter().map(|trace| trace.source).collect();
        sources.dedup();
        let effect = if stats.has_decodable_trace() { ", which outputs of samples decode" } else { "" };
        let buffers = counted(buffers, "buffer");
        lines.push(format!("  trace     {}: {bytes} bytes in {buffers}{effect}", sources.join(", ")));
    }
    let mut types: Vec<_> = stats.records.iter().collect();
    types.sort_by_key(|(_, count)| std::cmp::Reverse(count.records));
    lines.push(format!(
        "  records   {}",
        list_first(types.iter().map(|(kind, count)| format!("{} {kind}", count.records)), "types")
    ));
    lines.push(format!(
        "  tasks     processes: {} ({} with samples), threads: {} ({} with samples)",
        stats.processes, stats.sampled_processes, stats.threads, stats.sampled_threads
    ));
    let mut lost = match (stats.lost_records, stats.lost_samples) {
        (0, 0) => "  lost      no events".to_owned(),
        (records, samples) => format!("  lost      {records} records, {samples} samples (reported by the kernel)"),
    };
    let damaged = ledger.messages().len() as u64 + ledger.further_messages();
    if damaged > 0 {
        lost += &format!("; {damaged} corrupt {}, see perfconv check", if damaged == 1 { "place" } else { "places" });
    }
    lines.push(lost);
    lines
}

/// The first elements of a list, and the number of others.
fn list_first(list: impl ExactSizeIterator<Item = String>, noun: &str) -> String {
    if list.len() == 0 { "none".to_owned() } else { printable::list(list, MAX_LISTED, noun) }
}
