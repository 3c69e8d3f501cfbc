//! What rows of `perf report` are grouped by, under perf's names of sort keys.

use super::code::{CodeId, CodeSymbol, CodeTable};
use super::groups::BranchEnds;
use crate::profile::access_words::{self, AccessWords};
use crate::profile::accesses::AccessField;
use crate::profile::branch_words;
use crate::profile::intern::stacks::FrameId;
use crate::profile::labels::{Label, LabelsId};
use crate::profile::{Profile, Row, Tables};
use crate::report::column::{CGROUP, COMM, CPU, CellSource, Column, SOCKET, TRACE};
use crate::report::data_text::named_data;
use crate::report::location::Locations;
use perf_data::abi::bit_fields::BitField;
use perf_data::abi::sample::branch::BranchFlags;
use perf_data::abi::sample::data_src::DataSrc;
use perf_data::session::names::NameId;
use perf_data::session::thread_name::unnamed_thread;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

/// Declares [`HistogramKey`] with the name and the heading of each variant.
macro_rules! keys {
    ($($(#[$doc:meta])* $key:ident = $name:literal, $heading:literal;)*) => {
        /// What rows are grouped by.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum HistogramKey {
            $($(#[$doc])* $key,)*
        }

        impl HistogramKey {
            /// All keys, in the order in which perf compares a part of a name with them.
            pub const ALL: &[Self] = &[$(Self::$key,)*];

            /// The name of the key.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$key => $name,)*
                }
            }

            /// The heading of its column.
            pub(crate) fn heading(self) -> &'static str {
                match self {
                    $(Self::$key => $heading,)*
                }
            }
        }
    };
}

keys! {
    /// Thread.
    Pid = "pid", "    Pid:Command";
    /// Name of the thread at the time of the sample.
    Comm = "comm", "Command";
    /// File or memory with the code; of branches, with the target.
    Dso = "dso", "Shared Object";
    /// Symbol; of branches, that of the target.
    Symbol = "symbol", "Symbol";
    /// CPU.
    Cpu = "cpu", "CPU";
    /// Socket of the CPU.
    Socket = "socket", "Socket";
    /// Latency of a memory access, of one sample.
    LocalWeight = "local_weight", "Local Weight";
    /// Latency of memory accesses, of all samples of the row.
    Weight = "weight", "Weight";
    /// Text of a tracepoint.
    Trace = "trace", "Trace output";
    /// Path of the cgroup.
    Cgroup = "cgroup", "Cgroup";
    /// Time of the sample, rounded down to a multiple of a quantum.
    Time = "time", "Time        ";
    /// Latency of an instruction, of one sample.
    LocalInsLat = "local_ins_lat", "Local INSTR Latency";
    /// Instructions per cycle, which perf prints beside symbols; it computes them of branches only.
    Ipc = "ipc_null", "IPC   [IPC Coverage]";
    /// File or memory with the source of a branch.
    DsoFrom = "dso_from", "Source Shared Object";
    /// File or memory with the target of a branch.
    DsoTo = "dso_to", "Target Shared Object";
    /// Symbol of the source of a branch.
    SymbolFrom = "symbol_from", "Source Symbol";
    /// Symbol of the target of a branch.
    SymbolTo = "symbol_to", "Target Symbol";
    /// Whether a branch was mispredicted.
    Mispredict = "mispredict", "Branch Mispredicted";
    /// Whether a branch aborted a transaction.
    Abort = "abort", "Transaction abort";
    /// Whether a branch was in a transaction.
    InTx = "in_tx", "Branch in transaction";
    /// Cycles since the branch before.
    Cycles = "cycles", "Basic Block Cycles";
    /// Instructions per cycle of branches, which need their cycles.
    BranchIpc = "ipc_lbr", "IPC   [IPC Coverage]";
    /// Data of a memory access.
    SymbolDaddr = "symbol_daddr", "Data Symbol";
    /// File or memory with the data of a memory access.
    DsoDaddr = "dso_daddr", "Data Object";
    /// Whether a memory access was locked.
    Locked = "locked", "Locked";
    /// Translation of the address of a memory access.
    Tlb = "tlb", "TLB access";
    /// Level of the memory hierarchy that a memory access reached.
    Mem = "mem", "Memory access";
    /// Result of snooping other caches.
    Snoop = "snoop", "Snoop";
    /// Cache line of a memory access.
    Dcacheline = "dcacheline", "Data Cacheline";
    /// Physical address of a memory access.
    PhysDaddr = "phys_daddr", "Data Physical Address";
    /// Why a memory access was blocked.
    Blocked = "blocked", "Blocked";
}

