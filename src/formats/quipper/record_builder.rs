//! Whole records of events.

use super::message_to_record;
use super::proto::perf_data_proto::PerfEvent;
use crate::abi::record::{Misc, RecordHeader, RecordType};
use crate::abi::{self, Endian};
use crate::stream::events::Events;

/// Makes records of messages.
pub struct Remaker {
    /// What is known of the recording's events by the records so far.
    pub events: Events,
    endian: Endian,
    body: Vec<u8>,
    /// The record that was made last.
    pub record: Vec<u8>,
}

impl Remaker {
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
