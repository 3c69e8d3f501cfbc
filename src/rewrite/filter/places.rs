//! Where a record is in the order of the file, whatever the order in which it comes: what was decided in the order of time is
//! found again in that of the file.

use crate::stream::raw::Raw;
use hashbrown::HashMap;

/// The least size of a record: no two begin closer to each other.
const UNIT: u64 = 8;

/// Numbers the places of records, in units of 8 bytes. The numbers are the same in each run over the same records.
#[derive(Debug, Default)]
pub struct Places {
    /// The first place of each block, by its serial number.
    starts: HashMap<u64, u64>,
    /// The block of the latest record, and its first place.
    latest: Option<(u64, u64)>,
    end: u64,
}

impl Places {
    /// The place of a record. It must first be asked for in the order of the file.
    #[inline]
    pub fn of(&mut self, raw: &Raw<'_>) -> u64 {
        let start = match self.latest {
            Some((serial, start)) if serial == raw.block().serial => start,
            _ => self.start(raw),
        };
        start + raw.at() as u64 / UNIT
    }

    /// Forgets a record that will not be asked for again, if nothing else is in its block: so it is with changed ones.
    #[inline]
    pub fn forget(&mut self, raw: &Raw<'_>) {
        if raw.at() == 0 && raw.bytes().len() == raw.block().bytes.len() {
            self.starts.remove(&raw.block().serial);
        }
    }

    fn start(&mut self, raw: &Raw<'_>) -> u64 {
        let serial = raw.block().serial;
        let start = *self.starts.entry(serial).or_insert_with(|| {
            let start = self.end;
            self.end += (raw.block().bytes.len() as u64).div_ceil(UNIT);
            start
        });
        self.latest = Some((serial, start));
        start
    }
}

/// Places that are marked: a bit for every 8 bytes of records.
#[derive(Debug, Default)]
pub struct Marked(Vec<u64>);

impl Marked {
    /// Marks a place.
    pub fn mark(&mut self, place: u64) {
        let word = (place / 64) as usize;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (place % 64);
    }

    /// Whether a place is marked.
    pub fn has(&self, place: u64) -> bool {
        self.0.get((place / 64) as usize).is_some_and(|word| word & 1 << (place % 64) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_place_is_no_other() {
        let mut marked = Marked::default();
        [0, 63, 64, 1000].into_iter().for_each(|place| marked.mark(place));
        let has: Vec<_> = (0..2000).filter(|&place| marked.has(place)).collect();
        assert_eq!(has, [0, 63, 64, 1000]);
    }
}
