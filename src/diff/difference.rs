//! Differences between two recordings, and their counts.

use super::fields::{FieldChange, changes};
use super::ignore::Ignore;
use super::item::{DiffItem, ItemKey, NonRecordItems};
use perf_data::error::Result;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};

/// One of the two recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

/// The part of the recordings that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The form: container, byte order, compression.
    Form,
    /// An event, by its index.
    Event(usize),
    /// A tracepoint name in the event types of very old recordings, by its index.
    EventType(usize),
    /// A feature, by its name.
    Feature(String),
    /// The build ID of a file, by the file's name.
    BuildId(String),
    /// Another file in the directory of the recording, by its name.
    Other(String),
    /// A gap: bytes between records that belong to no record.
    Gap(usize),
    /// An unusual layout of what is before or after the records.
    Layout(&'static str),
    /// A record, by its type and its number in each of the recordings, from 1.
    Record(String, [Option<u64>; 2]),
}

/// A difference.
#[derive(Clone, Debug)]
pub enum Difference {
    /// Something is in only one of the recordings.
    Only(Side, Subject, Value),
    /// Something is in both, with different values of some fields.
    Changed(Subject, Vec<FieldChange>),
}

/// Numbers of equal and different parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// In both, equal.
    pub same: u64,
    /// In both, with different values.
    pub changed: u64,
    /// Only in the first, only in the second.
    pub only: [u64; 2],
}

/// Counts by kind.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Records, by type.
    pub records: BTreeMap<String, Count>,
    /// Everything else: `form`, `events`, `features` and so on.
    pub others: BTreeMap<&'static str, Count>,
}

impl Summary {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.records.values().chain(self.others.values()).all(|count| count.changed == 0 && count.only == [0; 2])
    }
}

impl Subject {
    /// Kind under which it is counted, if it is not a record.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::Event(_) => "events",
            Self::EventType(_) => "event types",
            Self::Feature(_) => "features",
            Self::BuildId(_) => "build ids",
            Self::Other(_) => "other files",
            Self::Gap(_) => "gaps",
            Self::Layout(_) => "layout",
            Self::Record(..) => "records",
        }
    }
}

impl From<&ItemKey> for Subject {
    fn from(key: &ItemKey) -> Self {
        match key {
            ItemKey::Form => Self::Form,
            ItemKey::Event(number) => Self::Event(*number),
            ItemKey::EventType(number) => Self::EventType(*number),
            ItemKey::Feature(name) => Self::Feature(name.clone()),
            ItemKey::BuildId(name, _) => Self::BuildId(name.clone()),
            ItemKey::Other(name, _) => Self::Other(name.clone()),
            ItemKey::Gap(number) => Self::Gap(*number),
            ItemKey::Layout(name) => Self::Layout(name),
        }
    }
}

/// Reports differences and counts them.
pub(super) struct Differences<'a> {
    ignore: &'a Ignore,
    on_difference: &'a mut dyn FnMut(&Difference) -> Result<()>,
    summary: Summary,
}

impl<'a> Differences<'a> {
    pub(super) fn new(ignore: &'a Ignore, on_difference: &'a mut dyn FnMut(&Difference) -> Result<()>) -> Self {
        Self { ignore, on_difference, summary: Summary::default() }
    }

    pub(super) fn summary(self) -> Summary {
        self.summary
    }

    /// Adds a common record, or a stretch that differs. In a stretch, records of the same type are compared in their order.
    pub(super) fn records(&mut self, a: Vec<DiffItem>, b: Vec<DiffItem>) -> Result<()> {
        if let ([a], [b]) = (&*a, &*b)
            && a.key == b.key
        {
            self.count(&a.json).same += 1;
            return Ok(());
        }
        let mut b_by_kind: BTreeMap<String, VecDeque<DiffItem>> = BTreeMap::new();
        for item in b {
            b_by_kind.entry(kind(&item.json).to_owned()).or_default().push_back(item);
        }
        for item in a {
            match b_by_kind.get_mut(kind(&item.json)).and_then(VecDeque::pop_front) {
                Some(other) => self.changed(&item, &other)?,
                None => self.only(Side::A, &item)?,
            }
        }
        let mut rest: Vec<_> = b_by_kind.into_values().flatten().collect();
        rest.sort_by_key(|item| item.number);
        rest.iter().try_for_each(|item| self.only(Side::B, item))
    }

    fn changed(&mut self, a: &DiffItem, b: &DiffItem) -> Result<()> {
        let changes = changes(&a.value()?, &b.value()?);
        if changes.is_empty() {
            self.count(&a.json).same += 1;
            return Ok(());
        }
        self.count(&a.json).changed += 1;
        let subject = Subject::Record(kind(&a.json).to_owned(), [Some(a.number), Some(b.number)]);
        (self.on_difference)(&Difference::Changed(subject, changes))
    }

    fn only(&mut self, side: Side, item: &DiffItem) -> Result<()> {
        self.count(&item.json).only[side as usize] += 1;
        let mut numbers = [None; 2];
        numbers[side as usize] = Some(item.number);
        let subject = Subject::Record(kind(&item.json).to_owned(), numbers);
        (self.on_difference)(&Difference::Only(side, subject, item.value()?))
    }

    fn count(&mut self, json: &str) -> &mut Count {
        let (kind, records) = (kind(json), &mut self.summary.records);
        if !records.contains_key(kind) {
            records.insert(kind.to_owned(), Count::default());
        }
        records.entry(kind.to_owned()).or_default()
    }

    /// Adds the parts of the recordings other than records.
    pub(super) fn others(&mut self, a: NonRecordItems, mut b: NonRecordItems) -> Result<()> {
        for (key, value_a) in a.list {
            let value_b = b.list.remove(&key);
            self.other(&key, [Some(value_a), value_b])?;
        }
        for (key, value_b) in b.list {
            self.other(&key, [None, Some(value_b)])?;
        }
        Ok(())
    }

    fn other(&mut self, key: &ItemKey, mut values: [Option<Value>; 2]) -> Result<()> {
        values.iter_mut().flatten().for_each(|value| self.ignore.strip(value));
        let subject = Subject::from(key);
        let count = self.summary.others.entry(subject.kind()).or_default();
        let difference = match values {
            [Some(a), Some(b)] => {
                let changes = changes(&a, &b);
                if changes.is_empty() {
                    count.same += 1;
                    return Ok(());
                }
                count.changed += 1;
                Difference::Changed(subject, changes)
            }
            [Some(value), None] => {
                count.only[0] += 1;
                Difference::Only(Side::A, subject, value)
            }
            [None, Some(value)] => {
                count.only[1] += 1;
                Difference::Only(Side::B, subject, value)
            }
            [None, None] => return Ok(()),
        };
        (self.on_difference)(&difference)
    }
}

/// Type of a record in JSON: its name, or its number if it has none.
fn kind(json: &str) -> &str {
    let (_, rest) = json.split_once("\"record\":").unwrap_or_default();
    rest.trim_start_matches('"').split(['"', ',', '}']).next().unwrap_or_default()
}
