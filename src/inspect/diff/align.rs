//! Two sequences of records side by side: what is equal, and between that what is in one of them alone.

use super::item::Item;
use super::lines::Lines;
use crate::error::Result;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// How many records of each sequence are looked at for the next that is in both: at first, and at most.
const WINDOW: usize = 256;
const MOST: usize = 1 << 16;
/// From so many bytes of a sequence on no more of it are looked at.
const MOST_BYTES: usize = 32 << 20;

/// Two sequences, of which what is equal was passed over.
pub struct Aligned<'scope> {
    sides: [Ahead<'scope>; 2],
}

/// A sequence, and what of it was read ahead.
struct Ahead<'scope> {
    lines: Lines<'scope>,
    items: VecDeque<Item>,
    /// What is told in them.
    bytes: usize,
    has_ended: bool,
}

impl Ahead<'_> {
    /// Reads so many ahead, if there are, and there is room.
    fn fill(&mut self, count: usize) -> Result<()> {
        while self.items.len() < count && !self.has_ended && self.has_room() {
            match self.lines.next()? {
                Some(item) => {
                    self.bytes += item.told.len();
                    self.items.push_back(item);
                }
                None => self.has_ended = true,
            }
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.bytes < MOST_BYTES
    }

    /// Takes so many.
    fn take(&mut self, count: usize) -> Vec<Item> {
        let taken: Vec<_> = self.items.drain(..count).collect();
        self.bytes -= taken.iter().map(|item| item.told.len()).sum::<usize>();
        taken
    }
}

/// What is in each of the recordings, where they go on.
pub type Stretch = [Vec<Item>; 2];

impl<'scope> Aligned<'scope> {
    /// Puts two sequences side by side.
    pub fn new(lines: [Lines<'scope>; 2]) -> Self {
        Self { sides: lines.map(|lines| Ahead { lines, items: VecDeque::new(), bytes: 0, has_ended: false }) }
    }

    /// What is in both, as one in both lists, or a stretch that differs; `None` at the end.
    ///
    /// # Errors
    /// Where a recording cannot be read.
    pub fn next(&mut self) -> Result<Option<Stretch>> {
        self.fill(1)?;
        let [a, b] = &mut self.sides;
        match (a.items.front(), b.items.front()) {
            (None, None) => return Ok(None),
            (Some(of_a), Some(of_b)) if of_a.key == of_b.key => {
                return Ok(Some([a.take(1), b.take(1)]));
            }
            _ => {}
        }
        let mut window = WINDOW;
        loop {
            self.fill(window)?;
            let [a, b] = &mut self.sides;
            let at = next_in_both(&a.items, &b.items);
            let has_all = [&a, &b].iter().all(|side| side.has_ended || !side.has_room());
            if at.is_some() || has_all || window >= MOST {
                let ends = at.unwrap_or((a.items.len(), b.items.len()));
                return Ok(Some([a.take(ends.0), b.take(ends.1)]));
            }
            window *= 4;
        }
    }

    fn fill(&mut self, count: usize) -> Result<()> {
        self.sides.iter_mut().try_for_each(|side| side.fill(count))
    }

    /// The sequences.
    pub fn into_sides(self) -> [Lines<'scope>; 2] {
        self.sides.map(|side| side.lines)
    }
}

/// Where in both sequences the next record is that is in both: one that is there once, if there is one, since marks that
/// come again and again would be taken for each other.
fn next_in_both(a: &VecDeque<Item>, b: &VecDeque<Item>) -> Option<(usize, usize)> {
    let (in_a, in_b) = (places(a), places(b));
    let both = in_a.iter().filter_map(|(key, &(at_a, is_once_in_a))| {
        let &(at_b, is_once_in_b) = in_b.get(key)?;
        Some((!(is_once_in_a && is_once_in_b), at_a + at_b, at_a, at_b))
    });
    both.min().map(|(_, _, a, b)| (a, b))
}

/// Where each record is first, and whether it is there once.
fn places(items: &VecDeque<Item>) -> HashMap<u64, (usize, bool)> {
    let mut places = HashMap::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        places.entry(item.key).and_modify(|place: &mut (usize, bool)| place.1 = false).or_insert((at, true));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(keys: &[u64]) -> VecDeque<Item> {
        keys.iter().map(|&key| Item { key, number: 0, told: "".into() }).collect()
    }

    #[test]
    fn the_next_in_both_is_the_nearest_that_is_there_once() {
        let next = |a: &[u64], b: &[u64]| next_in_both(&items(a), &items(b));
        assert_eq!(next(&[1, 2, 3, 4], &[9, 3, 4]), Some((2, 1)));
        assert_eq!(next(&[0, 1, 0, 2, 5], &[7, 0, 0, 5]), Some((4, 3)), "0 is there twice");
        assert_eq!(next(&[0, 1, 0], &[7, 0, 0]), Some((0, 1)), "nothing else is in both");
        assert_eq!(next(&[1, 2], &[3]), None);
    }
}
