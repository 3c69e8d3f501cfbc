//! Groups samples and their callers.

use super::HistogramOptions;
use super::chain_tree::ChainTree;
use super::code::{CodeId, CodeTable};
use crate::profile::labels::{Label, LabelsId};
use crate::profile::{Profile, Row};
use crate::report::Usage;
use hashbrown::HashMap;
use perf_data::session::names::NameId;
use perf_data::session::slices::Slices;

/// Samples with equal values of the keys.
pub(super) struct Group {
    /// Values of the keys.
    pub values: Vec<u64>,
    /// Counts of each event.
    pub usages: Vec<Usage>,
    /// The thread and the code of its first sample.
    pub tid: u32,
    pub code: CodeId,
    /// The labels of its first sample.
    pub labels: LabelsId,
    /// The letter of its address space.
    pub level: char,
    pub chains: ChainTree,
    /// Number of the latest row that it was counted for.
    latest_row: u64,
}

/// The code at both ends of a branch; of a sample, twice the same.
#[derive(Clone, Copy)]
pub(super) struct BranchEnds {
    pub source: CodeId,
    pub target: CodeId,
}

impl From<CodeId> for BranchEnds {
    fn from(code: CodeId) -> Self {
        Self { source: code, target: code }
    }
}

/// Groups under construction.
pub(super) struct Groups<'a> {
    profile: &'a Profile,
    code: &'a CodeTable,
    options: &'a HistogramOptions,
    /// Number of events.
    event_count: usize,
    /// By label set: the values that samples have, with 0 for those of code.
    by_labels: HashMap<LabelsId, Vec<u64>>,
    values: Slices<u64>,
    list: Vec<Group>,
    /// Number of rows so far.
    rows: u64,
    /// The call chain of the current sample in the order of the options (scratch buffer).
    chain: Vec<CodeId>,
}

impl<'a> Groups<'a> {
    pub(super) fn new(
        profile: &'a Profile,
        code: &'a CodeTable,
        event_count: usize,
        options: &'a HistogramOptions,
    ) -> Self {
        Self {
            profile,
            code,
            options,
            event_count,
            by_labels: HashMap::new(),
            values: Slices::default(),
            list: Vec::new(),
            rows: 0,
            chain: Vec::new(),
        }
    }

    /// Counts a row of an event for its own code and, once each, for its callers.
    pub(super) fn count(&mut self, row: &Row, event: usize) {
        let stack = self.profile.tables.stacks.stack(row.stack);
        let Some((&leaf, callers)) = stack.split_first() else { return };
        let ends = match callers {
            &[source] if self.options.counts_branches => {
                BranchEnds { source: self.code.branch_end(source), target: self.code.branch_end(leaf) }
            }
            _ => BranchEnds::from(self.code.own(leaf)),
        };
        // In rows of branches, perf prints the letter of the sample.
        let mut level = match self.options.counts_branches {
            true => self.sample_level(row).unwrap_or('H'),
            false => self.code.level(ends.target),
        };
        let own = self.group(row, ends, level);
        let usage = &mut self.list[own as usize].usages[event];
        usage.own += row.into();
        usage.total += row.into();
        let chains = self.options.chains.as_ref().filter(|_| event == 0);
        if chains.is_none() && !self.options.has_children {
            return;
        }
        let mut chain = std::mem::take(&mut self.chain);
        chain.clear();
        let is_caller_first = self.options.chains.is_none_or(|chains| chains.is_caller_first);
        let omitted = callers.len().saturating_sub(self.options.max_stack);
        // In this order perf also begins to count at the outermost caller.
        let callers = if is_caller_first { &callers[omitted..] } else { &callers[..callers.len() - omitted] };
        chain.extend(callers.iter().flat_map(|&frame| self.code.chain(frame)));
        if is_caller_first {
            chain.reverse();
        }
        if chains.is_some() {
            self.list[own as usize].chains.add(&chain, row.into());
        }
        if self.options.has_children {
            self.rows += 1;
            self.list[own as usize].latest_row = self.rows;
            for (depth, &code) in chain.iter().enumerate() {
                // perf keeps the letter of the caller before for an address outside of mappings.
                if self.code.get(code).dso.is_some() {
                    level = self.code.level(code);
                }
                let group = self.group(row, code.into(), level);
                let group = &mut self.list[group as usize];
                if std::mem::replace(&mut group.latest_row, self.rows) == self.rows {
                    continue;
                }
                group.usages[event].total += row.into();
                if chains.is_some() {
                    group.chains.add(&chain[depth..], row.into());
                }
            }
        }
        self.chain = chain;
    }

    /// The letter of the address space of samples; `None` if it is not recorded.
    fn sample_level(&self, row: &Row) -> Option<char> {
        let tables = &*self.profile.tables;
        let mode = tables.labels.value(row.labels, Label::ExecutionMode)?;
        Some(match tables.names.name(NameId(mode as u32)) {
            b"Host Kernel" => 'k',
            b"Host User" => '.',
            b"Guest Kernel" => 'g',
            b"Guest User" => 'u',
            _ => 'H',
        })
    }

    /// The group of code, or of a branch, in the samples of a row.
    fn group(&mut self, row: &Row, ends: BranchEnds, level: char) -> u32 {
        let Self { profile, code, options, event_count, by_labels, values, list, .. } = self;
        let sample_values = by_labels.entry(row.labels).or_insert_with(|| {
            options.keys.iter().map(|key| key.sample_value(row, profile, code).unwrap_or_default()).collect()
        });
        for (value, key) in sample_values.iter_mut().zip(&options.keys) {
            if let Some(end) = key.code_of(ends) {
                *value = key.code_value(end, code);
            }
        }
        let group = values.id(sample_values);
        if group as usize == list.len() {
            let values = sample_values.clone();
            let tid = profile.tables.labels.value(row.labels, Label::Tid).map_or(u32::MAX, |tid| tid as u32);
            let usages = vec![Usage::default(); *event_count];
            list.push(Group {
                values,
                usages,
                tid,
                code: ends.target,
                labels: row.labels,
                level,
                chains: ChainTree::default(),
                latest_row: 0,
            });
        }
        group
    }

    pub(super) fn into_list(self) -> Vec<Group> {
        self.list
    }
}
