//! The parts of a processed profile that an import uses.
//!
//! Tables are shared by all threads since version 60, strings since version 56. Since version 71 (frames) and 75 (functions), a
//! column `flags` says which values are present.

use crate::formats::import::json_document::{JsonText, Number};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use std::fmt;

/// The head of a profile, which decides whether and how the rest is read.
#[derive(Deserialize)]
pub(super) struct ProfileHead<'a> {
    #[serde(borrow)]
    pub meta: Meta<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta<'a> {
    pub preprocessed_profile_version: Option<u32>,
    /// Milliseconds since 1970.
    pub start_time: Option<f64>,
    #[serde(borrow, default)]
    pub categories: Vec<Category<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Category<'a> {
    #[serde(borrow)]
    pub name: JsonText<'a>,
}

/// A profile without its head.
#[derive(Deserialize)]
pub(super) struct Document<'a> {
    #[serde(borrow)]
    pub libs: Vec<ImportedLib<'a>>,
    #[serde(borrow)]
    pub threads: Vec<ImportedThread<'a>>,
    #[serde(borrow)]
    pub shared: Option<SharedParts<'a>>,
    pub counters: Option<Vec<ImportedCounter>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ImportedLib<'a> {
    #[serde(borrow)]
    pub path: JsonText<'a>,
    #[serde(borrow)]
    pub code_id: Option<JsonText<'a>>,
}

/// Tables that threads share.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SharedParts<'a> {
    #[serde(borrow, default)]
    pub string_array: Option<Vec<JsonText<'a>>>,
    pub sources: Option<SourceTable>,
    pub stack_table: Option<StackTable>,
    pub frame_table: Option<FrameTable>,
    pub func_table: Option<FuncTable>,
    pub resource_table: Option<ResourceTable>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ImportedThread<'a> {
    #[serde(borrow)]
    pub name: JsonText<'a>,
    #[serde(borrow)]
    pub process_name: Option<JsonText<'a>>,
    pub pid: Option<TaskId>,
    pub tid: Option<TaskId>,
    /// The event, in profiles of perfconv.
    #[serde(borrow)]
    pub event: Option<JsonText<'a>>,
    pub samples: SampleTable,
    pub markers: Option<Rows>,
    pub js_allocations: Option<Rows>,
    pub native_allocations: Option<Rows>,
    #[serde(borrow, default)]
    pub string_array: Option<Vec<JsonText<'a>>>,
    pub stack_table: Option<StackTable>,
    pub frame_table: Option<FrameTable>,
    pub func_table: Option<FuncTable>,
    pub resource_table: Option<ResourceTable>,
}

impl ImportedThread<'_> {
    /// Number of markers.
    pub(super) fn marker_count(&self) -> u64 {
        self.markers.as_ref().map_or(0, |rows| rows.length)
    }

    /// Number of allocations.
    pub(super) fn allocation_count(&self) -> u64 {
        let tables = [&self.js_allocations, &self.native_allocations].into_iter().flatten();
        tables.fold(0, |sum, rows| sum.saturating_add(rows.length))
    }
}

/// A counter.
#[derive(Deserialize)]
pub(super) struct ImportedCounter {
    /// The event, in profiles of perfconv, whose samples threads have.
    pub event: Option<IgnoredAny>,
}

/// The samples of a thread.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SampleTable {
    pub stack: IndexColumn,
    /// In milliseconds.
    pub time: Option<Vec<Number>>,
    /// Times since the preceding sample, in milliseconds.
    pub time_deltas: Option<Vec<Number>>,
    pub weight: Option<Vec<Number>>,
    #[serde(default)]
    pub weight_type: WeightType,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WeightType {
    #[default]
    Samples,
    TracingMs,
    Bytes,
}

