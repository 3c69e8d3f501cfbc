//! Tables of tracepoints, with a column for each field.

use super::column::{Bytes, Column, Columns, Int64, Int64List, Text, UInt64, UInt64List, saturated};
use super::id::Id;
use super::sample::{Common, SampleRow};
use super::schema::TracepointColumns;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field as ArrowField, Schema, SchemaRef};
use hashbrown::HashSet;
use perf_data::tracepoint::field::{Field, TracepointKind};
use perf_data::tracepoint::tracepoints::Tracepoint;
use perf_data::tracepoint::value::{FieldValue, Numbers};
use std::sync::Arc;

/// Maximum number of fields of a tracepoint that have columns; the formats of a crafted recording may define any number. No
/// tracepoint of Linux has as many.
const MAX_FIELDS: usize = 128;

/// The rows of a tracepoint.
pub(super) struct TracepointTable {
    tracepoint: Tracepoint,
    common: TracepointColumns,
    fields: Vec<FieldColumn>,
    schema: SchemaRef,
}

/// The values of a field.
enum FieldColumn {
    Signed(Int64),
    Unsigned(UInt64),
    Text(Text),
    Json(Text),
    SignedList(Int64List),
    UnsignedList(UInt64List),
    Bytes(Bytes),
}

impl FieldColumn {
    fn new(field: &Field) -> Self {
        match field.kind {
            // Unsigned numbers of up to 4 bytes fit, and not all engines have unsigned numbers.
            TracepointKind::Number(8) if !field.is_signed => Self::Unsigned(UInt64::default()),
            TracepointKind::Number(_) => Self::Signed(Int64::default()),
            TracepointKind::Pointer(_) => Self::Unsigned(UInt64::default()),
            TracepointKind::Text => Self::Text(Text::default()),
            TracepointKind::EventHeader => Self::Json(Text::default()),
            TracepointKind::Numbers(8) if !field.is_signed => Self::UnsignedList(UInt64List::default()),
            TracepointKind::Numbers(_) => Self::SignedList(Int64List::default()),
            TracepointKind::Bytes => Self::Bytes(Bytes::default()),
        }
    }

    fn push(&mut self, value: Option<FieldValue<'_>>) {
        let signed = |value: FieldValue<'_>| match value {
            FieldValue::Signed(number) => Some(number),
            FieldValue::Unsigned(number) | FieldValue::Pointer(number) => Some(saturated(number)),
            _ => None,
        };
        let unsigned = |value: FieldValue<'_>| match value {
            FieldValue::Signed(number) => Some(number as u64),
            FieldValue::Unsigned(number) | FieldValue::Pointer(number) => Some(number),
            _ => None,
        };
        match self {
            Self::Signed(column) => column.push(value.and_then(signed)),
            Self::Unsigned(column) => column.push(value.and_then(unsigned)),
            Self::Text(column) => column.push_bytes(match value {
                Some(FieldValue::Text(text)) => Some(text),
                _ => None,
            }),
            Self::Json(column) => {
                let json = value.map(|value| value.to_string());
                column.push_bytes(json.as_ref().map(|json| json.as_bytes()));
            }
            Self::SignedList(column) => {
                column.push(numbers(value).map(|numbers| numbers.iter().filter_map(signed)));
            }
            Self::UnsignedList(column) => {
                column.push(numbers(value).map(|numbers| numbers.iter().filter_map(unsigned)));
            }
            Self::Bytes(column) => column.push(match value {
                Some(FieldValue::Bytes(bytes)) => Some(bytes),
                _ => None,
            }),
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Self::Signed(column) => column.take(),
            Self::Unsigned(column) => column.take(),
            Self::Text(column) | Self::Json(column) => column.take(),
            Self::SignedList(column) => column.take(),
            Self::UnsignedList(column) => column.take(),
            Self::Bytes(column) => column.take(),
        }
    }
}

fn numbers(value: Option<FieldValue<'_>>) -> Option<Numbers<'_>> {
    match value? {
        FieldValue::Numbers(numbers) => Some(numbers),
        _ => None,
    }
}

impl TracepointTable {
    /// Begins a table without rows.
    pub(super) fn new(mut tracepoint: Tracepoint) -> Self {
        let mut names = HashSet::new();
        let mut columns: Vec<_> = TracepointColumns::schema().fields().iter().cloned().collect();
        names.extend(columns.iter().map(|column| column.name().clone()));
        tracepoint.fields.truncate(MAX_FIELDS);
        // A table cannot have two columns of one name, but a field may be named as another one or as a common column.
        tracepoint.fields.retain(|field| names.insert(field.name.clone()));
        let mut fields: Vec<_> = tracepoint.fields.iter().map(FieldColumn::new).collect();
        let field_columns = tracepoint.fields.iter().zip(&mut fields);
        columns.extend(
            field_columns.map(|(field, column)| {
                Arc::new(ArrowField::new(&*field.name, column.take().data_type().clone(), true))
            }),
        );
        Self { tracepoint, common: TracepointColumns::default(), fields, schema: Arc::new(Schema::new(columns)) }
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Adds a sample with its RAW bytes.
    pub(super) fn add(&mut self, sample: &SampleRow, payload: &[u8], stack: Id, common: &Common<'_>) {
        let columns = &mut self.common;
        columns.sample_time.push(sample.time.map(saturated));
        columns.sample_timestamp.push(common.clock.utc(sample.time));
        columns.sample_pid.push(sample.task.map(|(pid, _)| pid as i32));
        columns.sample_tid.push(sample.task.map(|(_, tid)| tid as i32));
        columns.sample_comm.push_bytes(sample.comm(common.names));
        columns.sample_cpu.push(sample.cpu.map(|cpu| cpu as i32));
        columns.sample_stack.push(Some(stack));
        let mut values = self.tracepoint.values(payload).peekable();
        for (field, column) in self.tracepoint.fields.iter().zip(&mut self.fields) {
            // Fields beyond the end of the payload have no value.
            let value = values.next_if(|(next_field, _)| std::ptr::eq(*next_field, field));
            column.push(value.map(|(_, value)| value));
        }
    }

    /// Returns the rows so far, and removes them.
    pub(super) fn take(&mut self) -> RecordBatch {
        let mut columns = self.common.take();
        columns.extend(self.fields.iter_mut().map(FieldColumn::take));
        RecordBatch::try_new(self.schema.clone(), columns).expect("columns have the declared types and equal lengths")
    }
}
