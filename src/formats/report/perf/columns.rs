//! The columns of a report: headings, widths and cells.

use super::{HistogramKey, PerfColumn, PerfReport};
use crate::report::histogram::{Histogram, HistogramEntry, HistogramOptions, SortKey};
use crate::report::{Counts, Usage};

/// Number of addresses that the kernel records of a call chain by default, to which perf limits all of them.
const MAX_STACK: usize = 127;

/// Width of shares.
const SHARE: usize = 8;

/// Width of numbers.
const NUMBER: usize = 12;

/// Width of the ID of a thread, with the colon after it.
const PID: usize = 8;

/// Number of digits of an address: perf's column of files is at least as wide if there is code without a symbol.
const ADDRESS: usize = 16;

/// Width of an address of data, with the letter of its address space.
const DATA_ADDRESS: usize = 22;

/// Width of a time in nanoseconds.
const TIME_IN_NANOSECONDS: usize = 16;

/// Number of digits of nanoseconds behind those of microseconds.
const MICROSECONDS: usize = 3;

/// Number of columns before the digits of a socket.
const SOCKET_MARGIN: usize = 3;

/// Width of a level of the memory hierarchy.
const LEVEL: usize = 24;

/// The columns of a report on an event, with their widths.
pub(super) struct Columns<'a> {
    report: &'a PerfReport,
    /// Column, heading and width in bytes, as perf counts them.
    list: Vec<(PerfColumn, &'static str, ColumnWidth)>,
}

/// The width of a column.
#[derive(Clone, Copy)]
struct ColumnWidth {
    /// That of the heading.
    heading: usize,
    /// That of cells.
    cell: usize,
}

impl PerfReport {
    /// Whether samples are grouped by a key.
    pub(super) fn shows(&self, key: HistogramKey) -> bool {
        self.all_keys().any(|other| other == key)
    }

    /// The columns, in order.
    fn columns(&self) -> Vec<PerfColumn> {
        let keys = self.keys.iter().map(|&key| PerfColumn::Key(key));
        let mut list: Vec<PerfColumn> = match &self.fields {
            Some(fields) => fields.clone(),
            None => [
                (self.has_children, PerfColumn::Children),
                (true, PerfColumn::Overhead),
                (self.shows_samples, PerfColumn::Samples),
                (self.shows_periods, PerfColumn::Period),
            ]
            .into_iter()
            .filter_map(|(is_shown, column)| is_shown.then_some(column))
            .collect(),
        };
        for key in keys {
            if !list.contains(&key) {
                list.push(key);
            }
        }
        self.without_constant(list)
    }

    /// The columns without keys of which a filter leaves one value, unless no key would remain.
    fn without_constant(&self, list: Vec<PerfColumn>) -> Vec<PerfColumn> {
        let is_constant = |column: &PerfColumn| match column {
            PerfColumn::Key(HistogramKey::Comm) => self.filter.comms.len() == 1,
            PerfColumn::Key(HistogramKey::Dso) => self.filter.dsos.len() == 1,
            PerfColumn::Key(HistogramKey::Symbol) => self.filter.symbols.len() == 1,
            _ => false,
        };
        let has_keys = list.iter().any(|column| matches!(column, PerfColumn::Key(_)) && !is_constant(column));
        if has_keys { list.into_iter().filter(|column| !is_constant(column)).collect() } else { list }
    }

    /// How rows are grouped and ordered.
    pub(super) fn histogram_options(&self) -> HistogramOptions {
        let mut keys = self.keys.clone();
        let fields = self.fields.iter().flatten();
        for field in fields.clone() {
            if let PerfColumn::Key(key) = field
                && !keys.contains(key)
            {
                keys.push(*key);
            }
        }
        let by_key = |key: &HistogramKey| keys.iter().position(|other| other == key).map(SortKey::Key);
        let by_field = |field: &PerfColumn| match field {
            PerfColumn::Children => Some(SortKey::Total),
            PerfColumn::Overhead | PerfColumn::Period => Some(SortKey::Own),
            PerfColumn::Samples => Some(SortKey::Samples),
            PerfColumn::Key(key) => by_key(key),
        };
        let sorted_keys = self.keys.iter().filter_map(by_key);
        let order = match self.fields {
            Some(_) => sorted_keys.chain(fields.filter_map(by_field)).collect(),
            None => {
                let total = self.has_children.then_some(SortKey::Total);
                // Further columns decide last.
                let samples = self.shows_samples.then_some(SortKey::Samples);
                total.into_iter().chain([SortKey::Own]).chain(sorted_keys).chain(samples).collect()
            }
        };
        HistogramOptions {
            keys,
            order,
            has_children: self.has_children,
            counts_branches: self.counts_branches,
            filter: self.filter.clone(),
            is_relative: self.is_relative,
            chains: self.chains,
            max_stack: self.max_stack.unwrap_or(MAX_STACK),
        }
    }
}

