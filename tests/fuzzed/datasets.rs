//! Datasets, of which anybody can make any.

use super::memory::assert_within_budget;
use super::profiles::assert_intact;
use allocation_counter::measure;
use arbitrary::{Result, Unstructured};
use arrow_array::builder::{FixedSizeBinaryBuilder, ListBuilder};
use arrow_array::{ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use perfconv::formats::FormatReader;
use perfconv::formats::dataset::DATASET;
use perfconv::formats::import::ImportOptions;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Type of a column.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Int32,
    Int64,
    UInt64,
    Flag,
    Id,
    Ids,
}

use Kind::{Flag, Id, Ids, Int32, Int64, Text, UInt64};

/// The tables that are read, with the columns that are read of them.
const TABLES: [(&str, &[(&str, Kind)]); 7] = [
    ("recordings", &[("perf", Text), ("command", Text)]),
    ("events", &[("event", Text), ("unit", Text), ("period", Int64), ("samples", Int64)]),
    ("objects", &[("object", Id), ("dso", Text), ("build_id", Text), ("pid", Int32), ("kernel", Flag)]),
    ("mappings", &[("pid", Int32), ("start", UInt64), ("end", UInt64), ("offset", UInt64), ("dso", Text)]),
    (
        "frames",
        &[
            ("frame", Id),
            ("depth", Int32),
            ("object", Id),
            ("offset", UInt64),
            ("function", Text),
            ("system_name", Text),
            ("file", Text),
            ("start_line", Int64),
            ("line", Int64),
            ("column", Int64),
            ("inlined", Flag),
            ("kernel", Flag),
        ],
    ),
    ("stacks", &[("stack", Id), ("frames", Ids)]),
    (
        "samples",
        &[
            ("stack", Id),
            ("event", Text),
            ("value", Int64),
            ("time", Int64),
            ("pid", Int32),
            ("tid", Int32),
            ("comm", Text),
            ("process", Text),
            ("cpu", Int32),
            ("cgroup", Text),
            ("addr", UInt64),
            ("data_src", UInt64),
        ],
    ),
];

/// Few texts, so that tables refer to each other.
const TEXTS: [&str; 8] = [
    "cycles",
    "/bin/cat",
    "[kernel.kallsyms]",
    "main",
    "0123456789abcdef0123456789abcdef01234567",
    "bytes",
    "",
    "//anon",
];

/// Maximum number of characters of a text in all of its rows together.
const MAX_TEXT: usize = 4 << 20;

/// Imports a dataset that is made from the bytes, with intact or damaged files. It is rejected, or becomes a recording without
/// findings. The memory is at most 64 MB and 20 times the bytes read.
pub fn dataset(bytes: &[u8]) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let Ok(read) = write(directory.path(), &mut Unstructured::new(bytes)) else { return };
    let options = ImportOptions { most_samples: 10_000, ..ImportOptions::default() };
    let FormatReader::Directory { import, .. } = DATASET.reader else { unreachable!("a dataset is a directory") };
    let mut imported = None;
    let used = measure(|| imported = import(directory.path(), &options).ok());
    assert_within_budget(used, read);
    if let Some(imported) = imported {
        assert_intact(&imported);
    }
}

/// Writes the tables; returns the size of their files.
fn write(dataset: &Path, from: &mut Unstructured<'_>) -> Result<usize> {
    let mut size = 0;
    for (table, columns) in TABLES {
        let mut bytes = file(columns, from)?;
        for _ in 0..from.int_in_range(0..=2_u8)? {
            damage(&mut bytes, from)?;
        }
        size += bytes.len();
        let partition = dataset.join(table).join("recording=0");
        fs::create_dir_all(&partition).expect("a temporary directory");
        fs::write(partition.join("part-0.parquet"), bytes).expect("a temporary file");
    }
    Ok(size)
}

/// A file of a table, whose rows may occur many times.
fn file(columns: &[(&str, Kind)], from: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let rows = from.int_in_range(0..=6)?;
    let times = *from.choose(&[1, 1, 1, 1, 1, 1, 10, 1000])?;
    let mut arrays = Vec::new();
    for &(name, kind) in columns {
        // Rarely a column of another type.
        let kind = if from.ratio(1, 64)? { *from.choose(&[Text, Int32, Int64, UInt64, Flag, Id, Ids])? } else { kind };
        arrays.push((name, column(kind, rows, times, from)?, true));
    }
    let batch = RecordBatch::try_from_iter_with_nullable(arrays).expect("columns of equal length");
    let compression =
        if from.arbitrary()? { Compression::UNCOMPRESSED } else { Compression::ZSTD(ZstdLevel::default()) };
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).expect("types of Parquet");
    writer.write(&batch).expect("writing to memory should succeed");
    Ok(writer.into_inner().expect("writing to memory should succeed"))
}

