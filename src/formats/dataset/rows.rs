//! Reads the rows of a table from a Parquet file.

use super::id::Id;
use super::page_headers;
use crate::formats::import::memory_limit;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch};
use arrow_schema::{DataType, FieldRef, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use perf_data::error::{Error, Result};
use perf_data::threads::caught;
use perf_symbols::object::recorded_file;
use std::path::Path;
use std::sync::Arc;

/// Maximum number of rows that are in memory at once.
const ROWS: usize = 1 << 13;

/// Rows of a file, besides one for each of its bytes. Rows that are equal take no room in it, and some hundred bytes in memory. The
/// same holds for the elements of the lists of a column.
const EXTRA_ROWS: u64 = 1 << 19;

/// Rows of a table.
pub(super) struct Rows {
    /// Path of the file, for messages.
    file: String,
    batch: RecordBatch,
}

/// Calls `on_rows` with the rows of a file, of which only these columns are read.
///
/// # Errors
/// If the file cannot be read, needs more memory than its size allows, and errors of `on_rows`.
pub(super) fn for_each(path: &Path, columns: &[&str], on_rows: impl FnMut(&Rows) -> Result<()>) -> Result<()> {
    // The crates of Parquet and Arrow panic on some damaged files, also when values are taken from the rows.
    let read = caught(|| read(path, columns, on_rows));
    read.unwrap_or_else(|panic| Err(invalid(&path.display().to_string(), &panic)))
}

fn invalid(file: &str, error: &dyn std::fmt::Display) -> Error {
    Error::input(file, None, format!("is not a valid Parquet file: {error}"))
}

fn read(path: &Path, columns: &[&str], mut on_rows: impl FnMut(&Rows) -> Result<()>) -> Result<()> {
    let file = path.display().to_string();
    let input = recorded_file::open(path).map_err(Error::io(&file, "cannot open"))?;
    let size = input.metadata().map_err(Error::io(&file, "cannot open"))?.len();
    let invalid = |error: &dyn std::fmt::Display| invalid(&file, error);
    let stored = ArrowReaderMetadata::load(&input, ArrowReaderOptions::new()).map_err(|e| invalid(&e))?;
    let schema = Schema::new(stored.schema().fields().iter().map(repeated_texts_once).collect::<Vec<_>>());
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true).with_schema(Arc::new(schema));
    let metadata = ArrowReaderMetadata::try_new(Arc::clone(stored.metadata()), options).map_err(|e| invalid(&e))?;
    let pages = input.try_clone().map_err(Error::io(&file, "cannot open"))?;
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(input, metadata);
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    let (mut rows, mut total) = (0_u64, 0_u64);
    for group in builder.metadata().row_groups() {
        let included = group.columns().iter().enumerate().filter(|(index, _)| mask.leaf_included(*index));
        let (mut most, mut bytes) = (group.num_rows(), 0_u64);
        for (_, column) in included {
            let pages = page_headers::sizes(&pages, column).map_err(|e| invalid(&e))?;
            if pages.has_impossible_dictionary || pages.values > column.num_values().max(0) as u64 {
                return Err(invalid(&"a page has more values than its size or the footer states"));
            }
            most = most.max(column.num_values());
            bytes = bytes.saturating_add(pages.uncompressed);
        }
        (rows, total) = (rows.saturating_add(most.max(0) as u64), total.saturating_add(bytes));
    }
    if rows > size.saturating_add(EXTRA_ROWS) || total > memory_limit(size as usize) as u64 {
        let message =
            format!("{rows} rows that decompress to {total} bytes are more than a file of {size} bytes may have");
        return Err(Error::input(&file, None, message));
    }
    let reader = builder.with_projection(mask).with_batch_size(ROWS).build().map_err(|e| invalid(&e))?;
    for batch in reader {
        on_rows(&Rows { file: file.clone(), batch: batch.map_err(|e| invalid(&e))? })?;
    }
    Ok(())
}

/// The type that texts are read as, alone or in lists: a file can repeat a long text any number of times.
fn repeated_texts_once(field: &FieldRef) -> FieldRef {
    let inner = |field: &FieldRef| repeated_texts_once(field);
    let kind = match field.data_type() {
        DataType::Utf8 => DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into()),
        DataType::List(item) => DataType::List(inner(item)),
        DataType::Map(entries, is_sorted) => DataType::Map(inner(entries), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(kind))
}

