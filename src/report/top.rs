//! Functions, or other groups of samples, with their counts.

use super::key::Key;
use super::location::{LocationId, Locations};
use super::{Counts, Usage};
use crate::profile::labels::{Label, LabelKey, LabelsId};
use crate::profile::{Profile, Row, Tables};
use hashbrown::HashMap;
use perf_data::session::names::NameId;
use perf_data::session::slices::Slices;
use perf_data::session::thread_name::unnamed_thread;
use perf_data::stream::events::EventIndex;
use std::cmp::Ordering;
use std::sync::Arc;

/// A group of samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The values of the keys, as text. Entries share equal texts, which can be long.
    pub cells: Vec<Arc<str>>,
    /// Its event, in a list that is grouped by event.
    pub event: EventIndex,
    /// Counts.
    pub usage: Usage,
}

/// Groups of samples, those with the most first.
#[derive(Clone, Debug, Default)]
pub struct Top {
    /// Counts of all samples, by event.
    pub totals: HashMap<EventIndex, Counts>,
    /// The groups.
    pub entries: Vec<Entry>,
}

/// A value of a key: a name, a number or nothing.
type Cell = Option<u64>;

/// Marks the ID of a thread in place of its name, if that is unknown. As in perf, 0 is the idle thread.
const UNNAMED: u64 = 1 << 32;

/// Groups without their texts.
struct Groups<'a> {
    profile: &'a Profile,
    locations: &'a Locations,
    keys: &'a [Key],
    /// Values of the keys that labels and events have, in the order of the keys.
    sample_cells: Slices<Cell>,
    by_labels: HashMap<(LabelsId, EventIndex), u32>,
    /// Values of the keys that locations have.
    location_cells: Slices<Cell>,
    by_location: Vec<u32>,
    groups: HashMap<(u32, u32), u32>,
    /// By group: the keys of its samples and location, its event and counts.
    list: Vec<(u32, u32, EventIndex, Usage)>,
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
        keys: &[Key],
        by_total: bool,
    ) -> Self {
        let mut groups = Groups::new(profile, locations, keys);
        let mut totals: HashMap<EventIndex, Counts> = HashMap::new();
        let rows = profile.rows.iter().enumerate();
        for (number, row) in rows.filter(|(_, row)| event.is_none_or(|event| row.event == event)) {
            *totals.entry(row.event).or_default() += row.into();
            groups.count(number, row);
        }
        let mut entries = groups.entries();
        entries.sort_by(|a, b| {
            a.usage.order(by_total).cmp(&b.usage.order(by_total)).then_with(|| compare(&a.cells, &b.cells))
        });
        Self { totals, entries }
    }

    /// Counts of all samples of an entry's event.
    pub fn event_total(&self, entry: &Entry) -> Counts {
        self.totals.get(&entry.event).copied().unwrap_or_default()
    }
}

impl<'a> Groups<'a> {
    fn new(profile: &'a Profile, locations: &'a Locations, keys: &'a [Key]) -> Self {
        let mut location_cells = Slices::default();
        let cells = |id: &LocationId| -> Vec<Cell> {
            keys.iter().filter_map(|key| location_cell(*key, *id, locations)).collect()
        };
        let ids = 0..locations.list().len() as LocationId;
        let by_location = ids.map(|id| location_cells.id(&cells(&id))).collect();
        Self {
            profile,
            locations,
            keys,
            sample_cells: Slices::default(),
            by_labels: HashMap::new(),
            location_cells,
            by_location,
            groups: HashMap::new(),
            list: Vec::new(),
            counted: Vec::new(),
        }
    }

