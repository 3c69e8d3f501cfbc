//! What was read of the units of an object: each part when it is first needed, once for all lookups in the object.
//!
//! A page with instructions looks up the addresses with samples first, then all of the functions that it shows: in a library of 1 GB
//! with 640 units, most of the time of both goes into the same line programs and entries.

use super::Slice;
use super::budget::Budget;
use super::calls::Calls;
use super::functions::{Depth, Functions};
use super::lines::UnitLines;
use super::unit_ranges::UnitRanges;
use super::units::{UnitView, Units};
use gimli::{UnitOffset, UnitRef};
use hashbrown::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Maximum number of inlined calls that are kept of a unit, which takes about 50 MB.
const CALLS: usize = 1 << 20;

/// Parts of the units of an object, shared by threads.
#[derive(Default)]
pub(crate) struct DwarfCache {
    ranges: OnceLock<UnitRanges>,
    units: OnceLock<Box<[OnceLock<Box<UnitCache>>]>>,
}

impl DwarfCache {
    /// The addresses of the units.
    pub(super) fn ranges(&self, units: &Units<'_>, budget: &Budget) -> &UnitRanges {
        self.ranges.get_or_init(|| UnitRanges::new(units, budget))
    }

    /// The parts of each unit.
    pub(super) fn units(&self, units: &Units<'_>) -> &[OnceLock<Box<UnitCache>>] {
        self.units.get_or_init(|| units.headers().map(|_| OnceLock::new()).collect())
    }
}

impl fmt::Debug for DwarfCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DwarfCache").finish_non_exhaustive()
    }
}

/// Parts of a unit.
#[derive(Default)]
pub(super) struct UnitCache {
    functions: [OnceLock<Functions>; 2],
    lines: OnceLock<UnitLines>,
    calls: Mutex<KeptCalls>,
}

#[derive(Default)]
struct KeptCalls {
    by_function: HashMap<UnitOffset, Arc<Calls>>,
    count: usize,
}

impl UnitCache {
    /// The entry of the function with an address.
    pub(super) fn function(&self, view: UnitView<'_, '_>, budget: &Budget, address: u64) -> Option<UnitOffset> {
        let [outer, all] = &self.functions;
        let outer = outer.get_or_init(|| Functions::new(view, budget, Depth::Outer));
        let all = || all.get_or_init(|| Functions::new(view, budget, Depth::All));
        outer.find(address).or_else(|| outer.is_partial().then(all)?.find(address))
    }

    /// All functions.
    pub(super) fn functions(&self, view: UnitView<'_, '_>, budget: &Budget) -> &Functions {
        self.functions[1].get_or_init(|| Functions::new(view, budget, Depth::All))
    }

    pub(super) fn lines(&self, unit: UnitRef<'_, Slice<'_>>, budget: &Budget) -> &UnitLines {
        self.lines.get_or_init(|| UnitLines::new(unit, budget))
    }

    /// The inlined calls in a function.
    pub(super) fn calls(&self, view: UnitView<'_, '_>, budget: &Budget, function: UnitOffset) -> Arc<Calls> {
        let mut kept = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(calls) = kept.by_function.get(&function) {
            return Arc::clone(calls);
        }
        let calls = Arc::new(Calls::new(view, budget, function));
        kept.count += calls.len();
        if kept.count > CALLS {
            *kept = KeptCalls { count: calls.len(), ..KeptCalls::default() };
        }
        kept.by_function.insert(function, Arc::clone(&calls));
        calls
    }
}
