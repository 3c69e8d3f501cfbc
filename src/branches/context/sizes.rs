//! The sizes of functions in bytes, where they were inlined and by themselves, as llvm-profgen measures them.

use super::super::code_index::CodeIndex;
use super::super::discriminator;
use super::super::functions::Functions;
use super::super::probes::Probes;
use super::super::source_profile::{NameNumber, SourcePosition, SourceProfile, guid};
use super::tree::{ChildKey, ContextTree, NodeIndex, ROOT, child_key};
use hashbrown::HashSet;
use perf_symbols::symbol::source_lookup::SourceLookup;
use std::collections::{BTreeMap, BTreeSet};

/// A function and, below it, the functions that it was inlined into.
#[derive(Default)]
struct SizeNode {
    children: BTreeMap<ChildKey, usize>,
    size: Option<u64>,
}

/// Sizes by function, then by the callers that it was inlined into.
pub(super) struct Sizes {
    nodes: Vec<SizeNode>,
}

impl Sizes {
    /// The sizes of these functions, and of those inlined into them.
    pub(super) fn new(
        sampled: &BTreeSet<usize>,
        functions: &Functions,
        probes: &Probes,
        source: &SourceLookup<'_, '_>,
        code: &mut CodeIndex<'_>,
        names: &mut SourceProfile,
    ) -> Self {
        let mut sizes = Self { nodes: vec![SizeNode::default()] };
        let mut frames: Vec<(NameNumber, u32)> = Vec::new();
        for part in sampled.iter().flat_map(|&function| &functions.list[function].parts) {
            let mut address = part.start;
            while let Some(instruction) = code.instruction(address).filter(|_| address < part.end) {
                frames.clear();
                source.each_frame(address, &mut |frame| {
                    let name = (!frame.function.is_empty()).then(|| names.number(frame.function));
                    frames.push((name.unwrap_or(NameNumber::MAX), discriminator::probe(frame.discriminator)));
                });
                // Innermost first: without a name, what is inlined there is unknown.
                let unknown = frames.iter().rposition(|(name, _)| *name == NameNumber::MAX).map_or(0, |last| last + 1);
                sizes.add(&frames[unknown..], instruction.len.into(), names);
                address += u64::from(instruction.len.max(1));
            }
        }
        let sampled: HashSet<Box<[u8]>> =
            sampled.iter().map(|&function| names.name(functions.list[function].name).into()).collect();
        sizes.add_without_code(probes, &sampled, names);
        sizes
    }

    /// Of functions of which nothing but probes is left, the size is 0.
    fn add_without_code(&mut self, probes: &Probes, sampled: &HashSet<Box<[u8]>>, names: &mut SourceProfile) {
        let mut seen = HashSet::new();
        for probe in probes.list().iter().filter(|probe| seen.insert(probe.frame)) {
            let frames = probes.frames(probe);
            if frames.first().is_some_and(|(function, _)| sampled.contains(&function.name)) {
                let frames = frames.iter().rev().map(|(function, call)| (names.number(&function.name), *call));
                let frames: Vec<_> = frames.collect();
                self.add(&frames, 0, names);
            }
        }
    }

    /// Adds to the size of a function, with the functions that it was inlined into and the probes of the calls.
    fn add(&mut self, frames: &[(NameNumber, u32)], size: u64, names: &SourceProfile) {
        let mut node = 0;
        for (index, &(name, call)) in frames.iter().enumerate() {
            let line = if index == 0 { 0 } else { call };
            let position = SourcePosition { line, discriminator: 0 };
            let key = child_key(guid(names.name(name)), name, position);
            node = match self.nodes[node].children.get(&key) {
                Some(&child) => child,
                None => {
                    let child = self.nodes.len();
                    self.nodes.push(SizeNode::default());
                    self.nodes[node].children.insert(key, child);
                    child
                }
            };
        }
        *self.nodes[node].size.get_or_insert(0) += size;
    }

    /// The size of a function with its callers, or with as many of them as there is a size for.
    pub(super) fn size(&self, tree: &ContextTree, mut node: NodeIndex, names: &SourceProfile) -> u64 {
        let (mut current, mut call, mut size) = (0, SourcePosition::default(), None);
        while node != ROOT {
            let name = tree.nodes[node].name;
            let key = child_key(guid(names.name(name)), name, call);
            let Some(&child) = self.nodes[current].children.get(&key) else { break };
            current = child;
            size = self.nodes[current].size.or(size);
            (call, node) = (tree.nodes[node].call, tree.nodes[node].parent);
        }
        // Otherwise with other callers.
        while size.is_none() {
            let Some(&child) = self.nodes[current].children.values().next() else { break };
            current = child;
            size = self.nodes[current].size;
        }
        size.unwrap_or(0)
    }
}
