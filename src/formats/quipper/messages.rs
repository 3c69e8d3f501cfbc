//! Reads the messages of a PerfDataProto: metadata, and records one by one.

use super::attr::{self, event_from_message};
use super::encode::field;
use super::proto::PerfDataProto;
use super::proto::perf_data_proto::{Layout, PerfEvent, Record};
use super::unknown::{Unknown, UnknownInEvents};
use crate::formats::framework::wire::{Fields, WireField};
use bytes::Bytes;
use perf_data::abi::Endian;
use perf_data::container::limits::Limits;
use perf_data::container::read::file::FileAttr;
use perf_data::container::walk::{Damage, DamageKind};
use perf_data::error::{Error, Result};
use prost::Message;

/// Maximum number of warnings about invalid events, as many as the ledger stores of a recording.
const WARNINGS: usize = 100;

/// Maximum memory of a message that is encoded in two bytes.
const MESSAGE: u64 = 512;

/// Contents of a PerfDataProto.
pub(super) struct ProtoContents<'a> {
    pub name: &'a str,
    bytes: &'a Bytes,
    /// Everything except events and records.
    pub rest: PerfDataProto,
    pub endian: Endian,
    /// Events of the recording.
    pub attrs: Vec<FileAttr>,
    /// Unknown fields, except those of events and of `records`.
    pub unknown: Unknown,
}

impl<'a> ProtoContents<'a> {
    /// Decodes everything except events and records, and validates the framing of all fields.
    ///
    /// # Errors
    /// If the input is not a PerfDataProto, or does not describe a recording.
    pub(super) fn read(name: &'a str, bytes: &'a Bytes, limits: &Limits) -> Result<Self> {
        let mut rest = Vec::new();
        let (mut records, mut events, mut metadata) = (0_u64, 0_u64, 0_u64);
        for field in Fields::new(bytes) {
            let field = field.map_err(|at| {
                let behind = if events > 0 { format!(", after events {}", events - 1) } else { String::new() };
                Error::input(name, at, format!("not a PerfDataProto, or truncated{behind}"))
            })?;
            match field.number {
                field::EVENTS => events += 1,
                field::RECORDS => records += 1,
                _ => {
                    metadata += MESSAGE + field.whole.len() as u64;
                    if metadata > limits.about {
                        let problem = "metadata exceeds the limit";
                        return Err(Error::input(name, field.at, problem));
                    }
                    rest.extend_from_slice(field.whole);
                }
            }
        }
        let unknown = Unknown::from_message(&rest);
        let rest =
            PerfDataProto::decode(&*rest).map_err(|e| Error::input(name, None, format!("not a PerfDataProto: {e}")))?;
        if rest.file_attrs.is_empty() && records + events == 0 {
            return Err(Error::input(name, None, "not a PerfDataProto: it has neither file_attrs nor events"));
        }
        if rest.file_attrs.is_empty() && rest.layout.is_none() {
            let problem = format!("it has {events} events but no file_attrs, which are needed to decode them");
            return Err(Error::input(name, None, problem));
        }
        let is_big = rest.layout.as_ref().is_some_and(Layout::is_big_endian);
        let endian = if is_big { Endian::Big } else { Endian::Little };
        // A few bytes of input can request an attr of any length.
        let lengths = rest.file_attrs.iter().filter_map(|event| event.original.as_ref());
        if lengths.map(|original| u64::from(original.size().min(attr::MAX_SIZE))).sum::<u64>() > limits.about / 8 {
            return Err(Error::input(name, None, "the attrs of its events exceed the limit"));
        }
        let attrs = rest.file_attrs.iter().enumerate().map(|(index, event)| {
            event_from_message(event, endian)
                .ok_or_else(|| Error::input(name, None, format!("file_attrs {index}: not a valid event")))
        });
        let attrs = attrs.collect::<Result<Vec<_>>>()?;
        Ok(Self { name, bytes, rest, endian, attrs, unknown })
    }

    /// The records in order.
    pub(super) fn items(&self) -> Items<'_> {
        Items {
            contents: self,
            events: Fields::new(self.bytes),
            records: Fields::new(self.bytes),
            next_record: None,
            headers: self.rest.headers.iter().peekable(),
            at: 0,
            index: 0,
            converted: 0,
            unknown: UnknownInEvents::new(),
        }
    }
}

/// An item of a recording.
pub(super) enum Item {
    /// A record as a message, with the number of the message.
    Event(Box<PerfEvent>, u64),
    /// A record as bytes.
    Record(Record),
}

/// Iterates over the records of a recording in order.
pub(super) struct Items<'a> {
    contents: &'a ProtoContents<'a>,
    events: Fields<'a>,
    records: Fields<'a>,
    next_record: Option<Record>,
    headers: std::iter::Peekable<std::slice::Iter<'a, Record>>,
    /// Number of items so far.
    pub at: u64,
    /// Number of events so far.
    index: u64,
    /// Number of events that were converted to records.
    converted: u64,
    /// Unknown fields of events, by the number of converted events before them.
    pub unknown: UnknownInEvents,
}

impl<'a> Items<'a> {
    /// Notes that the latest event could not be converted.
    pub(super) fn skip_last(&mut self) {
        self.converted -= 1;
        self.unknown.remove(&self.converted);
    }

    fn field(fields: &mut Fields<'a>, number: u32) -> Option<WireField<'a>> {
        // The framing was validated by `ProtoContents::read`.
        fields.flatten().find(|field| field.number == number)
    }

    fn record(&mut self) -> Result<Option<&Record>> {
        if self.next_record.is_none()
            && let Some(field) = Self::field(&mut self.records, field::RECORDS)
        {
            let record = Record::decode(field.value)
                .map_err(|e| Error::input(self.contents.name, field.at, format!("invalid message in records: {e}")))?;
            self.next_record = Some(record);
        }
        Ok(self.next_record.as_ref())
    }

    pub(super) fn next(&mut self, damage: &mut Vec<Damage>) -> Result<Option<Item>> {
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
                // Where events were removed, the numbers of the remaining records exceed the count of items.
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
                    let unknown = Unknown::from_event(field.value);
                    if !unknown.is_empty() {
                        self.unknown.insert(self.converted, unknown);
                    }
                    self.converted += 1;
                    return Ok(Some(Item::Event(Box::new(event), index)));
                }
                Err(e) => self.contents.warn(damage, field.at, format!("events {index}: {e}; skipped")),
            }
        }
    }
}

impl ProtoContents<'_> {
    /// Records a warning about a message that cannot be used.
    pub(super) fn warn(&self, damage: &mut Vec<Damage>, offset: u64, problem: String) {
        if damage.len() < WARNINGS {
            damage.push(Damage::new(DamageKind::CorruptRecord, self.name, offset, problem));
        }
    }
}
