//! Converts records to events, one at a time, and collects statistics.

use super::Fidelity;
use super::encode::field;
use super::plain_sample::{self, is_plain};
use super::proto::perf_data_proto::{EventHeader, PerfEvent, SampleEvent, Splice};
use super::stats::Stats;
use super::{message_to_record, record_to_message, sample};
use crate::formats::framework::converter::ConvertOptions;
use crate::protobuf::put_message;
use perf_data::abi::record::{self, RecordHeader, RecordType};
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::view::SampleView;
use perf_data::stream::events::Events;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use prost::Message;

/// Converts records to events.
pub(super) struct EventWriter {
    is_lossless: bool,
    /// The recording's events, from its header and records so far.
    pub events: Events,
    /// Which of them have samples.
    has_samples: Vec<bool>,
    /// The current message.
    event: PerfEvent,
    /// The unused sample part of the message, kept for reuse.
    spare: Box<SampleEvent>,
    encoded_body: Vec<u8>,
    /// Record counts.
    pub stats: Stats,
}

impl EventWriter {
    /// Creates a converter without events.
    pub(super) fn new(fidelity: Fidelity, options: &ConvertOptions) -> Self {
        Self {
            is_lossless: fidelity.is_lossless(),
            events: Events::default(),
            has_samples: Vec::new(),
            event: PerfEvent::default(),
            spare: Box::default(),
            encoded_body: Vec::new(),
            stats: Stats::new(options.passes.replace_addresses),
        }
    }

    /// Appends the event of a record; `None` if the schema cannot represent it.
    pub(super) fn write(&mut self, meta: &Meta, raw: &Raw<'_>, out: &mut Vec<u8>) -> Option<()> {
        if raw.header().kind == RecordType::SAMPLE && self.write_plain(meta, raw, out).is_some() {
            return Some(());
        }
        self.describe(meta, raw)?;
        self.stats.count(&self.event);
        // Inserting the length afterwards is faster than computing it first.
        put_message(out, field::EVENTS, |out| self.event.encode_raw(out));
        Some(())
    }

    /// Which of the recording's events had samples so far.
    pub(super) fn has_samples(&self) -> &[bool] {
        &self.has_samples
    }

    /// The event of the last record, unless it was written by the fast path.
    pub(super) fn event(&self) -> &PerfEvent {
        &self.event
    }

    /// Appends the event of a sample by the fast path, if that supports it.
    fn write_plain(&mut self, meta: &Meta, raw: &Raw<'_>, out: &mut Vec<u8>) -> Option<()> {
        let (index, owner) = meta.events.find(raw)?;
        let mut view = SampleView::default();
        view.fill(raw.body(), &owner.layout, raw.endian()).ok()?;
        if self.has_samples.len() <= index as usize {
            self.has_samples.resize(index as usize + 1, false);
        }
        self.has_samples[index as usize] = true;
        // A reader determines the layout from the messages alone.
        let reader_event = message_to_record::find_event(&self.events, view.identifier.or(view.id))?;
        if reader_event.layout != owner.layout || !is_plain(&view, &owner.layout) {
            return None;
        }
        self.stats.count_plain(&view);
        plain_sample::write(&raw.header(), &view, out);
        Some(())
    }

    /// Fills the current message from a record; `None` if the schema cannot represent it.
    fn describe(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<()> {
        let mut size = raw.header().size;
        let mut is_encoded = false;
        let header = |size: u16| {
            let misc = raw.header().misc.bits().into();
            Some(EventHeader { r#type: Some(raw.header().kind.0), misc: Some(misc), size: Some(size.into()) })
        };
        if raw.header().kind == RecordType::SAMPLE {
            let (_, owner) = meta.events.find(raw)?;
            let mut view = SampleView::default();
            view.fill(raw.body(), &owner.layout, raw.endian()).ok()?;
            let mut fields = match self.event.sample_event.take() {
                Some(fields) => fields,
                None => std::mem::take(&mut self.spare),
            };
            sample::describe(&view, &owner.layout, raw.endian(), &mut fields);
            let timestamp = Some(view.time.unwrap_or(0));
            self.event =
                PerfEvent { header: header(size), sample_event: Some(fields), timestamp, ..PerfEvent::default() };
            if !is_modelled(&owner.layout) {
                // Without the unsupported fields, the record is shorter.
                message_to_record::body(&self.event, &self.events, raw.endian(), &mut self.encoded_body)?;
                size = (RecordHeader::SIZE + self.encoded_body.len()) as u16;
                self.event.header = header(size);
                is_encoded = true;
            }
        } else {
            let context = meta.context(raw);
            let record = record::Record::read(raw.bytes(), &context)?;
            let event = record_to_message::describe(&record, raw.payload(), &context)?;
            if let Some(fields) = self.event.sample_event.take() {
                self.spare = fields;
            }
            self.event = PerfEvent { header: header(size), ..event };
        }
        if self.is_lossless {
            if !is_encoded {
                message_to_record::body(&self.event, &self.events, raw.endian(), &mut self.encoded_body)?;
            }
            self.event.splice = Splice::between(&self.encoded_body, raw.body());
        }
        Some(())
    }
}

/// Whether the schema can represent all fields of an event's samples.
pub(super) fn is_modelled(layout: &SampleLayout) -> bool {
    let modelled = sample::modelled(layout);
    (modelled.sample_type(), modelled.branch_sample_type()) == (layout.sample_type(), layout.branch_sample_type())
}
