//! What is told of how two recordings differ.

use super::fields::{Change, changes};
use super::ignore::Ignore;
use super::item::{Item, Others, Place};
use crate::error::Result;
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

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// What holds the recording: container, byte order, whether records are compressed.
    Form,
    /// An event, by its number.
    Event(usize),
    /// A name of a tracepoint, of very old recordings, by its number.
    EventType(usize),
    /// A feature, by its name.
    Feature(String),
    /// The build id of a file, by the file's name.
    BuildId(String),
    /// A file that a folder holds beside the recording, by its name.
    Other(String),
    /// Bytes between records that are none.
    Gap(usize),
    /// How what lies `before` or `behind` the records is laid out, where not as perf does.
    Layout(&'static str),
    /// A record of this type, by its number in each of the recordings, from 1.
    Record(String, [Option<u64>; 2]),
}

/// A difference.
#[derive(Clone, Debug)]
pub enum Difference {
    /// Something is in one of the recordings alone.
    Only(Side, Subject, Value),
    /// Something is in both, with other values of some fields.
    Changed(Subject, Vec<Change>),
}

/// How much is equal, and how much is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// In both alike.
    pub same: u64,
    /// In both, with other values.
    pub changed: u64,
    /// In the first alone, in the second alone.
    pub only: [u64; 2],
}

/// How much of what differs.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Of records, by type.
    pub records: BTreeMap<String, Count>,
    /// Of all else: `form`, `events`, `features` and so on.
    pub others: BTreeMap<&'static str, Count>,
}

impl Summary {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.records.values().chain(self.others.values()).all(|count| count.changed == 0 && count.only == [0; 2])
    }
}

impl Subject {
    /// What it is counted as, where it is no record.
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

impl From<&Place> for Subject {
    fn from(place: &Place) -> Self {
        match place {
            Place::Form => Self::Form,
            Place::Event(number) => Self::Event(*number),
            Place::EventType(number) => Self::EventType(*number),
            Place::Feature(name) => Self::Feature(name.clone()),
            Place::BuildId(name, _) => Self::BuildId(name.clone()),
            Place::Other(name, _) => Self::Other(name.clone()),
            Place::Gap(number) => Self::Gap(*number),
            Place::Layout(name) => Self::Layout(name),
        }
    }
}

/// Tells differences, and counts them.
pub(super) struct Told<'a> {
    ignore: &'a Ignore,
    found: &'a mut dyn FnMut(&Difference) -> Result<()>,
    summary: Summary,
}

impl<'a> Told<'a> {
    pub fn new(ignore: &'a Ignore, found: &'a mut dyn FnMut(&Difference) -> Result<()>) -> Self {
        Self { ignore, found, summary: Summary::default() }
    }

    pub fn summary(self) -> Summary {
        self.summary
    }

    /// Takes what is in both recordings, or where they differ what is in each: records of a type are then taken for the same
    /// ones, in their order.
    pub fn records(&mut self, a: Vec<Item>, b: Vec<Item>) -> Result<()> {
        if let ([a], [b]) = (&*a, &*b)
            && a.key == b.key
        {
            self.count(&a.told).same += 1;
            return Ok(());
        }
        let mut of_b: BTreeMap<String, VecDeque<Item>> = BTreeMap::new();
        for item in b {
            of_b.entry(kind(&item.told).to_owned()).or_default().push_back(item);
        }
        for item in a {
            match of_b.get_mut(kind(&item.told)).and_then(VecDeque::pop_front) {
                Some(other) => self.changed(&item, &other)?,
                None => self.only(Side::A, &item)?,
            }
        }
        let mut rest: Vec<_> = of_b.into_values().flatten().collect();
        rest.sort_by_key(|item| item.number);
        rest.iter().try_for_each(|item| self.only(Side::B, item))
    }

    fn changed(&mut self, a: &Item, b: &Item) -> Result<()> {
        let changes = changes(&a.value()?, &b.value()?);
        if changes.is_empty() {
            self.count(&a.told).same += 1;
            return Ok(());
        }
        self.count(&a.told).changed += 1;
        let subject = Subject::Record(kind(&a.told).to_owned(), [Some(a.number), Some(b.number)]);
        (self.found)(&Difference::Changed(subject, changes))
    }

    fn only(&mut self, side: Side, item: &Item) -> Result<()> {
        self.count(&item.told).only[side as usize] += 1;
        let mut numbers = [None; 2];
        numbers[side as usize] = Some(item.number);
        let subject = Subject::Record(kind(&item.told).to_owned(), numbers);
        (self.found)(&Difference::Only(side, subject, item.value()?))
    }

    fn count(&mut self, told: &str) -> &mut Count {
        let (kind, records) = (kind(told), &mut self.summary.records);
        if !records.contains_key(kind) {
            records.insert(kind.to_owned(), Count::default());
        }
        records.entry(kind.to_owned()).or_default()
    }

    /// Takes what is told of the recordings apart from their records.
    pub fn others(&mut self, a: Others, mut b: Others) -> Result<()> {
        for (place, of_a) in a.list {
            let of_b = b.list.remove(&place);
            self.other(&place, [Some(of_a), of_b])?;
        }
        for (place, of_b) in b.list {
            self.other(&place, [None, Some(of_b)])?;
        }
        Ok(())
    }

    fn other(&mut self, place: &Place, mut values: [Option<Value>; 2]) -> Result<()> {
        values.iter_mut().flatten().for_each(|value| self.ignore.strip(value));
        let subject = Subject::from(place);
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
            [Some(told), None] => {
                count.only[0] += 1;
                Difference::Only(Side::A, subject, told)
            }
            [None, Some(told)] => {
                count.only[1] += 1;
                Difference::Only(Side::B, subject, told)
            }
            [None, None] => return Ok(()),
        };
        (self.found)(&difference)
    }
}

/// The type of a record that is told: its name, or its number where it has none.
fn kind(told: &str) -> &str {
    let (_, rest) = told.split_once("\"record\":").unwrap_or_default();
    rest.trim_start_matches('"').split(['"', ',', '}']).next().unwrap_or_default()
}
