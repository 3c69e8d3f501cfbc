//! Functions, or other groups of samples, with their counts.

use super::column::{Cell, CellSource};
use super::key::ReportKey;
use super::location::{LocationId, Locations};
use super::{Counts, Usage};
use crate::profile::intern::stacks::StackId;
use crate::profile::labels::LabelsId;
use crate::profile::weight::lengths::Lengths;
use crate::profile::{Profile, Row};
use hashbrown::HashMap;
use perf_data::session::slices::Slices;
use perf_data::stream::events::EventIndex;
use std::cmp::Ordering;
use std::sync::Arc;

/// A group of samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportEntry {
    /// The values of the keys, as text. Entries share equal texts, which can be long.
    pub cells: Vec<Arc<str>>,
    /// Its event, in a list that is grouped by event.
    pub event: EventIndex,
    /// Counts.
    pub usage: Usage,
    /// How long its spans are, in a profile of these with times.
    pub lengths: Option<Box<Lengths>>,
}

/// Groups of samples, those with the most first.
#[derive(Clone, Debug, Default)]
pub struct Top {
    /// Counts of all samples, by event.
    pub totals: HashMap<EventIndex, Counts>,
    /// How long all spans are, in a profile of these with times.
    pub lengths: Option<Box<Lengths>>,
    /// The groups.
    pub entries: Vec<ReportEntry>,
}

/// Groups without their texts.
struct Groups<'a> {
    profile: &'a Profile,
    locations: &'a Locations,
    keys: &'a [ReportKey],
    /// Values of the keys that labels and events have, in the order of the keys.
    sample_cells: Slices<Cell>,
    by_labels: HashMap<(LabelsId, EventIndex, Option<StackId>), u32>,
    /// Whether these values depend on stacks, too.
    has_branch_ends: bool,
    /// Values of the keys that locations have.
    location_cells: Slices<Cell>,
    by_location: Vec<u32>,
    groups: HashMap<(u32, u32), u32>,
    /// By group: the keys of its samples and location, its event and counts.
    list: Vec<(u32, u32, EventIndex, Usage)>,
    /// By group: lengths of its spans, if they are measured.
    lengths: Vec<Lengths>,
    /// Whether these are of all spans in a group, not only of those that begin in it.
    by_total: bool,
    /// By group: the latest row that it was counted for.
    counted: Vec<usize>,
}

impl Top {
    /// Groups the samples of an event, or of all events if `None`, by keys. The order is that of the total counts or of the samples
    /// in a group itself.
    pub fn new(
        profile: &Profile,
        locations: &Locations,
        event: Option<EventIndex>,
        keys: &[ReportKey],
        by_total: bool,
    ) -> Self {
        let mut groups = Groups::new(profile, locations, keys, by_total);
        let has_lengths = profile.has_lengths();
        let mut lengths = has_lengths.then(Box::<Lengths>::default);
        let mut totals: HashMap<EventIndex, Counts> = HashMap::new();
        let rows = profile.rows.iter().enumerate();
        for (number, row) in rows.filter(|(_, row)| event.is_none_or(|event| row.event == event)) {
            *totals.entry(row.event).or_default() += row.into();
            lengths.iter_mut().for_each(|lengths| lengths.add(row.value));
            groups.count(number, row, has_lengths);
        }
        let mut entries = groups.entries();
        entries.sort_by(|a, b| {
            a.usage.order(by_total).cmp(&b.usage.order(by_total)).then_with(|| compare(&a.cells, &b.cells))
        });
        Self { totals, lengths, entries }
    }

    /// Counts of all samples of an entry's event.
    pub fn event_total(&self, entry: &ReportEntry) -> Counts {
        self.totals.get(&entry.event).copied().unwrap_or_default()
    }
}

