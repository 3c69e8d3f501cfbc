//! Records as events, each as it comes, and what they tell of the recording.

use super::Fidelity;
use super::encode::field;
use super::plain_sample::{PlainSamples, is_plain};
use super::proto::perf_data_proto::{EventHeader, PerfEvent, SampleEvent, Splice};
use super::stats::Stats;
use super::{message_to_record, record_to_message, sample};
use crate::abi::record::{self, RecordHeader, RecordType};
use crate::abi::sample_layout::SampleLayout;
use crate::abi::sample_view::SampleView;
use crate::formats::carry::CarryOptions;
use crate::stream::events::Events;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};

/// Makes events of records.
pub struct Described {
    is_lossless: bool,
    /// What is known of the recording's events by the records so far.
    pub events: Events,
    /// Which of them have samples.
    has_samples: Vec<bool>,
    /// The message at hand.
    event: PerfEvent,
    /// The part of it that samples need, while others do not.
    spare: Box<SampleEvent>,
    encoded: Vec<u8>,
    made: Vec<u8>,
    plain: PlainSamples,
    /// Counts.
    pub stats: Stats,
}

impl Described {
    /// Nothing known yet.
    pub fn new(options: &CarryOptions) -> Self {
        Self {
            is_lossless: Fidelity::from(&options.values) == Fidelity::Lossless,
            events: Events::default(),
            has_samples: Vec::new(),
            event: PerfEvent::default(),
            spare: Box::default(),
            encoded: Vec::new(),
            made: Vec::new(),
            plain: PlainSamples::default(),
            stats: Stats::new(options.passes.remap),
        }
    }

    /// Appends the event that tells a record; `None` where the schema has no place for it.
    pub fn write(&mut self, meta: &Meta, raw: &Raw<'_>, out: &mut Vec<u8>) -> Option<()> {
        if raw.header().kind == RecordType::SAMPLE && self.write_plain(meta, raw, out).is_some() {
            return Some(());
        }
        self.describe(meta, raw)?;
        self.stats.count(&self.event);
        // Encoded first, it need not be measured first.
        self.encoded.clear();
        self.event.encode_raw(&mut self.encoded);
        encode_key(field::EVENTS, WireType::LengthDelimited, out);
        encode_varint(self.encoded.len() as u64, out);
        out.extend_from_slice(&self.encoded);
        Some(())
    }

    /// Which of the recording's events have samples, as far as any has.
    pub fn has_samples(&self) -> &[bool] {
        &self.has_samples
    }

    /// The event of the last record, unless that was a sample.
    pub fn event(&self) -> &PerfEvent {
        &self.event
    }

    /// Appends the event of a sample that can be told without a message.
    fn write_plain(&mut self, meta: &Meta, raw: &Raw<'_>, out: &mut Vec<u8>) -> Option<()> {
        let (index, owner) = meta.events.of(raw)?;
        let mut view = SampleView::default();
        view.fill(raw.body(), &owner.layout, raw.endian()).ok()?;
        if self.has_samples.len() <= index as usize {
            self.has_samples.resize(index as usize + 1, false);
        }
        self.has_samples[index as usize] = true;
        // Who reads the event knows its layout by what else the messages tell.
        let known = message_to_record::event_of(&self.events, view.identifier.or(view.id))?;
        if known.layout != owner.layout || !is_plain(&view, &owner.layout) {
            return None;
        }
        self.stats.count_plain(&view);
        self.plain.write(&raw.header(), &view, out);
        Some(())
    }

    /// Tells a record by the message at hand; `None` where the schema has no place for it.
    fn describe(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<()> {
        let mut size = raw.header().size;
        let mut is_made = false;
        let header = |size: u16| {
            let misc = raw.header().misc.bits().into();
            Some(EventHeader { r#type: Some(raw.header().kind.0), misc: Some(misc), size: Some(size.into()) })
        };
        if raw.header().kind == RecordType::SAMPLE {
            let (_, owner) = meta.events.of(raw)?;
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
                // What is left of the record is shorter.
                message_to_record::body(&self.event, &self.events, raw.endian(), &mut self.made)?;
                size = (RecordHeader::SIZE + self.made.len()) as u16;
                self.event.header = header(size);
                is_made = true;
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
            if !is_made {
                message_to_record::body(&self.event, &self.events, raw.endian(), &mut self.made)?;
            }
            self.event.splice = Splice::between(&self.made, raw.body());
        }
        Some(())
    }
}

/// Whether the schema has a place for all of an event's samples.
pub fn is_modelled(layout: &SampleLayout) -> bool {
    let modelled = sample::modelled(layout);
    (modelled.sample_type(), modelled.branch_sample_type()) == (layout.sample_type(), layout.branch_sample_type())
}
