//! What the messages of a PerfDataProto tell: events, and one record after the other.

use super::attr::{self, event_from_message};
use super::encode::field;
use super::proto::PerfDataProto;
use super::proto::perf_data_proto::{Layout, PerfEvent, Record};
use super::unknown::{Unknown, UnknownInEvents};
use super::wire::{Field, Fields};
use crate::abi::Endian;
use crate::container::limits::Limits;
use crate::container::read::file::FileAttr;
use crate::container::walk::Damage;
use crate::error::{Error, Result};
use bytes::Bytes;
use prost::Message;

/// Most warnings of events that cannot be records; there may be as many as events.
const WARNINGS: usize = 100;

/// What a message may take in memory that takes two bytes where it is told.
const MESSAGE: u64 = 512;

/// What a PerfDataProto tells.
pub struct ProtoContents<'a> {
    pub name: &'a str,
    bytes: &'a Bytes,
    /// All but the records.
    pub rest: PerfDataProto,
    pub endian: Endian,
    /// The events.
    pub attrs: Vec<FileAttr>,
    /// What of the message is not known, but for events and the records that we keep.
    pub unknown: Unknown,
}

impl<'a> ProtoContents<'a> {
    /// Reads what is not repeated without bound, and makes sure that all fields are sound.
    ///
    /// # Errors
    /// Where it is no PerfDataProto, or tells no recording.
    pub fn read(name: &'a str, bytes: &'a Bytes, limits: &Limits) -> Result<Self> {
        let mut rest = Vec::new();
        let (mut records, mut events, mut about) = (0_u64, 0_u64, 0_u64);
        for field in Fields::new(bytes) {
            let field = field.map_err(|at| {
                let behind = if events > 0 { format!(", behind events {}", events - 1) } else { String::new() };
                Error::input(name, at, format!("this is not a PerfDataProto, or it is cut here{behind}"))
            })?;
            match field.number {
                field::EVENTS => events += 1,
                field::RECORDS => records += 1,
                _ => {
                    about += MESSAGE + field.whole.len() as u64;
                    if about > limits.about {
                        let what = "up to here it tells more about the recording itself than any recording has";
                        return Err(Error::input(name, field.at, what));
                    }
                    rest.extend_from_slice(field.whole);
                }
            }
        }
        let unknown = Unknown::of_message(&rest);
        let rest = PerfDataProto::decode(&*rest)
            .map_err(|e| Error::input(name, None, format!("this is not a PerfDataProto: {e}")))?;
        if rest.file_attrs.is_empty() && records + events == 0 {
            return Err(Error::input(name, None, "this is not a PerfDataProto: it tells neither events nor records"));
        }
        if rest.file_attrs.is_empty() && rest.layout.is_none() {
            let what = format!("it has {events} events, but no file_attrs, without which they cannot be records");
            return Err(Error::input(name, None, what));
        }
        let is_big = rest.layout.as_ref().is_some_and(Layout::is_big_endian);
        let endian = if is_big { Endian::Big } else { Endian::Little };
        // A few bytes tell that an attr was longer than they are.
        let lengths = rest.file_attrs.iter().filter_map(|event| event.original.as_ref());
        if lengths.map(|original| u64::from(original.size().min(attr::MOST))).sum::<u64>() > limits.about / 8 {
            return Err(Error::input(name, None, "the attrs of its events are longer than those of any recording"));
        }
        let attrs = rest.file_attrs.iter().enumerate().map(|(index, event)| {
            event_from_message(event, endian)
                .ok_or_else(|| Error::input(name, None, format!("file_attrs {index}: this cannot be an event")))
        });
        let attrs = attrs.collect::<Result<Vec<_>>>()?;
        Ok(Self { name, bytes, rest, endian, attrs, unknown })
    }

    /// The records in their order.
    pub fn items(&self) -> Items<'_> {
        Items {
            told: self,
            events: Fields::new(self.bytes),
            records: Fields::new(self.bytes),
            next_record: None,
            headers: self.rest.headers.iter().peekable(),
            at: 0,
            index: 0,
            made: 0,
            unknown: UnknownInEvents::new(),
        }
    }
}

/// What comes next in a recording.
pub enum Item {
    /// A record that is told by a message, and the message's number.
    Event(Box<PerfEvent>, u64),
    /// Bytes.
    Record(Record),
}

/// The records of a recording in their order.
pub struct Items<'a> {
    told: &'a ProtoContents<'a>,
    events: Fields<'a>,
    records: Fields<'a>,
    next_record: Option<Record>,
    headers: std::iter::Peekable<std::slice::Iter<'a, Record>>,
    /// How many there were.
    pub at: u64,
    /// How many of them were events.
    index: u64,
    /// Of how many of these a record was made.
    made: u64,
    /// What of these is not known, by how many come before.
    pub unknown: UnknownInEvents,
}

impl<'a> Items<'a> {
    /// Notes that no record could be made of the latest event.
    pub fn leave_out(&mut self) {
        self.made -= 1;
        self.unknown.remove(&self.made);
    }

    fn field(fields: &mut Fields<'a>, number: u32) -> Option<Field<'a>> {
        // That they are sound was seen when they were counted.
        fields.flatten().find(|field| field.number == number)
    }

    fn record(&mut self) -> Result<Option<&Record>> {
        if self.next_record.is_none()
            && let Some(field) = Self::field(&mut self.records, field::RECORDS)
        {
            let record = Record::decode(field.value)
                .map_err(|e| Error::input(self.told.name, field.at, format!("a record kept apart: {e}")))?;
            self.next_record = Some(record);
        }
        Ok(self.next_record.as_ref())
    }

    /// The next one.
    pub fn next(&mut self, damage: &mut Vec<Damage>) -> Result<Option<Item>> {
        loop {
            let at = self.at;
            if self.record()?.is_some_and(|record| record.at() <= at) {
                self.at = at.saturating_add(1);
                return Ok(self.next_record.take().map(Item::Record));
            }
            if let Some(header) = self.headers.next_if(|header| header.at() <= at) {
                self.at = at.saturating_add(1);
                return Ok(Some(Item::Record(header.clone())));
            }
            let Some(field) = Self::field(&mut self.events, field::EVENTS) else {
                // Where events were taken out, what was behind them is not.
                if self.next_record.is_none() && self.headers.peek().is_none() {
                    return Ok(None);
                }
                let next = [self.next_record.as_ref(), self.headers.peek().copied()];
                self.at = next.into_iter().flatten().map(Record::at).min().unwrap_or(at);
                continue;
            };
            let index = self.index;
            (self.index, self.at) = (index + 1, at.saturating_add(1));
            match PerfEvent::decode(field.value) {
                Ok(event) => {
                    let unknown = Unknown::of_event(field.value);
                    if !unknown.is_empty() {
                        self.unknown.insert(self.made, unknown);
                    }
                    self.made += 1;
                    return Ok(Some(Item::Event(Box::new(event), index)));
                }
                Err(e) => self.told.warn(damage, field.at, format!("events {index}: {e}; it is left out")),
            }
        }
    }
}

impl ProtoContents<'_> {
    /// Notes what of the messages could not be used.
    pub fn warn(&self, damage: &mut Vec<Damage>, offset: u64, what: String) {
        if damage.len() < WARNINGS {
            damage.push(Damage::new(self.name, offset, what));
        }
    }
}
