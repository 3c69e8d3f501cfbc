//! Reports in the layout of `perf report --stdio` and `perf diff`, for programs that parse their text.
//!
//! * `report::histogram`: the rows, by perf's rules.
//! * `columns`: the columns with their headings and widths.
//! * `call_graph`: the call chains of rows.
//! * `text`: comments, headings and rows of each event.
//! * `difference`: two recordings compared.

mod call_graph;
mod columns;
mod difference;
mod text;

pub use self::difference::{PerfCompute, PerfDiff};
pub use crate::report::histogram::chain_tree::{ChainOptions, ChainStyle};
pub use crate::report::histogram::key::HistogramKey;
pub use crate::report::histogram::sample_filter::SampleFilter;

use super::FORMAT;
use crate::formats::Format;
use crate::formats::framework::output::{FormatWriter, OutputFormat, ProfileFormat};
use crate::profile::accesses::Accesses;
use crate::profile::labels::Label;
use crate::profile::time_quantum::TimeQuantum;
use crate::profile::{Profile, Tables};
use perf_data::abi::sample::branch::BranchFlags;
use perf_data::error::{Error, Result};
use perf_symbols::symbol::demangle::Demangle;
use std::io::Write;

/// A column of a report in perf's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerfColumn {
    /// Share of samples in the code and in what it calls.
    Children,
    /// Share of samples in the code itself.
    Overhead,
    /// Number of samples.
    Samples,
    /// Sum of periods.
    Period,
    /// The value of a key.
    Key(HistogramKey),
}

/// A report in the layout of `perf report --stdio` of perf 6.1 with these options.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PerfReport {
    /// What samples are grouped by.
    pub keys: Vec<HistogramKey>,
    /// The columns, if they are not the default ones.
    pub fields: Option<Vec<PerfColumn>>,
    /// Whether the order of rows is that of the keys only.
    pub sorts_by_fields: bool,
    /// Whether callers have rows, too, by the calls in them.
    pub has_children: bool,
    /// Whether rows are those of branches, which branch stacks have, instead of samples.
    pub counts_branches: bool,
    /// Whether rows are those of memory accesses, each worth its latency.
    pub counts_accesses: bool,
    /// The keys as the user named them, which perf prints above memory accesses.
    pub sort_order: Option<String>,
    /// Print the number of samples.
    pub shows_samples: bool,
    /// Print the sum of periods.
    pub shows_periods: bool,
    /// Omit rows below this share, in percent.
    pub percent_limit: f64,
    /// Which samples have rows.
    pub filter: SampleFilter,
    /// Whether shares are those of the samples that the filter accepts.
    pub is_relative: bool,
    /// The call chains of rows, if they are printed.
    pub chains: Option<ChainOptions>,
    /// Maximum number of addresses of a call chain, if it is not that of the kernel.
    pub max_stack: Option<usize>,
    /// What separates columns, which then are not aligned.
    pub separator: Option<String>,
    /// Widths of the columns, 0 for that of the contents.
    pub widths: Vec<u16>,
    /// Whether the events of a group share a section.
    pub is_grouped: bool,
    /// Whether all events are one group if the recording has none.
    pub forces_group: bool,
    /// Print rows only.
    pub is_quiet: bool,
    /// Print how to print the header.
    pub mentions_header: bool,
    /// By what the key of times divides samples.
    pub time_quantum: TimeQuantum,
    /// Whether it has nanoseconds.
    pub shows_nanoseconds: bool,
    /// The times to which samples are limited, as perf prints them.
    pub times: Option<String>,
}

impl PerfReport {
    /// What samples are grouped by in a report of perf without options.
    pub const DEFAULT_KEYS: &[HistogramKey] = &[HistogramKey::Comm, HistogramKey::Dso, HistogramKey::Symbol];

