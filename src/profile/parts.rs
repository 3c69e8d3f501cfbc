//! The rows of a profile, or of each part that it is split into.

use super::Row;
use super::labels::LabelsId;
use super::options::Split;
use super::stacks::StackId;
use crate::session::Session;
use crate::session::map::MapId;
use crate::session::names::NameId;
use crate::stream::events::{EventIndex, is_time};
use hashbrown::HashMap;
use std::hash::{Hash, Hasher};

/// The parts.
#[derive(Debug, Default)]
pub struct Parts {
    list: Vec<Part>,
    by_key: HashMap<Key, usize>,
    /// The part that was asked for last: the next sample is often of the same.
    latest: usize,
}

/// What tells parts from each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Key {
    /// There is but one part.
    #[default]
    All,
    /// What the samples do not tell.
    Unknown,
    /// A process.
    Pid(u32),
    /// A name.
    Name(NameId),
    /// A cgroup whose path is not known.
    Cgroup(u64),
    /// An event.
    Event(EventIndex),
}

/// What tells rows from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RowKey {
    stack: StackId,
    labels: LabelsId,
    event: EventIndex,
}

/// In one word, since it is asked for with every sample.
impl Hash for RowKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let labels = u64::from(self.labels) << 32 | u64::from(self.event).rotate_left(48);
        state.write_u64(u64::from(self.stack) ^ labels);
    }
}

/// One part.
#[derive(Debug, Default)]
pub struct Part {
    /// What it is of.
    pub key: Key,
    /// Samples and their weight, by stack, labels and event.
    rows: HashMap<RowKey, (u64, u64)>,
    /// Which events have samples.
    pub has_samples: Vec<bool>,
    /// Times of the first and the last sample.
    pub times: Option<(u64, u64)>,
    /// The program of the first sample's process.
    pub main_map: Option<MapId>,
}

impl Parts {
    /// The number of the part of this key.
    #[inline]
    pub fn index(&mut self, key: Key) -> usize {
        if self.list.get(self.latest).is_none_or(|latest| latest.key != key) {
            self.latest = self.find(key);
        }
        self.latest
    }

    fn find(&mut self, key: Key) -> usize {
        let Self { list, by_key, .. } = self;
        *by_key.entry(key).or_insert_with(|| {
            list.push(Part { key, ..Part::default() });
            list.len() - 1
        })
    }

    /// A part.
    pub fn part(&mut self, index: usize) -> &mut Part {
        &mut self.list[index]
    }

    /// All parts.
    pub fn into_list(self) -> Vec<Part> {
        self.list
    }
}

impl Key {
    /// The key of a sample.
    pub fn of(split: Option<Split>, pid: Option<u32>, cgroup: Option<u64>, session: &Session) -> Self {
        let key = match split {
            None => return Self::All,
            Some(Split::Pid) => pid.map(Self::Pid),
            Some(Split::Comm) => pid.and_then(|pid| session.process(pid)?.comm).map(Self::Name),
            Some(Split::Cgroup) => cgroup.map(|id| session.cgroup_path(id).map_or(Self::Cgroup(id), Self::Name)),
            // Of an event there may be several in a sample.
            Some(Split::Event) => return Self::All,
        };
        key.unwrap_or(Self::Unknown)
    }
}

impl Part {
    /// Adds samples to a row.
    #[inline]
    pub fn add(&mut self, stack: StackId, labels: LabelsId, event: EventIndex, samples: u64, value: u64) {
        let row = self.rows.entry(RowKey { stack, labels, event }).or_default();
        row.0 += samples;
        row.1 = row.1.saturating_add(value);
    }

    /// Takes note of when a sample was, and of which event.
    #[inline]
    pub fn note(&mut self, time: Option<u64>, event: EventIndex) {
        if let Some(time) = time.filter(|&time| is_time(time)) {
            let (first, last) = self.times.get_or_insert((time, time));
            (*first, *last) = (time.min(*first), time.max(*last));
        }
        let event = event as usize;
        if self.has_samples.len() <= event {
            self.has_samples.resize(event + 1, false);
        }
        self.has_samples[event] = true;
    }

    /// The rows, in the order of stacks.
    pub fn rows(&mut self) -> Vec<Row> {
        let rows = std::mem::take(&mut self.rows).into_iter();
        let mut rows: Vec<Row> = rows
            .map(|(RowKey { stack, labels, event }, (samples, value))| Row { stack, labels, event, samples, value })
            .collect();
        rows.sort_unstable_by_key(|row| (row.stack, row.labels, row.event));
        rows
    }
}
