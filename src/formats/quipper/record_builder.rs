//! Builds records from messages, with the events needed for that: both directions learn events from the same bytes,
//! so that they interpret messages alike.

use super::message_to_record;
use super::proto::perf_data_proto::PerfEvent;
use perf_data::abi::record::{Misc, RecordHeader, RecordType};
use perf_data::abi::{self, Endian};
use perf_data::container::read::file::FileAttr;
use perf_data::stream::events::Events;

/// Builds records from messages.
pub(super) struct RecordBuilder {
    /// The recording's events, from its header and records so far.
    pub events: Events,
    endian: Endian,
    body: Vec<u8>,
    /// The last record.
    pub record: Vec<u8>,
}

impl RecordBuilder {
    /// Starts with these events.
    pub(super) fn new(events: Events, endian: Endian) -> Self {
        Self { events, endian, body: Vec::new(), record: Vec::new() }
    }

    /// Builds the record of a message, with its payload. The error says why it is invalid.
    pub(super) fn build(&mut self, event: &PerfEvent) -> std::result::Result<(), String> {
        let header = event.header.as_ref().ok_or("the header is missing")?;
        let kind = RecordType(header.r#type());
        message_to_record::body(event, &self.events, self.endian, &mut self.body)
            .ok_or_else(|| format!("it lacks the fields of a {kind} record"))?;
        if let Some(splice) = &event.splice {
            splice.apply(&mut self.body).ok_or("its splice does not fit the record")?;
        }
        let head = RecordHeader { kind, misc: Misc::from_bits_retain(header.misc() as u16), size: 0 };
        let len = RecordHeader::SIZE + self.body.len();
        let head = head.with_len(len).ok_or_else(|| format!("the record would have {len} bytes"))?;
        self.record.clear();
        self.record.extend(abi::to_bytes(&head, self.endian).unwrap_or_default());
        self.record.extend_from_slice(&self.body);
        if let Some(aux) = &event.auxtrace_event {
            self.record.extend_from_slice(aux.trace_data());
        }
        Ok(())
    }
}

/// The events of a file header.
pub(super) fn file_events(list: &[FileAttr]) -> Events {
    let mut events = Events::default();
    list.iter().for_each(|event| events.add(event.attr.clone(), event.ids.clone()));
    events
}

/// Adds the event of a HEADER_ATTR record; ignores other records.
pub(super) fn add_event(record: &[u8], events: &mut Events, endian: Endian) -> Option<()> {
    let header = RecordHeader::peek(record, endian).filter(|header| header.kind == RecordType::HEADER_ATTR)?;
    events.add_attr_record(record.get(RecordHeader::SIZE..header.len())?, endian)
}