impl HistogramKey {
    /// Whether only branches have it.
    pub fn requires_branches(self) -> bool {
        matches!(
            self,
            Self::DsoFrom
                | Self::DsoTo
                | Self::SymbolFrom
                | Self::SymbolTo
                | Self::Mispredict
                | Self::Abort
                | Self::InTx
                | Self::Cycles
                | Self::BranchIpc
        )
    }

    /// Whether only memory accesses have it.
    pub fn requires_accesses(self) -> bool {
        !matches!(self, Self::LocalWeight | Self::Weight | Self::LocalInsLat) && !self.access_fields().is_empty()
    }

    /// The fields of memory accesses that have its value.
    pub fn access_fields(self) -> &'static [AccessField] {
        match self {
            Self::LocalWeight | Self::Weight => &[AccessField::Weight],
            Self::LocalInsLat => &[AccessField::InstructionLatency],
            Self::Mem | Self::Snoop | Self::Tlb | Self::Locked | Self::Blocked => &[AccessField::Source],
            Self::SymbolDaddr => &[AccessField::Address, AccessField::Frame],
            Self::DsoDaddr | Self::Dcacheline => &[AccessField::Frame],
            Self::PhysDaddr => &[AccessField::PhysicalAddress],
            _ => &[],
        }
    }

    /// The label that has its value, besides those that all rows have.
    pub(crate) fn label(self) -> Option<Label> {
        Some(match self {
            Self::Cpu => Label::Cpu,
            Self::Socket => Label::Socket,
            Self::Trace => Label::Trace,
            Self::Cgroup => Label::Cgroup,
            Self::Time => Label::Time,
            _ => return None,
        })
    }

    /// The part of the data source that has its value.
    fn source_field(self) -> Option<BitField> {
        Some(match self {
            Self::Mem => DataSrc::MEM_LVL,
            Self::Snoop => DataSrc::MEM_SNOOP,
            Self::Tlb => DataSrc::MEM_DTLB,
            Self::Locked => DataSrc::MEM_LOCK,
            Self::Blocked => DataSrc::MEM_BLK,
            _ => return None,
        })
    }

    /// Whether it is a flag of branches.
    pub(super) fn is_branch_flag(self) -> bool {
        matches!(self, Self::Mispredict | Self::Abort | Self::InTx)
    }

    /// Whether it is instructions per cycle, for which users do not ask.
    pub fn is_ipc(self) -> bool {
        matches!(self, Self::Ipc | Self::BranchIpc)
    }

    /// Whether it is a symbol.
    pub(crate) fn is_symbol(self) -> bool {
        matches!(self, Self::Symbol | Self::SymbolFrom | Self::SymbolTo)
    }

    /// Whether its texts are not padded at the end of a row.
    pub(crate) fn is_unpadded(self) -> bool {
        matches!(self, Self::Locked | Self::Blocked | Self::Socket | Self::Trace | Self::Cgroup | Self::Time)
    }

    /// Whether its texts are truncated to the width of their column.
    pub(crate) fn is_truncated(self) -> bool {
        let is_number =
            matches!(self, Self::Cpu | Self::Socket | Self::Cgroup | Self::Cycles | Self::Ipc | Self::BranchIpc);
        !is_number && (self.access_fields().is_empty() || self.is_unpadded() || self == Self::DsoDaddr)
    }

    /// The flags of branches that have its value.
    pub(crate) fn branch_flags(self) -> &'static [BitField] {
        match self {
            Self::Mispredict => &[BranchFlags::MISPRED, BranchFlags::PREDICTED],
            Self::Abort => &[BranchFlags::ABORT],
            Self::InTx => &[BranchFlags::IN_TX],
            Self::Cycles | Self::BranchIpc => &[BranchFlags::CYCLES],
            _ => &[],
        }
    }

    /// The code whose value it is; `None` if samples have it.
    pub(super) fn code_of(self, ends: BranchEnds) -> Option<CodeId> {
        match self {
            // perf groups by what it disassembles.
            Self::Ipc | Self::BranchIpc => Some(ends.target),
            Self::Dso | Self::Symbol | Self::DsoTo | Self::SymbolTo => Some(ends.target),
            Self::DsoFrom | Self::SymbolFrom => Some(ends.source),
            _ => None,
        }
    }

    /// The value that samples with these labels have; `None` if code has it.
    pub(super) fn sample_value(self, row: &Row, profile: &Profile, code: &CodeTable) -> Option<u64> {
        let tables = &*profile.tables;
        let access = |field| tables.labels.access(row.labels, field).unwrap_or_default();
        if let Some(field) = self.source_field() {
            return Some(field.get(access(AccessField::Source)));
        }
        let column = |column: &Column| match column.cell {
            CellSource::Sample(cell) => cell(row, tables).unwrap_or(MISSING),
            _ => MISSING,
        };
        let flag = |field| tables.labels.branch_flags(row.labels).map_or(0, |flags| flags.get(field));
        Some(match self {
            Self::Pid => tables.labels.value(row.labels, Label::Tid).unwrap_or(MISSING),
            Self::Comm => column(&COMM),
            Self::Cpu => column(&CPU),
            Self::Socket => column(&SOCKET),
            Self::Trace => column(&TRACE),
            Self::Cgroup => column(&CGROUP),
            Self::Time => tables.labels.value(row.labels, Label::Time).unwrap_or(0),
            Self::Mispredict => tables.labels.branch_flags(row.labels).map_or(0, branch_words::prediction),
            Self::Abort => flag(BranchFlags::ABORT),
            Self::InTx => flag(BranchFlags::IN_TX),
            Self::Cycles => flag(BranchFlags::CYCLES),
            Self::LocalWeight | Self::Weight => access(AccessField::Weight),
            Self::LocalInsLat => access(AccessField::InstructionLatency),
            Self::SymbolDaddr => access(AccessField::Address),
            Self::PhysDaddr => access(AccessField::PhysicalAddress),
            Self::DsoDaddr => code.data_dso(access(AccessField::Frame) as FrameId).map_or(MISSING, |dso| dso.0.into()),
            Self::Dcacheline => code.cache_line(access(AccessField::Frame) as FrameId).into(),
            Self::Mem | Self::Snoop | Self::Tlb | Self::Locked | Self::Blocked => return None,
            Self::Ipc | Self::BranchIpc => return None,
            Self::Dso | Self::Symbol | Self::DsoFrom | Self::DsoTo | Self::SymbolFrom | Self::SymbolTo => return None,
        })
    }

    /// The value that code has: rows with equal values are one row.
    pub(super) fn code_value(self, id: CodeId, code: &CodeTable) -> u64 {
        match self {
            Self::Dso | Self::DsoFrom | Self::DsoTo => code.get(id).dso.map_or(MISSING, |dso| dso.0.into()),
            _ => code.same_symbol(id).into(),
        }
    }

    /// By which a row is ordered, and its text, given the labels of its first sample; `level` is the letter of its address space.
    pub(super) fn sort_value_and_text(
        self,
        value: u64,
        tables: &Tables,
        code: &CodeTable,
        (level, labels): (char, LabelsId),
    ) -> (SortValue, Arc<str>) {
        let source = || DataSrc(tables.labels.access(labels, AccessField::Source).unwrap_or_default());
        let number = |text: String| (SortValue::Number(value as i64), text.into());
        match self {
            Self::Mem => number(access_words::level(source(), AccessWords::Perf61)),
            Self::Snoop => number(access_words::snoop(source())),
            Self::Tlb => number(access_words::translation(source())),
            Self::Locked => number(access_words::lock(source()).to_owned()),
            Self::Blocked => number(access_words::blocked(source())),
            // perf compares these in the other direction.
            Self::LocalWeight | Self::Weight | Self::LocalInsLat => {
                (SortValue::Number(-(value as i64)), value.to_string().into())
            }
            Self::SymbolDaddr => {
                let frame = tables.labels.access(labels, AccessField::Frame).unwrap_or_default() as FrameId;
                number(format!("[{level}] {}", named_data(frame, tables).unwrap_or_else(|| address(value))))
            }
            Self::PhysDaddr => number(format!("[{level}] {}", address(value))),
            Self::Dcacheline => {
                let (frame, line) = (value as FrameId, code.cache_line_address(value as FrameId));
                let level = if code.dso(frame).is_some() { level } else { 'X' };
                let text = format!("[{level}] {}", address(line));
                (SortValue::Number(line as i64), text.into())
            }

            Self::Pid => {
                let comm = latest_comm(value as u32, tables);
                (SortValue::Number(value as i32 as i64), format!("{:>7}:{comm}", value as i32).into())
            }
            Self::Cpu | Self::Socket => {
                let id = if value == MISSING { -1 } else { value as i64 };
                (SortValue::Number(id), id.to_string().into())
            }
            Self::Time => number(format!("{}.{:09}", value / 1_000_000_000, value % 1_000_000_000)),
            Self::Trace | Self::Cgroup if value == MISSING => text("N/A".to_owned()),
            Self::Trace | Self::Cgroup => text((TRACE.text)(value, tables, &Locations::default())),
            Self::Comm if value == MISSING => text(unnamed_thread(u32::MAX).into_owned()),
            Self::Comm => text((COMM.text)(value, tables, &Locations::default())),
            Self::Dso if value == MISSING => (SortValue::Missing, "[unknown]".into()),
            Self::DsoFrom | Self::DsoTo | Self::DsoDaddr if value == MISSING => {
                (SortValue::Reversed(None), "[unknown]".into())
            }
            Self::Dso => text(code.name(NameId(value as u32)).into_owned()),
            // perf compares these in the other direction.
            Self::DsoFrom | Self::DsoTo | Self::DsoDaddr => {
                let name: Arc<str> = code.name(NameId(value as u32)).into();
                (SortValue::Reversed(Some(name.clone())), name)
            }
            Self::Symbol => {
                let id = value as CodeId;
                let shown = code.symbol_text(id, level).into();
                match code.get(id).symbol {
                    CodeSymbol::Function { name, start } => (SortValue::Function(code.name(name).into(), start), shown),
                    CodeSymbol::Address(address) => (SortValue::Address(address as i64), shown),
                }
            }
            Self::SymbolFrom | Self::SymbolTo => {
                let id = value as CodeId;
                let (is_unknown, address) = match code.get(id).symbol {
                    CodeSymbol::Function { start, .. } => (false, start),
                    CodeSymbol::Address(address) => (true, address),
                };
                // perf looks for an address without a mapping in all address spaces, of which this is the last.
                let level = if code.get(id).dso.is_some() { code.level(id) } else { 'H' };
                let shown = code.symbol_text(code.in_file(id), level).into();
                (SortValue::BranchEnd { is_unknown, address: address as i64 }, shown)
            }
            Self::Mispredict => (SortValue::Flag(value), branch_words::PREDICTIONS[value as usize & 3].into()),
            Self::Abort => (SortValue::Flag(value), branch_words::ABORTS[value as usize & 1].into()),
            Self::InTx => (SortValue::Flag(value), branch_words::IN_TRANSACTION[value as usize & 1].into()),
            Self::Cycles if value == 0 => (SortValue::Number(0), "-".into()),
            // perf prints 16 bits as a signed number.
            Self::Cycles => (SortValue::Number(-(value as i64)), (value as i16).to_string().into()),
            Self::Ipc => (SortValue::Number(0), "-      -            ".into()),
            Self::BranchIpc => (SortValue::Number(0), "-".into()),
        }
    }
}

