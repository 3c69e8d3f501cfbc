//! The table of records other than samples, with all of their fields.

use super::column::{Columns, saturated};
use super::file::{ParquetFile, TableFile};
use super::sample::WallClock;
use super::schema::RecordColumns;
use crate::formats::json;
use perf_data::error::Result;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Size of the objects in memory at which rows are passed to the file.
const BYTES: usize = 4 << 20;

/// Writes records.
pub(super) struct RecordTable {
    file: ParquetFile<'static>,
    columns: RecordColumns,
    bytes: usize,
    /// Scratch buffer.
    object: Vec<u8>,
}

impl RecordTable {
    /// A table without rows.
    pub(super) fn new(file: ParquetFile<'static>) -> Self {
        Self { file, columns: RecordColumns::default(), bytes: 0, object: Vec::new() }
    }

    /// Appends a record.
    ///
    /// # Errors
    /// Errors of the output.
    pub(super) fn add(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.object.clear();
        json::without_payload(&mut self.object, meta, raw).map_err(json::failed)?;
        let trailer = meta.events.split(raw).1;
        let time = meta.events.time(raw);
        let columns = &mut self.columns;
        columns.time.push(time.map(saturated));
        columns.timestamp.push(WallClock::new(meta).utc(time));
        columns.record.push(Some(&raw.header().kind.to_string()));
        // Records that perf synthesizes were not recorded in any process.
        let trailer = trailer.filter(|_| time.is_some());
        let task = trailer.and_then(|trailer| trailer.task);
        columns.pid.push(task.map(|(pid, _)| pid as i32));
        columns.tid.push(task.map(|(_, tid)| tid as i32));
        columns.cpu.push(trailer.and_then(|trailer| trailer.cpu).map(|(cpu, _)| cpu as i32));
        columns.json.push_bytes(Some(&self.object));
        self.bytes += self.object.len();
        if self.bytes >= BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        self.bytes = 0;
        self.file.write(&self.columns.batch())
    }

    /// Ends the file, with metadata.
    ///
    /// # Errors
    /// Errors of the output.
    pub(super) fn finish(&mut self, metadata: &[(&str, String)]) -> Result<()> {
        self.write()?;
        self.file.finish(metadata)
    }
}
