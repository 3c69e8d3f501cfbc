//! Events by their IDs.

use super::events::EventIndex;
use hashbrown::HashMap;

/// Events by their IDs. The kernel counts IDs up, so that those of a recording are mostly close together: they are positions in a table,
/// which takes less time per record than hashing.
#[derive(Clone, Debug, Default)]
pub(super) struct EventIds {
    /// The ID of the first position.
    first: u64,
    near: Vec<EventIndex>,
    /// Those that are less than `first`, or too far from it.
    far: HashMap<u64, EventIndex>,
}

/// A position without an event.
const NONE: EventIndex = EventIndex::MAX;

/// Maximum number of positions.
const POSITIONS: u64 = 1 << 16;

impl EventIds {
    /// The event with this ID.
    #[inline]
    pub(super) fn get(&self, id: u64) -> Option<EventIndex> {
        let position = id.wrapping_sub(self.first);
        if position < POSITIONS {
            self.near.get(position as usize).copied().filter(|&index| index != NONE)
        } else {
            self.far.get(&id).copied()
        }
    }

    /// Sets the event of an ID.
    pub(super) fn insert(&mut self, id: u64, index: EventIndex) {
        if self.near.is_empty() {
            self.first = id;
        }
        let position = id.wrapping_sub(self.first);
        if position >= POSITIONS {
            self.far.insert(id, index);
            return;
        }
        let position = position as usize;
        if position >= self.near.len() {
            self.near.resize(position + 1, NONE);
        }
        self.near[position] = index;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far_ids_have_their_events() {
        let mut ids = EventIds::default();
        assert_eq!((ids.get(0), ids.get(7)), (None, None));
        let all = [(100, 0), (102, 1), (100 + POSITIONS - 1, 2), (100 + POSITIONS, 3), (99, 4), (u64::MAX, 5), (0, 6)];
        all.into_iter().for_each(|(id, index)| ids.insert(id, index));
        assert!(all.iter().all(|&(id, index)| ids.get(id) == Some(index)));
        assert_eq!([101, 103, 98, 101 + POSITIONS].map(|id| ids.get(id)), [None; 4]);
        ids.insert(102, 8);
        ids.insert(99, 9);
        assert_eq!((ids.get(102), ids.get(99)), (Some(8), Some(9)));
    }
}
