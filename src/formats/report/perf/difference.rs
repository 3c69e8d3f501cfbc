//! Two recordings compared in the layout of `perf diff` of perf 6.1.
//!
//! Rows are those of `perf report`, joined by their texts, except that all code of a file without symbols is one row.

use super::columns::Columns;
use super::{HistogramKey, PerfColumn, PerfReport, SampleFilter};
use crate::formats::Format;
use crate::formats::framework::output::{FormatWriter, OutputFormat, ProfileFormat};
use crate::formats::report::FORMAT;
use crate::profile::Profile;
use crate::profile::event::ProfileEvent;
use crate::profile::labels::Label;
use crate::report::Counts;
use crate::report::histogram::code::CodeTable;
use crate::report::histogram::{Histogram, HistogramEntry, HistogramOptions};
use hashbrown::HashMap;
use perf_data::error::{Error, Result};
use perf_data::printable;
use perf_data::stream::events::EventIndex;
use perf_symbols::symbol::demangle::Demangle;
use std::cmp::Ordering;
use std::io::{self, Write};
use std::sync::Arc;

/// Width of a number of a period or a ratio.
const NUMBER: usize = 14;

/// How the shares of a row are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PerfCompute {
    /// The difference of the shares, the largest first.
    Delta,
    /// The same, ordered without its sign.
    #[default]
    DeltaAbs,
    /// The later period divided by the earlier one.
    Ratio,
}

/// A comparison in the layout of `perf diff` with these options. The profile needs a [base](crate::profile::Profile::base).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PerfDiff {
    /// What samples are grouped by.
    pub keys: Vec<HistogramKey>,
    /// How rows are compared.
    pub compute: PerfCompute,
    /// Omit rows that only one of the recordings has.
    pub common_only: bool,
    /// Print the sums of periods.
    pub shows_periods: bool,
    /// Which samples have rows.
    pub filter: SampleFilter,
    /// Whether shares are those of the samples that the filter accepts.
    pub is_relative: bool,
    /// What separates columns, which then have no percent signs.
    pub separator: Option<String>,
    /// Print rows only.
    pub is_quiet: bool,
}

/// A row in both recordings.
#[derive(Clone, Copy, Default)]
struct Change {
    before: Option<Counts>,
    after: Option<Counts>,
}

impl PerfDiff {
    /// What samples are grouped by in a comparison of perf without options.
    pub const DEFAULT_KEYS: &[HistogramKey] = &[HistogramKey::Dso, HistogramKey::Symbol];

    /// The report with the same rows.
    fn report(&self) -> PerfReport {
        PerfReport {
            fields: Some(self.keys.iter().copied().map(PerfColumn::Key).collect()),
            filter: self.filter.clone(),
            is_relative: self.is_relative,
            separator: self.separator.clone(),
            ..PerfReport::default()
        }
    }

    /// The rows of both recordings, in order. Each has the texts of the earlier recording with it.
    fn join(&self, entries: [Vec<HistogramEntry>; 2], totals: [Counts; 2]) -> Vec<(HistogramEntry, Change)> {
        let mut by_name: HashMap<Vec<Arc<str>>, usize> = HashMap::new();
        let mut rows: Vec<(HistogramEntry, Change)> = Vec::new();
        for (side, entries) in entries.into_iter().enumerate() {
            for entry in entries {
                let counts = entry.usages[0].own;
                let index = *by_name.entry(self.name(&entry)).or_insert(rows.len());
                if index == rows.len() {
                    rows.push((entry, Change::default()));
                }
                let change = &mut rows[index].1;
                let counted = if side == 0 { &mut change.before } else { &mut change.after };
                *counted.get_or_insert_default() += counts;
            }
        }
        if self.common_only {
            rows.retain(|(_, change)| change.before.is_some() && change.after.is_some());
        }
        rows.sort_by(|(_, a), (_, b)| self.compare(*a, *b, totals));
        rows
    }

