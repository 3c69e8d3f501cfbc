//! What becomes of the ids of events that go. Records of maps, names and the like have the id of whichever event was to tell
//! of them: where that goes, they are told as of the first event that stays, or no reader would know how to read them.

use crate::abi::attr_flags::AttrFlags;
use crate::abi::record::Body;
use crate::abi::record::RecordType;
use crate::abi::sample_id::SampleId;
use crate::abi::sample_type::SampleType;
use crate::error::Result;
use crate::rewrite::replacement::recoded;
use crate::stream::events::{Event, EventIndex};
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;

/// Which events stay, by their number.
#[derive(Debug, Default)]
pub struct Staying(pub Vec<bool>);

impl Staying {
    /// Whether an event stays. One that is not known may.
    #[inline]
    pub fn has(&self, event: EventIndex) -> bool {
        self.0.get(event as usize).copied().unwrap_or(true)
    }

    /// Whether what has this id stays: it is of an event that does, or of none that is known.
    pub fn has_id(&self, meta: &Meta, id: u64) -> bool {
        meta.events.by_id(id).is_none_or(|event| self.has(event))
    }

    /// The first that stays.
    fn heir<'a>(&self, meta: &'a Meta) -> Option<&'a Event> {
        let (_, heir) = self.0.iter().zip(meta.events.list()).find(|(stays, _)| **stays)?;
        Some(heir)
    }

    /// A record with ids of events that stay; `None` where it has no others.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn rewritten(&self, meta: &Meta, raw: &Raw<'_>) -> Result<Option<Vec<u8>>> {
        if raw.header().kind == RecordType::ID_INDEX {
            return self.id_index(meta, raw);
        }
        if !raw.header().kind.has_sample_id() || meta.events.of(raw).is_none_or(|(event, _)| self.has(event)) {
            return Ok(None);
        }
        let Some(heir) = self.heir(meta) else { return Ok(None) };
        let id = heir.ids.first().copied().unwrap_or(0);
        recoded(meta, raw, |record| {
            if let Body::Lost(lost) = &mut record.body
                && !self.has_id(meta, lost.id)
            {
                lost.id = id;
            }
            record.id = record.id.map(|trailer| inherited(&trailer, heir, id));
        })
    }

    fn id_index(&self, meta: &Meta, raw: &Raw<'_>) -> Result<Option<Vec<u8>>> {
        recoded(meta, raw, |record| {
            if let Body::IdIndex(index) = &mut record.body {
                let stays: Vec<_> = index.entries.iter().map(|entry| self.has_id(meta, entry.id)).collect();
                let mut of_entry = stays.iter();
                index.entries.retain(|_| of_entry.next().copied().unwrap_or(true));
                let mut of_guest = stays.iter();
                index.guests.retain(|_| of_guest.next().copied().unwrap_or(true));
            }
        })
    }
}

/// A trailer as that of a record of another event. Where it has an id of 0, as what perf made up has, that stays.
fn inherited(trailer: &SampleId, heir: &Event, id: u64) -> SampleId {
    let fields = match heir.attr.flags.contains(AttrFlags::SAMPLE_ID_ALL) {
        true => heir.layout.sample_type(),
        false => SampleType::empty(),
    };
    let is_made_up = trailer.identifier.or(trailer.id) == Some(0);
    let id = if is_made_up { 0 } else { id };
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
