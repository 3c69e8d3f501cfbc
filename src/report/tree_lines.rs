//! The lines of a tree of calls that are worth reading: those with the most samples, with chains of calls in one line.

use super::function_tree::{FunctionTree, NamedFunction};
use super::{Counts, Usage};
use std::cmp::Reverse;
use std::iter::successors;

/// Level below which nodes are omitted: deeper ones are indented too far to be read.
const MAX_LEVEL: usize = 64;

/// Maximum number of functions of a line, of which more are omitted in the middle.
const MAX_CHAIN: usize = 16;

/// Share in percent from which nodes that are omitted have a line below their parent.
const MIN_OMITTED: f64 = 0.5;

/// Which nodes have lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeLimits {
    /// Minimum share of the event.
    pub percent: f64,
    /// Maximum number of lines, without those for nodes that are omitted.
    pub lines: usize,
}

/// A line: a node, followed by its only child as long as this has all samples; or the nodes below the same parent that are omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeLine {
    /// Number of lines above it on the way from the root.
    pub level: usize,
    /// Whether it is the last line below its parent.
    pub is_last: bool,
    /// The functions; empty if the line stands for nodes that are omitted.
    pub chain: Vec<ChainLink>,
    /// Number of nodes that are omitted.
    pub omitted: usize,
    /// Samples of the last function.
    pub usage: Usage,
}

/// Part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainLink {
    /// A function, and how many times it is called in succession.
    Function(NamedFunction, usize),
    /// Number of functions that are omitted.
    Omitted(usize),
}

/// The lines of a tree within limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeLines {
    pub list: Vec<TreeLine>,
    /// Number of nodes without a line of their own.
    pub omitted: usize,
    /// Samples of these nodes.
    pub omitted_samples: Counts,
}

impl TreeLines {
    /// The lines of a tree, in depth-first order.
    pub(crate) fn new(tree: &FunctionTree, limits: TreeLimits) -> Self {
        let mut lines = Self { omitted: tree.len(), ..Self::default() };
        let is_kept = kept(tree, limits);
        let mut pending = Vec::new();
        lines.below(tree, &is_kept, (0, 0), limits.percent, &mut pending);
        while let Some((node, mut line)) = pending.pop() {
            if let Some(node) = node {
                let chain: Vec<u32> = successors(Some(node), |&node| tree.continuation(node)).collect();
                let last = chain.last().copied().unwrap_or(node);
                lines.omitted -= chain.len();
                lines.below(tree, &is_kept, (last, line.level + 1), limits.percent, &mut pending);
                line.chain = shortened(links(tree, &chain));
                line.usage = tree.usage(last);
            }
            lines.list.push(line);
        }
        lines
    }

    /// Adds the lines below a node to those that are pending, the first one last.
    fn below(
        &mut self,
        tree: &FunctionTree,
        is_kept: &[bool],
        (parent, level): (u32, usize),
        percent: f64,
        pending: &mut Vec<(Option<u32>, TreeLine)>,
    ) {
        let (kept, omitted): (Vec<u32>, Vec<u32>) =
            tree.children(parent).iter().partition(|&&node| level <= MAX_LEVEL && is_kept[node as usize]);
        let total: Counts = omitted.iter().map(|&node| tree.usage(node).total).sum();
        self.omitted_samples += total;
        let first = pending.len();
        if !omitted.is_empty() && total.percent_of(tree.total()) >= percent.max(MIN_OMITTED) {
            let usage = Usage { total, ..Usage::default() };
            pending.push((None, TreeLine { level, omitted: omitted.len(), usage, ..TreeLine::default() }));
        }
        pending.extend(kept.into_iter().rev().map(|node| (Some(node), TreeLine { level, ..TreeLine::default() })));
        if let Some((_, last)) = pending.get_mut(first) {
            last.is_last = true;
        }
    }
}

/// By node: whether it begins a line that the limits permit. A parent has at least the samples of its children and is before them, so
/// the lines above one that is kept are kept, too.
fn kept(tree: &FunctionTree, limits: TreeLimits) -> Vec<bool> {
    let mut is_continued = vec![false; tree.len() + 1];
    let nodes = 1..=tree.len() as u32;
    nodes.clone().filter_map(|node| tree.continuation(node)).for_each(|node| is_continued[node as usize] = true);
    let is_large = |node: &u32| tree.usage(*node).total.percent_of(tree.total()) >= limits.percent;
    let mut first: Vec<u32> = nodes.filter(|&node| !is_continued[node as usize]).filter(is_large).collect();
    if first.len() > limits.lines {
        first.select_nth_unstable_by_key(limits.lines, |&node| (Reverse(tree.usage(node).total), node));
        first.truncate(limits.lines);
    }
    let mut is_kept = vec![false; tree.len() + 1];
    first.iter().for_each(|&node| is_kept[node as usize] = true);
    is_kept
}

