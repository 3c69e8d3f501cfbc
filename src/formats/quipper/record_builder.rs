//! Records from messages, and the events that they need: both directions learn them from the same bytes, so that they read
//! messages alike.

use super::message_to_record;
use super::proto::perf_data_proto::PerfEvent;
use crate::abi::record::{Misc, RecordHeader, RecordType};
use crate::abi::{self, Endian};
use crate::container::read::file::FileAttr;
use crate::stream::events::Events;

/// Builds records from messages.
pub struct RecordBuilder {
    /// What is known of the recording's events by the records so far.
    pub events: Events,
    endian: Endian,
    body: Vec<u8>,
    /// The record that was made last.
    pub record: Vec<u8>,
}

impl RecordBuilder {
    /// Knows these events to begin with.
    pub fn new(events: Events, endian: Endian) -> Self {
        Self { events, endian, body: Vec::new(), record: Vec::new() }
    }

    /// Makes the record that a message tells, with its payload. A sentence where it tells none.
    pub fn make(&mut self, event: &PerfEvent) -> std::result::Result<(), String> {
        let header = event.header.as_ref().ok_or("it has no header")?;
        let kind = RecordType(header.r#type());
        message_to_record::body(event, &self.events, self.endian, &mut self.body)
            .ok_or_else(|| format!("it does not tell a record of its type, {kind}"))?;
        if let Some(splice) = &event.splice {
            splice.apply(&mut self.body).ok_or("what was kept of the record does not fit it any more")?;
        }
        let head = RecordHeader { kind, misc: Misc::from_bits_retain(header.misc() as u16), size: 0 };
        let len = RecordHeader::SIZE + self.body.len();
        let head = head.with_len(len).ok_or_else(|| format!("it would be a record of {len} bytes"))?;
        self.record.clear();
        self.record.extend(abi::to_bytes(&head, self.endian).unwrap_or_default());
        self.record.extend_from_slice(&self.body);
        if let Some(aux) = &event.auxtrace_event {
            self.record.extend_from_slice(aux.trace_data());
        }
        Ok(())
    }
}

/// The events of a file's header.
pub fn events_of_file(list: &[FileAttr]) -> Events {
    let mut events = Events::default();
    list.iter().for_each(|event| events.add(event.attr.clone(), event.ids.clone()));
    events
}

/// Adds the event of a HEADER_ATTR record; other records have none.
pub fn add_event(record: &[u8], events: &mut Events, endian: Endian) -> Option<()> {
    let header = RecordHeader::peek(record, endian).filter(|header| header.kind == RecordType::HEADER_ATTR)?;
    events.add_attr_record(record.get(RecordHeader::SIZE..header.len())?, endian)
}