impl<'a> Columns<'a> {
    /// The columns that show these rows.
    pub(super) fn new(report: &'a PerfReport, histogram: &Histogram, options: &HistogramOptions) -> Self {
        let events = histogram.totals.len();
        let columns = report.columns().into_iter().enumerate().map(|(index, column)| {
            let heading = match column {
                PerfColumn::Children => "Children",
                PerfColumn::Overhead if report.has_children && report.fields.is_none() => "Self",
                PerfColumn::Overhead => "Overhead",
                PerfColumn::Samples => "Samples",
                PerfColumn::Period => "Period",
                PerfColumn::Key(key) => key.heading(),
            };
            let given = report.widths.get(index).filter(|&&width| width > 0).map(|&width| width.into());
            let width = match column {
                PerfColumn::Key(key) => {
                    let width = given.unwrap_or_else(|| key_width(key, report, histogram, options));
                    ColumnWidth { heading: width, cell: width }
                }
                PerfColumn::Children | PerfColumn::Overhead => number_width(given, SHARE, heading, events),
                PerfColumn::Samples | PerfColumn::Period => number_width(given, NUMBER, heading, events),
            };
            (column, heading, width)
        });
        Self { report, list: columns.collect() }
    }

    /// The line with the headings.
    pub(super) fn headings(&self) -> String {
        let headings = self.list.iter().map(|&(column, heading, width)| match column {
            PerfColumn::Key(_) => padded(truncated(heading, width.heading), width.heading),
            _ => " ".repeat(width.heading.saturating_sub(heading.len())) + heading,
        });
        self.joined(headings)
    }

    /// The line of dots below the headings; `None` if columns are not aligned.
    pub(super) fn rule(&self) -> Option<String> {
        let dots = self.list.iter().map(|(.., width)| ".".repeat(width.heading));
        self.report.separator.is_none().then(|| self.joined(dots))
    }

    /// The line of a row.
    pub(super) fn row(&self, entry: &HistogramEntry, totals: &[Counts], keys: &[HistogramKey]) -> String {
        let last = self.list.len().saturating_sub(1);
        let shares = |counts: &dyn Fn(&Usage) -> Counts, width| -> String {
            let shares = entry.usages.iter().zip(totals);
            shares.map(|(usage, &total)| self.share(counts(usage), total, width)).collect()
        };
        let numbers = |count: &dyn Fn(&Usage) -> u64, width| -> String {
            entry.usages.iter().map(|usage| self.number(count(usage), width)).collect()
        };
        let cells = self.list.iter().enumerate().map(|(index, &(column, _, width))| {
            let cell = match column {
                PerfColumn::Children => shares(&|usage| usage.total, width.cell),
                PerfColumn::Overhead => shares(&|usage| usage.own, width.cell),
                PerfColumn::Samples => numbers(&|usage| usage.own.samples, width.cell),
                PerfColumn::Period => numbers(&|usage| usage.own.value, width.cell),
                PerfColumn::Key(key) => {
                    let text = keys.iter().position(|other| *other == key).map_or("", |at| &*entry.cells[at]);
                    let text = match key {
                        HistogramKey::Time if !self.report.shows_nanoseconds => {
                            &text[..text.len().saturating_sub(MICROSECONDS)]
                        }
                        _ => text,
                    };
                    match key {
                        HistogramKey::Cpu => with_zeros(text, width.cell),
                        HistogramKey::Socket => {
                            let number = with_zeros(text, width.cell.saturating_sub(SOCKET_MARGIN));
                            format!("{number:>width$}", width = width.cell)
                        }
                        _ if is_truncated(key, text, width.cell) => truncated(text, width.cell).to_owned(),
                        _ => text.to_owned(),
                    }
                }
            };
            match column {
                PerfColumn::Key(key) if index == last && (key.is_symbol() || key.is_unpadded()) => cell,
                PerfColumn::Key(_) => padded(&cell, width.cell),
                _ if index == last => cell,
                _ => padded(&cell, width.heading),
            }
        });
        self.joined(cells)
    }

    /// Columns with what separates them.
    fn joined(&self, cells: impl Iterator<Item = String>) -> String {
        cells.collect::<Vec<_>>().join(self.report.separator.as_deref().unwrap_or("  "))
    }

