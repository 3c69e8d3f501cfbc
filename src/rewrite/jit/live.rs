//! Which functions are where in a process.

use std::collections::BTreeMap;

/// Functions that do not overlap: what is there later has taken the place of what was there before.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Their ends by their beginnings.
    functions: BTreeMap<u64, u64>,
}

impl Live {
    /// Whether there is a function from `start` to `end`, be it in part.
    pub fn has(&self, start: u64, end: u64) -> bool {
        self.functions.range(..end).next_back().is_some_and(|(_, &last)| last > start)
    }

    /// Takes note that a function is there from now on. Whether others were, be it in part.
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
    fn what_is_there_later_takes_the_place() {
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