impl<'a> Groups<'a> {
    fn new(profile: &'a Profile, locations: &'a Locations, keys: &'a [ReportKey], by_total: bool) -> Self {
        let mut location_cells = Slices::default();
        let cells = |id: &LocationId| -> Vec<Cell> {
            let cells = keys.iter().filter_map(|key| match key.column().cell {
                CellSource::Location(cell) => Some(cell(*id, locations)),
                _ => None,
            });
            cells.collect()
        };
        let ids = 0..locations.list().len() as LocationId;
        let by_location = ids.map(|id| location_cells.id(&cells(&id))).collect();
        Self {
            profile,
            locations,
            keys,
            sample_cells: Slices::default(),
            by_labels: HashMap::new(),
            has_branch_ends: keys.iter().any(|key| matches!(key.column().cell, CellSource::BranchEnd(..))),
            location_cells,
            by_location,
            groups: HashMap::new(),
            list: Vec::new(),
            lengths: Vec::new(),
            by_total,
            counted: Vec::new(),
        }
    }

    /// Counts the samples of a row: once for each group, however often it occurs in the stack.
    fn count(&mut self, number: usize, row: &Row, has_lengths: bool) {
        let (has_branch_ends, by_total) = (self.has_branch_ends, self.by_total);
        let Self { profile, locations, keys, sample_cells, by_labels, by_location, groups, .. } = self;
        let Self { list, lengths, counted, .. } = self;
        let tables = &*profile.tables;
        let branch = has_branch_ends.then_some(row.stack);
        let cells_id = *by_labels.entry((row.labels, row.event, branch)).or_insert_with(|| {
            let cells = keys.iter().filter_map(|key| key.column().cell.sample_cell(row, tables, locations));
            sample_cells.id(&cells.collect::<Vec<_>>())
        });
        let frames = tables.stacks.stack(row.stack);
        // A branch is where it jumped to.
        let frames = if tables.counts_branches { &frames[..frames.len().min(1)] } else { frames };
        for (depth, location) in locations.stack_locations(frames).enumerate() {
            let key = (cells_id, by_location[location as usize]);
            let group = *groups.entry(key).or_insert_with(|| {
                list.push((key.0, key.1, row.event, Usage::default()));
                counted.push(usize::MAX);
                lengths.extend(has_lengths.then(Lengths::default));
                list.len() as u32 - 1
            }) as usize;
            let usage = &mut list[group].3;
            if depth == 0 {
                usage.own += row.into();
            }
            let is_first = counted[group] != number;
            if is_first {
                counted[group] = number;
                usage.total += row.into();
            }
            if has_lengths && (if by_total { is_first } else { depth == 0 }) {
                lengths[group].add(row.value);
            }
        }
    }

    fn entries(&self) -> Vec<ReportEntry> {
        let Self { keys, sample_cells, location_cells, list, lengths, .. } = self;
        let mut texts: HashMap<(ReportKey, Cell), Arc<str>> = HashMap::new();
        let entry = |(group, &(sample, location, event, usage)): (usize, &(u32, u32, EventIndex, Usage))| {
            let (mut sample_values, mut location_values) =
                (sample_cells.get(sample).iter(), location_cells.get(location).iter());
            let cells = keys.iter().map(|&key| {
                let cells = match key.column().cell {
                    CellSource::Location(_) => &mut location_values,
                    _ => &mut sample_values,
                };
                let cell = cells.next().copied().flatten();
                // As in perf, groups have equal weights, and the sum is shown.
                let cell = match key {
                    ReportKey::Weight => cell.map(|weight| weight.saturating_mul(usage.own.samples)),
                    _ => cell,
                };
                texts.entry((key, cell)).or_insert_with(|| self.text(key, cell).into()).clone()
            });
            ReportEntry { cells: cells.collect(), event, usage, lengths: lengths.get(group).cloned().map(Box::new) }
        };
        list.iter().enumerate().map(entry).collect()
    }

    fn text(&self, key: ReportKey, cell: Cell) -> String {
        let Some(value) = cell else { return String::new() };
        let tables = &*self.profile.tables;
        (key.column().text)(value, tables, self.locations)
    }
}

/// Order of cells. Those that are one text are not compared.
fn compare(a: &[Arc<str>], b: &[Arc<str>]) -> Ordering {
    let different = a.iter().zip(b).filter(|(a, b)| !Arc::ptr_eq(a, b));
    different.map(|(a, b)| a.cmp(b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}