    fn share(&self, part: Counts, all: Counts, width: usize) -> String {
        let percent = if all.value == 0 { 0.0 } else { part.value as f64 * 100.0 / all.value as f64 };
        match self.report.separator {
            Some(_) => format!(" {percent:.2}%"),
            None => format!(" {percent:>width$.2}%", width = width.saturating_sub(2)),
        }
    }

    fn number(&self, number: u64, width: usize) -> String {
        match self.report.separator {
            Some(_) => format!(" {number}"),
            None => format!(" {number:>width$}", width = width.saturating_sub(1)),
        }
    }
}

/// The widths of a column with a number of each event: a heading is never truncated. In perf a given width is that of the cells, and
/// of the heading only if there is one event.
fn number_width(given: Option<usize>, default: usize, heading: &str, events: usize) -> ColumnWidth {
    let cell = given.unwrap_or(default);
    let all = if events > 1 { default * events } else { cell };
    ColumnWidth { heading: all.max(heading.len()), cell }
}

/// The width of the column of a key by its heading and cells, by perf's rules.
fn key_width(key: HistogramKey, report: &PerfReport, histogram: &Histogram, options: &HistogramOptions) -> usize {
    let entries = &histogram.entries;
    let comms = || entries.iter().map(|entry| entry.comm_len).max().unwrap_or(0);
    let cells = || {
        let at = options.keys.iter().position(|other| *other == key);
        let cells = at.into_iter().flat_map(|at| entries.iter().map(move |entry| entry.cells[at].len()));
        cells.max().unwrap_or(0)
    };
    let width = match key {
        // Names are not those at the time of the sample, but the latest ones.
        HistogramKey::Comm => comms(),
        HistogramKey::Pid => comms() + PID,
        HistogramKey::Dso => {
            let is_fixed = report.separator.is_some() || !report.widths.is_empty() || !report.filter.dsos.is_empty();
            let lacks_symbols = entries.iter().any(|entry| !entry.has_symbol);
            cells().max(if lacks_symbols && !is_fixed { ADDRESS } else { 0 })
        }
        HistogramKey::DsoFrom | HistogramKey::DsoTo => cells(),
        HistogramKey::SymbolDaddr => {
            // perf has room for an address behind a name.
            let at = options.keys.iter().position(|other| *other == key);
            let names =
                at.into_iter().flat_map(|at| entries.iter().filter_map(move |entry| data_name(&entry.cells[at])));
            names.map(|name| name.len() + DATA_ADDRESS).max().unwrap_or(0).max(DATA_ADDRESS)
        }
        HistogramKey::Dcacheline | HistogramKey::PhysDaddr => DATA_ADDRESS,
        HistogramKey::DsoDaddr => cells().max(ADDRESS),
        HistogramKey::Mem => LEVEL,
        HistogramKey::Tlb => DATA_ADDRESS,
        HistogramKey::Snoop | HistogramKey::LocalWeight | HistogramKey::Weight => NUMBER,
        HistogramKey::Blocked => "Blocked   ".len(),
        // perf prints the only row before it knows its width.
        HistogramKey::Trace if entries.len() == 1 => 0,
        HistogramKey::Trace | HistogramKey::Cgroup => cells(),
        HistogramKey::Time if report.shows_nanoseconds => TIME_IN_NANOSECONDS,
        key if key.is_symbol() => cells(),
        _ => 0,
    };
    width.max(key.heading().len())
}

/// The name in `[.] table+0x10`.
fn data_name(cell: &str) -> Option<&str> {
    let (name, _) = cell.get("[.] ".len()..)?.rsplit_once("+0x")?;
    Some(name)
}

/// The number of a CPU or socket with so many digits.
fn with_zeros(number: &str, width: usize) -> String {
    let (sign, digits) = number.split_at(usize::from(number.starts_with('-')));
    format!("{sign}{}{digits}", "0".repeat(width.saturating_sub(digits.len())))
}

/// Whether a text is truncated to the width of its column. perf limits only what follows the letter of the address space, unless that
/// does not fit either, and never an address.
fn is_truncated(key: HistogramKey, text: &str, width: usize) -> bool {
    const LEVEL: usize = "[.] ".len();
    if !key.is_symbol() {
        return key.is_truncated();
    }
    let name = text.get(LEVEL..).unwrap_or_default();
    // 0 has no prefix.
    let digits = name.strip_prefix("0x").unwrap_or(name);
    width >= LEVEL && !(digits.len() == ADDRESS && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// A text, padded to a number of bytes.
fn padded(text: &str, width: usize) -> String {
    // A width of the format syntax is limited to 16 bits.
    text.to_owned() + &" ".repeat(width.saturating_sub(text.len()))
}

/// The start of a text that fits into a number of bytes.
fn truncated(text: &str, width: usize) -> &str {
    let mut end = width.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
