//! The records, and information on the recording, as JSON.

use super::Recording;
use crate::formats::framework::output::RecordFormat;
use crate::formats::json;
use crate::inspect::info::imported_profile::ImportedInfo;
use crate::inspect::info::{Parts, read_info};
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use perf_data::stream::source::Source;
use serde::Serialize;
use std::io::{self, Write};

impl Recording {
    /// Writes the recording as JSON Lines, as `docs/json.md` describes; returns the ledger of the records.
    ///
    /// # Errors
    /// If no record can be read, and errors of `out`.
    pub fn write_json_lines(&self, out: &mut dyn Write) -> Result<Ledger> {
        self.convert_with(&mut *json::JsonLines::default().begin(out, &self.convert_options()))
    }

    /// The JSON object that `perfconv info --json` prints: header, features, events, build IDs and statistics.
    ///
    /// # Errors
    /// If the recording cannot be read.
    pub fn info_json(&self) -> Result<String> {
        if let Some(profile) = self.opened.imported() {
            return to_json(&ImportedInfo::new(self.opened.format().name, profile));
        }
        let mut info = read_info(Source::open(self.input.clone(), self.read.clone())?, Parts::ALL)?;
        match info.failure.take() {
            Some(error) => Err(error),
            None => to_json(&info),
        }
    }
}

fn to_json(value: &impl Serialize) -> Result<String> {
    let mut object = Vec::new();
    json::append(&mut object, value).map_err(|error| Error::Output(io::Error::other(error)))?;
    Ok(String::from_utf8(object).expect("JSON is UTF-8"))
}
