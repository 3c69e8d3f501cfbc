//! Rows of a profile, or of each part of a split.

use super::merged_events::MergedEvents;
use super::programs::Programs;
use crate::profile::intern::stacks::StackId;
use crate::profile::labels::LabelsId;
use crate::profile::options::SplitBy;
use crate::profile::timeline::Occurrence;
use crate::profile::{Row, Tables};
use hashbrown::HashMap;
use perf_data::session::Session;
use perf_data::session::map::MapId;
use perf_data::session::names::NameId;
use perf_data::stream::events::{EventIndex, is_time};
use perf_data::stream::meta::Meta;
use std::collections::BTreeSet;

/// The parts of a split.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    list: Vec<Part>,
    by_key: HashMap<PartKey, usize>,
    /// The latest part: the next sample often is in the same.
    latest: usize,
}

/// Identifies a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum PartKey {
    /// The only part.
    #[default]
    All,
    /// Samples without the field.
    Unknown,
    /// A process.
    Pid(u32),
    /// A process name or cgroup path.
    Name(NameId),
    /// A cgroup whose path is not known.
    Cgroup(u64),
    /// An event.
    Event(EventIndex),
}

#[derive(Debug, Default)]
pub(crate) struct Part {
    pub key: PartKey,
    /// Rows without times.
    rows: Rows,
    /// Rows with their times, if those are kept.
    timed: Vec<Row>,
    /// See `timed`.
    occurrences: Vec<Occurrence>,
    /// The events with samples.
    pub has_samples: BTreeSet<EventIndex>,
    /// Times of the first and the last sample; `first > last` without samples.
    first: u64,
    last: u64,
    /// The programs of its samples.
    pub programs: Programs,
}

impl Parts {
    /// The index of the part with this key, which is added if missing.
    #[inline]
    pub(crate) fn index(&mut self, key: PartKey) -> usize {
        if self.list.get(self.latest).is_none_or(|latest| latest.key != key) {
            self.latest = self.find(key);
        }
        self.latest
    }

    fn find(&mut self, key: PartKey) -> usize {
        let Self { list, by_key, .. } = self;
        *by_key.entry(key).or_insert_with(|| {
            list.push(Part { key, first: u64::MAX, ..Part::default() });
            list.len() - 1
        })
    }

    #[inline]
    pub(crate) fn part(&mut self, index: usize) -> &mut Part {
        &mut self.list[index]
    }

    /// Returns all parts.
    pub(crate) fn into_list(self) -> Vec<Part> {
        self.list
    }
}

impl PartKey {
    /// The key of a sample, given the ID of its cgroup and what that is called.
    pub(crate) fn for_sample(
        split: Option<SplitBy>,
        pid: Option<u32>,
        cgroup: Option<(u64, Option<NameId>)>,
        session: &Session,
    ) -> Self {
        let key = match split {
            None => return Self::All,
            Some(SplitBy::Pid) => pid.map(Self::Pid),
            Some(SplitBy::Comm) => pid.and_then(|pid| session.process(pid)?.comm).map(Self::Name),
            Some(SplitBy::Cgroup) => cgroup.map(|(id, name)| name.map_or(Self::Cgroup(id), Self::Name)),
            // A sample may have several events.
            Some(SplitBy::Event) => return Self::All,
        };
        key.unwrap_or(Self::Unknown)
    }

    /// The name of the part; `None` for the only part.
    pub(crate) fn name(self, tables: &Tables) -> Option<String> {
        Some(match self {
            Self::All => return None,
            Self::Unknown => "unknown".to_owned(),
            Self::Pid(pid) => pid.to_string(),
            Self::Name(name) => String::from_utf8_lossy(tables.names.name(name)).into_owned(),
            Self::Cgroup(id) => format!("cgroup-{id}"),
            Self::Event(event) => tables.events[event as usize].name.clone(),
        })
    }
}

/// Packs a row's part and labels into one number.
#[inline]
pub(crate) fn packed(part: usize, labels: LabelsId) -> u64 {
    (part as u64) << 32 | u64::from(labels)
}

/// Unpacks a row's part and labels.
pub(crate) fn unpacked(packed: u64) -> (usize, LabelsId) {
    ((packed >> 32) as usize, packed as LabelsId)
}

impl Row {
    /// Identifies the row.
    fn key(&self) -> (StackId, LabelsId, EventIndex) {
        (self.stack, self.labels, self.event)
    }

    /// Adds the counts of a row with the same key; returns whether it has that.
    fn add_if_same(&mut self, row: &Self) -> bool {
        let is_same = self.key() == row.key();
        if is_same {
            self.samples = self.samples.saturating_add(row.samples);
            self.value = self.value.saturating_add(row.value);
        }
        is_same
    }
}

/// Rows that are added up.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// Rows with unique keys, sorted.
    rows: Vec<Row>,
    /// Rows that are not yet merged into the others.
    new: Vec<Row>,
}

