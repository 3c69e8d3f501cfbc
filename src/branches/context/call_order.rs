//! The order in which functions are considered for inlining: callers before those that they call.

use super::super::source_profile::{NameNumber, SourceProfile};
use super::inlining::calls_of;
use super::tree::{ContextTree, ROOT};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Calls of a function: numbers by callee, with their order by name.
type Calls = BTreeMap<usize, u64>;

/// The functions of a tree, callers first. Calls that are not more frequent than `cold` are ignored. In a cycle, the most frequent calls
/// that reach all of its functions decide.
pub(super) fn callers_first(tree: &ContextTree, names: &SourceProfile, cold: u64) -> Vec<NameNumber> {
    let levels = tree.nodes_by_level();
    let mut functions: Vec<NameNumber> = levels.iter().map(|&node| tree.nodes[node].name).collect();
    functions.sort_unstable_by(|&a, &b| names.name(a).cmp(names.name(b)));
    functions.dedup();
    let index = |name: NameNumber| functions.partition_point(|&other| names.name(other) < names.name(name));
    let mut calls = vec![Calls::new(); functions.len()];
    for &node in levels.iter().filter(|&&node| tree.nodes[node].parent != ROOT) {
        let caller = tree.nodes[node].parent;
        let edge = calls[index(tree.nodes[caller].name)].entry(index(tree.nodes[node].name)).or_default();
        *edge = edge.saturating_add(calls_of(tree, node).unwrap_or(0));
    }
    // Without a threshold, even calls of which none was counted are used.
    calls.iter_mut().for_each(|calls| calls.retain(|_, count| cold == 0 || *count > cold));
    let mut order = Vec::new();
    for cycle in strongly_connected(&calls) {
        order.extend(if cycle.len() > 1 { within_cycle(&cycle, &calls) } else { cycle });
    }
    order.reverse();
    order.into_iter().map(|function| functions[function]).collect()
}

/// Functions that call each other, callees first (Tarjan's algorithm).
fn strongly_connected(calls: &[Calls]) -> Vec<Vec<usize>> {
    /// Number of functions that are in a result already.
    const DONE: usize = usize::MAX;
    let mut numbers: Vec<Option<usize>> = vec![None; calls.len()];
    let (mut results, mut open, mut visited) = (Vec::new(), Vec::new(), 0);
    for start in 0..calls.len() {
        if numbers[start].is_some() {
            continue;
        }
        // Functions with the callees that are still to be visited, and the lowest number that they reach.
        let mut path: Vec<(usize, Vec<usize>, usize)> = Vec::new();
        let mut enter =
            |function: usize, path: &mut Vec<_>, open: &mut Vec<usize>, numbers: &mut Vec<Option<usize>>| {
                visited += 1;
                numbers[function] = Some(visited);
                open.push(function);
                path.push((function, calls[function].keys().rev().copied().collect(), visited));
            };
        enter(start, &mut path, &mut open, &mut numbers);
        while let Some((function, callees, lowest)) = path.last_mut() {
            if let Some(callee) = callees.pop() {
                match numbers[callee] {
                    None => enter(callee, &mut path, &mut open, &mut numbers),
                    Some(number) => *lowest = (*lowest).min(number),
                }
                continue;
            }
            let (function, lowest) = (*function, *lowest);
            path.pop();
            if let Some((_, _, caller)) = path.last_mut() {
                *caller = (*caller).min(lowest);
            }
            if numbers[function] == Some(lowest) {
                let mut cycle = Vec::new();
                while let Some(member) = open.pop() {
                    numbers[member] = Some(DONE);
                    cycle.push(member);
                    if member == function {
                        break;
                    }
                }
                results.push(cycle);
            }
        }
    }
    results
}

/// The functions of a cycle, callees first along the spanning tree of the most frequent calls (Kruskal's algorithm).
fn within_cycle(cycle: &[usize], calls: &[Calls]) -> Vec<usize> {
    let members: BTreeSet<usize> = cycle.iter().copied().collect();
    let mut edges: Vec<(usize, usize, u64)> = Vec::new();
    for &caller in cycle {
        let within = calls[caller].iter().filter(|(callee, _)| members.contains(callee));
        edges.extend(within.map(|(&callee, &count)| (caller, callee, count)));
    }
    edges.sort_by_key(|&(_, _, count)| std::cmp::Reverse(count));
    let mut groups: BTreeMap<usize, usize> = members.iter().map(|&member| (member, member)).collect();
    let mut tree: BTreeSet<(usize, usize)> = BTreeSet::new();
    for &(caller, callee, _) in &edges {
        let (from, to) = (groups[&caller], groups[&callee]);
        if from != to {
            groups.values_mut().filter(|group| **group == to).for_each(|group| *group = from);
            tree.insert((caller, callee));
        }
    }
    let mut incoming: BTreeMap<usize, usize> = members.iter().map(|&member| (member, 0)).collect();
    tree.iter().for_each(|(_, callee)| *incoming.entry(*callee).or_default() += 1);
    let (mut queue, mut queued) = (VecDeque::new(), BTreeSet::new());
    for &(caller, ..) in &edges {
        if incoming[&caller] == 0 && queued.insert(caller) {
            queue.push_back(caller);
        }
    }
    let mut order = Vec::new();
    while let Some(function) = queue.pop_front() {
        order.push(function);
        for &(_, callee) in tree.range((function, 0)..(function + 1, 0)) {
            let rest = incoming.entry(callee).or_default();
            *rest -= 1;
            if *rest == 0 {
                queue.push_back(callee);
            }
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions that are numbered; each call is a caller, a callee and a count.
    fn graph(len: usize, edges: &[(usize, usize, u64)]) -> Vec<Calls> {
        let mut calls = vec![Calls::new(); len];
        edges.iter().for_each(|&(from, to, count)| _ = calls[from].insert(to, count));
        calls
    }

    #[test]
    fn callees_are_before_their_callers() {
        let calls = graph(4, &[(0, 1, 1), (0, 2, 1), (2, 1, 1), (3, 0, 1)]);
        assert_eq!(strongly_connected(&calls), [vec![1], vec![2], vec![0], vec![3]]);
        assert!(strongly_connected(&[]).is_empty());
    }

    #[test]
    fn the_most_frequent_calls_order_a_cycle() {
        let calls = graph(3, &[(0, 1, 5), (1, 2, 9), (2, 0, 1)]);
        assert_eq!(strongly_connected(&calls), [vec![2, 1, 0]]);
        assert_eq!(within_cycle(&[2, 1, 0], &calls), [2, 1, 0]);
        let calls = graph(3, &[(0, 1, 1), (1, 2, 9), (2, 0, 5)]);
        assert_eq!(within_cycle(&[2, 1, 0], &calls), [0, 2, 1]);
    }
}