/// The functions of nodes, those that call themselves once.
fn links(tree: &FunctionTree, nodes: &[u32]) -> Vec<ChainLink> {
    let functions: Vec<_> = nodes.iter().map(|&node| tree.function(node)).collect();
    functions.chunk_by(|a, b| a == b).map(|calls| ChainLink::Function(calls[0], calls.len())).collect()
}

/// The first and the last of many links.
fn shortened(mut links: Vec<ChainLink>) -> Vec<ChainLink> {
    if links.len() > MAX_CHAIN {
        let (first, last) = (MAX_CHAIN / 2, MAX_CHAIN / 2 - 1);
        let omitted = links.len() - first - last;
        links.splice(first..first + omitted, [ChainLink::Omitted(omitted)]);
    }
    links
}

#[cfg(test)]
mod tests {
    use super::super::function_tree::test_tree;
    use super::*;

    /// A line as text: its level, functions, samples in total and in the last function.
    fn text(line: &TreeLine) -> String {
        let link = |link: &ChainLink| match *link {
            ChainLink::Function(function, 1) => format!("f{}", function.name.0),
            ChainLink::Function(function, times) => format!("f{}x{times}", function.name.0),
            ChainLink::Omitted(count) => format!("({count})"),
        };
        let chain: Vec<_> = line.chain.iter().map(link).collect();
        let chain = if chain.is_empty() { format!("{} omitted", line.omitted) } else { chain.join(">") };
        format!("{} {chain} {}/{}", line.level, line.usage.total.samples, line.usage.own.samples)
    }

    fn lines(stacks: &[(&[u32], u64)], percent: f64, lines: usize) -> (Vec<String>, usize, u64) {
        let lines = TreeLines::new(&test_tree(stacks), TreeLimits { percent, lines });
        (lines.list.iter().map(text).collect(), lines.omitted, lines.omitted_samples.samples)
    }

    const STACKS: &[(&[u32], u64)] =
        &[(&[0, 1, 2], 60), (&[0, 1, 3, 3, 3, 4], 30), (&[0, 1], 5), (&[0, 1, 5], 2), (&[0, 1, 6], 2), (&[7], 1)];

    #[test]
    fn chains_are_one_line_and_small_nodes_are_omitted() {
        let all = ["0 f0>f1 99/5", "1 f2 60/60", "1 f3x3>f4 30/30", "1 f5 2/2", "1 f6 2/2", "0 f7 1/1"];
        assert_eq!(lines(STACKS, 0.0, 100), (all.map(str::to_owned).into(), 0, 0));
        let large = ["0 f0>f1 99/5", "1 f2 60/60", "1 f3x3>f4 30/30", "1 2 omitted 4/0"];
        assert_eq!(lines(STACKS, 3.0, 100), (large.map(str::to_owned).into(), 3, 5));
        let first = ["0 f0>f1 99/5", "1 f2 60/60", "1 3 omitted 34/0", "0 1 omitted 1/0"];
        assert_eq!(lines(STACKS, 0.0, 2), (first.map(str::to_owned).into(), 7, 35));
    }

    #[test]
    fn the_last_line_below_a_parent_ends_its_branch() {
        let lines = TreeLines::new(&test_tree(STACKS), TreeLimits { percent: 3.0, lines: 100 });
        assert_eq!(lines.list.iter().map(|line| line.is_last).collect::<Vec<_>>(), [true, false, false, true]);
    }

    #[test]
    fn deep_stacks_are_bounded() {
        let deep: Vec<u32> = (0..200_000).collect();
        let (chain, omitted, _) = lines(&[(&deep, 3)], 0.0, 100);
        assert_eq!((chain.len(), omitted), (1, 0));
        assert!(chain[0].contains("f7>(199985)>f199993>"), "{}", chain[0]);
        // Each call has a sample of its own.
        let stacks: Vec<(&[u32], u64)> = (1..2000).map(|len| (&deep[..len], 1)).collect();
        let (levels, omitted, samples) = lines(&stacks, 0.0, 1_000_000);
        assert_eq!((levels.len(), omitted), (MAX_LEVEL + 2, 1999 - MAX_LEVEL - 1));
        assert_eq!(samples as usize, omitted);
    }
}
