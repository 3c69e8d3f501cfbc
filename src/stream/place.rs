//! Where a record is that waits, and of which event it is.

use crate::stream::events::EventIndex;
use crate::stream::raw::BLOCK_LIMIT;

/// Bits of the event, at the lower end.
const EVENT_BITS: u32 = 8;
/// Bits of the place in the block, above it.
const AT_BITS: u32 = BLOCK_LIMIT.trailing_zeros();
/// In the place of an event: it is to be looked up.
const NO_EVENT: u64 = (1 << EVENT_BITS) - 1;

/// The number of a block, a place in it, and the event of the record there, in 8 bytes: millions of records wait at a time. Ordered
/// by block, then by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(u64);

impl Place {
    /// The numbers that blocks can have, as bits.
    pub const NUMBERS: u32 = u32::MAX >> (EVENT_BITS + AT_BITS - 32);

    /// At a place in the block of that number, of an event that is to be looked up.
    #[inline]
    pub fn new(number: u32, at: usize) -> Self {
        Self(u64::from(number) << (EVENT_BITS + AT_BITS) | (at as u64) << EVENT_BITS | NO_EVENT)
    }

    /// The same with the event of the record, which is kept if its number is not too large.
    #[inline]
    pub fn with_event(self, event: Option<EventIndex>) -> Self {
        let event = event.map(u64::from).filter(|&event| event < NO_EVENT).unwrap_or(NO_EVENT);
        Self(self.0 & !NO_EVENT | event)
    }

    /// The number of the block.
    #[inline]
    pub fn number(self) -> u32 {
        (self.0 >> (EVENT_BITS + AT_BITS)) as u32
    }

    /// The place in it.
    #[inline]
    pub fn at(self) -> usize {
        (self.0 >> EVENT_BITS) as usize & (BLOCK_LIMIT - 1)
    }

    /// The event, if it is known.
    #[inline]
    pub fn event(self) -> Option<EventIndex> {
        let event = self.0 & NO_EVENT;
        (event != NO_EVENT).then_some(event as EventIndex)
    }

    /// As a number.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// From a number.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_place_and_event_come_back_and_are_ordered() {
        let place = Place::new(Place::NUMBERS, BLOCK_LIMIT - 1);
        assert_eq!((place.number(), place.at(), place.event()), (Place::NUMBERS, BLOCK_LIMIT - 1, None));
        let place = Place::new(7, 24).with_event(Some(3));
        assert_eq!((place.number(), place.at(), place.event()), (7, 24, Some(3)));
        assert_eq!(Place::from_bits(place.bits()), place);
        for event in [None, Some(255), Some(256), Some(u32::MAX)] {
            assert_eq!(place.with_event(event).event(), None);
        }
        assert!(place < Place::new(7, 32).with_event(Some(0)) && place < Place::new(8, 0));
    }
}
