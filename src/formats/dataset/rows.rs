//! Reads the rows of a table from a Parquet file.

use super::id::Id;
use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::Path;

/// Rows that are in memory at once.
const ROWS: usize = 1 << 13;

/// Rows of a table.
pub struct Rows {
    /// Path of the file, for messages.
    file: String,
    batch: RecordBatch,
}

/// Calls `found` with the rows of a file, of which only these columns are read.
///
/// # Errors
/// If the file cannot be read, and errors of `found`.
pub fn for_each(path: &Path, columns: &[&str], mut found: impl FnMut(&Rows) -> Result<()>) -> Result<()> {
    let file = path.display().to_string();
    let input = File::open(path).map_err(Error::io(&file, "cannot open"))?;
    let invalid =
        |error: &dyn std::fmt::Display| Error::input(&file, None, format!("is not a valid Parquet file: {error}"));
    let builder = ParquetRecordBatchReaderBuilder::try_new(input).map_err(|e| invalid(&e))?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    let reader = builder.with_projection(mask).with_batch_size(ROWS).build().map_err(|e| invalid(&e))?;
    for batch in reader {
        found(&Rows { file: file.clone(), batch: batch.map_err(|e| invalid(&e))? })?;
    }
    Ok(())
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// The error that a column is missing or has another type.
    fn mismatch(&self, name: &str) -> Error {
        Error::input(&self.file, None, format!("column {name} is missing, or has another type"))
    }

    fn column(&self, name: &str) -> Result<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| self.mismatch(name))
    }

    fn numbers<T: ArrowPrimitiveType>(&self, name: &str) -> Result<impl Fn(usize) -> Option<T::Native> + '_> {
        let numbers = self.column(name)?.as_primitive_opt::<T>().ok_or_else(|| self.mismatch(name))?;
        Ok(|row| numbers.is_valid(row).then(|| numbers.value(row)))
    }

    /// The values of a column of type INTEGER.
    ///
    /// # Errors
    /// If it is missing, or has another type.
    pub fn int32(&self, name: &str) -> Result<impl Fn(usize) -> Option<i32> + '_> {
        self.numbers::<Int32Type>(name)
    }

    /// The values of a column of type BIGINT.
    ///
    /// # Errors
    /// If it is missing, or has another type.
    pub fn int64(&self, name: &str) -> Result<impl Fn(usize) -> Option<i64> + '_> {
        self.numbers::<Int64Type>(name)
    }

    /// The values of a column of type UBIGINT.
    ///
    /// # Errors
    /// If it is missing, or has another type.
    pub fn uint64(&self, name: &str) -> Result<impl Fn(usize) -> Option<u64> + '_> {
        self.numbers::<UInt64Type>(name)
    }

    /// The values of a column of type BOOLEAN; NULL is false.
    ///
    /// # Errors
    /// If it is missing, or has another type.
    pub fn flag(&self, name: &str) -> Result<impl Fn(usize) -> bool + '_> {
        let flags = self.column(name)?.as_boolean_opt().ok_or_else(|| self.mismatch(name))?;
        Ok(|row| flags.is_valid(row) && flags.value(row))
    }

    /// The values of a column of type VARCHAR.
    ///
    /// # Errors
    /// If it is missing, or has another type.
    pub fn text<'a>(&'a self, name: &str) -> Result<impl Fn(usize) -> Option<&'a str> + use<'a>> {
        let texts = self.column(name)?.as_string_opt::<i32>().ok_or_else(|| self.mismatch(name))?;
        Ok(|row| texts.is_valid(row).then(|| texts.value(row)))
    }

    /// The identifiers of a column.
    ///
    /// # Errors
    /// If it is missing, or has another type.
    pub fn id(&self, name: &str) -> Result<impl Fn(usize) -> Option<Id> + '_> {
        let ids = self.column(name)?.as_fixed_size_binary_opt().ok_or_else(|| self.mismatch(name))?;
        Ok(|row| if ids.is_valid(row) { ids.value(row).try_into().ok().map(Id) } else { None })
    }

    /// The lists of identifiers of a column.
    ///
    /// # Errors
    /// If it is missing, or has another type.
    pub fn ids(&self, name: &str) -> Result<impl Fn(usize) -> Vec<Id> + '_> {
        let lists = self.column(name)?.as_list_opt::<i32>().ok_or_else(|| self.mismatch(name))?;
        lists.values().as_fixed_size_binary_opt().ok_or_else(|| self.mismatch(name))?;
        Ok(|row| {
            let list = lists.value(row);
            let ids = list.as_fixed_size_binary();
            ids.iter().flatten().filter_map(|id| id.try_into().ok().map(Id)).collect()
        })
    }

    /// How many rows have a value in a column; 0 if the column is missing.
    pub fn count(&self, name: &str) -> u64 {
        self.batch.column_by_name(name).map_or(0, |column| (column.len() - column.null_count()) as u64)
    }
}