impl Rows {
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.new.is_empty()
    }

    /// Adds samples.
    pub(crate) fn add(&mut self, row: Row) {
        /// Number of rows from which on they are merged: fewer take at most a megabyte.
        const MIN_ROWS: usize = 1 << 15;
        self.new.push(row);
        // A limit in proportion to the merged rows bounds how often each of them is compared and moved.
        if self.new.len() >= MIN_ROWS.max(self.rows.len() / 4) {
            self.merge();
        }
    }

    /// Takes the rows, sorted by stack.
    pub(crate) fn take(&mut self) -> Vec<Row> {
        self.merge();
        std::mem::take(&mut self.rows)
    }

    /// Merges the new rows into the others.
    fn merge(&mut self) {
        let Self { rows, new, .. } = self;
        new.sort_unstable_by_key(Row::key);
        new.dedup_by(|row, merged| merged.add_if_same(row));
        let mut merged_rows = rows.iter_mut().peekable();
        new.retain(|row| {
            while merged_rows.next_if(|merged_row| merged_row.key() < row.key()).is_some() {}
            !merged_rows.peek_mut().is_some_and(|merged_row| merged_row.add_if_same(row))
        });
        // From the end, where there is room.
        let mut left = rows.len();
        rows.extend_from_slice(new);
        for end in (1..=rows.len()).rev() {
            let Some(row) = new.last() else { break };
            if left > 0 && rows[left - 1].key() > row.key() {
                left -= 1;
                rows[end - 1] = rows[left];
            } else {
                rows[end - 1] = *row;
                new.pop();
            }
        }
    }
}

impl Part {
    /// Adds samples.
    pub(crate) fn add(&mut self, row: Row) {
        self.rows.add(row);
    }

    /// Adds a sample with its time, which is kept.
    pub(crate) fn add_timed(&mut self, row: Row, occurrence: Occurrence) {
        self.timed.push(row);
        self.occurrences.push(occurrence);
    }

    /// Adds counted rows, and replaces the stacks of the others: those without times by `direct`, those with times by `stack`.
    pub(crate) fn join(
        &mut self,
        counted: Rows,
        direct: impl Fn(StackId) -> StackId,
        stack: impl Fn(StackId) -> StackId,
    ) {
        let own = std::mem::replace(&mut self.rows, counted).take();
        own.into_iter().for_each(|row| self.rows.add(Row { stack: direct(row.stack), ..row }));
        self.timed.iter_mut().for_each(|row| row.stack = stack(row.stack));
        let mut latest = None;
        for row in self.rows.rows.iter().chain(&self.rows.new).chain(&self.timed) {
            if latest.replace(row.event) != Some(row.event) {
                self.has_samples.insert(row.event);
            }
        }
    }

    /// Records the time and program of values of a sample.
    #[inline]
    pub(crate) fn note(&mut self, time: Option<u64>, main_map: Option<MapId>, values: u64) {
        if let Some(time) = time.filter(|&time| is_time(time)) {
            (self.first, self.last) = (self.first.min(time), self.last.max(time));
        }
        self.programs.count(main_map, values);
    }

    /// Times of the first and the last sample.
    pub(crate) fn times(&self) -> Option<(u64, u64)> {
        (self.first <= self.last).then_some((self.first, self.last))
    }

    /// The wall clock at the first sample, if the recording has clock data.
    pub(crate) fn wall_clock_start(&self, meta: &Meta) -> Option<u64> {
        let ((first, _), clock) = self.times().zip(meta.clock_data())?;
        let since = i128::from(first) - i128::from(clock.clockid_ns);
        u64::try_from(i128::from(clock.wall_clock_ns) + since).ok()
    }

    /// Adds up events.
    pub(crate) fn merge_events(&mut self, merged: &MergedEvents) {
        if merged.is_empty() {
            return;
        }
        self.has_samples = merged.merged(&self.has_samples);
        merged.replace(&mut self.timed);
        let Rows { rows, new } = &mut self.rows;
        merged.replace(rows);
        merged.replace(new);
        // Rows whose keys are no longer unique or sorted.
        new.append(rows);
    }

    /// Replaces the indexes of events, in their order.
    pub(super) fn replace_events(&mut self, number: impl Fn(EventIndex) -> EventIndex) {
        let Rows { rows, new } = &mut self.rows;
        rows.iter_mut().chain(new).chain(&mut self.timed).for_each(|row| row.event = number(row.event));
        self.has_samples = self.has_samples.iter().map(|&event| number(event)).collect();
        if let PartKey::Event(event) = &mut self.key {
            *event = number(*event);
        }
    }

    /// The rows, sorted by stack, without times; or sorted by time, each with its own.
    pub(crate) fn rows(&mut self) -> (Vec<Row>, Vec<Occurrence>) {
        let Self { rows, timed, occurrences, .. } = self;
        if occurrences.is_empty() {
            return (rows.take(), Vec::new());
        }
        if !occurrences.is_sorted_by_key(|occurrence| occurrence.time) {
            // Samples that waited for their user frames.
            let mut pairs: Vec<_> = timed.drain(..).zip(occurrences.drain(..)).collect();
            pairs.sort_by_key(|(_, occurrence)| occurrence.time);
            (*timed, *occurrences) = pairs.into_iter().unzip();
        }
        (std::mem::take(timed), std::mem::take(occurrences))
    }
}