fn column(kind: Kind, rows: usize, times: usize, from: &mut Unstructured<'_>) -> Result<ArrayRef> {
    Ok(match kind {
        Text => Arc::new(StringArray::from(values(rows, times, from, |from| text(times, from))?)),
        Int32 => Arc::new(Int32Array::from(values(rows, times, from, |from| Ok(number(from)? as i32))?)),
        Int64 => Arc::new(Int64Array::from(values(rows, times, from, |from| Ok(number(from)? as i64))?)),
        UInt64 => Arc::new(UInt64Array::from(values(rows, times, from, number)?)),
        Flag => Arc::new(BooleanArray::from(values(rows, times, from, |from| from.arbitrary())?)),
        Id => {
            let mut ids = FixedSizeBinaryBuilder::new(16);
            for value in values(rows, times, from, id)? {
                match value {
                    Some(id) => ids.append_value(id).expect("equal sizes"),
                    None => ids.append_null(),
                }
            }
            Arc::new(ids.finish())
        }
        Ids => {
            let mut lists = ListBuilder::new(FixedSizeBinaryBuilder::new(16));
            let list = |from: &mut Unstructured<'_>| {
                let ids = (0..from.int_in_range(0..=4)?).map(|_| id(from)).collect::<Result<Vec<_>>>()?;
                Ok(ids.repeat(if times == 1 { *from.choose(&[1, 1, 100])? } else { 1 }))
            };
            for value in values(rows, times, from, list)? {
                for id in value.iter().flatten() {
                    lists.values().append_value(id).expect("equal sizes");
                }
                lists.append(value.is_some());
            }
            Arc::new(lists.finish())
        }
    })
}

/// Values of a column, some of them NULL, repeated.
fn values<T: Clone>(
    rows: usize,
    times: usize,
    from: &mut Unstructured<'_>,
    one: impl Fn(&mut Unstructured<'_>) -> Result<T>,
) -> Result<Vec<Option<T>>> {
    let value = |_| Ok(if from.ratio(1, 8)? { None } else { Some(one(from)?) });
    let values = (0..rows).map(value).collect::<Result<Vec<_>>>()?;
    Ok(values.iter().cycle().take(rows * times).cloned().collect())
}

/// A text, which may be long if it occurs in few rows.
fn text(times: usize, from: &mut Unstructured<'_>) -> Result<String> {
    Ok(match from.int_in_range(0..=15)? {
        0 => from.arbitrary::<&str>()?.to_owned(),
        1 => "n".repeat((1 << from.int_in_range(0..=16)?).min(MAX_TEXT / times)),
        _ => (*from.choose(&TEXTS)?).to_owned(),
    })
}

fn number(from: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match from.int_in_range(0..=7)? {
        0 => from.arbitrary()?,
        1 => 1 << from.int_in_range(0..=63)?,
        2 => u64::MAX - from.int_in_range(0..=2)?,
        _ => from.int_in_range(0..=3)? << from.choose(&[0, 0, 12])?,
    })
}

fn id(from: &mut Unstructured<'_>) -> Result<[u8; 16]> {
    Ok([from.int_in_range(0..=7)?; 16])
}

/// Changes some bytes, more often at the end, where the description of a file is.
fn damage(bytes: &mut Vec<u8>, from: &mut Unstructured<'_>) -> Result<()> {
    let at = from.choose_index(bytes.len())?;
    let at = if from.arbitrary()? { at } else { bytes.len() - 1 - at % bytes.len().min(512) };
    let len = from.int_in_range(0..=4)?;
    let new = from.bytes(len.min(from.len()))?;
    let end = if from.arbitrary()? { at + new.len() } else { at + from.int_in_range(0..=8)? };
    bytes.splice(at..end.min(bytes.len()), new.iter().copied());
    if bytes.is_empty() {
        bytes.push(0);
    }
    Ok(())
}
