//! The columns of keys: the value that a sample or location has, and its text.

use super::data_text::{ANONYMOUS_DATA, data_symbol};
use super::location::{LocationId, Locations};
use crate::profile::access_words::{self, AccessWords};
use crate::profile::accesses::AccessField;
use crate::profile::branch_words;
use crate::profile::intern::stacks::FrameId;
use crate::profile::labels::Label;
use crate::profile::{Row, Tables};
use perf_data::abi::bit_fields::BitField;
use perf_data::abi::sample::branch::BranchFlags;
use perf_data::abi::sample::data_src::DataSrc;
use perf_data::session::names::NameId;
use perf_data::session::thread_name::unnamed_thread;
use std::borrow::Cow;

/// A value: a name, a number or nothing.
pub(super) type Cell = Option<u64>;

/// The column of a key.
pub(super) struct Column {
    /// The labels of samples that have its value; none if frames or the event have it.
    pub labels: &'static [Label],
    /// The fields of memory accesses that have its value.
    pub access_fields: &'static [AccessField],
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
    /// The location of the data that they accessed.
    Data(fn(LocationId, &Locations) -> Cell),
    /// The location of an end of a branch.
    BranchEnd(BranchEnd, fn(LocationId, &Locations) -> Cell),
    /// A flag of a branch.
    BranchFlag(&'static [BitField], fn(BranchFlags) -> u64),
}

/// An end of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BranchEnd {
    /// Where it jumped to.
    Target,
    /// Where it was.
    Source,
}

impl CellSource {
    /// The value that a sample has, not the locations in its stack: `Some(None)` if it is missing.
    pub(super) fn sample_cell(&self, row: &Row, tables: &Tables, locations: &Locations) -> Option<Cell> {
        let first = |frame: FrameId| locations.frame_locations(frame).first().copied();
        match self {
            Self::Sample(cell) => Some(cell(row, tables)),
            Self::Location(_) => None,
            Self::Data(cell) => {
                let frame = tables.labels.access(row.labels, AccessField::Frame);
                let location = frame.and_then(|frame| locations.frame_locations(frame as FrameId).last().copied());
                Some(location.and_then(|location| cell(location, locations)))
            }
            Self::BranchEnd(end, cell) => {
                // The stack of a branch is its target, called by its source.
                let frame = tables.stacks.stack(row.stack).get(*end as usize);
                Some(frame.and_then(|&frame| first(frame)).and_then(|location| cell(location, locations)))
            }
            Self::BranchFlag(_, cell) => Some(tables.labels.branch_flags(row.labels).map(cell)),
        }
    }
}

/// A column of numbers that samples have as a label.
macro_rules! label {
    ($label:ident, $value:ident => $text:expr) => {
        Column {
            labels: &[Label::$label],
            access_fields: &[],
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
            access_fields: &[],
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
            access_fields: &[],
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
            access_fields: &[],
            cell: CellSource::Location(|id, locations| Some(locations.get(id).$field.0.into())),
            text: |value, _, locations| locations.text(NameId(value as u32)).into_owned(),
        }
    };
}

/// A column of what a part of the data source of a memory access says; other parts do not divide its groups.
macro_rules! source {
    ([$($field:ident),*], $source:ident => $text:expr) => {
        Column {
            labels: &[],
            access_fields: &[AccessField::Source],
            cell: CellSource::Sample(|row, tables| {
                let word = tables.labels.access(row.labels, AccessField::Source)?;
                let fields: &[BitField] = &[$(DataSrc::$field),*];
                Some(fields.iter().fold(0, |kept, field| field.set(kept, field.get(word))))
            }),
            text: |word, _, _| {
                let $source = DataSrc(word);
                $text.into()
            },
        }
    };
}

pub(super) const MEM: Column =
    source!([MEM_LVL, MEM_LVL_NUM, MEM_REMOTE, MEM_HOPS], source => access_words::level(source, AccessWords::Perf61));
pub(super) const SNOOP: Column = source!([MEM_SNOOP, MEM_SNOOPX], source => access_words::snoop(source));
pub(super) const TLB: Column = source!([MEM_DTLB], source => access_words::translation(source));
pub(super) const LOCKED: Column = source!([MEM_LOCK], source => access_words::lock(source));
pub(super) const BLOCKED: Column = source!([MEM_BLK], source => access_words::blocked(source).trim_start());

/// A column of texts that a location at an end of a branch has.
macro_rules! branch_end {
    ($end:ident, $location:expr) => {
        Column {
            labels: &[],
            access_fields: &[],
            cell: CellSource::BranchEnd(
                BranchEnd::$end,
                match $location.cell {
                    CellSource::Location(cell) => cell,
                    _ => panic!("locations have it"),
                },
            ),
            text: $location.text,
        }
    };
}

pub(super) const DSO_FROM: Column = branch_end!(Source, DSO);
pub(super) const DSO_TO: Column = branch_end!(Target, DSO);
pub(super) const SYMBOL_FROM: Column = branch_end!(Source, SYM);
pub(super) const SYMBOL_TO: Column = branch_end!(Target, SYM);
pub(super) const SRCLINE_FROM: Column = branch_end!(Source, SRCLINE);
pub(super) const SRCLINE_TO: Column = branch_end!(Target, SRCLINE);

/// A column of flags of branches.
const fn branch_flag(
    fields: &'static [BitField],
    cell: fn(BranchFlags) -> u64,
    text: fn(u64, &Tables, &Locations) -> String,
) -> Column {
    Column { labels: &[], access_fields: &[], cell: CellSource::BranchFlag(fields, cell), text }
}