impl Rows {
    pub(super) fn len(&self) -> usize {
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
    pub(super) fn int32(&self, name: &str) -> Result<impl Fn(usize) -> Option<i32> + '_> {
        self.numbers::<Int32Type>(name)
    }

    /// The values of a column of type BIGINT.
    ///
    /// # Errors
    /// If it is missing, or has another type.
    pub(super) fn int64(&self, name: &str) -> Result<impl Fn(usize) -> Option<i64> + '_> {
        self.numbers::<Int64Type>(name)
    }

    /// The values of a column of type UBIGINT.
    ///
    /// # Errors
    /// If it is missing, or has another type.
    pub(super) fn uint64(&self, name: &str) -> Result<impl Fn(usize) -> Option<u64> + '_> {
        self.numbers::<UInt64Type>(name)
    }

    /// The values of a column of type BOOLEAN; NULL is false.
    ///
    /// # Errors
    /// If it is missing, or has another type.
    pub(super) fn flag(&self, name: &str) -> Result<impl Fn(usize) -> bool + '_> {
        let flags = self.column(name)?.as_boolean_opt().ok_or_else(|| self.mismatch(name))?;
        Ok(|row| flags.is_valid(row) && flags.value(row))
    }

    /// The values of a column of type VARCHAR.
    ///
    /// # Errors
    /// If it is missing, or has another type.
    pub(super) fn text<'a>(&'a self, name: &str) -> Result<impl Fn(usize) -> Option<&'a str> + use<'a>> {
        let column = self.column(name)?.as_dictionary_opt::<Int32Type>().ok_or_else(|| self.mismatch(name))?;
        let texts = column.values().as_string_opt::<i32>().ok_or_else(|| self.mismatch(name))?;
        Ok(|row| column.key(row).map(|key| texts.value(key)))
    }

    /// The identifiers of a column.
    ///
    /// # Errors
    /// If it is missing, or has another type.
    pub(super) fn id(&self, name: &str) -> Result<impl Fn(usize) -> Option<Id> + '_> {
        let ids = self.column(name)?.as_fixed_size_binary_opt().ok_or_else(|| self.mismatch(name))?;
        Ok(|row| if ids.is_valid(row) { ids.value(row).try_into().ok().map(Id) } else { None })
    }

    /// The lists of identifiers of a column.
    ///
    /// # Errors
    /// If it is missing, or has another type.
    pub(super) fn ids(&self, name: &str) -> Result<impl Fn(usize) -> Vec<Id> + '_> {
        let lists = self.column(name)?.as_list_opt::<i32>().ok_or_else(|| self.mismatch(name))?;
        lists.values().as_fixed_size_binary_opt().ok_or_else(|| self.mismatch(name))?;
        Ok(|row| {
            let list = lists.value(row);
            let ids = list.as_fixed_size_binary();
            ids.iter().flatten().filter_map(|id| id.try_into().ok().map(Id)).collect()
        })
    }

    /// How many rows have a value in a column; 0 if the column is missing.
    pub(super) fn count(&self, name: &str) -> u64 {
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

    /// Writes a table with one column.
    fn write(path: &Path, column: ArrayRef) {
        let batch = RecordBatch::try_from_iter_with_nullable([("column", column, true)]).unwrap();
        let properties = WriterProperties::builder().set_dictionary_page_size_limit(1 << 30).build();
        let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }

    fn rows(path: &Path) -> Result<usize> {
        let mut count = 0;
        for_each(path, &["column"], |rows| {
            count += rows.len();
            Ok(())
        })?;
        Ok(count)
    }

    #[test]
    fn repeated_texts_are_in_memory_once_and_repeated_rows_have_a_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.parquet");
        let long = "f".repeat(4 << 20);
        write(&path, Arc::new(StringArray::from_iter_values((0..40).map(|_| &long))));
        let used = allocation_counter::measure(|| assert_eq!(rows(&path).unwrap(), 40));
        assert!(used.bytes_max < 32 << 20, "{used:?}");
        let mut lengths = Vec::new();
        let texts = |rows: &Rows| {
            let text = rows.text("column")?;
            lengths.extend((0..rows.len()).map(|row| text(row).map(str::len)));
            Ok(())
        };
        write(&path, Arc::new(StringArray::from(vec![Some("a"), None, Some("abc"), Some("a")])));
        for_each(&path, &["column"], texts).unwrap();
        assert_eq!(lengths, [Some(1), None, Some(3), Some(1)]);
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
