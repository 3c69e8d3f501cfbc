//! Reports as JSON.

use super::{Settings, rows, spans, total};
use crate::profile::Profile;
use crate::report::comparison::{ComparedEntry, Comparison};
use crate::report::facts::{facts, warnings};
use crate::report::function_tree::{FunctionTree, NamedFunction, TreeDirection};
use crate::report::location::{LocationSelection, Locations};
use crate::report::neighbors::{Neighbor, Neighbors};
use crate::report::source_files::SourceFiles;
use crate::report::source_lines::SourceLines;
use crate::report::top::ReportEntry;
use crate::report::tree_lines::{ChainLink, TreeLimits, TreeLines};
use crate::report::{Counts, Usage};
use perf_data::error::{Error, Result};
use perf_data::session::names::NameId;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

/// Writes one object: entries, events with their counts, facts of the recording, and warnings.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write(profile: &Profile, locations: &Locations, settings: &Settings, out: &mut dyn Write) -> Result<()> {
    write_object(profile, locations, settings, out).map_err(Error::Output)
}

fn write_object(profile: &Profile, locations: &Locations, settings: &Settings, out: &mut dyn Write) -> io::Result<()> {
    let name = |event: u32| &*profile.tables.events[event as usize].name;
    let (mut events, mut separator) = (Vec::new(), "");
    out.write_all(b"{\"entries\":[")?;
    for top in settings.lists(profile, locations) {
        let mut totals: Vec<_> = top.totals.iter().collect();
        totals.sort_unstable_by_key(|(event, _)| **event);
        events.extend(totals.into_iter().map(|(&event, counts)| {
            let mut object = json!({ "event": name(event), "samples": counts.samples, "value": counts.value });
            top.lengths.iter().for_each(|lengths| object["lengths"] = spans::object(lengths));
            object
        }));
        // One by one, because names can be long.
        for entry in settings.entries(&top) {
            out.write_all(separator.as_bytes())?;
            serde_json::to_writer(&mut *out, &object(entry, name(entry.event), settings))?;
            separator = ",";
        }
    }
    write_end(profile, events, out)
}

/// Writes the end of an object: events with their counts, facts of the recording, and warnings.
fn write_end(profile: &Profile, events: Vec<Value>, out: &mut dyn Write) -> io::Result<()> {
    let end = Value::from(end(profile, events)).to_string();
    writeln!(out, "],{}", &end[1..])
}

/// What all objects end with.
pub(super) fn end(profile: &Profile, events: Vec<Value>) -> Map<String, Value> {
    let facts: Map<String, Value> =
        facts(profile).into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let members = [("events", json!(events)), ("facts", json!(facts)), ("warnings", json!(warnings(profile)))];
    members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

/// Writes one object with the entries of comparisons: counts before and after, and the change of the share in percentage points.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_comparisons(
    [base, profile]: [&Profile; 2],
    comparisons: &[Comparison],
    settings: &Settings,
    out: &mut dyn Write,
) -> Result<()> {
    let (mut events, mut separator) = (Vec::new(), "");
    let mut write = || {
        out.write_all(b"{\"entries\":[")?;
        for comparison in comparisons {
            let [before, after] = comparison.events;
            let name = &profile.tables.events[after as usize].name;
            let [counts_before, counts_after] = comparison.totals.map(counts);
            let before = &base.tables.events[before as usize].name;
            events
                .push(json!({ "event": name, "event_before": before, "before": counts_before, "after": counts_after }));
            for entry in settings.compared(comparison) {
                out.write_all(separator.as_bytes())?;
                serde_json::to_writer(&mut *out, &compared(entry, name, settings))?;
                separator = ",";
            }
        }
        write_end(profile, std::mem::take(&mut events), out)
    };
    write().map_err(Error::Output)
}

fn compared(entry: &ComparedEntry, event: &str, settings: &Settings) -> Map<String, Value> {
    let [before, after] =
        entry.usage.map(|Usage { own, total }| json!({ "total": counts(total), "self": counts(own) }));
    let mut object = cells(settings, &entry.cells);
    object.insert("event".to_owned(), event.into());
    object.insert("before".to_owned(), before);
    object.insert("after".to_owned(), after);
    object.insert("change".to_owned(), rounded(entry.change()));
    object.insert("noise".to_owned(), rounded(entry.noise));
    object.insert("is_noise".to_owned(), entry.is_noise().into());
    object
}

/// A number of percentage points with four decimals.
fn rounded(points: f64) -> Value {
    ((points * 1e4).round() / 1e4).into()
}

/// Writes one object with the callers and the callees of functions, as far as they are named, and the counts of these functions.
///
/// # Errors
/// If there is no such function, and errors of `out`.
pub(super) fn write_neighbors(
    profile: &Profile,
    locations: &Locations,
    settings: &Settings,
    [callers, callees]: [Option<&str>; 2],
    out: &mut dyn Write,
) -> Result<()> {
    let selected = |name: Option<&str>| name.map(|name| locations.select(name)).transpose();
    type List = fn(Neighbors) -> Vec<Neighbor>;
    let relations: [(_, _, List); 2] = [
        ("callers", selected(callers)?, |neighbors| neighbors.callers),
        ("callees", selected(callees)?, |neighbors| neighbors.callees),
    ];
    let (mut events, mut lists) = (Vec::new(), Map::new());
    for &event in &profile.has_samples {
        let name = &*profile.tables.events[event as usize].name;
        let all = total(profile, event);
        let mut object = json!({ "event": name, "samples": all.samples, "value": all.value });
        for (relation, selection, list) in &relations {
            let Some(LocationSelection { title, is_selected }) = selection else { continue };
            let neighbors = Neighbors::new(profile, locations, rows(profile, event), is_selected);
            let (total, own) = (counts(neighbors.total), counts(neighbors.own));
            let list = list(neighbors);
            let omitted = list.len().saturating_sub(settings.limit);
            object[relation] = json!({ "function": title, "total": total, "self": own, "omitted": omitted });
            let entries = lists.entry(*relation).or_insert_with(|| json!([]));
            let shown = list.iter().take(settings.limit).map(|entry| neighbor(entry, name));
            entries.as_array_mut().expect("a list").extend(shown);
        }
        events.push(object);
    }
    lists.append(&mut end(profile, events));
    writeln!(out, "{}", Value::from(lists)).map_err(Error::Output)
}

