//! Tables for query engines: a dataset of Parquet files, or a single Parquet or Arrow file.
//!
//! A dataset is a directory with a directory for each table, partitioned by recording:
//! `TABLE/recording=ID/part-0.parquet`. Identifiers are hashes, so that datasets of many machines are one dataset once they
//! are in the same directory. `docs/tables.md` describes the tables and their columns.

mod collect;
mod column;
mod directory;
mod field_columns;
mod file;
mod id;
mod import;
mod page_headers;
mod record_table;
mod recording;
mod records;
mod rows;
mod sample;
mod scheduling;
mod schema;
mod single;
mod stacks;
mod tracepoints;

pub use schema::{DescribedColumn, SCHEMA_VERSION, describe, table};
pub use single::schema as single_schema;

use super::{Format, FormatReader, ShowsFunctions};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::output::{DirectoryFormat, FormatWriter, OutputFormat, OutputType, RecordFormat};
use arrow_array::RecordBatch;
use file::{ArrowFile, ParquetFile, Target};
use perf_data::container::output::JoinDirectory;
use perf_data::error::Result;
use single::{PassedRows, SingleTable};
use std::io::Write;
use std::path::Path;

/// A dataset.
pub const DATASET: Format = Format {
    is_binary: true,
    output: Some(OutputType::of::<Dataset>()),
    functions: ShowsFunctions::Always,
    has_stack_tables: true,
    reader: FormatReader::Directory { import: import::import, recognizes: import::is_readable },
    ..Format::new("parquet", "directory of Parquet tables, for SQL engines")
};

/// A single Parquet file.
pub const FILE: Format = Format {
    extensions: &[("parquet", None)],
    is_binary: true,
    output: Some(OutputType::of::<ParquetTable>()),
    functions: ShowsFunctions::Always,
    has_stack_tables: true,
    ..Format::new("parquet-file", "Parquet table of samples with their stacks")
};

/// A single Arrow file.
pub const ARROW: Format = Format {
    extensions: &[("arrow", None)],
    is_binary: true,
    output: Some(OutputType::of::<ArrowTable>()),
    functions: ShowsFunctions::Always,
    has_stack_tables: true,
    ..Format::new("arrow", "Arrow table of samples with their stacks")
};

/// A dataset with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Dataset {
    /// Add recordings to an existing dataset, or replace them in it.
    #[cfg_attr(feature = "cli", arg(long))]
    pub append: bool,

    /// Also write a table of records other than samples.
    #[cfg_attr(feature = "cli", arg(long))]
    pub records: bool,
}

/// A Parquet table.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct ParquetTable {}

/// An Arrow table.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct ArrowTable {}

impl OutputFormat for Dataset {
    fn format(&self) -> &'static Format {
        &DATASET
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Directory(self)
    }
}

impl DirectoryFormat for Dataset {
    fn begin(&self, directory: &Path, options: &ConvertOptions) -> Result<Box<dyn Converter>> {
        directory::begin_dataset(self.records, directory, options)
    }

    fn is_alike(&self) -> fn(&Path) -> bool {
        directory::is_dataset
    }

    fn join(&self) -> Option<JoinDirectory> {
        Some(directory::join)
    }

    fn appends(&self) -> bool {
        self.append
    }
}

impl OutputFormat for ParquetTable {
    fn format(&self) -> &'static Format {
        &FILE
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Converter(self)
    }
}

impl RecordFormat for ParquetTable {
    fn begin<'a>(&self, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
        let file = ParquetFile::new(single::schema(), Target::Output(out), &["time", "timestamp"]);
        collect::begin(SingleTable(file), options)
    }
}

impl OutputFormat for ArrowTable {
    fn format(&self) -> &'static Format {
        &ARROW
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Converter(self)
    }
}

impl RecordFormat for ArrowTable {
    fn begin<'a>(&self, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
        collect::begin(SingleTable(ArrowFile::new(&single::schema(), Target::Output(out))), options)
    }
}

/// Begins a single table whose rows are passed to a function.
pub fn begin_rows<'a>(
    use_rows: impl FnMut(RecordBatch) -> Result<()> + 'a,
    options: &ConvertOptions,
) -> Box<dyn Converter + 'a> {
    collect::begin(SingleTable(PassedRows(use_rows)), options)
}
