//! Calls as a tree of functions: from the roots of the stacks to what they call, or from the functions with samples to their
//! callers.
//!
//! Unlike in the call tree of a page, a node is a function with all its lines, and the samples are those of one event. All
//! steps are loops over nodes, since stacks of a corrupt recording can be of any depth.

use super::location::{LocationId, Locations};
use super::{Counts, Usage};
use crate::profile::{Profile, Row};
use perf_data::session::interned::Interned;
use perf_data::session::names::NameId;
use std::cmp::Reverse;
use std::ops::Range;

/// The direction of a tree of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum TreeDirection {
    /// From the roots of the stacks to what they call.
    #[default]
    Callees,
    /// From the functions with the most samples in themselves to their callers.
    Callers,
}

/// A function: its name and that of the file with the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NamedFunction {
    pub name: NameId,
    pub dso: NameId,
}

/// A tree of calls. The first node is the root, which has no function; parents are before their children.
#[derive(Debug)]
pub(crate) struct FunctionTree {
    functions: Vec<NamedFunction>,
    /// Parent and function of each node but the root.
    nodes: Vec<(u32, u32)>,
    /// Samples of each node. Those of a node itself are the stacks that end in it.
    usage: Vec<Usage>,
    /// All nodes but the root by parent, those of one parent with the most samples first.
    children: Vec<u32>,
    /// By node: its range of `children`.
    ranges: Vec<Range<usize>>,
}

impl FunctionTree {
    /// The tree of these rows of a profile.
    pub(crate) fn new<'a>(
        profile: &Profile,
        locations: &Locations,
        rows: impl Iterator<Item = &'a Row>,
        direction: TreeDirection,
    ) -> Self {
        let (mut functions, mut nodes) = (Interned::default(), Interned::default());
        let by_location: Vec<u32> = locations
            .list()
            .iter()
            .map(|location| functions.id(NamedFunction { name: location.function, dso: location.dso }))
            .collect();
        let mut ends: Vec<Counts> = Vec::new();
        let mut by_stack: Vec<Option<u32>> = vec![None; profile.tables.stacks.count()];
        for row in rows {
            let node = *by_stack[row.stack as usize].get_or_insert_with(|| {
                let stack = locations.stack_locations(profile.tables.stacks.stack(row.stack));
                let call = |parent, location: LocationId| nodes.id((parent, by_location[location as usize])) + 1;
                match direction {
                    TreeDirection::Callees => stack.rev().fold(0, call),
                    TreeDirection::Callers => stack.fold(0, call),
                }
            }) as usize;
            ends.resize(ends.len().max(node + 1), Counts::default());
            ends[node] += row.into();
        }
        Self::from_nodes(functions.into_list(), nodes.into_list(), ends)
    }

    fn from_nodes(functions: Vec<NamedFunction>, nodes: Vec<(u32, u32)>, mut ends: Vec<Counts>) -> Self {
        ends.resize(nodes.len() + 1, Counts::default());
        let mut usage: Vec<_> = ends.into_iter().map(|own| Usage { own, total: own }).collect();
        for (index, &(parent, _)) in nodes.iter().enumerate().rev() {
            let total = usage[index + 1].total;
            usage[parent as usize].total += total;
        }
        // By counting: sorting all nodes by parent takes longer than everything else.
        let mut ranges = vec![0..0; usage.len()];
        nodes.iter().for_each(|&(parent, _)| ranges[parent as usize].end += 1);
        let mut start = 0;
        for range in &mut ranges {
            let count = range.end;
            *range = start..start;
            start += count;
        }
        let mut children = vec![0; nodes.len()];
        for (node, &(parent, _)) in (1..).zip(&nodes) {
            let range = &mut ranges[parent as usize];
            children[range.end] = node;
            range.end += 1;
        }
        for range in ranges.iter().filter(|range| range.len() > 1) {
            children[range.clone()].sort_by_key(|&node: &u32| Reverse(usage[node as usize].total));
        }
        Self { functions, nodes, usage, children, ranges }
    }

    /// Samples of the event.
    pub(crate) fn total(&self) -> Counts {
        self.usage[0].total
    }

    /// Number of nodes but the root.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Samples of a node.
    pub(super) fn usage(&self, node: u32) -> Usage {
        self.usage[node as usize]
    }

    /// The function of a node that is not the root.
    pub(super) fn function(&self, node: u32) -> NamedFunction {
        self.functions[self.nodes[node as usize - 1].1 as usize]
    }

    /// The nodes below a node, those with the most samples first.
    pub(super) fn children(&self, node: u32) -> &[u32] {
        &self.children[self.ranges[node as usize].clone()]
    }

    /// The only child of a node, if it has all samples of the node.
    pub(super) fn continuation(&self, node: u32) -> Option<u32> {
        match *self.children(node) {
            [child] if node > 0 && self.usage[child as usize].total == self.usage[node as usize].total => Some(child),
            _ => None,
        }
    }
}

/// A tree of stacks, root first, of functions that are numbers, with their samples.
#[cfg(test)]
pub(super) fn test_tree(stacks: &[(&[u32], u64)]) -> FunctionTree {
    let (mut functions, mut nodes, mut ends) = (Interned::default(), Interned::default(), Vec::new());
    for (stack, samples) in stacks {
        let call = |parent, &name: &u32| {
            let function = functions.id(NamedFunction { name: NameId(name), dso: NameId(0) });
            nodes.id((parent, function)) + 1
        };
        let node = stack.iter().fold(0, call) as usize;
        ends.resize(ends.len().max(node + 1), Counts::default());
        ends[node] += Counts { value: *samples, samples: *samples };
    }
    FunctionTree::from_nodes(functions.into_list(), nodes.into_list(), ends)
}
