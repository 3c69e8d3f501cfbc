//! Cache lines that CPUs share, as text, JSON and comma-separated values.

use super::json;
use super::style::{Style, line};
use super::threads::{comm, name, omitted};
use crate::profile::Profile;
use crate::report::cache_lines::{AccessCounts, CacheLine, CacheLines, SharedAccess};
use crate::report::location::Locations;
use csv::Writer;
use perf_data::error::{Error, Result};
use perf_data::printable;
use perf_data::stream::ledger::counted;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Number of accesses that are shown of a line.
const MAX_ACCESSES: usize = 20;

/// A table of at most `limit` lines, each with its accesses.
pub(super) fn text(profile: &Profile, lines: &CacheLines, locations: &Locations, limit: usize, style: Style) -> String {
    let CacheLines { shared, count, counts, .. } = lines;
    let mut text = String::new();
    let heading = format!(
        "{} of {} shared between CPUs: {} loads, {} stores; {} loads of modified lines ({} local, {} remote), {} from peers",
        shared.len(),
        counted(*count as u64, "cache line"),
        counts.loads,
        counts.stores,
        counts.hitm(),
        counts.local_hitm,
        counts.remote_hitm,
        counts.peer
    );
    line!(text, "{}", style.heading(&heading));
    line!(
        text,
        "   HITM   local  remote    peer    loads   stores  cycles/load  cache line: offset, data, function, thread"
    );
    for CacheLine { address, counts, cpus, accesses } in shared.iter().take(limit) {
        let row = format!("{}  {address:#018x}  CPUs {}", numbers(counts), list(cpus));
        line!(text, "{}", style.heading(&row));
        for access in accesses.iter().take(MAX_ACCESSES) {
            let SharedAccess { offset, data, thread: (pid, tid, thread), cpus, counts, .. } = access;
            let data = data.as_ref().map(|data| format!("{}  ", printable::name(data))).unwrap_or_default();
            let thread = name(profile, *thread, *pid, *tid);
            let function = function(access, locations);
            let function = printable::name(&function);
            line!(text, "{}    +{offset:#04x}  {data}{function}  {thread}  CPUs {}", numbers(counts), list(cpus));
        }
        omitted(accesses.len(), MAX_ACCESSES, &mut text);
    }
    omitted(shared.len(), limit, &mut text);
    text
}

fn numbers(counts: &AccessCounts) -> String {
    let AccessCounts { loads, stores, local_hitm, remote_hitm, peer, .. } = *counts;
    let cycles = counts.load_cycles.checked_div(loads).map_or("-".to_owned(), |cycles| cycles.to_string());
    format!("{:>7} {local_hitm:>7} {remote_hitm:>7} {peer:>7} {loads:>8} {stores:>8} {cycles:>12}", counts.hitm())
}

/// CPUs as ranges: `0-2,5`.
fn list(cpus: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let range = |&(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

fn function<'a>(access: &SharedAccess, locations: &'a Locations) -> Cow<'a, str> {
    access.location.map_or("[unknown]".into(), |location| locations.text(locations.get(location).function))
}

/// Writes one object with an entry for each line.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_json(
    profile: &Profile,
    lines: &CacheLines,
    locations: &Locations,
    limit: usize,
    out: &mut dyn Write,
) -> Result<()> {
    let access = |access: &SharedAccess| {
        let (pid, tid, thread) = access.thread;
        json!({
            "offset": access.offset,
            "data": access.data,
            "function": function(access, locations),
            "comm": comm(profile, thread),
            "pid": pid,
            "tid": tid,
            "cpus": access.cpus,
            "counts": access.counts,
        })
    };
    let entries = lines.shared.iter().take(limit).map(|line| {
        json!({
            "address": format!("{:#x}", line.address),
            "cpus": line.cpus,
            "counts": line.counts,
            "accesses": line.accesses.iter().map(access).collect::<Vec<_>>(),
        })
    });
    let entries = Value::from(entries.collect::<Vec<_>>());
    let mut object = json::end(profile, Vec::new());
    object.remove("events");
    object.insert("entries".to_owned(), entries);
    object.insert("cache_lines".to_owned(), lines.count.into());
    object.insert("counts".to_owned(), json!(lines.counts));
    writeln!(out, "{}", Value::from(object)).map_err(Error::Output)
}

/// Writes a line for each offset, function and thread.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_csv(
    profile: &Profile,
    lines: &CacheLines,
    locations: &Locations,
    limit: usize,
    out: &mut dyn Write,
) -> Result<()> {
    let failed = |error: csv::Error| Error::Output(io::Error::other(error));
    let mut table = Writer::from_writer(out);
    let columns = [
        "cache_line",
        "offset",
        "data",
        "function",
        "comm",
        "pid",
        "tid",
        "cpus",
        "loads",
        "stores",
        "local_hitm",
        "remote_hitm",
        "peer",
        "load_cycles",
    ];
    table.write_record(columns).map_err(failed)?;
    for line in lines.shared.iter().take(limit) {
        for access in &line.accesses {
            let ((pid, tid, thread), counts) = (access.thread, &access.counts);
            let AccessCounts { loads, stores, local_hitm, remote_hitm, peer, load_cycles } = *counts;
            let texts = [
                format!("{:#x}", line.address),
                access.offset.to_string(),
                access.data.clone().unwrap_or_default(),
                function(access, locations).into_owned(),
                comm(profile, thread).map_or_else(String::new, Cow::into_owned),
                pid.to_string(),
                tid.to_string(),
                list(&access.cpus),
            ];
            let numbers = [loads, stores, local_hitm, remote_hitm, peer, load_cycles].map(|number| number.to_string());
            table.write_record(texts.into_iter().chain(numbers)).map_err(failed)?;
        }
    }
    table.flush().map_err(Error::Output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_listed_as_ranges() {
        let text = |cpus: &[u32]| list(&cpus.iter().copied().collect());
        assert_eq!([text(&[]), text(&[3]), text(&[0, 1, 2, 5, 7, 8])], ["", "3", "0-2,5,7-8"]);
    }
}
