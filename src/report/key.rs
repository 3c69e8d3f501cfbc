//! What samples are grouped by, under perf's names of sort keys.

use super::column::{self, CellSource, Column};
use super::location::Locations;
#[cfg(test)]
use super::test_column;
use crate::profile::accesses::AccessField;
use crate::profile::labels::Label;
use crate::profile::{Row, Tables};
use perf_data::abi::bit_fields::BitField;

/// Declares [`ReportKey`] from a table: variant, names of which all but the first are equivalent, and column.
macro_rules! keys {
    ($($(#[doc = $doc:literal])* $(#[cfg($cfg:meta)])? $key:ident = [$name:literal $(, $alias:literal)*] => $column:path;)*) => {
        /// What samples are grouped by.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ReportKey {
            $($(#[doc = $doc])* $(#[cfg($cfg)])? $key,)*
        }

        impl ReportKey {
            /// Names, with those that are equivalent.
            pub const NAMES: &[(&str, Self)] =
                &[$($(#[cfg($cfg)])? ($name, Self::$key), $(($alias, Self::$key),)*)*];

            /// Its column.
            pub(super) const fn column(self) -> &'static Column {
                match self {
                    $($(#[cfg($cfg)])? Self::$key => &$column,)*
                }
            }
        }
    };
}

keys! {
    /// Name of the thread.
    Comm = ["comm"] => column::COMM;
    /// Name of the thread with `<N>` for each number: that of a pool.
    CommNodigit = ["comm_nodigit", "pool"] => column::COMM_NODIGIT;
    /// Name of the process.
    Program = ["program"] => column::PROGRAM;
    /// Name and ID of the process.
    Process = ["process"] => column::PROCESS;
    /// Name and ID of the thread.
    Thread = ["thread"] => column::THREAD;
    /// File or memory with the code.
    Dso = ["dso"] => column::DSO;
    /// Function.
    Sym = ["sym", "symbol"] => column::SYM;
    /// Source file and line.
    SrcLine = ["srcline"] => column::SRCLINE;
    /// Source file.
    SrcFile = ["srcfile"] => column::SRCFILE;
    /// Process.
    Pid = ["pid"] => column::PID;
    /// Thread.
    Tid = ["tid"] => column::TID;
    /// CPU.
    Cpu = ["cpu"] => column::CPU;
    /// Socket of the CPU.
    Socket = ["socket"] => column::SOCKET;
    /// Time of the sample, rounded down to a multiple of a quantum.
    Time = ["time"] => column::TIME;
    /// Text of a tracepoint.
    Trace = ["trace"] => column::TRACE;
    /// Path or name of the cgroup.
    Cgroup = ["cgroup"] => column::CGROUP;
    /// Why the thread stopped running, with `--off-cpu`.
    State = ["state"] => column::STATE;
    /// With `--weight latency`, how many threads ran.
    Parallelism = ["parallelism"] => column::PARALLELISM;
    /// The field of the begin of a span, with `--span`.
    Argument = ["argument"] => column::ARGUMENT;
    /// Level of the memory hierarchy that an access reached, and whether it had the data.
    Mem = ["mem"] => column::MEM;
    /// Result of snooping other caches.
    Snoop = ["snoop"] => column::SNOOP;
    /// Translation of the address of an access.
    Tlb = ["tlb"] => column::TLB;
    /// Whether an access was locked.
    Locked = ["locked"] => column::LOCKED;
    /// Why an access was blocked.
    Blocked = ["blocked"] => column::BLOCKED;
    /// Latency of an access in cycles.
    LocalWeight = ["local_weight"] => column::LOCAL_WEIGHT;
    /// Latency of all accesses of a group with equal ones.
    Weight = ["weight"] => column::LOCAL_WEIGHT;
    /// What an instruction does: load, store, branch and others.
    Operation = ["operation"] => column::OPERATION;
    /// Whether the data of an access was on another socket.
    Remote = ["remote"] => column::REMOTE;
    /// Whether a branch was taken or mispredicted, in samples of Arm SPE.
    BranchOutcome = ["branch_outcome"] => column::BRANCH_OUTCOME;
    /// Name of the data of an access with the offset in it, or its address.
    SymbolDaddr = ["symbol_daddr"] => column::SYMBOL_DADDR;
    /// File or memory with the data of an access.
    DsoDaddr = ["dso_daddr"] => column::DSO_DADDR;
    /// Physical address of an access.
    PhysDaddr = ["phys_daddr"] => column::PHYS_DADDR;
    /// Address of the cache line of an access.
    Dcacheline = ["dcacheline", "cacheline"] => column::DCACHELINE;
    /// Function with the source of a branch.
    SymbolFrom = ["symbol_from"] => column::SYMBOL_FROM;
    /// Function with the target of a branch.
    SymbolTo = ["symbol_to"] => column::SYMBOL_TO;
    /// File or memory with the source of a branch.
    DsoFrom = ["dso_from"] => column::DSO_FROM;
    /// File or memory with the target of a branch.
    DsoTo = ["dso_to"] => column::DSO_TO;
    /// Source file and line of the source of a branch.
    SrcLineFrom = ["srcline_from"] => column::SRCLINE_FROM;
    /// Source file and line of the target of a branch.
    SrcLineTo = ["srcline_to"] => column::SRCLINE_TO;
    /// Whether a branch was mispredicted.
    Mispredict = ["mispredict"] => column::MISPREDICT;
    /// Whether a branch was in a transaction.
    InTx = ["in_tx"] => column::IN_TX;
    /// Whether a branch aborted a transaction.
    Abort = ["abort"] => column::ABORT;
    /// Cycles since the branch before.
    Cycles = ["cycles"] => column::CYCLES;
    /// Event.
    Event = ["event"] => column::EVENT;
    /// An example, in tests.
    #[cfg(test)]
    Example = ["example"] => test_column::EXAMPLE;
}

impl ReportKey {
    /// What memory accesses are grouped by.
    pub const MEMORY: &[Self] = &[
        Self::LocalWeight,
        Self::Mem,
        Self::Sym,
        Self::Dso,
        Self::SymbolDaddr,
        Self::DsoDaddr,
        Self::Snoop,
        Self::Tlb,
        Self::Locked,
        Self::Blocked,
    ];

    /// What branches are grouped by.
    pub const BRANCHES: &[Self] = &[Self::Comm, Self::DsoFrom, Self::SymbolFrom, Self::SymbolTo, Self::Cycles];

    /// The default keys of `perf report`.
    pub const DEFAULT: &[Self] = &[Self::Comm, Self::Dso, Self::Sym];

    /// Help of the option `--group-by`, which several formats have.
    #[cfg(feature = "cli")]
    pub(crate) const GROUP_BY_HELP: &str = "Keys by which samples are grouped, separated by commas: entries of a report \
         [default: comm,dso,sym], or frames before the stacks";

    /// The key with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(key_name, _)| *key_name == name).map(|(_, key)| *key)
    }

    /// A parser of key names for the command line.
    #[cfg(feature = "cli")]
    pub fn parser() -> impl clap::builder::TypedValueParser<Value = Self> {
        use clap::builder::{PossibleValuesParser, TypedValueParser};
        let names = PossibleValuesParser::new(Self::NAMES.iter().map(|(name, _)| *name));
        names.try_map(|name| Self::by_name(&name).ok_or("unknown key"))
    }

    /// The name of the key.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, key)| *key == self).map_or("", |(name, _)| name)
    }

    /// The labels of samples that have its value; none if frames or the event have it.
    pub fn labels(self) -> &'static [Label] {
        self.column().labels
    }

    /// The fields of memory accesses that have its value.
    pub fn access_fields(self) -> &'static [AccessField] {
        self.column().access_fields
    }

    /// Whether only branches have its value, which are then counted instead of samples.
    pub fn requires_branches(self) -> bool {
        matches!(self.column().cell, CellSource::BranchEnd(..) | CellSource::BranchFlag(..))
    }

    /// The flags of branches that have its value.
    pub(crate) fn branch_flags(self) -> &'static [BitField] {
        match self.column().cell {
            CellSource::BranchFlag(fields, _) => fields,
            _ => &[],
        }
    }

    /// Whether samples have its value; otherwise the locations in their stacks have it.
    pub fn is_sample_key(self) -> bool {
        matches!(self.column().cell, CellSource::Sample(_))
    }

    /// The text of the value that a sample has.
    pub(crate) fn sample_text(self, row: &Row, tables: &Tables) -> Option<String> {
        let Column { cell: CellSource::Sample(cell), text, .. } = self.column() else { return None };
        cell(row, tables).map(|value| text(value, tables, &Locations::default()))
    }
}