    /// What identifies a row: its texts, without addresses and the letter of the address space.
    fn name(&self, entry: &HistogramEntry) -> Vec<Arc<str>> {
        let name = |(cell, key): (&Arc<str>, &HistogramKey)| match (key, cell.split_once(' ')) {
            (HistogramKey::Symbol, _) if !entry.has_symbol => "".into(),
            (HistogramKey::Symbol, Some((_, name))) => name.into(),
            _ => Arc::clone(cell),
        };
        entry.cells.iter().zip(&self.keys).map(name).collect()
    }

    /// The order of rows: by what is computed, then by the earlier recording. Rows that only the earlier one has are last.
    fn compare(&self, a: Change, b: Change, totals: [Counts; 2]) -> Ordering {
        let by_computed = match [a, b].map(|change| change.after.map(|_| self.computed(change, totals))) {
            [Some(Some(a)), Some(Some(b))] if self.compute == PerfCompute::DeltaAbs => b.abs().total_cmp(&a.abs()),
            [Some(a), Some(b)] => b.unwrap_or_default().total_cmp(&a.unwrap_or_default()),
            [a, b] => b.is_some().cmp(&a.is_some()),
        };
        by_computed.then_with(|| b.before.cmp(&a.before)).then_with(|| b.after.cmp(&a.after))
    }

    /// The difference in percentage points, or the ratio, which a row without samples before has not.
    fn computed(&self, change: Change, [total_before, total_after]: [Counts; 2]) -> Option<f64> {
        let after = change.after?;
        if self.compute == PerfCompute::Ratio {
            return change.before.map(|before| after.value as f64 / before.value as f64);
        }
        Some(after.percent_of(total_after) - change.before.unwrap_or_default().percent_of(total_before))
    }

    /// The headings of the columns of numbers, with their widths.
    fn headings(&self) -> Vec<(&'static str, usize)> {
        let computed = match self.compute {
            PerfCompute::Delta => ("Delta", 7),
            PerfCompute::DeltaAbs => ("Delta Abs", 9),
            PerfCompute::Ratio => ("Ratio", NUMBER),
        };
        match self.shows_periods {
            true => vec![("Baseline", 8), ("Base period", NUMBER), computed, ("Period", NUMBER)],
            false => vec![("Baseline", 8), computed],
        }
    }

    /// The numbers of a row; with a separator, perf does not align most of them.
    fn numbers(&self, change: Change, shown_total: Counts, totals: [Counts; 2]) -> Vec<String> {
        let percent = if self.separator.is_some() { "" } else { "%" };
        let baseline = change.before.map(|before| format!("{:.2}{percent}", before.percent_of(shown_total)));
        let computed = change.after.map(|_| match (self.computed(change, totals), self.compute) {
            (None, _) => "N/A".to_owned(),
            (Some(ratio), PerfCompute::Ratio) => format!("{ratio:NUMBER$.6}"),
            (Some(points), _) => format!("{points:+.2}%"),
        });
        let period =
            |counts: Option<Counts>, is_shown: bool| is_shown.then(|| counts.unwrap_or_default().value.to_string());
        let cells = match self.shows_periods {
            // perf prints the period of 0 of an earlier recording that lacks the row, but none of a later one.
            true => vec![baseline, period(change.before, true), computed, period(change.after, change.after.is_some())],
            false => vec![baseline, computed],
        };
        let aligned = |(cell, (_, width)): (Option<String>, (_, usize))| match (cell.unwrap_or_default(), percent) {
            (cell, "") => format!("{cell:<width$}"),
            (cell, _) => format!("{cell:>width$}"),
        };
        cells.into_iter().zip(self.headings()).map(aligned).collect()
    }

