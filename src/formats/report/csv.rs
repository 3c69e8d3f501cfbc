//! Reports as comma-separated values.

use super::Settings;
use crate::profile::Profile;
use crate::report::location::Locations;
use csv::Writer;
use perf_data::error::{Error, Result};
use std::io::{self, Write};

/// Writes a line for each entry: the event, its keys, then samples and values of the entry in total and by itself.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write(profile: &Profile, locations: &Locations, settings: &Settings, out: &mut dyn Write) -> Result<()> {
    let failed = |error: csv::Error| Error::Output(io::Error::other(error));
    let mut table = Writer::from_writer(out);
    let keys = settings.keys.iter().map(|key| key.name());
    let counts = ["total_samples", "total_value", "self_samples", "self_value"];
    table.write_record(["of_event"].into_iter().chain(keys).chain(counts)).map_err(failed)?;
    for top in settings.lists(profile, locations) {
        for entry in settings.entries(&top) {
            let (total, own) = (entry.usage.total, entry.usage.own);
            let counts = [total.samples, total.value, own.samples, own.value].map(|count| count.to_string());
            let event = &*profile.tables.events[entry.event as usize].name;
            let cells = entry.cells.iter().map(|cell| &**cell).chain(counts.iter().map(String::as_str));
            table.write_record([event].into_iter().chain(cells)).map_err(failed)?;
        }
    }
    table.flush().map_err(Error::Output)
}