/// A table of which only the size matters.
#[derive(Deserialize)]
pub(super) struct Rows {
    pub length: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StackTable {
    pub frame: IndexColumn,
    /// The calling stack.
    pub prefix: Option<IndexColumn>,
    /// Since version 66: how many rows before this one the calling stack is; 0 for none.
    pub prefix_offset: Option<IndexColumn>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameTable {
    pub func: IndexColumn,
    /// Relative to the library; that of callers is in the call.
    pub address: Option<IndexColumn>,
    pub inline_depth: Option<IndexColumn>,
    pub category: Option<IndexColumn>,
    pub line: Option<IndexColumn>,
    pub column: Option<IndexColumn>,
    /// Since version 70.
    pub lib: Option<IndexColumn>,
    pub flags: Option<IndexColumn>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FuncTable {
    pub name: IndexColumn,
    /// In files of perfconv, where they differ from the shown names.
    pub full_name: Option<IndexColumn>,
    /// Before version 70, the library's resource.
    pub resource: Option<IndexColumn>,
    /// Before version 58.
    pub file_name: Option<IndexColumn>,
    pub source: Option<IndexColumn>,
    pub line_number: Option<IndexColumn>,
    pub flags: Option<IndexColumn>,
}

#[derive(Deserialize)]
pub(super) struct ResourceTable {
    pub lib: Option<IndexColumn>,
}

#[derive(Deserialize)]
pub(super) struct SourceTable {
    pub filename: IndexColumn,
}

/// A column of indexes or other small numbers, in which `null` and negative numbers are missing values.
#[derive(Debug, Default)]
pub(super) struct IndexColumn(Vec<u32>);

impl IndexColumn {
    const MISSING: u32 = u32::MAX;

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// A value, if it is present.
    pub(super) fn get(&self, row: u32) -> Option<u32> {
        self.0.get(row as usize).copied().filter(|&value| value != Self::MISSING)
    }

    /// All values.
    pub(super) fn iter(&self) -> impl Iterator<Item = Option<u32>> {
        self.0.iter().map(|&value| Some(value).filter(|&value| value != Self::MISSING))
    }
}

impl<'de> Deserialize<'de> for IndexColumn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ColumnVisitor;
        impl<'de> Visitor<'de> for ColumnVisitor {
            type Value = IndexColumn;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a column of numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<IndexColumn, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = sequence.next_element::<Option<i64>>()? {
                    let value = value.filter(|&value| value >= 0);
                    let value = value
                        .map(|value| u32::try_from(value).map_err(|_| Error::custom(format!("{value} is too large"))));
                    values.push(value.transpose()?.unwrap_or(IndexColumn::MISSING));
                }
                Ok(IndexColumn(values))
            }
        }
        deserializer.deserialize_seq(ColumnVisitor)
    }
}

/// The ID of a process or thread: a number or a text. A suffix of a reused ID, as in `12.1`, is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskId(pub Option<u32>);

impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdVisitor;
        impl Visitor<'_> for IdVisitor {
            type Value = TaskId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a string")
            }

            fn visit_u64<E: Error>(self, id: u64) -> Result<TaskId, E> {
                Ok(TaskId(id.try_into().ok().and_then(task_id)))
            }

            fn visit_i64<E: Error>(self, id: i64) -> Result<TaskId, E> {
                Ok(TaskId(task_id(id)))
            }

            fn visit_str<E: Error>(self, id: &str) -> Result<TaskId, E> {
                let number = id.split('.').next().unwrap_or(id);
                Ok(TaskId(number.parse::<i64>().ok().and_then(task_id)))
            }
        }
        deserializer.deserialize_any(IdVisitor)
    }
}

/// An ID as a recording has it. Negative numbers are those of unknown processes and threads.
fn task_id(id: i64) -> Option<u32> {
    u32::try_from(id).ok().or_else(|| i32::try_from(id).ok().map(|id| id as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::import::json_document::parse;

    #[test]
    fn columns_have_missing_values() {
        let column: IndexColumn = parse(b"[0, -1, null, 4294967294]", "").unwrap();
        assert_eq!(column.iter().collect::<Vec<_>>(), [Some(0), None, None, Some(4_294_967_294)]);
        assert_eq!((column.len(), column.get(0), column.get(1), column.get(4)), (4, Some(0), None, None));
        let error = parse::<IndexColumn>(b"[1, 4294967296]", "x").unwrap_err().to_string();
        assert!(error.starts_with("x: line 1, column ") && error.ends_with("4294967296 is too large"), "{error}");
    }

    #[test]
    fn ids_are_numbers_or_texts() {
        let ids: Vec<TaskId> = parse(br#"[7, -1, "12", "12.1", "-1", "GeckoMain", 18446744073709551615]"#, "").unwrap();
        let expected = [Some(7), Some(u32::MAX), Some(12), Some(12), Some(u32::MAX), None, None];
        assert_eq!(ids, expected.map(TaskId));
    }
}
