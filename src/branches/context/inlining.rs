//! Which functions are to be inlined where they are called: those of these calls keep their own counts, all others are added up.
//!
//! Callers first, each function takes in the most frequent of its calls while it does not become too large. The limits are those of
//! llvm-profgen.

use super::super::source_profile::{IS_TO_BE_INLINED, NameNumber, SourceProfile, WAS_INLINED, guid};
use super::super::summary::ProfileSummary;
use super::call_order::callers_first;
use super::sizes::Sizes;
use super::tree::{ContextTree, CountsIndex, NodeIndex, ROOT};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Share of all counts, in millionths: what is not among the largest counts that have it is cold.
const COLD: u64 = 999_999;

/// The same: counts among the largest that have this share are as hot as any.
const HOTTEST: u64 = 100_000;

/// Size in bytes of what is inlined at the hottest calls, before it is multiplied by 100.
const HOT_SIZE: f64 = 1500.0;

/// Factor of that size for what was inlined before.
const INLINED_BEFORE: u64 = 100;

/// How much a function may grow by inlining, and the limits of its size in bytes.
const GROWTH: u64 = 12;
const MAX_SIZE: u64 = 50_000;
const MIN_SIZE: u64 = 100;

/// A call that may be inlined, in ascending order of preference: functions without code, then frequent calls, then small functions.
type Candidate = (bool, u64, Reverse<u64>, u64, CountsIndex);

/// The number of calls of a function by its caller; `None` if one of them has no counts.
pub(super) fn calls_of(tree: &ContextTree, node: NodeIndex) -> Option<u64> {
    let caller = &tree.functions[tree.nodes[tree.nodes[node].parent].counts?].counts;
    let callee = &tree.functions[tree.nodes[node].counts?].counts;
    let targets = caller.body.get(&tree.nodes[node].call).map(|position| &position.targets);
    let calls = targets.and_then(|targets| targets.get(&tree.nodes[node].name)).copied().unwrap_or(0);
    Some(calls.max(callee.estimated_calls()))
}

/// Marks the functions that are to be inlined, and adds the counts of all others to those of the function without callers.
pub(super) fn inline(tree: &mut ContextTree, sizes: &Sizes, names: &SourceProfile) {
    let sums = tree.without_contexts();
    let summary = ProfileSummary::new(sums.values());
    let order = callers_first(tree, names, summary.smallest_at(COLD));
    let mut by_name: BTreeMap<NameNumber, Vec<CountsIndex>> = BTreeMap::new();
    for node in tree.nodes_by_level() {
        if let Some(counts) = tree.nodes[node].counts {
            by_name.entry(tree.nodes[node].name).or_default().push(counts);
        }
    }
    let mut inliner = Inliner { tree, sizes, names, summary };
    for name in order {
        let all = by_name.get(&name).map_or(&[][..], |all| all);
        if let Some(counts) = inliner.tree.base(name, all) {
            inliner.process(counts);
        }
    }
    for node in tree.nodes_by_level() {
        let is_inlined = tree.nodes[node].counts.is_some_and(|counts| tree.functions[counts].is_inlined);
        if tree.nodes[node].parent != ROOT && !is_inlined {
            tree.nodes[node].counts = None;
        }
    }
}

struct Inliner<'a> {
    tree: &'a mut ContextTree,
    sizes: &'a Sizes,
    names: &'a SourceProfile,
    summary: ProfileSummary,
}

impl Inliner<'_> {
    fn process(&mut self, function: CountsIndex) {
        let node = self.tree.functions[function].node;
        let mut size = self.sizes.size(self.tree, node, self.names);
        let limit = size.saturating_mul(GROWTH).clamp(MIN_SIZE, MAX_SIZE);
        let mut candidates = BinaryHeap::new();
        self.add_candidates(function, &mut candidates);
        while size < limit
            && let Some((_, calls, Reverse(own_size), _, callee)) = candidates.pop()
        {
            if self.is_to_be_inlined(callee, calls, own_size) {
                let inlined = &mut self.tree.functions[callee];
                inlined.is_inlined = true;
                inlined.counts.attributes |= IS_TO_BE_INLINED;
                size = size.saturating_add(own_size);
                self.add_candidates(callee, &mut candidates);
            }
        }
    }

    fn add_candidates(&self, caller: CountsIndex, candidates: &mut BinaryHeap<Candidate>) {
        let tree = &*self.tree;
        for &node in tree.nodes[tree.functions[caller].node].children.values() {
            let Some((counts, calls)) = tree.nodes[node].counts.zip(calls_of(tree, node)) else { continue };
            let size = self.sizes.size(tree, node, self.names);
            let guid = guid(self.names.name(tree.name(counts)));
            candidates.push((size == 0, calls, Reverse(size), guid, counts));
        }
    }

    fn is_to_be_inlined(&self, callee: CountsIndex, calls: u64, size: u64) -> bool {
        let (cold, hottest) = (self.summary.smallest_at(COLD), self.summary.smallest_at(HOTTEST));
        if calls <= cold {
            return size == 0;
        }
        // As hot as any if all counts are the same.
        let heat = ((calls - cold) as f64 / (hottest as f64 - cold as f64)).min(1.0);
        let limit = (HOT_SIZE * heat * 100.0) as u64;
        let was_inlined = self.tree.functions[callee].counts.attributes & WAS_INLINED != 0;
        size <= if was_inlined { limit * INLINED_BEFORE } else { limit }
    }
}
