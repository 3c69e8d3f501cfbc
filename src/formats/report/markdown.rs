//! Compact reports in Markdown, for issues, pull requests and assistants.

use super::style::event_line;
use super::{COMPARED_KEYS, rows, total};
use crate::profile::Profile;
use crate::report::Counts;
use crate::report::comparison::Comparison;
use crate::report::facts::{facts, warnings};
use crate::report::key::ReportKey;
use crate::report::location::{LocationId, Locations};
use crate::report::top::{ReportEntry, Top};
use hashbrown::HashMap;
use perf_data::error::{Error, Result};
use perf_data::printable;
use perf_data::stream::events::EventIndex;
use std::cmp::Reverse;
use std::io::Write;

/// Number of functions by default; of stacks and lines half as many.
const ENTRIES: usize = 10;

/// Characters of a name, so that a table fits into a comment on a web page.
const MAX_NAME: usize = 60;

/// Characters of a fact or warning, in two or three lines of such a comment.
const MAX_TEXT: usize = 240;

/// Frames of a stack: the innermost ones distinguish stacks.
const MAX_FRAMES: usize = 4;

/// Events of a page, which is to stay short enough for a comment.
const MAX_EVENTS: usize = 2;

/// Writes facts, how functions changed if the profile is compared with another, functions, stacks, lines and warnings.
///
/// # Errors
/// If the profiles have no event in common, and errors of `out`.
pub(super) fn write(profile: &Profile, limit: Option<usize>, out: &mut dyn Write) -> Result<()> {
    let limit = limit.unwrap_or(ENTRIES);
    let locations = Locations::with_names(&profile.tables, profile.tables.function_names);
    let mut page = "# Profile\n\n".to_owned();
    facts(profile).iter().for_each(|(name, value)| page += &format!("- {name}: {}\n", plain(value)));
    let mut events: Vec<_> = profile.has_samples.iter().map(|&event| (total(profile, event), event)).collect();
    events.sort_unstable_by_key(|(counts, _)| Reverse(counts.samples));
    if let Some(base) = &profile.base {
        let comparisons = Comparison::list([base, profile], COMPARED_KEYS, true, profile.tables.function_names)?;
        comparisons.iter().take(MAX_EVENTS).for_each(|comparison| page += &changes(base, profile, comparison, limit));
    }
    for &(all, event) in events.iter().take(MAX_EVENTS) {
        page += &format!("\n## {}\n", plain(&event_line(&profile.tables, event, all)));
        page += &functions(profile, &locations, (event, all), limit);
        page += &stacks(profile, &locations, (event, all), limit.div_ceil(2));
        page += &lines(profile, &locations, (event, all), limit.div_ceil(2));
    }
    if events.len() > MAX_EVENTS {
        page += &format!("\n{} more events; choose with --event\n", events.len() - MAX_EVENTS);
    }
    let warnings = warnings(profile);
    if !warnings.is_empty() {
        page += "\n## Warnings\n\n";
        warnings.iter().take(limit.div_ceil(2)).for_each(|warning| page += &format!("- {}\n", plain(warning)));
    }
    out.write_all(page.as_bytes()).map_err(Error::Output)
}

/// The functions that changed most.
fn changes(base: &Profile, profile: &Profile, comparison: &Comparison, limit: usize) -> String {
    let ([before, after], [total_before, total_after]) = (comparison.events, comparison.totals);
    let mut text = format!(
        "\n## Changes: {}\n\nBefore: {}\n\n\
         | before | after | change | noise | function |\n|---:|---:|---:|---:|---|\n",
        plain(&event_line(&profile.tables, after, total_after)),
        plain(&event_line(&base.tables, before, total_before)),
    );
    for entry in comparison.entries.iter().take(limit) {
        let ([before, after], change, noise) = (entry.shares, entry.change(), entry.noise);
        let mark = if entry.is_noise() { "~ " } else { "" };
        let name = code(&entry.cells[0]);
        text += &format!("| {before:.1}% | {after:.1}% | {mark}{change:+.1} | {noise:.1} | {name} |\n");
    }
    text
}

fn functions(profile: &Profile, locations: &Locations, (event, all): (EventIndex, Counts), limit: usize) -> String {
    let top = Top::new(profile, locations, Some(event), &[ReportKey::Sym, ReportKey::Dso], false);
    let mut text = "\n| self | total | function | object |\n|---:|---:|---|---|\n".to_owned();
    for ReportEntry { cells, usage, .. } in top.entries.iter().take(limit) {
        let [own, total] = [usage.own, usage.total].map(|counts| counts.percent_of(all));
        text += &format!("| {own:.1}% | {total:.1}% | {} | {} |\n", code(&cells[0]), code(&cells[1]));
    }
    text
}

fn stacks(profile: &Profile, locations: &Locations, (event, all): (EventIndex, Counts), limit: usize) -> String {
    let mut stacks: HashMap<u32, Counts> = HashMap::new();
    rows(profile, event).for_each(|row| *stacks.entry(row.stack).or_default() += row.into());
    let mut stacks: Vec<_> = stacks.into_iter().collect();
    stacks.sort_unstable_by_key(|&(stack, counts)| (Reverse(counts), stack));
    let mut text = "\nStacks, innermost function first:\n\n".to_owned();
    for (stack, counts) in stacks.into_iter().take(limit) {
        let frames: Vec<_> = locations.stack_locations(profile.tables.stacks.stack(stack)).collect();
        let name = |&id: &LocationId| code(&locations.function_name(locations.get(id).function));
        let mut names: Vec<_> = frames.iter().take(MAX_FRAMES).map(name).collect();
        if frames.len() > MAX_FRAMES {
            names.push(format!("{} more", frames.len() - MAX_FRAMES));
        }
        text += &format!("- {:.1}% {}\n", counts.percent_of(all), names.join(" < "));
    }
    text
}

fn lines(profile: &Profile, locations: &Locations, (event, all): (EventIndex, Counts), limit: usize) -> String {
    let top = Top::new(profile, locations, Some(event), &[ReportKey::SrcLine], false);
    let sampled = top.entries.iter().filter(|entry| !entry.cells[0].is_empty() && entry.usage.own.samples > 0);
    let lines: Vec<_> = sampled.take(limit).collect();
    if lines.is_empty() {
        return String::new();
    }
    let line = |entry: &&ReportEntry| format!("- {:.1}% {}\n", entry.usage.own.percent_of(all), code(&entry.cells[0]));
    format!("\nLines:\n\n{}", lines.iter().map(line).collect::<String>())
}

/// A name as code. Backticks and column separators would end it.
fn code(name: &str) -> String {
    format!("`{}`", printable::short(name, MAX_NAME).replace('`', "'").replace('|', "\u{00a6}"))
}

/// Text without Markdown or HTML syntax.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in printable::short(text, MAX_TEXT).chars() {
        if matches!(c, '*' | '_' | '`' | '[' | ']' | '<' | '>' | '|' | '\\' | '#' | '&') {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}
