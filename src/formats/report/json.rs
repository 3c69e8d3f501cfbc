//! Reports as JSON.

use super::Settings;
use crate::profile::Profile;
use crate::report::facts::{facts, warnings};
use crate::report::location::Locations;
use crate::report::top::ReportEntry;
use perf_data::error::{Error, Result};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

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
        events.extend(
            totals.into_iter().map(
                |(&event, counts)| json!({ "event": name(event), "samples": counts.samples, "value": counts.value }),
            ),
        );
        // One by one, because names can be long.
        for entry in settings.entries(&top) {
            out.write_all(separator.as_bytes())?;
            serde_json::to_writer(&mut *out, &object(entry, name(entry.event), settings))?;
            separator = ",";
        }
    }
    let facts: Map<String, Value> =
        facts(profile).into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let (events, facts, warnings) = (json!(events), json!(facts), json!(warnings(profile)));
    writeln!(out, "],\"events\":{events},\"facts\":{facts},\"warnings\":{warnings}}}")
}

fn object(entry: &ReportEntry, event: &str, settings: &Settings) -> Map<String, Value> {
    let (total, own) = (entry.usage.total, entry.usage.own);
    let cells = settings.keys.iter().zip(&entry.cells);
    let mut object: Map<_, _> = cells.map(|(key, cell)| (key.name().to_owned(), (&**cell).into())).collect();
    object.insert("event".to_owned(), event.into());
    object.insert("total".to_owned(), json!({ "samples": total.samples, "value": total.value }));
    object.insert("self".to_owned(), json!({ "samples": own.samples, "value": own.value }));
    object
}
