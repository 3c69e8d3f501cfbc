//! Files of tables: Parquet with row groups of limited size, and Arrow IPC.

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use perf_data::error::{Error, Result};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// Rows of a row group, at most: engines read row groups in parallel.
const ROWS: usize = 1 << 17;

/// Size of an encoded row group at which it is written.
const ROW_GROUP: usize = 32 << 20;

/// Size of a column's dictionary at which it is no longer used.
const DICTIONARY: usize = 4 << 20;

/// Where the bytes of a file are written to.
pub(super) enum Target<'a> {
    /// A file, opened for each write: a dataset can have more files than a process may have open.
    Path(PathBuf),
    /// An output.
    Output(&'a mut dyn Write),
}

impl Target<'_> {
    fn append(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        match self {
            Self::Path(path) => {
                let mut file = File::options()
                    .append(true)
                    .create(true)
                    .open(&*path)
                    .map_err(Error::io(path.display().to_string(), "cannot create"))?;
                file.write_all(bytes).map_err(Error::Output)?;
            }
            Self::Output(out) => out.write_all(bytes).map_err(Error::Output)?,
        }
        bytes.clear();
        Ok(())
    }
}

/// A file of a table.
pub(super) trait TableFile {
    /// Appends rows.
    ///
    /// # Errors
    /// Errors of the target.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Size of the rows that are in memory.
    fn memory(&self) -> usize {
        0
    }

    /// Writes the rows that are in memory.
    ///
    /// # Errors
    /// Errors of the target.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    /// Ends the file, with metadata.
    ///
    /// # Errors
    /// Errors of the target.
    fn finish(&mut self, metadata: &[(&str, String)]) -> Result<()>;
}

/// A Parquet file.
pub(super) struct ParquetFile<'a> {
    writer: ArrowWriter<Vec<u8>>,
    target: Target<'a>,
}

impl<'a> ParquetFile<'a> {
    /// Begins a file. The columns named in `unique` have no dictionary.
    pub(super) fn new(schema: SchemaRef, target: Target<'a>, unique: &[&str]) -> Self {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROWS))
            .set_max_row_group_bytes(Some(ROW_GROUP))
            .set_dictionary_page_size_limit(DICTIONARY)
            .set_created_by(concat!("perfconv ", env!("CARGO_PKG_VERSION")).to_owned());
        for column in unique {
            properties = properties.set_column_dictionary_enabled(ColumnPath::from(*column), false);
        }
        let writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties.build()));
        Self { writer: writer.expect("all column types are types of Parquet"), target }
    }

    fn drain(&mut self) -> Result<()> {
        self.writer.sync().map_err(Error::Output)?;
        self.target.append(self.writer.inner_mut())
    }
}

impl TableFile for ParquetFile<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(failed)?;
        self.drain()
    }

    fn memory(&self) -> usize {
        self.writer.memory_size()
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(failed)?;
        self.drain()
    }

    fn finish(&mut self, metadata: &[(&str, String)]) -> Result<()> {
        for (key, value) in metadata {
            self.writer.append_key_value_metadata(KeyValue::new((*key).to_owned(), value.clone()));
        }
        self.writer.finish().map_err(failed)?;
        self.drain()
    }
}

/// An Arrow IPC file.
pub(super) struct ArrowFile<'a> {
    writer: FileWriter<Vec<u8>>,
    target: Target<'a>,
}

impl<'a> ArrowFile<'a> {
    /// Begins a file.
    pub(super) fn new(schema: &SchemaRef, target: Target<'a>) -> Self {
        let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD));
        let writer = options.and_then(|options| FileWriter::try_new_with_options(Vec::new(), schema, options));
        Self { writer: writer.expect("the format has compression, and all column types"), target }
    }
}

impl TableFile for ArrowFile<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(failed)?;
        self.target.append(self.writer.get_mut())
    }

    fn finish(&mut self, metadata: &[(&str, String)]) -> Result<()> {
        for (key, value) in metadata {
            self.writer.write_metadata(*key, value);
        }
        self.writer.finish().map_err(failed)?;
        self.target.append(self.writer.get_mut())
    }
}

/// Converts an error of a writer.
fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Output(io::Error::other(error))
}
