//! Costs of lines and calls.

use crate::profile::{Profile, Row};
use crate::report::location::{Location, LocationId, Locations};
use hashbrown::HashMap;
use perf_data::session::names::NameId;
use perf_data::stream::events::EventIndex;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CostFunction {
    pub name: NameId,
    /// File with its code.
    pub dso: NameId,
    /// Source file; empty if unknown.
    pub file: NameId,
    /// First line; 0 if unknown.
    pub start_line: i64,
}

/// Costs by line, and by call. A cost has a number for each event with samples.
#[derive(Debug, Default)]
pub(super) struct Costs {
    events: Vec<EventIndex>,
    functions: Vec<CostFunction>,
    /// By function and line.
    lines: BTreeMap<(u32, i64), Vec<u64>>,
    /// By caller, its line, and callee: number of samples, and inclusive cost.
    calls: BTreeMap<(u32, i64, u32), (u64, Vec<u64>)>,
    totals: Vec<u64>,
}

impl Costs {
    /// The costs of a profile: periods, or numbers of samples.
    pub(super) fn new(profile: &Profile, locations: &Locations) -> Self {
        let events = profile.events_by_samples();
        let totals = vec![0; events.len()];
        let mut costs = Self { events, totals, ..Self::default() };
        let location_functions = costs.intern(locations);
        let mut callers = Vec::new();
        for row in &profile.rows {
            costs.add(row, profile, (locations, &location_functions), &mut callers);
        }
        costs
    }

    /// Interns functions; returns that of each location.
    fn intern(&mut self, locations: &Locations) -> Vec<u32> {
        let Self { functions, .. } = self;
        let mut indexes = HashMap::new();
        let function = |location: &Location| {
            let function = CostFunction {
                name: location.function,
                dso: location.dso,
                file: location.file,
                start_line: location.start_line,
            };
            *indexes.entry(function).or_insert_with(|| {
                functions.push(function);
                functions.len() as u32 - 1
            })
        };
        locations.list().iter().map(function).collect()
    }

    /// Adds a row. Of a function that is on the stack several times, only the innermost call counts: the costs of its calls and its
    /// own are then its inclusive cost.
    fn add(&mut self, row: &Row, profile: &Profile, (locations, functions): (&Locations, &[u32]), seen: &mut Vec<u32>) {
        let Self { events, lines, calls, totals, .. } = self;
        let Some(column) = events.iter().position(|&event| event == row.event) else { return };
        let value = row.value;
        totals[column] = totals[column].saturating_add(value);
        let columns = events.len();
        let add = |cost: &mut Vec<u64>| {
            cost.resize(columns, 0);
            cost[column] = cost[column].saturating_add(value);
        };
        seen.clear();
        let line = |id: LocationId| locations.get(id).line.max(0);
        for location in locations.stack_locations(profile.tables.stacks.stack(row.stack)) {
            let function = functions[location as usize];
            match seen.last() {
                None => add(lines.entry((function, line(location))).or_default()),
                Some(&callee) if !seen.contains(&function) => {
                    let (samples, cost) = calls.entry((function, line(location), callee)).or_default();
                    *samples += row.samples;
                    add(cost);
                }
                Some(_) => {}
            }
            seen.push(function);
        }
    }

    /// All functions with costs.
    pub(super) fn functions(&self) -> impl Iterator<Item = u32> + '_ {
        let has_costs =
            |&function: &u32| self.lines(function).next().is_some() || self.calls(function).next().is_some();
        (0..self.functions.len() as u32).filter(has_costs)
    }

    pub(super) fn function(&self, function: u32) -> &CostFunction {
        &self.functions[function as usize]
    }

    /// The lines of a function with their own costs.
    pub(super) fn lines(&self, function: u32) -> impl Iterator<Item = (i64, &[u64])> {
        let all = (function, i64::MIN)..=(function, i64::MAX);
        self.lines.range(all).map(|(&(_, line), cost)| (line, &**cost))
    }

    /// The calls of a function: line, callee, number of samples, inclusive cost.
    pub(super) fn calls(&self, function: u32) -> impl Iterator<Item = (i64, u32, u64, &[u64])> {
        let all = (function, i64::MIN, 0)..=(function, i64::MAX, u32::MAX);
        self.calls.range(all).map(|(&(_, line, callee), (samples, cost))| (line, callee, *samples, &**cost))
    }

    /// The sums of all costs.
    pub(super) fn totals(&self) -> &[u64] {
        &self.totals
    }

    /// The names of the events, each after a space.
    pub(super) fn event_names(&self, profile: &Profile) -> String {
        let name = |&event: &EventIndex| {
            let name = &profile.tables.events[event as usize].name;
            // The line `events:` separates names by spaces.
            let separates = |char: char| char == ',' || char.is_whitespace() || char.is_control();
            format!(" {}", name.replace(separates, "_"))
        };
        self.events.iter().map(name).collect()
    }
}
