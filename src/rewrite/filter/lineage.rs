//! Replaces the IDs of removed events in records. Non-sample records (mappings, names, ...) carry the ID of the event that was
//! chosen to record them. If that event is removed, they are assigned to the first kept event so that they remain decodable.

use crate::rewrite::framework::replacement::reencode_with;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::fields::{FieldVisitor, ignore_roles};
use perf_data::abi::record::Body;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::id::SampleId;
use perf_data::abi::sample_type::SampleType;
use perf_data::error::Result;
use perf_data::stream::events::{Event, EventIndex};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Which events are kept, by number.
#[derive(Debug, Default)]
pub(crate) struct KeptEvents(pub Vec<bool>);

impl KeptEvents {
    /// Whether an event is kept. Unknown events are.
    #[inline]
    pub(crate) fn has(&self, event: EventIndex) -> bool {
        self.0.get(event as usize).copied().unwrap_or(true)
    }

    /// Whether an event ID is kept: it belongs to a kept event or to no known one.
    pub(crate) fn has_id(&self, meta: &Meta, id: u64) -> bool {
        meta.events.by_id(id).is_none_or(|event| self.has(event))
    }

    /// The first kept event, which takes over the records of removed ones.
    fn successor<'a>(&self, meta: &'a Meta) -> Option<&'a Event> {
        let (_, successor) = self.0.iter().zip(meta.events.list()).find(|(is_kept, _)| **is_kept)?;
        Some(successor)
    }

    /// Rewrites a record to use IDs of kept events; `None` if it uses no others.
    ///
    /// # Errors
    /// Fails if the record cannot be encoded.
    pub(crate) fn rewritten(&self, meta: &Meta, raw: &Raw<'_>) -> Result<Option<Vec<u8>>> {
        if raw.header().kind == RecordType::ID_INDEX {
            return self.id_index(meta, raw);
        }
        if !raw.header().kind.has_sample_id() || meta.events.find(raw).is_none_or(|(event, _)| self.has(event)) {
            return Ok(None);
        }
        let Some(successor) = self.successor(meta) else { return Ok(None) };
        let id = successor.ids.first().copied().unwrap_or(0);
        reencode_with(meta, raw, |record| {
            record.body.visit_fields(&mut Inherit { events: self, meta, id });
            record.id = record.id.map(|trailer| inherited(&trailer, successor, id));
        })
    }

    fn id_index(&self, meta: &Meta, raw: &Raw<'_>) -> Result<Option<Vec<u8>>> {
        reencode_with(meta, raw, |record| {
            if let Body::IdIndex(index) = &mut record.body {
                let kept: Vec<_> = index.entries.iter().map(|entry| self.has_id(meta, entry.id)).collect();
                let mut kept_entries = kept.iter();
                index.entries.retain(|_| kept_entries.next().copied().unwrap_or(true));
                let mut kept_guests = kept.iter();
                index.guests.retain(|_| kept_guests.next().copied().unwrap_or(true));
            }
        })
    }
}

/// Replaces the ID of a record's event, if that is removed.
struct Inherit<'a> {
    events: &'a KeptEvents,
    meta: &'a Meta,
    id: u64,
}

impl perf_data::abi::fields::InWorkspace for Inherit<'_> {}

impl FieldVisitor for Inherit<'_> {
    fn own_event_id(&mut self, id: &mut u64) {
        if !self.events.has_id(self.meta, *id) {
            *id = self.id;
        }
    }

    ignore_roles! {
        task, own_process, guest, time, elapsed, clock_origin, event_id, attr, text, command_line, mapping, address, code, callchain, inode, namespace, build_id, file_build_id, cgroup_id, bpf_tag, feature, tracing_data, opaque, unknown
    }
}

/// Converts a trailer to the format of another event. An ID of 0, as in records that perf synthesizes, is kept.
fn inherited(trailer: &SampleId, successor: &Event, id: u64) -> SampleId {
    let fields = match successor.attr.flags.contains(AttrFlags::SAMPLE_ID_ALL) {
        true => successor.layout.sample_type(),
        false => SampleType::empty(),
    };
    let is_synthesized = trailer.identifier.or(trailer.id) == Some(0);
    let id = if is_synthesized { 0 } else { id };
    let has = |field| fields.contains(field);
    SampleId {
        task: has(SampleType::TID).then(|| trailer.task.unwrap_or_default()),
        time: has(SampleType::TIME).then(|| trailer.time.unwrap_or_default()),
        id: has(SampleType::ID).then_some(id),
        stream_id: has(SampleType::STREAM_ID).then_some(id),
        cpu: has(SampleType::CPU).then(|| trailer.cpu.unwrap_or_default()),
        identifier: has(SampleType::IDENTIFIER).then_some(id),
    }
}
