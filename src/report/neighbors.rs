//! Direct callers and callees of a function.

use super::Counts;
use super::location::{Location, LocationId, Locations};
use crate::profile::{Profile, Row};
use hashbrown::HashMap;
use perf_data::session::names::NameId;
use std::cmp::Reverse;
use std::sync::Arc;

/// A function that calls or is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Neighbor {
    /// Name of the function, shared by its calls; `None` for samples without a caller, or in the function itself.
    pub function: Option<Arc<str>>,
    /// What contains its code.
    pub dso: String,
    /// Source file and line of the call.
    pub source: String,
    /// Samples with the call.
    pub counts: Counts,
}

/// Callers and callees of the selected functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Neighbors {
    /// Samples with the function.
    pub total: Counts,
    /// Samples in the function itself.
    pub own: Counts,
    /// Its callers, those with the most samples first.
    pub callers: Vec<Neighbor>,
    /// Its callees.
    pub callees: Vec<Neighbor>,
}

/// A caller or callee: function and file, and where the call is.
type Call = (Option<(NameId, NameId)>, Option<LocationId>);

/// Counts of calls; each is counted once for a sample.
#[derive(Default)]
struct Calls {
    by_call: HashMap<Call, (Counts, usize)>,
}

impl Calls {
    fn count(&mut self, call: Call, number: usize, row: &Row) {
        let (counts, latest) = self.by_call.entry(call).or_insert((Counts::default(), usize::MAX));
        if *latest != number {
            *latest = number;
            *counts += row.into();
        }
    }

    fn sorted(self, locations: &Locations) -> Vec<Neighbor> {
        let mut names: HashMap<NameId, Arc<str>> = HashMap::new();
        let mut shared = |name| names.entry(name).or_insert_with(|| locations.function_name(name).into()).clone();
        let neighbor = |((function, site), (counts, _)): (Call, (Counts, usize))| Neighbor {
            function: function.map(|(name, _)| shared(name)),
            dso: function.map_or(String::new(), |(_, dso)| locations.text(dso).into_owned()),
            source: site.map_or(String::new(), |site| locations.source(locations.get(site))),
            counts,
        };
        let mut list: Vec<_> = self.by_call.into_iter().map(neighbor).collect();
        list.sort_by(|a, b| {
            let [a, b] = [a, b].map(|neighbor| (Reverse(neighbor.counts), &neighbor.function, &neighbor.source));
            a.cmp(&b)
        });
        list
    }
}

impl Neighbors {
    /// The callers and callees in these rows of a profile.
    pub(crate) fn new<'a>(
        profile: &Profile,
        locations: &Locations,
        rows: impl Iterator<Item = &'a Row>,
        is_selected: &[bool],
    ) -> Self {
        let (mut neighbors, mut callers, mut callees) = (Self::default(), Calls::default(), Calls::default());
        let mut stack = Vec::new();
        let called = |location: &Location| (location.function, location.dso);
        for (number, row) in rows.enumerate() {
            stack.clear();
            stack.extend(locations.stack_locations(profile.tables.stacks.stack(row.stack)));
            let mut is_in = false;
            for (depth, _) in stack.iter().enumerate().filter(|(_, id)| is_selected[**id as usize]) {
                is_in = true;
                let caller = stack.get(depth + 1).map(|&id| (called(locations.get(id)), locations.first_of_line(id)));
                callers.count(caller.unzip(), number, row);
                match depth.checked_sub(1).map(|inner| called(locations.get(stack[inner]))) {
                    Some(callee) => {
                        callees.count((Some(callee), Some(locations.first_of_line(stack[depth]))), number, row);
                    }
                    None => {
                        callees.count((None, None), number, row);
                        neighbors.own += row.into();
                    }
                }
            }
            if is_in {
                neighbors.total += row.into();
            }
        }
        Self { callers: callers.sorted(locations), callees: callees.sorted(locations), ..neighbors }
    }
}
