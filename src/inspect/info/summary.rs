//! A recording in a few lines.

use super::header::{captured_on, micros};
use super::stats::Stats;
use crate::abi::feature::FeatureId;
use crate::container::read::Container;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;

/// How many events and types of records are told one by one.
const MOST: usize = 4;

/// What a recording is, of what, and how much is in it. No more than a dozen lines.
pub fn lines(meta: &Meta, stats: &Stats, ledger: &Ledger) -> Vec<String> {
    let text = |id| meta.string(id);
    let mut lines = Vec::new();
    let container = match meta.container {
        Container::File => "file",
        Container::Pipe => "pipe",
        Container::Directory => "folder",
    };
    let version = text(FeatureId::VERSION).map(|version| format!(" written by perf {version}"));
    let changed = captured_on(meta).map(|time| format!(", last changed {time}"));
    let name = meta.files[0].trim_end_matches("/data");
    lines.push(format!("{name}: a {container}{}{}", version.unwrap_or_default(), changed.unwrap_or_default()));
    if let Some(cmdline) = meta.cmdline() {
        lines.push(format!("  command   {}", cmdline.join(" ")));
    }
    let host = [FeatureId::HOSTNAME, FeatureId::OSRELEASE, FeatureId::ARCH, FeatureId::CPUDESC];
    let host: Vec<String> = host.into_iter().filter_map(text).filter(|text| !text.is_empty()).collect();
    if !host.is_empty() {
        lines.push(format!("  host      {}", host.join(", ")));
    }
    if let Some((first, last)) = stats.sample_times {
        lines.push(format!("  time      {} s from the first sample to the last", micros(last - first)));
    }
    if let Some(counters) = &stats.counters {
        lines.push(format!("  counters  {}", some(counters.totals().into_iter(), "events")));
        lines.push(format!("  counted   {}", counters.settings()));
    }
    let has_only_counters = stats.counters.is_some() && !stats.has_samples();
    let mut events: Vec<_> = stats.samples.iter().filter(|_| !has_only_counters).collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.samples));
    let told = some(events.iter().map(|event| format!("{} {}", event.samples, event.event)), "events");
    lines.push(format!("  samples   {told}"));
    let mut types: Vec<_> = stats.records.iter().collect();
    types.sort_by_key(|(_, count)| std::cmp::Reverse(count.records));
    lines.push(format!(
        "  records   {}",
        some(types.iter().map(|(kind, count)| format!("{} {kind}", count.records)), "types")
    ));
    lines.push(format!(
        "  tasks     processes: {}, with samples {}; threads: {}, with samples {}",
        stats.processes, stats.sampled_processes, stats.threads, stats.sampled_threads
    ));
    let mut lost = match (stats.lost_records, stats.lost_samples) {
        (0, 0) => "  lost      nothing by the kernel".to_owned(),
        (records, samples) => format!("  lost      {records} records, {samples} samples by the kernel"),
    };
    let damaged = ledger.messages().len() as u64 + ledger.further_messages();
    if damaged > 0 {
        lost += &format!(
            "; what could not be read is lost too: {damaged} {}",
            if damaged == 1 { "place" } else { "places" }
        );
    }
    lines.push(lost);
    lines
}

/// The first few of a list, and how many more there are.
fn some(list: impl ExactSizeIterator<Item = String>, of: &str) -> String {
    let more = list.len().saturating_sub(MOST);
    let mut told: Vec<String> = list.take(MOST).collect();
    if more > 0 {
        told.push(format!("{more} more {of}"));
    }
    if told.is_empty() { "none".to_owned() } else { told.join(", ") }
}
