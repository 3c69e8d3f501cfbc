//! The samples as a table in memory.

use super::Recording;
use crate::formats::dataset;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use perf_data::error::Result;
use perf_data::stream::ledger::Ledger;

impl Recording {
    /// The schema of [`sample_table`](Self::sample_table): that of the single table in `docs/tables.md`.
    pub fn sample_schema() -> SchemaRef {
        dataset::single_schema()
    }

    /// Calls a function with the rows of the table of samples, in time order, in batches of limited size; returns the ledger of the
    /// records. A row has the functions of its stack, which are named if [symbols](Self::with_symbols) are looked up.
    ///
    /// # Errors
    /// If no record can be read, and errors of the function, which end the reading.
    pub fn sample_table(&self, use_rows: impl FnMut(RecordBatch) -> Result<()>) -> Result<Ledger> {
        self.convert_with(&mut *dataset::begin_rows(use_rows, &self.convert_options()))
    }
}
