//! Alignment of two sequences of records: equal records, and stretches that differ in between.

use super::item::DiffItem;
use super::lines::DiffLines;
use hashbrown::HashMap;
use perf_data::error::Result;
use std::collections::VecDeque;

/// Number of records of each sequence that are searched for the next common one: initial and maximum.
const WINDOW: usize = 256;
const MAX_WINDOW: usize = 1 << 16;
/// Size of the records read ahead in a sequence, in bytes, at which no more are read: recordings without a common record differ
/// throughout, and are not in memory as a whole.
const MAX_BYTES: usize = 32 << 20;

/// Two sequences that are being aligned.
pub(super) struct Aligned<'scope> {
    sides: [ReadAhead<'scope>; 2],
}

/// A sequence, and its records that were read ahead.
struct ReadAhead<'scope> {
    lines: DiffLines<'scope>,
    items: VecDeque<DiffItem>,
    /// Size of these records as JSON.
    bytes: usize,
    has_ended: bool,
}

impl ReadAhead<'_> {
    /// Reads ahead until there are `count` records, the end, or too many bytes.
    fn fill(&mut self, count: usize) -> Result<()> {
        while self.items.len() < count && !self.has_ended && self.has_room() {
            match self.lines.next()? {
                Some(item) => {
                    self.bytes += item.json.len();
                    self.items.push_back(item);
                }
                None => self.has_ended = true,
            }
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.bytes < MAX_BYTES
    }

    /// Removes the first `count` records.
    fn take(&mut self, count: usize) -> Vec<DiffItem> {
        let removed: Vec<_> = self.items.drain(..count).collect();
        self.bytes -= removed.iter().map(|item| item.json.len()).sum::<usize>();
        removed
    }
}

/// The records of each recording up to the next common one.
pub(super) type Stretch = [Vec<DiffItem>; 2];

impl<'scope> Aligned<'scope> {
    pub(super) fn new(lines: [DiffLines<'scope>; 2]) -> Self {
        Self { sides: lines.map(|lines| ReadAhead { lines, items: VecDeque::new(), bytes: 0, has_ended: false }) }
    }

    /// The next record that is in both, as one record in both lists, or a stretch that differs; `None` at the end.
    ///
    /// # Errors
    /// If a recording cannot be read.
    pub(super) fn next(&mut self) -> Result<Option<Stretch>> {
        self.fill(1)?;
        let [a, b] = &mut self.sides;
        match (a.items.front(), b.items.front()) {
            (None, None) => return Ok(None),
            (Some(next_a), Some(next_b)) if next_a.key == next_b.key => {
                return Ok(Some([a.take(1), b.take(1)]));
            }
            _ => {}
        }
        let mut window = WINDOW;
        loop {
            self.fill(window)?;
            let [a, b] = &mut self.sides;
            let at = next_common(&a.items, &b.items);
            let has_all = [&a, &b].iter().all(|side| side.has_ended || !side.has_room());
            if at.is_some() || has_all || window >= MAX_WINDOW {
                let ends = at.unwrap_or((a.items.len(), b.items.len()));
                return Ok(Some([a.take(ends.0), b.take(ends.1)]));
            }
            window *= 4;
        }
    }

    fn fill(&mut self, count: usize) -> Result<()> {
        self.sides.iter_mut().try_for_each(|side| side.fill(count))
    }

    pub(super) fn into_sides(self) -> [DiffLines<'scope>; 2] {
        self.sides.map(|side| side.lines)
    }
}

/// Positions in both sequences of the next common record. A record that occurs once in each is preferred: repeated markers could
/// be matched wrongly.
fn next_common(a: &VecDeque<DiffItem>, b: &VecDeque<DiffItem>) -> Option<(usize, usize)> {
    let (in_a, in_b) = (positions(a), positions(b));
    let both = in_a.iter().filter_map(|(key, &(at_a, is_once_in_a))| {
        let &(at_b, is_once_in_b) = in_b.get(key)?;
        Some((!(is_once_in_a && is_once_in_b), at_a + at_b, at_a, at_b))
    });
    both.min().map(|(_, _, a, b)| (a, b))
}

/// The first position of each record, and whether it occurs once.
fn positions(items: &VecDeque<DiffItem>) -> HashMap<u64, (usize, bool)> {
    let mut positions = HashMap::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        positions.entry(item.key).and_modify(|position: &mut (usize, bool)| position.1 = false).or_insert((at, true));
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(keys: &[u64]) -> VecDeque<DiffItem> {
        keys.iter().map(|&key| DiffItem { key, number: 0, json: "".into() }).collect()
    }

    #[test]
    fn the_next_common_record_is_the_nearest_that_occurs_once() {
        let next = |a: &[u64], b: &[u64]| next_common(&items(a), &items(b));
        assert_eq!(next(&[1, 2, 3, 4], &[9, 3, 4]), Some((2, 1)));
        assert_eq!(next(&[0, 1, 0, 2, 5], &[7, 0, 0, 5]), Some((4, 3)), "0 occurs twice");
        assert_eq!(next(&[0, 1, 0], &[7, 0, 0]), Some((0, 1)), "nothing else is common");
        assert_eq!(next(&[1, 2], &[3]), None);
    }
}
