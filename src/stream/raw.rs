//! A record as it flows.
//!
//! Which event a record is of follows from the id in it, by the list of the recording's events. It is looked up when it is first
//! asked for, by [`Events::of`](super::events::Events::of), and kept with the record from then on, with the state that the list
//! was in. By another list, or once the list has changed, it is looked up anew. So nothing has to be done where records pass to a
//! sink that knows other events, as behind a merge or an edited header, or where a pipe tells a further event; and a copy of a
//! recording, for which no event matters, costs no lookups.

use crate::abi::Endian;
use crate::abi::record::RecordHeader;
use crate::container::block::Block;
use crate::stream::events::EventIndex;
use std::cell::Cell;

/// Records begin before this place in their block.
pub const BLOCK_LIMIT: usize = 1 << 31;

/// A record's bytes and where they come from. The bytes are the truth; whoever needs more parses them.
#[derive(Clone, Debug)]
pub struct Raw<'a> {
    header: RecordHeader,
    endian: Endian,
    block: &'a Block,
    at: usize,
    /// The record, and what is behind it and belongs to it.
    bytes: &'a [u8],
    event: Cell<FoundEvent>,
}

/// The event of a record by a list of events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FoundEvent {
    /// Which list, and in which state; 0 is none.
    pub state: u64,
    /// The event, if there is one.
    pub event: Option<EventIndex>,
}

impl<'a> Raw<'a> {
    /// A record with this header that begins at a place in a block. So many bytes behind it belong to it: AUX area, tracing data.
    /// `None` where it is not within the block, or begins too far in it.
    #[inline]
    pub fn new(header: RecordHeader, endian: Endian, block: &'a Block, at: usize, payload_len: usize) -> Option<Self> {
        let end = at.checked_add(header.len())?.checked_add(payload_len)?;
        if at >= BLOCK_LIMIT {
            return None;
        }
        Some(Self { header, endian, block, at, bytes: block.bytes.get(at..end)?, event: Cell::default() })
    }

    /// The header.
    #[inline]
    pub fn header(&self) -> RecordHeader {
        self.header
    }

    /// Byte order of the recorder.
    #[inline]
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// Where the record is.
    #[inline]
    pub fn block(&self) -> &'a Block {
        self.block
    }

    /// How far into the block it begins.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// The whole record, header included.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        &self.bytes[..self.header.len()]
    }

    /// The record without its header; nothing of bytes that are too few for one.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        self.bytes.get(RecordHeader::SIZE..self.header.len()).unwrap_or_default()
    }

    /// What follows the record and belongs to it, not counted in its size: AUX area, tracing data.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header.len()..]
    }

    /// How many bytes follow the record and belong to it.
    #[inline]
    pub fn payload_len(&self) -> usize {
        self.bytes.len() - self.header.len()
    }

    /// Where in its file the record is; for one that was compressed, where its frame is.
    pub fn offset(&self) -> u64 {
        self.block.offset(self.at)
    }

    /// The same record, of which the event was found before.
    #[inline]
    pub(super) fn with_event(self, found: FoundEvent) -> Self {
        self.event.set(found);
        self
    }

    /// The event, as it was found last.
    #[inline]
    pub(super) fn found_event(&self) -> FoundEvent {
        self.event.get()
    }

    /// The event by a list in that state, looked up if it was not before.
    #[inline]
    pub(super) fn event(&self, state: u64, find: impl FnOnce() -> Option<EventIndex>) -> Option<EventIndex> {
        let found = self.event.get();
        if found.state == state {
            return found.event;
        }
        let event = find();
        self.event.set(FoundEvent { state, event });
        event
    }
}

/// Bytes between records that are none.
#[derive(Clone, Copy, Debug)]
pub struct Gap<'a> {
    /// Where they are.
    pub block: &'a Block,
    /// How far into the block they begin.
    pub at: usize,
    /// How many there are.
    pub len: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::record::{Misc, RecordType};
    use crate::container::block::Origin;

    #[test]
    fn a_record_is_within_its_block() {
        let bytes = vec![0; 48].into();
        let block = Block { bytes, source: 0, base: 0, origin: Origin::File, in_memory: true, serial: 1 };
        let new = |size, at, payload| {
            let header = RecordHeader { kind: RecordType::AUXTRACE, misc: Misc::empty(), size };
            Raw::new(header, Endian::Little, &block, at, payload)
        };
        let raw = new(24, 8, 16).unwrap();
        assert_eq!((raw.bytes().len(), raw.body().len(), raw.payload().len(), raw.payload_len()), (24, 16, 16, 16));
        assert!(new(7, 8, 0).unwrap().body().is_empty());
        assert!(new(24, 25, 0).is_none());
        assert!(new(24, 8, 17).is_none());
        assert!(new(24, usize::MAX, 0).is_none());
        assert!(new(24, 8, usize::MAX).is_none());
    }
}
