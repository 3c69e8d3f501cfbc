//! What was read of a unit: each part when it is first needed.

use super::Slice;
use super::budget::Budget;
use super::calls::Calls;
use super::functions::{Depth, Functions};
use super::lines::UnitLines;
use super::split::{SplitDwarf, SplitFiles};
use super::units::{UnitView, Units};
use gimli::{UnitOffset, UnitRef};
use hashbrown::HashMap;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

/// Maximum number of inlined calls that are kept, which takes about 50 MB.
const CALLS: usize = 1 << 20;

/// Parts of a unit.
#[derive(Default)]
pub(super) struct UnitCache<'a> {
    split: OnceCell<Option<Box<SplitDwarf<'a>>>>,
    functions: [OnceCell<Functions>; 2],
    lines: OnceCell<UnitLines>,
    calls: RefCell<KeptCalls>,
}

#[derive(Default)]
struct KeptCalls {
    by_function: HashMap<UnitOffset, Rc<Calls>>,
    count: usize,
}

impl<'a> UnitCache<'a> {
    /// The unit with the entries, and the units of its file, if they are in split DWARF.
    pub(super) fn code<'u>(
        &'u self,
        files: &SplitFiles<'a>,
        main: &Units<'a>,
        skeleton: UnitView<'_, 'a>,
        budget: &Budget,
    ) -> Option<(&'u Units<'a>, UnitView<'u, 'a>)> {
        let split = self.split.get_or_init(|| files.open(main, skeleton.unit, budget).map(Box::new));
        split.as_ref().map(|split| split.view())
    }

    /// The entry of the function with an address.
    pub(super) fn function(&self, view: UnitView<'_, 'a>, budget: &Budget, address: u64) -> Option<UnitOffset> {
        let [outer, all] = &self.functions;
        let outer = outer.get_or_init(|| Functions::new(view, budget, Depth::Outer));
        let all = || all.get_or_init(|| Functions::new(view, budget, Depth::All));
        outer.find(address).or_else(|| outer.is_partial().then(all)?.find(address))
    }

    /// All functions.
    pub(super) fn functions(&self, view: UnitView<'_, 'a>, budget: &Budget) -> &Functions {
        self.functions[1].get_or_init(|| Functions::new(view, budget, Depth::All))
    }

    pub(super) fn lines(&self, unit: UnitRef<'_, Slice<'a>>, budget: &Budget) -> &UnitLines {
        self.lines.get_or_init(|| UnitLines::new(unit, budget))
    }

    /// The inlined calls in a function.
    pub(super) fn calls(&self, view: UnitView<'_, 'a>, budget: &Budget, function: UnitOffset) -> Rc<Calls> {
        let mut kept = self.calls.borrow_mut();
        if let Some(calls) = kept.by_function.get(&function) {
            return Rc::clone(calls);
        }
        let calls = Rc::new(Calls::new(view, budget, function));
        kept.count += calls.len();
        if kept.count > CALLS {
            *kept = KeptCalls { count: calls.len(), ..KeptCalls::default() };
        }
        kept.by_function.insert(function, Rc::clone(&calls));
        calls
    }
}
