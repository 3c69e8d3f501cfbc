//! What rows of `perf report` are grouped by, under perf's names of sort keys.

use super::code::{CodeId, CodeSymbol, CodeTable};
use crate::profile::labels::Label;
use crate::profile::{Profile, Row, Tables};
use crate::report::column::{COMM, CPU, CellSource, Column};
use crate::report::location::Locations;
use perf_data::session::names::NameId;
use perf_data::session::thread_name::unnamed_thread;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

/// What rows are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HistogramKey {
    /// Thread.
    Pid,
    /// Name of the thread at the time of the sample.
    Comm,
    /// File or memory with the code.
    Dso,
    /// Symbol.
    Symbol,
    /// CPU.
    Cpu,
}

impl HistogramKey {
    /// All keys, in the order in which perf compares a part of a name with them.
    pub const ALL: [Self; 5] = [Self::Pid, Self::Comm, Self::Dso, Self::Symbol, Self::Cpu];

    /// The name of the key.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pid => "pid",
            Self::Comm => "comm",
            Self::Dso => "dso",
            Self::Symbol => "symbol",
            Self::Cpu => "cpu",
        }
    }

    /// The heading of its column.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Self::Pid => "    Pid:Command",
            Self::Comm => "Command",
            Self::Dso => "Shared Object",
            Self::Symbol => "Symbol",
            Self::Cpu => "CPU",
        }
    }

    /// Whether its texts are truncated to the width of their column.
    pub(crate) fn is_truncated(self) -> bool {
        self != Self::Cpu
    }

    /// The label of samples that has its value.
    pub(crate) fn label(self) -> Option<Label> {
        match self {
            Self::Pid => Some(Label::Tid),
            Self::Comm => COMM.label,
            Self::Cpu => CPU.label,
            Self::Dso | Self::Symbol => None,
        }
    }

    /// The value that samples with these labels have; `None` if code has it.
    pub(super) fn sample_value(self, row: &Row, profile: &Profile) -> Option<u64> {
        let tables = &*profile.tables;
        let column = |column: &Column| match column.cell {
            CellSource::Sample(cell) => cell(row, tables).unwrap_or(MISSING),
            CellSource::Location(_) => MISSING,
        };
        match self {
            Self::Pid => Some(tables.labels.value(row.labels, Label::Tid).unwrap_or(MISSING)),
            Self::Comm => Some(column(&COMM)),
            Self::Cpu => Some(column(&CPU)),
            Self::Dso | Self::Symbol => None,
        }
    }

    /// The value that code has: rows with equal values are one row.
    pub(super) fn code_value(self, id: CodeId, code: &CodeTable) -> u64 {
        match self {
            Self::Dso => code.get(id).dso.map_or(MISSING, |dso| dso.0.into()),
            _ => code.same_symbol(id).into(),
        }
    }

    /// By which a row is ordered, and its text; `level` is the letter of its address space.
    pub(super) fn sort_value_and_text(
        self,
        value: u64,
        tables: &Tables,
        code: &CodeTable,
        level: char,
    ) -> (SortValue, Arc<str>) {
        match self {
            Self::Pid => {
                let comm = latest_comm(value as u32, tables);
                (SortValue::Number(value as i32 as i64), format!("{:>7}:{comm}", value as i32).into())
            }
            Self::Cpu => {
                let cpu = if value == MISSING { -1 } else { value as i64 };
                let digits = cpu.unsigned_abs();
                let sign = if cpu < 0 { "-" } else { "" };
                (SortValue::Number(cpu), format!("{sign}{digits:03}").into())
            }
            Self::Comm if value == MISSING => text(unnamed_thread(u32::MAX).into_owned()),
            Self::Comm => text((COMM.text)(value, tables, &Locations::default())),
            Self::Dso if value == MISSING => (SortValue::Missing, "[unknown]".into()),
            Self::Dso => text(code.name(NameId(value as u32)).into_owned()),
            Self::Symbol => {
                let id = value as CodeId;
                let shown = code.symbol_text(id, level).into();
                match code.get(id).symbol {
                    CodeSymbol::Function { name, start } => (SortValue::Function(code.name(name).into(), start), shown),
                    CodeSymbol::Address(address) => (SortValue::Address(address as i64), shown),
                }
            }
        }
    }
}

fn text(text: String) -> (SortValue, Arc<str>) {
    let text: Arc<str> = text.into();
    (SortValue::Text(text.clone()), text)
}

/// Stands for a value that samples lack.
const MISSING: u64 = u64::MAX;

/// The latest name of a thread, by which perf names threads.
pub(super) fn latest_comm(tid: u32, tables: &Tables) -> Cow<'_, str> {
    let comm = tables.thread_comms.get(&tid);
    comm.map_or_else(|| unnamed_thread(tid), |&comm| String::from_utf8_lossy(tables.names.name(comm)))
}

/// By which rows are ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SortValue {
    Number(i64),
    Text(Arc<str>),
    /// A function with its start address.
    Function(Arc<str>, u64),
    /// Code without a symbol.
    Address(i64),
    Missing,
}

impl SortValue {
    /// The order of rows with equal counts: perf compares names, and puts what has none behind them.
    pub(super) fn cmp_shown(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) | (Self::Function(a, _), Self::Function(b, _)) => a.cmp(b),
            (Self::Address(_) | Self::Missing, Self::Address(_) | Self::Missing) => Ordering::Equal,
            (Self::Address(_) | Self::Missing, _) => Ordering::Greater,
            (_, Self::Address(_) | Self::Missing) => Ordering::Less,
            _ => Ordering::Equal,
        }
    }

    /// The order of rows that are equal otherwise: that in which perf groups them, by address.
    pub(super) fn cmp_all(a: &[Self], b: &[Self]) -> Ordering {
        let compared = a.iter().zip(b).map(|(a, b)| match (a, b) {
            (Self::Address(a), Self::Address(b)) => a.cmp(b),
            (Self::Function(_, a), Self::Function(_, b)) => a.cmp(b),
            _ => a.cmp_shown(b),
        });
        compared.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}
