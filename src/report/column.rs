//! The columns of keys: the value that a sample or location has, and its text.

use super::location::{LocationId, Locations};
use crate::profile::labels::Label;
use crate::profile::{Row, Tables};
use perf_data::session::names::NameId;
use perf_data::session::thread_name::unnamed_thread;
use std::borrow::Cow;

/// A value: a name, a number or nothing.
pub(super) type Cell = Option<u64>;

/// The column of a key.
pub(super) struct Column {
    /// The labels of samples that have its value; none if frames or the event have it.
    pub labels: &'static [Label],
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
            labels: &[Label::$label],
            cell: CellSource::Sample(|row, tables| tables.labels.value(row.labels, Label::$label)),
            text: |$value, _, _| $text.to_string(),
        }
    };
}

/// A column of texts that samples have as a label.
macro_rules! text_label {
    ($label:ident) => {
        Column {
            labels: &[Label::$label],
            cell: CellSource::Sample(|row, tables| tables.labels.value(row.labels, Label::$label)),
            text: |value, tables, _| name(value as u32, tables),
        }
    };
}

/// A column of tasks that samples have as two labels: the ID and the name. The value is the ID, and that of the name below it.
macro_rules! task {
    ($id:ident, $name:ident) => {
        Column {
            labels: &[Label::$id, Label::$name],
            cell: CellSource::Sample(|row, tables| {
                let id = tables.labels.value(row.labels, Label::$id)?;
                let name = tables.labels.value(row.labels, Label::$name).unwrap_or(NAMELESS.into());
                Some(id << 32 | name)
            }),
            text: |value, tables, _| task_text((value >> 32) as u32, value as u32, tables),
        }
    };
}

/// A column of texts that locations have.
macro_rules! location {
    ($field:ident) => {
        Column {
            labels: &[],
            cell: CellSource::Location(|id, locations| Some(locations.get(id).$field.0.into())),
            text: |value, _, locations| locations.text(NameId(value as u32)).into_owned(),
        }
    };
}

pub(super) const PID: Column = label!(Pid, pid => pid as i32);
pub(super) const TID: Column = label!(Tid, tid => tid as i32);
pub(super) const CPU: Column = label!(Cpu, cpu => cpu);
pub(super) const COMM: Column = text_label!(ThreadName);
pub(super) const COMM_NODIGIT: Column = text_label!(ThreadPool);
pub(super) const PROGRAM: Column = text_label!(Comm);
pub(super) const PROCESS: Column = task!(Pid, Comm);
pub(super) const THREAD: Column = task!(Tid, ThreadName);
pub(super) const CGROUP: Column = text_label!(Cgroup);
pub(super) const STATE: Column = text_label!(State);
pub(super) const DSO: Column = location!(dso);
pub(super) const SRCFILE: Column = location!(file);

/// The value is the full name.
pub(super) const SYM: Column = Column {
    labels: &[],
    cell: CellSource::Location(|id, locations| Some(locations.get(id).function.0.into())),
    text: |value, _, locations| locations.function_name(NameId(value as u32)).into_owned(),
};

/// The value is a location of the line.
pub(super) const SRCLINE: Column = Column {
    labels: &[],
    cell: CellSource::Location(|id, locations| Some(locations.first_of_line(id).into())),
    text: |value, _, locations| locations.source(locations.get(value as LocationId)),
};

pub(super) const EVENT: Column = Column {
    labels: &[],
    cell: CellSource::Sample(|row, _| Some(row.event.into())),
    text: |value, tables, _| tables.events[value as usize].name.clone(),
};

/// Stands for the ID of a name that a task lacks.
const NAMELESS: u32 = u32::MAX;

/// The text of a name.
fn name(id: u32, tables: &Tables) -> String {
    String::from_utf8_lossy(tables.names.name(NameId(id))).into_owned()
}

/// A process or thread: its name and ID, as in `make (7)`.
fn task_text(id: u32, name_id: u32, tables: &Tables) -> String {
    let recorded = (name_id != NAMELESS).then(|| name(name_id, tables)).filter(|name| !name.is_empty());
    format!("{} ({})", recorded.map_or_else(|| unnamed_thread(id), Cow::Owned), id as i32)
}