/// A caller or callee. Those without a function are samples without a caller, or in the function itself.
fn neighbor(neighbor: &Neighbor, event: &str) -> Value {
    let Neighbor { function, dso, source, counts: samples } = neighbor;
    json!({ "sym": function.as_deref(), "dso": dso, "at": source, "event": event, "total": counts(*samples) })
}

/// Writes one object with the source lines of the functions that a text selects, together or each by itself.
///
/// # Errors
/// If there is no such function, and errors of `out`.
pub(super) fn write_lines(
    profile: &Profile,
    locations: &Locations,
    settings: &Settings,
    (name, is_each): (&str, bool),
    mut files: SourceFiles<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    let LocationSelection { title, is_selected } = locations.select(name)?;
    let groups = locations.groups(&is_selected, is_each);
    let (mut events, mut lines) = (Vec::new(), Vec::new());
    for &event in &profile.has_samples {
        let event_name = &*profile.tables.events[event as usize].name;
        let all = total(profile, event);
        events.push(json!({ "event": event_name, "samples": all.samples, "value": all.value }));
        for list in SourceLines::new(profile, locations, rows(profile, event), &groups) {
            let function = if is_each { locations.text(NameId(list.group)) } else { Cow::Borrowed(&*title) };
            let texts: BTreeMap<_, _> = list.text(0, &mut files).into_iter().flatten().collect();
            for (number, usage) in &list.counts {
                let (total, own) = (counts(usage.total), counts(usage.own));
                lines.push(json!({
                    "sym": function, "file": list.file, "line": number, "source": texts.get(number),
                    "event": event_name, "total": total, "self": own,
                }));
            }
        }
    }
    let omitted = lines.len().saturating_sub(settings.limit);
    lines.truncate(settings.limit);
    let mut object = Map::from_iter([("lines".to_owned(), lines.into()), ("omitted".to_owned(), omitted.into())]);
    object.append(&mut end(profile, events));
    writeln!(out, "{}", Value::from(object)).map_err(Error::Output)
}

/// Writes one object with the lines of the tree of calls of each event.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_trees(
    profile: &Profile,
    locations: &Locations,
    settings: &Settings,
    direction: TreeDirection,
    out: &mut dyn Write,
) -> Result<()> {
    let mut write = || {
        let (mut events, mut separator) = (Vec::new(), "");
        out.write_all(b"{\"lines\":[")?;
        for &event in &profile.has_samples {
            let tree = FunctionTree::new(profile, locations, rows(profile, event), direction);
            let limits = TreeLimits { percent: settings.percent_limit, lines: settings.limit };
            let lines = TreeLines::new(&tree, limits);
            let name = &profile.tables.events[event as usize].name;
            let Counts { samples, value } = tree.total();
            let omitted = json!({ "calls": lines.omitted, "total": counts(lines.omitted_samples) });
            events.push(json!({ "event": name, "samples": samples, "value": value, "omitted": omitted }));
            for line in lines.list.iter().filter(|line| !line.chain.is_empty()) {
                let calls: Vec<_> = line.chain.iter().map(|link| call(link, locations)).collect();
                let (total, own) = (counts(line.usage.total), counts(line.usage.own));
                let object = json!({ "event": name, "level": line.level, "calls": calls, "total": total, "self": own });
                write!(out, "{separator}{object}")?;
                separator = ",";
            }
        }
        write_end(profile, events, out)
    };
    write().map_err(Error::Output)
}

fn call(link: &ChainLink, locations: &Locations) -> Value {
    match *link {
        ChainLink::Function(NamedFunction { name, dso }, times) => {
            json!({ "sym": locations.text(name), "dso": locations.text(dso), "times": times })
        }
        ChainLink::Omitted(omitted) => json!({ "omitted": omitted }),
    }
}

pub(super) fn counts(counts: Counts) -> Value {
    json!({ "samples": counts.samples, "value": counts.value })
}

pub(super) fn cells(settings: &Settings, cells: &[Arc<str>]) -> Map<String, Value> {
    settings.keys.iter().zip(cells).map(|(key, cell)| (key.name().to_owned(), (&**cell).into())).collect()
}

fn object(entry: &ReportEntry, event: &str, settings: &Settings) -> Map<String, Value> {
    let mut object = cells(settings, &entry.cells);
    object.insert("event".to_owned(), event.into());
    object.insert("total".to_owned(), counts(entry.usage.total));
    object.insert("self".to_owned(), counts(entry.usage.own));
    object.extend(entry.lengths.iter().map(|lengths| ("lengths".to_owned(), spans::object(lengths))));
    object
}