    /// Writes the rows of an event, which the later recording may lack.
    fn write_event(
        &self,
        [before, after]: [&Side<'_>; 2],
        events: (EventIndex, Option<EventIndex>),
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let report = self.report();
        let options = report.histogram_options();
        let before = before.histogram(events.0, &options);
        let after = events.1.map(|event| after.histogram(event, &options));
        let totals = [before.totals[0], after.as_ref().map(|after| after.totals[0]).unwrap_or_default()];
        let entries = [before.entries, after.map(|after| after.entries).unwrap_or_default()];
        let (entries, changes): (Vec<_>, Vec<_>) = self.join(entries, totals).into_iter().unzip();
        // With --baseline-only, perf prints shares of the rows that are left, but compares shares of all.
        let shown_total = match self.common_only {
            true => changes.iter().filter_map(|change| change.before).sum(),
            false => totals[0],
        };
        let rows = Histogram { totals: totals[..1].to_vec(), entries };
        let columns = Columns::new(&report, &rows, &options);
        let separator = self.separator.as_deref().unwrap_or("  ");
        let joined = |numbers: Vec<String>| numbers.join(separator) + separator;
        if !self.is_quiet {
            let headings = self.headings().into_iter().map(|(heading, width)| format!("{heading:>width$}"));
            writeln!(out, "# {}{}", joined(headings.collect()), columns.headings())?;
            if let Some(rule) = columns.rule() {
                let dots = self.headings().into_iter().map(|(_, width)| ".".repeat(width));
                writeln!(out, "# {}{rule}\n#", joined(dots.collect()))?;
            }
        }
        let indent = if self.separator.is_some() { "" } else { "  " };
        for (entry, change) in rows.entries.iter().zip(changes) {
            let row = columns.row(entry, &rows.totals, &options.keys);
            writeln!(out, "{indent}{}{}", joined(self.numbers(change, shown_total, totals)), printable::name(&row))?;
        }
        Ok(())
    }
}

/// One of the recordings.
struct Side<'a> {
    profile: &'a Profile,
    code: CodeTable,
}

impl<'a> Side<'a> {
    fn new(profile: &'a Profile) -> Self {
        Self { profile, code: CodeTable::new(&profile.tables) }
    }

    fn histogram(&self, event: EventIndex, options: &HistogramOptions) -> Histogram {
        Histogram::new(self.profile, &self.code, event..event + 1, options)
    }

    /// The event that perf compares with one of the other recording: of the same name, whatever it was limited to.
    fn event(&self, other: &ProfileEvent) -> Option<EventIndex> {
        let events = (0..).zip(&self.profile.tables.events);
        let mut same = events.filter(|(_, event)| without_modifiers(&event.name) == without_modifiers(&other.name));
        same.next().map(|(index, _)| index)
    }
}

/// The name of an event without the modifiers after a colon, such as `u` for user space only.
fn without_modifiers(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((event, modifiers)) if modifiers.bytes().all(|byte| b"ukhHGppPSDWeIb".contains(&byte)) => event,
        _ => name,
    }
}

impl OutputFormat for PerfDiff {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }

    fn shows_lines(&self) -> bool {
        false
    }

    fn demangling(&self) -> Demangle {
        Demangle::Short
    }
}

impl ProfileFormat for PerfDiff {
    fn labels(&self) -> Option<&'static [Label]> {
        Some(&[])
    }

    fn required_labels(&self) -> Vec<Label> {
        self.report().required_labels()
    }

    fn is_as_recorded(&self) -> bool {
        true
    }

    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        let base = profile.base.as_deref().ok_or_else(|| Error::invalid("no recording to compare with is given"))?;
        let [before, after] = [base, profile].map(Side::new);
        let write = |out: &mut dyn Write| {
            for (index, event) in (0..).zip(&base.tables.events) {
                if !self.is_quiet {
                    let separator = if index > 0 { "\n" } else { "" };
                    writeln!(out, "{separator}# Event '{}'\n#", printable::name(&event.name))?;
                }
                self.write_event([&before, &after], (index, after.event(event)), out)?;
            }
            Ok(())
        };
        write(out).map_err(Error::Output)
    }
}