    /// The same of memory accesses.
    pub const DEFAULT_ACCESS_KEYS: &[HistogramKey] = &[
        HistogramKey::LocalWeight,
        HistogramKey::Mem,
        HistogramKey::Symbol,
        HistogramKey::Dso,
        HistogramKey::SymbolDaddr,
        HistogramKey::DsoDaddr,
        HistogramKey::Snoop,
        HistogramKey::Tlb,
        HistogramKey::Locked,
        HistogramKey::Blocked,
        HistogramKey::LocalInsLat,
    ];

    /// The same of branches.
    pub const DEFAULT_BRANCH_KEYS: &[HistogramKey] = &[
        HistogramKey::Comm,
        HistogramKey::DsoFrom,
        HistogramKey::SymbolFrom,
        HistogramKey::SymbolTo,
        HistogramKey::Cycles,
    ];

    /// The same of recordings of tracepoints.
    pub const DEFAULT_TRACEPOINT_KEYS: &[HistogramKey] = &[HistogramKey::Trace];

    /// What samples are grouped by, in rows and columns.
    pub fn all_keys(&self) -> impl Iterator<Item = HistogramKey> {
        let columns = self.fields.iter().flatten().filter_map(|column| match column {
            PerfColumn::Key(key) => Some(*key),
            _ => None,
        });
        self.keys.iter().copied().chain(columns)
    }
}

impl OutputFormat for PerfReport {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }

    fn shows_lines(&self) -> bool {
        // Inlined functions are known by their lines.
        self.has_children || self.chains.is_some()
    }

    fn demangling(&self) -> Demangle {
        Demangle::Short
    }
}

impl ProfileFormat for PerfReport {
    fn labels(&self) -> Option<&'static [Label]> {
        Some(&[])
    }

    fn required_labels(&self) -> Vec<Label> {
        let mut labels = vec![Label::Pid, Label::Tid, Label::ThreadName];
        if self.counts_branches {
            // perf prints the address space of a branch's sample.
            labels.extend([Label::Cpu, Label::ExecutionMode]);
        }
        // Rows would only be divided by what is not shown.
        labels.extend(self.all_keys().filter_map(HistogramKey::label).filter(|_| !self.counts_branches));
        labels
    }

    fn is_as_recorded(&self) -> bool {
        true
    }

    fn time_quantum(&self) -> TimeQuantum {
        self.time_quantum
    }

    fn branches(&self) -> Option<BranchFlags> {
        let fields = self.all_keys().flat_map(HistogramKey::branch_flags).chain([&BranchFlags::TYPE]);
        self.counts_branches.then(|| BranchFlags(fields.fold(0, |flags, field| field.set(flags, u64::MAX))))
    }

    fn accesses(&self) -> Accesses {
        Accesses::with_fields(self.all_keys().flat_map(HistogramKey::access_fields).copied(), self.counts_accesses)
    }

    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        if has_branch(profile, |flags| flags.get(BranchFlags::TYPE) > 0) {
            let problem =
                "branches have types, of which perf prints statistics; use --no-branch-stack, or the real perf";
            return Err(Error::invalid(problem));
        }
        if self.shows(HistogramKey::BranchIpc) && has_ipc(profile) {
            let problem = "perf prints the instructions per cycle of symbols, for which it disassembles them; \
                           name the columns with --fields instead of --sort, or use the real perf";
            return Err(Error::invalid(problem));
        }
        text::write(self, profile, out).map_err(Error::Output)
    }
}

/// Whether perf computes instructions per cycle of branches: where it knows cycles, or symbols.
fn has_ipc(profile: &Profile) -> bool {
    let Tables { stacks, symbols, .. } = &*profile.tables;
    let has_symbol = (0..).zip(stacks.frames()).any(|(id, _)| !symbols.lines(id).is_empty());
    has_symbol || has_branch(profile, |flags| flags.get(BranchFlags::CYCLES) > 0)
}

/// Whether there is a branch with such flags.
fn has_branch(profile: &Profile, is_wanted: impl Fn(BranchFlags) -> bool) -> bool {
    let labels = &profile.tables.labels;
    profile.rows.iter().any(|row| labels.branch_flags(row.labels).is_some_and(&is_wanted))
}
