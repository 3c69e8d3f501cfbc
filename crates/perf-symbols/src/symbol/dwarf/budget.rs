//! A limit on the work for an object: damaged debug information can refer to the same bytes any number of times.

use std::cell::Cell;

/// Number of times that all debug information may be read. Lookups in valid files read each part once or twice.
const TIMES: u64 = 16;

/// Bytes that may still be read.
#[derive(Debug)]
pub(super) struct Budget(Cell<u64>);

impl Budget {
    /// A budget for sections of this size.
    pub(super) fn new(size: u64) -> Self {
        Self(Cell::new(size.saturating_mul(TIMES)))
    }

    /// Adds that of a file with sections of this size.
    pub(super) fn add(&self, size: u64) {
        self.0.set(self.0.get().saturating_add(size.saturating_mul(TIMES)));
    }

    /// Spends bytes; `false` if none are left.
    pub(super) fn spend(&self, bytes: usize) -> bool {
        let left = self.0.get().checked_sub(bytes as u64);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Whether all of it was spent.
    pub(super) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_ends() {
        let budget = Budget::new(10);
        assert!(budget.spend(100) && !budget.is_spent() && budget.spend(60));
        assert!(!budget.spend(1) && !budget.spend(1) && budget.is_spent());
    }
}
