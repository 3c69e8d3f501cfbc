//! The columns of keys: the value that a sample or location has, and its text.

use super::location::{LocationId, Locations};
use crate::profile::labels::Label;
use crate::profile::{Row, Tables};
use perf_data::session::names::NameId;

/// A value: a name, a number or nothing.
pub(super) type Cell = Option<u64>;

/// The column of a key.
pub(super) struct Column {
    /// The label of samples that has its value; `None` if frames or the event have it.
    pub label: Option<Label>,
    /// Its values.
    pub cell: CellSource,
    /// Text of a value.
    pub text: fn(u64, &Tables, &Locations) -> String,
}

/// Where the values of a column are from.
pub(super) enum CellSource {
    /// Samples.
    Sample(fn(&Row, &Tables) -> Cell),
    /// The locations in their stacks.
    Location(fn(LocationId, &Locations) -> Cell),
}

/// A column of numbers that samples have as a label.
macro_rules! label {
    ($label:ident, $value:ident => $text:expr) => {
        Column {
            label: Some(Label::$label),
            cell: CellSource::Sample(|row, tables| tables.labels.value(row.labels, Label::$label)),
            text: |$value, _, _| $text.to_string(),
        }
    };
}

/// A column of texts that locations have.
macro_rules! location {
    ($field:ident) => {
        Column {
            label: None,
            cell: CellSource::Location(|id, locations| Some(locations.get(id).$field.0.into())),
            text: |value, _, locations| locations.text(NameId(value as u32)).into_owned(),
        }
    };
}

pub(super) const PID: Column = label!(Pid, pid => pid as i32);
pub(super) const TID: Column = label!(Tid, tid => tid as i32);
pub(super) const CPU: Column = label!(Cpu, cpu => cpu);
pub(super) const DSO: Column = location!(dso);
pub(super) const SRCFILE: Column = location!(file);

/// The value is the full name.
pub(super) const SYM: Column = Column {
    label: None,
    cell: CellSource::Location(|id, locations| Some(locations.get(id).function.0.into())),
    text: |value, _, locations| locations.function_name(NameId(value as u32)).into_owned(),
};

/// The value is a location of the line.
pub(super) const SRCLINE: Column = Column {
    label: None,
    cell: CellSource::Location(|id, locations| Some(locations.first_of_line(id).into())),
    text: |value, _, locations| locations.source(locations.get(value as LocationId)),
};

pub(super) const EVENT: Column = Column {
    label: None,
    cell: CellSource::Sample(|row, _| Some(row.event.into())),
    text: |value, tables, _| tables.events[value as usize].name.clone(),
};

pub(super) const COMM: Column = Column {
    label: Some(Label::ThreadName),
    cell: CellSource::Sample(|row, tables| tables.labels.value(row.labels, Label::ThreadName)),
    text: |value, tables, _| String::from_utf8_lossy(tables.names.name(NameId(value as u32))).into_owned(),
};