pub(super) const MISPREDICT: Column =
    branch_flag(&[BranchFlags::MISPRED, BranchFlags::PREDICTED], branch_words::prediction, |value, _, _| {
        branch_words::PREDICTIONS[value as usize & 3].to_owned()
    });

pub(super) const IN_TX: Column = branch_flag(
    &[BranchFlags::IN_TX],
    |flags| flags.get(BranchFlags::IN_TX),
    |value, _, _| branch_words::IN_TRANSACTION[value as usize & 1].to_owned(),
);

pub(super) const ABORT: Column = branch_flag(
    &[BranchFlags::ABORT],
    |flags| flags.get(BranchFlags::ABORT),
    |value, _, _| branch_words::ABORTS[value as usize & 1].to_owned(),
);

pub(super) const CYCLES: Column = branch_flag(
    &[BranchFlags::CYCLES],
    |flags| flags.get(BranchFlags::CYCLES),
    |cycles, _, _| if cycles == 0 { "-".to_owned() } else { cycles.to_string() },
);

/// A column of numbers of memory accesses.
const fn access(
    field: &'static [AccessField],
    cell: CellSource,
    text: fn(u64, &Tables, &Locations) -> String,
) -> Column {
    Column { labels: &[], access_fields: field, cell, text }
}

pub(super) const LOCAL_WEIGHT: Column = access(
    &[AccessField::Weight],
    CellSource::Sample(|row, tables| tables.labels.access(row.labels, AccessField::Weight)),
    |weight, _, _| weight.to_string(),
);

pub(super) const OPERATION: Column = text_label!(Operation);
pub(super) const REMOTE: Column = text_label!(Remote);
pub(super) const BRANCH_OUTCOME: Column = text_label!(BranchOutcome);

pub(super) const PHYS_DADDR: Column = access(
    &[AccessField::PhysicalAddress],
    CellSource::Sample(|row, tables| tables.labels.access(row.labels, AccessField::PhysicalAddress)),
    |address, _, _| format!("{address:#018x}"),
);

pub(super) const DCACHELINE: Column = access(
    &[AccessField::Address],
    CellSource::Sample(|row, tables| Some(tables.labels.access(row.labels, AccessField::Address)? & !(CACHE_LINE - 1))),
    |address, _, _| format!("{address:#018x}"),
);

/// The value is the frame.
pub(super) const SYMBOL_DADDR: Column = access(
    &[AccessField::Frame],
    CellSource::Sample(|row, tables| tables.labels.access(row.labels, AccessField::Frame)),
    |frame, tables, _| data_symbol(frame as FrameId, tables),
);

pub(super) const DSO_DADDR: Column = access(
    &[AccessField::Frame],
    CellSource::Data(|id, locations| {
        let dso = locations.get(id).dso;
        let is_anonymous = is_perf_map(&locations.text(dso));
        Some(if is_anonymous { NAMELESS.into() } else { dso.0.into() })
    }),
    |value, _, locations| match value as u32 {
        NAMELESS => ANONYMOUS_DATA.to_owned(),
        dso => locations.text(NameId(dso)).into_owned(),
    },
);

/// Bytes in a cache line.
pub(super) const CACHE_LINE: u64 = 64;

pub(super) const PID: Column = label!(Pid, pid => pid as i32);
pub(super) const TID: Column = label!(Tid, tid => tid as i32);
pub(super) const CPU: Column = label!(Cpu, cpu => cpu);
pub(super) const SOCKET: Column = label!(Socket, socket => socket);
pub(super) const TIME: Column =
    label!(Time, time => format_args!("{}.{:06}", time / 1_000_000_000, time % 1_000_000_000 / 1000));
pub(super) const TRACE: Column = text_label!(Trace);
pub(super) const COMM: Column = text_label!(ThreadName);
pub(super) const COMM_NODIGIT: Column = text_label!(ThreadPool);
pub(super) const PROGRAM: Column = text_label!(Comm);
pub(super) const PROCESS: Column = task!(Pid, Comm);
pub(super) const THREAD: Column = task!(Tid, ThreadName);
pub(super) const CGROUP: Column = text_label!(Cgroup);
pub(super) const STATE: Column = text_label!(State);
pub(super) const PARALLELISM: Column = label!(Parallelism, threads => threads);
pub(super) const ARGUMENT: Column = text_label!(Argument);
pub(super) const DSO: Column = location!(dso);
pub(super) const SRCFILE: Column = location!(file);

/// The value is the full name.
pub(super) const SYM: Column = Column {
    labels: &[],
    access_fields: &[],
    cell: CellSource::Location(|id, locations| Some(locations.get(id).function.0.into())),
    text: |value, _, locations| locations.function_name(NameId(value as u32)).into_owned(),
};

/// The value is a location of the line.
pub(super) const SRCLINE: Column = Column {
    labels: &[],
    access_fields: &[],
    cell: CellSource::Location(|id, locations| Some(locations.first_of_line(id).into())),
    text: |value, _, locations| locations.source(locations.get(value as LocationId)),
};

pub(super) const EVENT: Column = Column {
    labels: &[],
    access_fields: &[],
    cell: CellSource::Sample(|row, _| Some(row.event.into())),
    text: |value, tables, _| tables.events[value as usize].name.clone(),
};

/// Whether memory has the name of the file with the functions that a process compiled there.
fn is_perf_map(dso: &str) -> bool {
    dso.strip_prefix("perf-").is_some_and(|rest| rest.ends_with(".map"))
}

/// Stands for the ID of a name that a task or memory lacks.
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
