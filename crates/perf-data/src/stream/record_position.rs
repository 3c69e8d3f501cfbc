//! Location of a waiting record, with its event.

use crate::stream::events::EventIndex;
use crate::stream::raw::BLOCK_LIMIT;

/// Bits of the event, the lowest ones.
const EVENT_BITS: u32 = 8;
/// Bits of the offset in the block, above the event.
const AT_BITS: u32 = BLOCK_LIMIT.trailing_zeros();
/// Value of the event that means it must be looked up.
const NO_EVENT: u64 = (1 << EVENT_BITS) - 1;

/// Block number, offset and event of a record in 8 bytes, since millions of records wait at a time. Sorts by block, then by
/// offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordPosition(u64);

impl RecordPosition {
    /// Mask of the block number.
    pub(crate) const NUMBERS: u32 = u32::MAX >> (EVENT_BITS + AT_BITS - 32);

    /// A record at an offset of a block, whose event must be looked up.
    #[inline]
    pub(crate) fn new(number: u32, at: usize) -> Self {
        Self(u64::from(number) << (EVENT_BITS + AT_BITS) | (at as u64) << EVENT_BITS | NO_EVENT)
    }

    /// Sets the event, if its index is small enough to be stored.
    #[inline]
    pub(crate) fn with_event(self, event: Option<EventIndex>) -> Self {
        let event = event.map(u64::from).filter(|&event| event < NO_EVENT).unwrap_or(NO_EVENT);
        Self(self.0 & !NO_EVENT | event)
    }

    /// Number of the block.
    #[inline]
    pub(crate) fn number(self) -> u32 {
        (self.0 >> (EVENT_BITS + AT_BITS)) as u32
    }

    /// Offset in the block.
    #[inline]
    pub(crate) fn at(self) -> usize {
        (self.0 >> EVENT_BITS) as usize & (BLOCK_LIMIT - 1)
    }

    /// The event, if stored.
    #[inline]
    pub(crate) fn event(self) -> Option<EventIndex> {
        let event = self.0 & NO_EVENT;
        (event != NO_EVENT).then_some(event as EventIndex)
    }

    /// Converts to a number.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// Converts from a number.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_offset_and_event_are_stored_and_sorted() {
        let place = RecordPosition::new(RecordPosition::NUMBERS, BLOCK_LIMIT - 1);
        assert_eq!((place.number(), place.at(), place.event()), (RecordPosition::NUMBERS, BLOCK_LIMIT - 1, None));
        let place = RecordPosition::new(7, 24).with_event(Some(3));
        assert_eq!((place.number(), place.at(), place.event()), (7, 24, Some(3)));
        assert_eq!(RecordPosition::from_bits(place.bits()), place);
        for event in [None, Some(255), Some(256), Some(u32::MAX)] {
            assert_eq!(place.with_event(event).event(), None);
        }
        assert!(place < RecordPosition::new(7, 32).with_event(Some(0)) && place < RecordPosition::new(8, 0));
    }
}
