//! Samples grouped by the rules of `perf report`.
//!
//! [`Top`](super::top::Top) answers the same question for people. Where perf's text must be reproduced, its rules differ:
//!
//! * a sample counts for the symbol of its instruction pointer, not for the function inlined there;
//! * code without a symbol is one row for each address: in samples that of the file, in call chains that in memory;
//! * functions of one name at different addresses are different rows;
//! * samples that a filter rejects still count in the total;
//! * of a recording with branch stacks, rows are those of branches.

pub(crate) mod chain_tree;
pub(crate) mod code;
mod groups;
pub(crate) mod key;
mod row_order;
pub(crate) mod sample_filter;

use super::{Counts, Usage};
use crate::profile::Profile;
use chain_tree::{ChainOptions, ChainTree};
use code::{CodeSymbol, CodeTable};
use groups::{Group, Groups};
use key::{HistogramKey, SortValue, latest_comm};
use perf_data::stream::events::EventIndex;
use row_order::in_tree_order;
use sample_filter::SampleFilter;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// How samples are grouped and ordered.
#[derive(Clone, Debug, Default)]
pub(crate) struct HistogramOptions {
    /// What they are grouped by.
    pub keys: Vec<HistogramKey>,
    /// What the rows are ordered by.
    pub order: Vec<SortKey>,
    /// Whether callers have rows, too.
    pub has_children: bool,
    /// Whether the profile is one of branches.
    pub counts_branches: bool,
    /// Which samples have rows.
    pub filter: SampleFilter,
    /// Whether shares are those of the samples with rows.
    pub is_relative: bool,
    /// The call chains of rows, if they are shown.
    pub chains: Option<ChainOptions>,
    /// Maximum number of addresses of a call chain.
    pub max_stack: usize,
}

/// A value by which rows are ordered: counts in descending order, keys in perf's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SortKey {
    /// Samples in the code itself and in what it calls.
    Total,
    /// Samples in the code itself.
    Own,
    /// Number of samples in the code itself.
    Samples,
    /// The key of this index.
    Key(usize),
}

/// A row.
#[derive(Debug)]
pub(crate) struct HistogramEntry {
    /// Texts of the keys.
    pub cells: Vec<Arc<str>>,
    /// Counts of each event.
    pub usages: Vec<Usage>,
    /// The thread of its first sample.
    pub tid: u32,
    /// Number of bytes of the latest name of its thread, which determines the width of the column of names.
    pub comm_len: usize,
    /// Whether its code has a symbol.
    pub has_symbol: bool,
    /// Its call chains with the first event.
    pub chains: ChainTree,
}

/// The values by which a row is ordered, and the row.
type HistogramRow = (Vec<SortValue>, HistogramEntry);

/// The rows of an event, or of a group of events.
#[derive(Debug)]
pub(crate) struct Histogram {
    /// Counts of which shares are computed, of each event.
    pub totals: Vec<Counts>,
    pub entries: Vec<HistogramEntry>,
}

impl Histogram {
    /// Groups the samples of events.
    pub(crate) fn new(
        profile: &Profile,
        code: &CodeTable,
        events: Range<EventIndex>,
        options: &HistogramOptions,
    ) -> Self {
        let mut groups = Groups::new(profile, code, events.len(), options);
        let mut totals = vec![Counts::default(); events.len()];
        for row in profile.rows.iter().filter(|row| events.contains(&row.event)) {
            let is_shown = options.filter.accepts(row, profile, code);
            let member = (row.event - events.start) as usize;
            if is_shown || !options.is_relative {
                totals[member] += row.into();
            }
            if is_shown {
                groups.count(row, member);
            }
        }
        let mut rows: Vec<_> =
            groups.into_list().into_iter().map(|group| entry(group, profile, code, options)).collect();
        if options.keys.iter().any(|key| key.is_branch_flag()) {
            // Their comparison is no order, which the tree of perf does not need.
            rows = in_tree_order(rows, |(a, _), (b, _)| SortValue::cmp_all(a, b).is_lt());
        } else {
            rows.sort_by(|(a, _), (b, _)| SortValue::cmp_all(a, b));
        }
        let rows = in_tree_order(rows, |a, b| options.compare(a, b).is_lt());
        Self { totals, entries: rows.into_iter().map(|(_, entry)| entry).collect() }
    }
}

impl HistogramOptions {
    /// The order of rows. With call chains it is no total order.
    fn compare(&self, (a_values, a): &HistogramRow, (b_values, b): &HistogramRow) -> Ordering {
        let by_order = self.order.iter().map(|key| match *key {
            SortKey::Total => self.compare_totals(a, b),
            SortKey::Own => compare_counts(a, b, |usage| usage.own.value),
            SortKey::Samples => compare_counts(a, b, |usage| usage.own.samples),
            SortKey::Key(index) => a_values[index].cmp_shown(&b_values[index]),
        });
        by_order.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// Orders rows by the samples of the first event in them and in what they call, the most first. Of rows of one thread with equal
    /// counts, perf puts the caller above what it calls, by the length of their call chains.
    fn compare_totals(&self, a: &HistogramEntry, b: &HistogramEntry) -> Ordering {
        let total = |entry: &HistogramEntry| entry.usages.first().map_or(0, |usage| usage.total.value);
        let by_depth = || match &self.chains {
            Some(chains) if a.tid == b.tid => {
                let depths = a.chains.max_depth.cmp(&b.chains.max_depth);
                if chains.is_caller_first { depths.reverse() } else { depths }
            }
            _ => Ordering::Equal,
        };
        total(b).cmp(&total(a)).then_with(by_depth)
    }
}

/// The row of a group, with the values by which rows are ordered.
fn entry(group: Group, profile: &Profile, code: &CodeTable, options: &HistogramOptions) -> HistogramRow {
    let Group { values, usages, tid, code: id, labels, level, chains, .. } = group;
    let tables = &*profile.tables;
    let samples = usages.first().map_or(0, |usage| usage.own.samples);
    let cells = values.iter().zip(&options.keys).map(|(&value, key)| {
        let (sort_value, text) = key.sort_value_and_text(value, tables, code, (level, labels));
        // perf multiplies by the number of samples what it has grouped and ordered by the weight of one.
        let text = if *key == HistogramKey::Weight { value.saturating_mul(samples).to_string().into() } else { text };
        (sort_value, text)
    });
    let (values, cells) = cells.unzip();
    let has_symbol = matches!(code.get(id).symbol, CodeSymbol::Function { .. });
    (values, HistogramEntry { cells, usages, tid, comm_len: latest_comm(tid, tables).len(), has_symbol, chains })
}

/// Orders rows by counts, the highest first; those of further events decide between equal ones.
fn compare_counts(a: &HistogramEntry, b: &HistogramEntry, count: fn(&Usage) -> u64) -> Ordering {
    b.usages.iter().map(count).cmp(a.usages.iter().map(count))
}