    /// Counts the samples of a row: once for each group, however often it occurs in the stack.
    fn count(&mut self, number: usize, row: &Row) {
        let Self { profile, locations, keys, sample_cells, by_labels, by_location, groups, list, counted, .. } = self;
        let tables = &*profile.tables;
        let cells_id = *by_labels.entry((row.labels, row.event)).or_insert_with(|| {
            let cells: Vec<_> = keys.iter().filter_map(|key| sample_cell(*key, row, tables)).collect();
            sample_cells.id(&cells)
        });
        for (depth, location) in locations.stack_locations(tables.stacks.stack(row.stack)).enumerate() {
            let key = (cells_id, by_location[location as usize]);
            let group = *groups.entry(key).or_insert_with(|| {
                list.push((key.0, key.1, row.event, Usage::default()));
                counted.push(usize::MAX);
                list.len() as u32 - 1
            }) as usize;
            let usage = &mut list[group].3;
            if depth == 0 {
                usage.own += row.into();
            }
            if counted[group] != number {
                counted[group] = number;
                usage.total += row.into();
            }
        }
    }

    fn entries(&self) -> Vec<Entry> {
        let Self { keys, sample_cells, location_cells, list, .. } = self;
        let mut texts: HashMap<(Key, Cell), Arc<str>> = HashMap::new();
        let entry = |&(sample, location, event, usage): &(u32, u32, EventIndex, Usage)| {
            let (mut sample_values, mut location_values) =
                (sample_cells.get(sample).iter(), location_cells.get(location).iter());
            let cells = keys.iter().map(|&key| {
                let cells = if is_sample_key(key) { &mut sample_values } else { &mut location_values };
                let cell = cells.next().copied().flatten();
                texts.entry((key, cell)).or_insert_with(|| self.text(key, cell).into()).clone()
            });
            Entry { cells: cells.collect(), event, usage }
        };
        list.iter().map(entry).collect()
    }

    fn text(&self, key: Key, cell: Cell) -> String {
        let Some(value) = cell else { return String::new() };
        let tables = &*self.profile.tables;
        match key {
            Key::Comm if value >= UNNAMED => unnamed_thread(value as u32).into_owned(),
            Key::Comm => String::from_utf8_lossy(tables.names.name(NameId(value as u32))).into_owned(),
            Key::Dso | Key::Sym | Key::SrcFile => self.locations.text(NameId(value as u32)).into_owned(),
            Key::SrcLine => self.locations.source(self.locations.get(value as LocationId)),
            Key::Pid | Key::Tid => (value as u32 as i32).to_string(),
            Key::Cpu => value.to_string(),
            Key::Event => tables.events[value as usize].name.clone(),
        }
    }
}

/// Order of cells. Those that are one text are not compared.
fn compare(a: &[Arc<str>], b: &[Arc<str>]) -> Ordering {
    let different = a.iter().zip(b).filter(|(a, b)| !Arc::ptr_eq(a, b));
    different.map(|(a, b)| a.cmp(b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Whether all frames of a sample have the same value of a key.
fn is_sample_key(key: Key) -> bool {
    key == Key::Event || key.label().is_some()
}

/// The value of a key of samples.
fn sample_cell(key: Key, row: &Row, tables: &Tables) -> Option<Cell> {
    if key == Key::Event {
        return Some(Some(row.event.into()));
    }
    let value = |wanted: Label| {
        let mut labels = tables.labels.labels(row.labels).iter();
        labels.find(|label| label.key == LabelKey::Known(wanted)).map(|label| label.value)
    };
    let recorded = value(key.label()?);
    // Each thread without a name has a row of its own, by its ID.
    let unnamed = || value(Label::Tid).filter(|_| key == Key::Comm).map(|tid| UNNAMED | tid);
    Some(recorded.or_else(unnamed))
}

/// The value of a key of locations. For a line it is a location of that line.
fn location_cell(key: Key, id: LocationId, locations: &Locations) -> Option<Cell> {
    let location = locations.get(id);
    match key {
        Key::Dso => Some(Some(location.dso.0.into())),
        Key::Sym => Some(Some(location.function.0.into())),
        Key::SrcFile => Some(Some(location.file.0.into())),
        Key::SrcLine => Some(Some(locations.first_of_line(id).into())),
        Key::Comm | Key::Pid | Key::Tid | Key::Cpu | Key::Event => None,
    }
}
