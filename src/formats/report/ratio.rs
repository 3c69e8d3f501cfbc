//! Ratios of two events, as text, JSON and comma-separated values.

use super::style::line;
use super::text::Page;
use super::{Settings, json};
use crate::profile::Profile;
use crate::report::location::Locations;
use crate::report::ratio::{EventRatio, MIN_SAMPLES, RatioEntry};
use csv::Writer;
use perf_data::error::{Error, Result};
use perf_data::printable;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// A table of groups with their ratios.
pub(super) fn text(page: &Page<'_>, ratio: &EventRatio, by_ratio: bool) -> String {
    let Page { profile, settings, style, .. } = page;
    let all = with_shown_names(ratio, page, by_ratio);
    let totals = ratio.totals(profile);
    let [numerator, denominator] =
        ratio.events.map(|event| printable::name(&profile.tables.events[event as usize].name));
    let mut text = String::new();
    let heading = format!(
        "{}: {} ({numerator}: {} in {} samples, {denominator}: {} in {} samples)",
        printable::name(&ratio.title),
        value(ratio.value(totals)),
        totals[0].value,
        totals[0].samples,
        totals[1].value,
        totals[1].samples,
    );
    line!(text, "{}", style.heading(&heading));
    let entries: Vec<_> = shown(&all, totals[1].value, settings).collect();
    let (keys, names) = page.columns(entries.iter().map(|entry| &*entry.cells));
    line!(text, "     ratio  {numerator:>16}  {denominator:>16}   samples  {keys}");
    for (entry, names) in entries.iter().zip(names) {
        let [above, below] = entry.counts(settings.by_total);
        let samples = above.samples.min(below.samples);
        let value = value(ratio.value([above, below]));
        line!(text, "{value:>10}  {:>16}  {:>16}  {samples:>8}  {names}", above.value, below.value);
    }
    page.omitted(all.len(), entries.len(), &mut text);
    if entries.iter().any(|entry| ratio.value(entry.counts(settings.by_total)).is_none()) {
        line!(text, "-: fewer than {MIN_SAMPLES} samples of an event");
    }
    text
}

/// The entries under the names that are shown. Their full names distinguish functions.
fn with_shown_names(ratio: &EventRatio, page: &Page<'_>, by_ratio: bool) -> Vec<RatioEntry> {
    let Page { profile, locations, settings, .. } = page;
    let full_names = Locations::new(&profile.tables);
    let mut entries = ratio.entries(profile, &full_names, &settings.keys, settings.by_total, by_ratio);
    Locations::show_names(&[locations], &settings.keys, entries.iter_mut().map(|entry| &mut entry.cells));
    entries
}

/// Writes one object with an entry for each group: its keys, the ratio, which is null if there are too few samples, and counts of both
/// events.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_json(
    profile: &Profile,
    locations: &Locations,
    settings: &Settings,
    (ratio, by_ratio): (&EventRatio, bool),
    out: &mut dyn Write,
) -> Result<()> {
    let all = ratio.entries(profile, locations, &settings.keys, settings.by_total, by_ratio);
    let totals = ratio.totals(profile);
    let entries = shown(&all, totals[1].value, settings).map(|entry| {
        let counts = entry.counts(settings.by_total);
        let mut object = json::cells(settings, &entry.cells);
        object.insert("ratio".to_owned(), ratio.value(counts).into());
        object.insert("numerator".to_owned(), json::counts(counts[0]));
        object.insert("denominator".to_owned(), json::counts(counts[1]));
        Value::from(object)
    });
    let entries = Value::from(entries.collect::<Vec<_>>());
    let mut object = Map::from_iter([("entries".to_owned(), entries), ("title".to_owned(), (*ratio.title).into())]);
    object.insert("ratio".to_owned(), ratio.value(totals).into());
    let names = ratio.events.map(|event| &*profile.tables.events[event as usize].name);
    let events = names.iter().zip(totals);
    let events = events
        .map(|(name, counts)| json!({ "event": name, "samples": counts.samples, "value": counts.value }))
        .collect();
    object.append(&mut json::end(profile, events));
    writeln!(out, "{}", Value::from(object)).map_err(Error::Output)
}

/// Writes a line for each group: its keys, the ratio, which is empty if there are too few samples, then values and samples of both
/// events.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_csv(
    profile: &Profile,
    locations: &Locations,
    settings: &Settings,
    (ratio, by_ratio): (&EventRatio, bool),
    out: &mut dyn Write,
) -> Result<()> {
    let failed = |error: csv::Error| Error::Output(io::Error::other(error));
    let mut table = Writer::from_writer(out);
    let keys = settings.keys.iter().map(|key| key.name());
    let counts = ["numerator_value", "numerator_samples", "denominator_value", "denominator_samples"];
    table.write_record(keys.chain(["ratio"]).chain(counts)).map_err(failed)?;
    let all = ratio.entries(profile, locations, &settings.keys, settings.by_total, by_ratio);
    for entry in shown(&all, ratio.totals(profile)[1].value, settings) {
        let counts = entry.counts(settings.by_total);
        let value = ratio.value(counts).map_or_else(String::new, |ratio| ratio.to_string());
        let numbers = counts.iter().flat_map(|counts| [counts.value, counts.samples]).map(|count| count.to_string());
        let cells = entry.cells.iter().map(ToString::to_string).chain([value]).chain(numbers);
        table.write_record(cells).map_err(failed)?;
    }
    table.flush().map_err(Error::Output)
}

/// The entries that the limits permit, by their shares of the denominator.
fn shown<'a>(all: &'a [RatioEntry], total: u64, settings: &'a Settings) -> impl Iterator<Item = &'a RatioEntry> {
    let (by_total, limit) = (settings.by_total, settings.percent_limit);
    let share = move |entry: &RatioEntry| entry.counts(by_total)[1].value as f64 * 100.0 / total.max(1) as f64;
    all.iter().filter(move |entry| share(entry) >= limit && settings.is_searched(&entry.cells)).take(settings.limit)
}

fn value(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"))
}
