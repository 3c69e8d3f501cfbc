//! Counts of functions by their callers, as a tree: below a function are those that it calls, at each position separately.

use super::super::source_profile::{FunctionCounts, IS_TO_BE_INLINED, NameNumber, SourcePosition, SourceProfile, guid};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// Index of a node.
pub(super) type NodeIndex = usize;

/// Index of the counts of a node.
pub(super) type CountsIndex = usize;

/// The node that all others are below.
pub(super) const ROOT: NodeIndex = 0;

/// A function in the order in which LLVM visits those that another calls, on which some of its decisions depend.
pub(super) type ChildKey = (u64, NameNumber, SourcePosition);

/// A function where it is called.
#[derive(Default)]
pub(super) struct ContextNode {
    pub parent: NodeIndex,
    pub name: NameNumber,
    /// Position of the call in the parent.
    pub call: SourcePosition,
    pub children: BTreeMap<ChildKey, NodeIndex>,
    pub counts: Option<CountsIndex>,
}

/// The counts of a node.
#[derive(Default)]
pub(super) struct ContextFunction {
    pub counts: FunctionCounts,
    pub node: NodeIndex,
    /// Whether it is to be inlined.
    pub is_inlined: bool,
    /// Whether its counts were added to those of another node.
    pub is_merged: bool,
}

/// Functions by their callers.
pub(super) struct ContextTree {
    pub nodes: Vec<ContextNode>,
    pub functions: Vec<ContextFunction>,
    guids: HashMap<NameNumber, u64>,
}

impl Default for ContextTree {
    fn default() -> Self {
        Self { nodes: vec![ContextNode::default()], functions: Vec::new(), guids: HashMap::new() }
    }
}

impl ContextTree {
    /// The function that is called at a position of another.
    pub(super) fn child(
        &mut self,
        parent: NodeIndex,
        call: SourcePosition,
        name: NameNumber,
        names: &SourceProfile,
    ) -> NodeIndex {
        let guid = *self.guids.entry(name).or_insert_with(|| guid(names.name(name)));
        let key = child_key(guid, name, call);
        if let Some(&child) = self.nodes[parent].children.get(&key) {
            return child;
        }
        let child = self.nodes.len();
        self.nodes.push(ContextNode { parent, name, call, ..ContextNode::default() });
        self.nodes[parent].children.insert(key, child);
        child
    }

    /// The counts of a node.
    pub(super) fn counts(&mut self, node: NodeIndex) -> CountsIndex {
        let Self { nodes, functions, .. } = self;
        *nodes[node].counts.get_or_insert_with(|| {
            functions.push(ContextFunction { node, ..ContextFunction::default() });
            functions.len() - 1
        })
    }

    /// The name of the function of counts.
    pub(super) fn name(&self, counts: CountsIndex) -> NameNumber {
        self.nodes[self.functions[counts].node].name
    }

    /// All nodes but the root, callers first, level by level.
    pub(super) fn nodes_by_level(&self) -> Vec<NodeIndex> {
        let mut list: Vec<NodeIndex> = self.nodes[ROOT].children.values().copied().collect();
        let mut next = 0;
        while let Some(&node) = list.get(next) {
            list.extend(self.nodes[node].children.values());
            next += 1;
        }
        list
    }

    /// The counts of functions without regard to callers.
    pub(super) fn without_contexts(&self) -> BTreeMap<NameNumber, FunctionCounts> {
        let mut sums: BTreeMap<NameNumber, FunctionCounts> = BTreeMap::new();
        for node in self.nodes_by_level() {
            let ContextNode { name, counts: Some(counts), .. } = self.nodes[node] else { continue };
            sums.entry(name).or_default().add(self.functions[counts].counts.clone());
        }
        sums
    }

    /// The counts of a function that are not of a caller. Those of callers that it is not inlined into are added to them; `all` has the
    /// counts of the function.
    pub(super) fn base(&mut self, name: NameNumber, all: &[CountsIndex]) -> Option<CountsIndex> {
        let key = child_key(self.guids.get(&name).copied()?, name, SourcePosition::default());
        for &counts in all {
            let ContextFunction { node, is_inlined, is_merged, .. } = self.functions[counts];
            if !is_inlined && !is_merged && self.nodes[ROOT].children.get(&key) != Some(&node) {
                self.promote(node);
            }
        }
        self.nodes[*self.nodes[ROOT].children.get(&key)?].counts
    }

    /// Moves a function from its caller to the root, with those that it calls.
    fn promote(&mut self, node: NodeIndex) {
        let mut moves = vec![(node, ROOT, SourcePosition::default())];
        while let Some((node, parent, call)) = moves.pop() {
            let ContextNode { name, call: old_call, parent: old_parent, .. } = self.nodes[node];
            let guid = self.guids.get(&name).copied().unwrap_or_default();
            self.nodes[old_parent].children.remove(&child_key(guid, name, old_call));
            let key = child_key(guid, name, call);
            let Some(&target) = self.nodes[parent].children.get(&key) else {
                self.nodes[parent].children.insert(key, node);
                (self.nodes[node].parent, self.nodes[node].call) = (parent, call);
                continue;
            };
            self.merge(node, target);
            // The last is moved first.
            let children = self.nodes[node].children.values().rev();
            moves.extend(children.map(|&child| (child, target, self.nodes[child].call)));
        }
    }

    fn merge(&mut self, from: NodeIndex, to: NodeIndex) {
        let Some(counts) = self.nodes[from].counts else { return };
        let Some(sum) = self.nodes[to].counts else {
            self.nodes[to].counts = Some(counts);
            self.functions[counts].node = to;
            return;
        };
        let added = self.functions[counts].counts.clone();
        self.functions[counts].is_merged = true;
        let sum = &mut self.functions[sum].counts;
        let attributes = sum.attributes | added.attributes & IS_TO_BE_INLINED;
        sum.add(added);
        sum.attributes = attributes;
    }

    /// The functions with those below them that have counts as inlined functions. Those below functions without counts are added up by
    /// name.
    pub(super) fn nested(mut self) -> BTreeMap<NameNumber, FunctionCounts> {
        let mut functions: BTreeMap<NameNumber, FunctionCounts> = BTreeMap::new();
        for node in self.nodes_by_level().into_iter().rev() {
            let ContextNode { name, call, parent, counts: Some(counts), .. } = self.nodes[node] else { continue };
            let counts = std::mem::take(&mut self.functions[counts].counts);
            let Some(caller) = self.nodes[parent].counts else {
                let sum = functions.entry(name).or_default();
                let attributes = if *sum == FunctionCounts::default() { counts.attributes } else { sum.attributes };
                sum.add(counts);
                sum.attributes = attributes;
                continue;
            };
            let caller = &mut self.functions[caller].counts;
            let calls = caller.remove_calls(call, name);
            caller.total = caller.total.saturating_add(counts.total).saturating_sub(calls);
            caller.inlined.entry(call).or_default().entry(name).or_default().add(counts);
        }
        functions
    }
}

/// The key that LLVM hashes a call by, with what makes it unique.
pub(super) fn child_key(guid: u64, name: NameNumber, call: SourcePosition) -> ChildKey {
    let position = u64::from(call.discriminator) << 32 | u64::from(call.line);
    (guid.wrapping_add(position << 5).wrapping_add(position), name, call)
}