/// An address as in C's `%-#.16llx`, which has no prefix for 0.
fn address(address: u64) -> String {
    if address == 0 { "0".repeat(16) } else { format!("{address:#018x}") }
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
    /// A text in descending order, behind none.
    Reversed(Option<Arc<str>>),
    /// The start of a function at an end of a branch, or an address behind all of them.
    BranchEnd {
        is_unknown: bool,
        address: i64,
    },
    /// A flag of a branch. perf does not order its values: it groups rows behind those before that differ, and shows them above.
    Flag(u64),
    Missing,
}

impl SortValue {
    /// The order of rows with equal counts: perf compares names, and puts what has none behind them.
    pub(super) fn cmp_shown(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) | (Self::Function(a, _), Self::Function(b, _)) => a.cmp(b),
            (Self::Reversed(a), Self::Reversed(b)) => a.is_some().cmp(&b.is_some()).then_with(|| b.cmp(a)),
            (
                Self::BranchEnd { is_unknown, address },
                Self::BranchEnd { is_unknown: is_other_unknown, address: other_address },
            ) => (is_unknown, address).cmp(&(is_other_unknown, other_address)),
            (Self::Flag(a), Self::Flag(b)) if a != b => Ordering::Less,
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
            (Self::Flag(a), Self::Flag(b)) if a != b => Ordering::Greater,
            _ => a.cmp_shown(b),
        });
        compared.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}
