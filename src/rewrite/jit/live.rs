//! Tracks which functions are at which addresses of a process.

use std::collections::BTreeMap;

/// Non-overlapping functions: a later one replaces earlier ones where they overlap.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// End addresses by start address.
    functions: BTreeMap<u64, u64>,
}

impl Live {
    /// Whether a function overlaps the range.
    pub fn has(&self, start: u64, end: u64) -> bool {
        self.functions.range(..end).next_back().is_some_and(|(_, &last)| last > start)
    }

    /// Adds a function; returns whether it overlaps earlier ones.
    pub fn put(&mut self, start: u64, end: u64) -> bool {
        let mut replaces = false;
        while let Some((&at, &last)) = self.functions.range(..end).next_back().filter(|&(_, &last)| last > start) {
            replaces = true;
            self.functions.remove(&at);
            if last > end {
                self.functions.insert(end, last);
            }
            if at < start {
                self.functions.insert(at, start);
            }
        }
        self.functions.insert(start, end);
        replaces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_functions_replace_overlapping_ones() {
        let mut live = Live::default();
        assert!(!live.put(10, 30) && !live.put(40, 50) && live.put(15, 20));
        assert_eq!(
            live.functions.iter().map(|(&at, &end)| (at, end)).collect::<Vec<_>>(),
            [(10, 15), (15, 20), (20, 30), (40, 50)]
        );
        assert!(live.put(12, 45));
        assert_eq!(
            live.functions.iter().map(|(&at, &end)| (at, end)).collect::<Vec<_>>(),
            [(10, 12), (12, 45), (45, 50)]
        );
        assert!(live.has(0, 11) && live.has(49, 60) && !live.has(0, 10) && !live.has(50, 60));
    }
}
