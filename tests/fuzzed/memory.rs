//! The memory that reading an input may take.

use allocation_counter::AllocationInfo;

/// Memory that an input of any size may take.
const BASE: u64 = 64 << 20;

/// Memory that each byte may take that is read from an input. What a part of it inflates to counts once.
const PER_BYTE: u64 = 20;

/// What this thread allocated while it read some bytes is within the budget that docs/robustness.md states.
pub fn assert_within_budget(used: AllocationInfo, read: usize) {
    let limit = BASE + PER_BYTE * read as u64;
    assert!(used.bytes_max <= limit, "{} bytes of memory for {read} bytes", used.bytes_max);
}
