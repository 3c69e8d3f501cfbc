//! The call chains of a row as a tree.

use super::code::{CodeId, CodeTable};
use crate::report::Counts;
use hashbrown::HashMap;
use std::cmp::Reverse;

/// How call chains are shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChainOptions {
    /// Form of the text.
    pub style: ChainStyle,
    /// Whether chains begin with the outermost caller, instead of the innermost function.
    pub is_caller_first: bool,
    /// Share, in percent, below which calls are omitted.
    pub min_percent: f64,
}

/// The form of call chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainStyle {
    /// A tree.
    Graph,
    /// Each chain with its share, a line for each function.
    Flat,
    /// Each chain on a line with its share.
    Folded,
}

/// ID of a node in [`ChainTree`].
pub(crate) type ChainNodeId = u32;

/// A function in a tree of call chains.
#[derive(Debug, Default)]
struct ChainNode {
    code: CodeId,
    parent: ChainNodeId,
    /// Samples whose chain ends here.
    own: Counts,
    /// Samples with the chain up to here.
    total: Counts,
    children: Vec<ChainNodeId>,
}

/// A tree of call chains. The first node is the root, which has no function.
#[derive(Debug, Default)]
pub(crate) struct ChainTree {
    nodes: Vec<ChainNode>,
    by_call: HashMap<(ChainNodeId, CodeId), ChainNodeId>,
    /// Length of the longest chain.
    pub max_depth: usize,
}

/// Functions of which each is always followed by the next one.
pub(crate) struct ChainPath {
    pub code: Vec<CodeId>,
    /// Its last node.
    pub end: ChainNodeId,
}

/// A call chain.
pub(crate) struct Chain {
    /// Value of the samples with this chain.
    pub own: u64,
    /// The same with longer chains that begin with it.
    pub total: u64,
    pub code: Vec<CodeId>,
}

impl ChainTree {
    /// The root.
    pub(crate) const ROOT: ChainNodeId = 0;

    /// Adds the samples of a chain.
    pub(super) fn add(&mut self, chain: &[CodeId], counts: Counts) {
        let Self { nodes, by_call, max_depth } = self;
        if nodes.is_empty() {
            nodes.push(ChainNode::default());
        }
        *max_depth = chain.len().max(*max_depth);
        let mut parent = Self::ROOT;
        nodes[0].total += counts;
        for &code in chain {
            let node = *by_call.entry((parent, code)).or_insert_with(|| {
                let node = nodes.len() as ChainNodeId;
                nodes.push(ChainNode { code, parent, ..ChainNode::default() });
                nodes[parent as usize].children.push(node);
                node
            });
            nodes[node as usize].total += counts;
            parent = node;
        }
        nodes[parent as usize].own += counts;
    }

    /// Sum of the values of samples with the chain up to a node.
    pub(crate) fn total(&self, node: ChainNodeId) -> u64 {
        self.nodes[node as usize].total.value
    }

    /// Whether no chain was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// What follows a node with at least this value, the highest first.
    pub(crate) fn children(&self, node: ChainNodeId, min: u64, code: &CodeTable) -> Vec<ChainNodeId> {
        let mut children = self.nodes[node as usize].children.clone();
        children.retain(|&child| self.total(child) >= min);
        children.sort_by_key(|&child| {
            let node = &self.nodes[child as usize];
            (Reverse(node.total.value), Reverse(code.chain_order(node.code)))
        });
        children
    }

    /// The functions from a node on, up to where chains end or differ.
    pub(crate) fn path(&self, start: ChainNodeId) -> ChainPath {
        let mut path = ChainPath { code: Vec::new(), end: start };
        loop {
            let node = &self.nodes[path.end as usize];
            path.code.push(node.code);
            match node.children[..] {
                [child] if node.own.samples == 0 => path.end = child,
                _ => return path,
            }
        }
    }

    /// Each chain with at least this value, the highest first.
    pub(crate) fn chains(&self, min: u64, code: &CodeTable) -> Vec<Chain> {
        // In perf's order of chains with equal values: those that continue a chain come before it.
        let (mut pending, mut ends) = (vec![(Self::ROOT, false)], Vec::new());
        while let Some((node, is_expanded)) = pending.pop() {
            if is_expanded {
                ends.push(node);
                continue;
            }
            pending.push((node, true));
            let mut children = self.nodes[node as usize].children.clone();
            children.sort_by_key(|&child| code.chain_order(self.nodes[child as usize].code));
            pending.extend(children.into_iter().map(|child| (child, false)));
        }
        let own = |node: ChainNodeId| self.nodes[node as usize].own;
        ends.retain(|&node| node != Self::ROOT && own(node).samples > 0 && own(node).value >= min.max(1));
        ends.sort_by_key(|&node| Reverse(own(node).value));
        let chain = |end| Chain { own: own(end).value, total: self.total(end), code: self.chain(end) };
        ends.into_iter().map(chain).collect()
    }

    /// The functions up to a node.
    fn chain(&self, end: ChainNodeId) -> Vec<CodeId> {
        let parent = |node: &ChainNodeId| Some(self.nodes[*node as usize].parent).filter(|&node| node != Self::ROOT);
        let mut chain: Vec<_> =
            std::iter::successors(Some(end), parent).map(|node| self.nodes[node as usize].code).collect();
        chain.reverse();
        chain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_share_their_beginnings() {
        let mut tree = ChainTree::default();
        let counts = |value| Counts { value, samples: 1 };
        tree.add(&[1, 2, 3], counts(5));
        tree.add(&[1, 2, 4], counts(7));
        tree.add(&[1, 2], counts(1));
        assert_eq!((tree.total(ChainTree::ROOT), tree.max_depth), (13, 3));
        let path = tree.path(1);
        assert_eq!(path.code, [1, 2]);
        assert_eq!(tree.total(path.end), 13);
        assert_eq!(tree.chain(path.end), [1, 2]);
    }
}
