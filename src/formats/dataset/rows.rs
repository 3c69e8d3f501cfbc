//! Reads the rows of a table from a Parquet file.

use super::id::Id;
use crate::error::{Error, Result};
use crate::object::recorded_file;
use crate::threads::caught;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::path::Path;

/// Maximum number of rows that are in memory at once.
const ROWS: usize = 1 << 13;

/// Bytes that these rows have in a column, if each has the longest text that the column can have: a short file can repeat a long text
/// any number of times.
const ROW_BYTES: u64 = 128 << 20;

/// Rows of a file, besides one for each of its bytes. Rows that are equal take no room in it, and some hundred bytes in memory.
const EXTRA_ROWS: u64 = 1 << 19;

/// Limit on the decompressed columns of a file with this many bytes.
fn size_limit(file: u64) -> u64 {
    file.saturating_mul(20).saturating_add(64 << 20)
}

/// Rows of a table.
pub struct Rows {
    /// Path of the file, for messages.
    file: String,
    batch: RecordBatch,
}

/// Calls `found` with the rows of a file, of which only these columns are read.
///
/// # Errors
/// If the file cannot be read, needs more memory than its size allows, and errors of `found`.
pub fn for_each(path: &Path, columns: &[&str], found: impl FnMut(&Rows) -> Result<()>) -> Result<()> {
    // The crates of Parquet and Arrow panic on some damaged files, also when values are taken from the rows.
    let read = caught(|| read(path, columns, found));
    read.unwrap_or_else(|panic| Err(invalid(&path.display().to_string(), &panic)))
}

fn invalid(file: &str, error: &dyn std::fmt::Display) -> Error {
    Error::input(file, None, format!("is not a valid Parquet file: {error}"))
}

fn read(path: &Path, columns: &[&str], mut found: impl FnMut(&Rows) -> Result<()>) -> Result<()> {
    let file = path.display().to_string();
    let input = recorded_file::open(path).map_err(Error::io(&file, "cannot open"))?;
    let size = input.metadata().map_err(Error::io(&file, "cannot open"))?.len();
    let invalid = |error: &dyn std::fmt::Display| invalid(&file, error);
    let builder = ParquetRecordBatchReaderBuilder::try_new(input).map_err(|e| invalid(&e))?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    let (mut rows, mut total, mut largest) = (0_u64, 0_u64, 1);
    for group in builder.metadata().row_groups() {
        rows = rows.saturating_add(group.num_rows().max(0) as u64);
        for (_, column) in group.columns().iter().enumerate().filter(|(index, _)| mask.leaf_included(*index)) {
            let bytes = column.uncompressed_size().max(0) as u64;
            (total, largest) = (total.saturating_add(bytes), largest.max(bytes));
        }
    }
    if rows > size.saturating_add(EXTRA_ROWS) || total > size_limit(size) {
        let what =
            format!("{rows} rows that decompress to {total} bytes are more than a file of {size} bytes may have");
        return Err(Error::input(&file, None, what));
    }
    let rows = usize::try_from(ROW_BYTES / largest).unwrap_or(ROWS).clamp(1, ROWS);
    let reader = builder.with_projection(mask).with_batch_size(rows).build().map_err(|e| invalid(&e))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int32Array, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;
    use std::fs::{self, File};
    use std::sync::Arc;

    /// Writes a table with one column.
    fn write(path: &Path, column: ArrayRef) {
        let batch = RecordBatch::try_from_iter_with_nullable([("column", column, true)]).unwrap();
        let properties = WriterProperties::builder().set_dictionary_page_size_limit(1 << 30).build();
        let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }

    fn rows(path: &Path) -> Result<(usize, usize)> {
        let (mut count, mut largest) = (0, 0);
        for_each(path, &["column"], |rows| {
            (count, largest) = (count + rows.len(), largest.max(rows.len()));
            Ok(())
        })?;
        Ok((count, largest))
    }

    #[test]
    fn long_repeated_texts_are_read_in_few_rows_and_repeated_rows_have_a_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.parquet");
        write(&path, Arc::new(StringArray::from_iter_values((0..40).map(|_| "f".repeat(4 << 20)))));
        let (count, largest) = rows(&path).unwrap();
        assert!(count == 40 && largest <= 32, "{count} {largest}");
        write(&path, Arc::new(Int32Array::from_iter_values((0..1 << 20).map(|_| 1))));
        let error = rows(&path).unwrap_err().to_string();
        assert!(error.contains("1048576 rows that decompress to"), "{error}");
    }

    #[test]
    fn panics_are_errors_of_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.parquet");
        write(&path, Arc::new(Int32Array::from_iter_values(0..10)));
        let error = for_each(&path, &["column"], |_| panic!("index out of bounds")).unwrap_err().to_string();
        assert!(error.ends_with("x.parquet: is not a valid Parquet file: index out of bounds"), "{error}");
        fs::write(&path, "PAR1").unwrap();
        assert!(rows(&path).is_err());
    }
}
