//! A single table: samples, each with the functions of its stack.

use super::collect::{Batch, End, Tables};
use super::column::Columns;
use super::file::TableFile;
use super::schema::{FramesOfSample, SCHEMA_VERSION, SampleTable};
use super::stacks::{object_name, offset};
use crate::profile::{Frame, Place};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use perf_data::error::Result;
use perf_data::session::Session;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Rows that are converted to columns at once: each has all texts of its stack.
const ROWS: usize = 1 << 10;

/// The columns.
type Row = (SampleTable, FramesOfSample);

/// The schema.
pub fn schema() -> SchemaRef {
    Row::schema()
}

/// Writes a single table.
pub(super) struct SingleTable<F>(pub F);

impl<F: TableFile> Tables for SingleTable<F> {
    fn samples(&mut self, batch: &Batch<'_>) -> Result<()> {
        for chunk in batch.samples.chunks(ROWS) {
            let mut rows = Row::default();
            for (row, stack) in chunk {
                let (columns, frames) = &mut rows;
                row.append(columns, &batch.common);
                let stack = batch.resolved.stacks.stack(*stack);
                let count: usize = stack.iter().map(|&frame| append(frames, batch, frame)).sum();
                frames.frames.end(Some(count));
            }
            self.0.write(&rows.batch())?;
        }
        Ok(())
    }

    fn record(&mut self, _: &Meta, _: &Raw<'_>, _: &Session) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, end: &End<'_>, _: &mut Ledger) -> Result<()> {
        let recording = format!("r{}", end.recording);
        self.0.finish(&[("perfconv.schema_version", SCHEMA_VERSION.to_string()), ("perfconv.recording", recording)])
    }
}

/// Passes rows on instead of writing a file.
pub(super) struct PassedRows<F>(pub F);

impl<F: FnMut(RecordBatch) -> Result<()>> TableFile for PassedRows<F> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        (self.0)(batch.clone())
    }

    fn finish(&mut self, _: &[(&str, String)]) -> Result<()> {
        Ok(())
    }
}

/// Appends the functions of a frame; returns their number.
fn append(columns: &mut FramesOfSample, batch: &Batch<'_>, frame: u32) -> usize {
    let (resolved, rows) = (batch.resolved, &mut columns.frames.rows);
    let Frame { place, address, .. } = resolved.stacks.frames()[frame as usize];
    let map = match place {
        Place::In(mapping) => Some(&resolved.mappings.list()[mapping as usize]),
        Place::Outside(_) => None,
    };
    let lines = resolved.symbols.lines(frame);
    let count = lines.len().max(1);
    for depth in 0..count {
        let line = lines.get(depth);
        let function = line.and_then(|line| resolved.symbols.function(line.function));
        let text = |name| Some(resolved.symbols.name(name)).filter(|name| !name.is_empty());
        rows.function.push_bytes(function.and_then(|function| text(function.name)));
        rows.dso.push_bytes(map.map(object_name));
        rows.offset.push(Some(map.map_or(address, |map| offset(map, address))));
        rows.file.push_bytes(function.and_then(|function| text(function.file)));
        rows.line.push(line.map(|line| line.line).filter(|&line| line > 0));
        rows.inlined.push(depth + 1 < count || resolved.symbols.is_inlined(frame));
    }
    count
}
