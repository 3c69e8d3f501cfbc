//! Tables for query engines: a dataset of Parquet files, or a single Parquet or Arrow file.
//!
//! A dataset is a directory with a directory for each table, partitioned by recording:
//! `TABLE/recording=ID/part-0.parquet`. Identifiers are hashes, so that datasets of many machines are one dataset once they
//! are in the same directory. `docs/tables.md` describes the tables and their columns.

mod collect;
mod column;
mod directory;
mod file;
mod id;
mod import;
mod page_headers;
mod record_table;
mod recording;
mod records;
mod rows;
mod sample;
mod schema;
mod single;
mod stacks;
mod tracepoints;

pub use schema::{DescribedColumn, SCHEMA_VERSION, describe, table};
pub use single::schema as single_schema;

use super::converter::{ConvertOptions, Converter};
use super::directory_options::APPEND;
use super::options::FormatOption;
use super::{Format, Reader, ShowsFunctions, Writer};
use arrow_array::RecordBatch;
use file::{ArrowFile, ParquetFile, Target};
use perf_data::error::Result;
use single::{PassedRows, SingleTable};
use std::io::Write;

/// A dataset.
pub const DATASET: Format = Format {
    is_binary: true,
    functions: ShowsFunctions::Always,
    writer: Writer::Directory {
        begin: directory::begin_dataset,
        is_alike: directory::is_dataset,
        join: Some(directory::join),
    },
    reader: Reader::Directory { import: import::import, recognizes: import::is_readable },
    options: &[APPEND, RECORDS],
    ..Format::new("parquet", "directory of Parquet tables, for SQL engines")
};

/// The option `--records`.
const RECORDS: FormatOption = FormatOption::switch("records", "Also write a table of records other than samples");

/// A single Parquet file.
pub const FILE: Format = Format {
    extensions: &[("parquet", None)],
    is_binary: true,
    functions: ShowsFunctions::Always,
    writer: Writer::Converter(begin_parquet),
    ..Format::new("parquet-file", "Parquet table of samples with their stacks")
};

/// A single Arrow file.
pub const ARROW: Format = Format {
    extensions: &[("arrow", None)],
    is_binary: true,
    functions: ShowsFunctions::Always,
    writer: Writer::Converter(begin_arrow),
    ..Format::new("arrow", "Arrow table of samples with their stacks")
};

fn begin_parquet<'a>(out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
    let file = ParquetFile::new(single::schema(), Target::Output(out), &["time", "timestamp"]);
    collect::begin(SingleTable(file), options)
}

fn begin_arrow<'a>(out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
    collect::begin(SingleTable(ArrowFile::new(&single::schema(), Target::Output(out))), options)
}

/// Begins a single table whose rows are passed to a function.
pub fn begin_rows<'a>(
    use_rows: impl FnMut(RecordBatch) -> Result<()> + 'a,
    options: &ConvertOptions,
) -> Box<dyn Converter + 'a> {
    collect::begin(SingleTable(PassedRows(use_rows)), options)
}
