//! Reports as JSON.

use super::Settings;
use crate::error::{Error, Result};
use crate::profile::Profile;
use crate::report::facts::{facts, warnings};
use crate::report::location::Locations;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Writes one object: facts of the recording, warnings, events with their counts, and entries.
///
/// # Errors
/// Errors of `out`.
pub fn write(profile: &Profile, locations: &Locations, settings: &Settings, out: &mut dyn Write) -> Result<()> {
    let lists = settings.lists(profile, locations);
    let name = |event: u32| &*profile.tables.events[event as usize].name;
    let (mut events, mut entries) = (Vec::new(), Vec::new());
    for (_, top) in &lists {
        let mut totals: Vec<_> = top.totals.iter().collect();
        totals.sort_unstable_by_key(|(event, _)| **event);
        events.extend(
            totals.into_iter().map(
                |(&event, counts)| json!({ "event": name(event), "samples": counts.samples, "value": counts.value }),
            ),
        );
        entries.extend(settings.entries(top).map(|entry| {
            let (total, own) = (entry.usage.total, entry.usage.own);
            let keys =
                settings.keys.iter().zip(&entry.cells).map(|(key, cell)| (key.name().to_owned(), cell.as_str().into()));
            let mut object: Map<String, Value> = keys.collect();
            object.insert("event".to_owned(), name(entry.event).into());
            object.insert("total".to_owned(), json!({ "samples": total.samples, "value": total.value }));
            object.insert("self".to_owned(), json!({ "samples": own.samples, "value": own.value }));
            Value::Object(object)
        }));
    }
    let facts: Map<String, Value> =
        facts(profile).into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let report = json!({ "facts": facts, "warnings": warnings(profile), "events": events, "entries": entries });
    serde_json::to_writer(&mut *out, &report).map_err(|error| Error::Output(io::Error::from(error)))?;
    out.write_all(b"\n").map_err(Error::Output)
}
