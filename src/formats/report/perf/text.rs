//! Comments, headings and rows of each event.

use super::call_graph::CallGraph;
use super::columns::Columns;
use super::{HistogramKey, PerfReport, SampleFilter};
use crate::profile::Profile;
use crate::profile::event::EventGroup;
use crate::report::Counts;
use crate::report::histogram::Histogram;
use crate::report::histogram::code::CodeTable;
use perf_data::printable;
use perf_data::stream::events::EventIndex;
use std::io::{Result, Write};
use std::ops::Range;

/// perf ends with a tip of its manual, another each time.
const TIP: &str = "# (Tip: 'perfconv view' shows call chains as flame graphs)";

/// What perf groups memory accesses by. The last key has a column on PowerPC only.
const DEFAULT_ACCESS_ORDER: &str =
    "local_weight,mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked,local_ins_lat,local_p_stage_cyc";

/// Writes a report.
///
/// # Errors
/// Errors of the output.
pub(super) fn write(report: &PerfReport, profile: &Profile, out: &mut dyn Write) -> Result<()> {
    if report.mentions_header && !report.is_quiet {
        writeln!(out, "# To display the perf.data header info, please use --header/--header-only options.\n#")?;
    }
    if profile.has_samples.is_empty() {
        return Ok(());
    }
    if !report.is_quiet {
        begin(report, profile, out)?;
    }
    let code = CodeTable::new(&profile.tables);
    let groups = groups(report, profile);
    for events in sections(report, profile, &groups) {
        let names = event_names(profile, &groups, &events);
        write_section(report, profile, &code, (events, &names), out)?;
    }
    if !report.is_quiet {
        writeln!(out, "#\n{TIP}\n#")?;
    }
    Ok(())
}

/// The groups of events.
fn groups(report: &PerfReport, profile: &Profile) -> Vec<EventGroup> {
    let recorded = &profile.tables.event_groups;
    let count = profile.tables.events.len() as EventIndex;
    match report.forces_group && recorded.is_empty() && count > 1 {
        true => vec![EventGroup { name: None, events: 0..count, is_read_together: false }],
        false => recorded.clone(),
    }
}

/// The events of each section: of a group, or a single one. As in perf, the first one of a group has samples.
fn sections(report: &PerfReport, profile: &Profile, groups: &[EventGroup]) -> Vec<Range<EventIndex>> {
    let group = |event: &EventIndex| groups.iter().find(|group| report.is_grouped && group.events.contains(event));
    let section = |&event: &EventIndex| match group(&event) {
        Some(group) => (group.events.start == event).then(|| group.events.clone()),
        None => Some(event..event + 1),
    };
    profile.has_samples.iter().filter_map(section).collect()
}

/// The comments before the first event.
fn begin(report: &PerfReport, profile: &Profile, out: &mut dyn Write) -> Result<()> {
    let SampleFilter { dsos, comms, symbols, .. } = &report.filter;
    let filters = [(HistogramKey::Dso, dsos), (HistogramKey::Comm, comms), (HistogramKey::Symbol, symbols)];
    for (key, list) in filters {
        let name = key.name();
        if let [value] = &list[..]
            && report.shows(key)
        {
            writeln!(out, "# {name}: {}", printable::name(value))?;
        }
    }
    writeln!(out, "#\n# Total Lost Samples: {}\n#", profile.lost_samples)
}

fn write_section(
    report: &PerfReport,
    profile: &Profile,
    code: &CodeTable,
    (events, names): (Range<EventIndex>, &str),
    out: &mut dyn Write,
) -> Result<()> {
    let options = report.histogram_options();
    let histogram = Histogram::new(profile, code, events, &options);
    let columns = Columns::new(report, &histogram, &options);
    if !report.is_quiet {
        let names = printable::name(names);
        let times = report.times.as_ref().map(|times| format!(" (time slices: {times})")).unwrap_or_default();
        let total: Counts = histogram.totals.iter().copied().sum();
        writeln!(out, "# Samples: {} of {names}{times}", in_thousands(total.samples))?;
        if report.counts_accesses {
            let order = report.sort_order.as_deref().unwrap_or(DEFAULT_ACCESS_ORDER);
            writeln!(out, "# Total weight : {}\n# Sort order   : {}\n#", total.value, printable::name(order))?;
        } else {
            writeln!(out, "# Event count (approx.): {}\n#", total.value)?;
        }
        writeln!(out, "# {}", columns.headings())?;
        if let Some(rule) = columns.rule() {
            writeln!(out, "# {rule}\n#")?;
        }
    }
    let indent = if report.separator.is_some() { "" } else { "  " };
    for entry in &histogram.entries {
        let usage = entry.usages[0];
        let counts = if report.has_children { usage.total } else { usage.own };
        if report.percent_limit > 0.0 && counts.percent_of(histogram.totals[0]) < report.percent_limit {
            continue;
        }
        writeln!(out, "{indent}{}", printable::name(&columns.row(entry, &histogram.totals, &options.keys)))?;
        if let Some(options) = report.chains {
            let graph = CallGraph {
                chains: &entry.chains,
                code,
                style: options.style,
                min: (histogram.totals[0].value as f64 * options.min_percent / 100.0) as u64,
                all: histogram.totals[0].value,
                row: counts.value,
                omits_first: report.fields.is_none() && report.keys.first() == Some(&HistogramKey::Symbol),
            };
            let mut text = String::new();
            graph.write(&mut text);
            text.lines().try_for_each(|line| writeln!(out, "{}", printable::name(line)))?;
        }
    }
    writeln!(out, "\n")
}

/// `event 'cycles'`, or `events 'anon group { cycles, instructions }'`.
fn event_names(profile: &Profile, groups: &[EventGroup], events: &Range<EventIndex>) -> String {
    let name = |event: EventIndex| &*profile.tables.events[event as usize].name;
    let leader = events.start;
    match groups.iter().find(|group| group.events.start == leader) {
        None => format!("event '{}'", name(leader)),
        // Of a group that is not shown as one, perf only has the plural.
        Some(_) if events.len() == 1 => format!("events '{}'", name(leader)),
        Some(group) => {
            let names: Vec<_> = events.clone().map(name).collect();
            // A group that was not recorded has no braces.
            if profile.tables.event_groups.is_empty() {
                return format!("events '{}'", names.join(", "));
            }
            format!("events '{} {{ {} }}'", group.name.as_deref().unwrap_or("anon group"), names.join(", "))
        }
    }
}

/// A number of samples in perf's units, of which the next one begins above 1000.
fn in_thousands(number: u64) -> String {
    let (mut number, mut units) = (number, ['K', 'M', 'G'].into_iter());
    let mut unit = ' ';
    while number > 1000 {
        let Some(next) = units.next() else { break };
        (number, unit) = (number / 1000, next);
    }
    format!("{number}{unit}")
}
