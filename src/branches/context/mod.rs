//! Counts by the callers of functions (context-sensitive profiles), from samples with a call chain and a branch stack.
//!
//! * `unwind`: the callers of each range and branch; `tail_calls`: callers that call chains lack.
//! * `tree`: counts of functions by pseudo probe, by their callers.
//! * `inlining`: which of them are worth their own counts, by their frequency and their `sizes`, in `call_order`.

mod call_order;
mod inlining;
mod sizes;
mod tail_calls;
mod tree;
mod unwind;

use super::binary::{BinaryBranches, End};
use super::code_index::CodeIndex;
use super::disjoint::disjoint;
use super::functions::Functions;
use super::probes::{Probe, Probes};
use super::source_profile::{NameNumber, SourcePosition, SourceProfile, WAS_INLINED};
use hashbrown::HashSet;
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::{Ledger, counted};
use perf_symbols::symbol::source_lookup::SourceLookup;
use sizes::Sizes;
use std::collections::{BTreeMap, BTreeSet};
use tail_calls::TailCalls;
use tree::{ContextTree, CountsIndex, NodeIndex, ROOT};
use unwind::Unwinder;

pub(crate) use unwind::{ContextCounts, Contexts, OUTSIDE};

/// The probe of a function's entry.
const ENTRY: u32 = 1;

/// The counts of an object by the addresses of callers.
///
/// # Errors
/// If the recording has no samples with a call chain, or the code cannot be decoded.
pub(crate) fn contexts(binary: &BinaryBranches, ledger: &mut Ledger) -> Result<Contexts> {
    let mut contexts = Contexts::new();
    unwound(binary, ledger, &mut |unwound, _, _| contexts = unwound.contexts)?;
    Ok(contexts)
}

/// The counts of an object by function, those of calls that are worth it separately.
///
/// # Errors
/// If the recording has no samples with a call chain, or the object has no pseudo probes.
pub(crate) fn attribute(binary: &BinaryBranches, ledger: &mut Ledger) -> Result<SourceProfile> {
    let name = binary.object.name();
    let Some(probes) = Probes::read(&binary.files) else {
        let problem =
            "has no pseudo probes, which profiles by callers need; compile it with -fpseudo-probe-for-profiling";
        return Err(Error::not_found(format!("{name} {problem}")));
    };
    let mut profile = SourceProfile::default();
    unwound(binary, ledger, &mut |Unwound { contexts, functions, mut names }, code, source| {
        let sampled = sampled_functions(&contexts, &functions);
        let sizes = source.map(|source| Sizes::new(&sampled, &functions, &probes, source, code, &mut names));
        let tail_calls = TailCalls::new(&contexts, &functions, code);
        let tree = ContextTree::default();
        let mut attribution =
            ContextAttribution { tree, names: &mut names, functions: &functions, probes: &probes, tail_calls };
        attribution.add(&contexts);
        let mut tree = attribution.tree;
        if let Some(sizes) = sizes {
            inlining::inline(&mut tree, &sizes, &names);
        }
        profile = names;
        profile.functions = tree.nested();
        profile.is_preinlined = true;
    })?;
    if profile.functions.is_empty() {
        return Err(Error::not_found(format!("{name}: no sampled function has pseudo probes")));
    }
    Ok(profile.with_sorted_names())
}

/// The unwound samples of an object.
struct Unwound {
    contexts: Contexts,
    /// Functions, if the object has debug information, and their names.
    functions: Functions,
    names: SourceProfile,
}

/// What is derived from unwound samples, the code, and its debug information if it has any.
type OnUnwound<'o> = dyn FnMut(Unwound, &mut CodeIndex<'_>, Option<&SourceLookup<'_, '_>>) + 'o;

/// Unwinds the samples of an object.
fn unwound(binary: &BinaryBranches, ledger: &mut Ledger, on_unwound: &mut OnUnwound<'_>) -> Result<()> {
    let name = binary.object.name();
    if binary.without_stacks() {
        return Err(Error::not_found(
            "the recording has no samples with call chains and branch stacks; record with perf record --call-graph fp -b",
        ));
    }
    let Some(mut code) = CodeIndex::new(&binary.files) else {
        let problem = "its code is needed, with symbols, and only instructions of x86 and AArch64 can be decoded";
        return Err(Error::invalid(format!("{name}: {problem}")));
    };
    let touched = touched(binary);
    let (mut samples, mut without_chain) = (0, 0);
    let mut process = |source: Option<&SourceLookup<'_, '_>>| {
        let mut names = SourceProfile::default();
        let functions =
            source.map(|source| Functions::read(binary, source, &mut names, &touched, touched.iter().copied()));
        let functions = functions.unwrap_or_default();
        let mut unwinder = Unwinder::new(&mut code, &functions);
        binary.each_stack(&mut |chain, branches| unwinder.add(chain, branches));
        (samples, without_chain) = (unwinder.samples, unwinder.without_chain);
        let contexts = unwinder.finish();
        on_unwound(Unwound { contexts, functions, names }, &mut code, source);
    };
    if !binary.files.with_source(&mut |source| process(Some(source))) {
        process(None);
    }
    if without_chain > 0 {
        ledger.missing(format!(
            "{} at the start or end of a function, or outside of {name}, of {samples}; their callers are unknown",
            counted(without_chain, "sample")
        ));
    }
    Ok(())
}

/// The addresses of branches and of frames in the object, sorted.
fn touched(binary: &BinaryBranches) -> Vec<u64> {
    let mut touched = HashSet::new();
    binary.each_stack(&mut |chain, branches| {
        let ends = branches.iter().flat_map(|&(from, to)| [from, to]);
        touched.extend(chain.iter().copied().chain(ends).filter_map(End::address));
    });
    let mut touched: Vec<_> = touched.into_iter().collect();
    touched.sort_unstable();
    touched
}

/// The functions with ranges, branches or calls.
fn sampled_functions(contexts: &Contexts, functions: &Functions) -> BTreeSet<usize> {
    let addresses = contexts.iter().flat_map(|(context, counts)| {
        let starts = counts.ranges.keys().map(|&(start, _)| start);
        let ends = counts.branches.keys().flat_map(|&(from, to)| [from, to]);
        context.iter().copied().chain(starts).chain(ends)
    });
    addresses.filter_map(|address| Some(functions.part(address)?.1.function)).collect()
}

/// A function with the position of the next call in it.
type ContextFrame = (NameNumber, SourcePosition);

/// Adds up counts by probe.
struct ContextAttribution<'a> {
    tree: ContextTree,
    names: &'a mut SourceProfile,
    functions: &'a Functions,
    probes: &'a Probes,
    tail_calls: TailCalls,
}

impl ContextAttribution<'_> {
    fn add(&mut self, contexts: &Contexts) {
        // Probes of a function, inlined or not, whose counts are 0 if they are not executed.
        let mut executed: BTreeMap<u32, BTreeSet<CountsIndex>> = BTreeMap::new();
        for (context, counts) in contexts {
            let mut sums: BTreeMap<usize, (&Probe, u64)> = BTreeMap::new();
            for (range, count) in disjoint(&counts.ranges) {
                for probe in self.probes.within(range).iter().filter(|probe| !probe.is_call && count > 0) {
                    sums.entry(std::ptr::from_ref(probe) as usize).or_insert((probe, 0)).1 += count;
                }
            }
            for (probe, count) in sums.into_values() {
                if let Some(counts) = self.add_block(context, probe, count) {
                    executed.entry(probe.frame).or_default().insert(counts);
                }
            }
            for (&(from, to), &count) in &counts.branches {
                self.add_call(context, from, to, count);
            }
        }
        for probe in self.probes.list() {
            for &counts in executed.get(&probe.frame).into_iter().flatten() {
                let position = SourcePosition { line: probe.index, discriminator: probe.discriminator };
                self.tree.functions[counts].counts.body.entry(position).or_default();
            }
        }
    }

    /// Counts a block.
    fn add_block(&mut self, context: &[u64], probe: &Probe, count: u64) -> Option<CountsIndex> {
        let (node, inliner) = self.node(context, probe)?;
        let index = self.tree.counts(node);
        let position = SourcePosition { line: probe.index, discriminator: probe.discriminator };
        let counts = &mut self.tree.functions[index].counts;
        let sum = &mut counts.body.entry(position).or_default().count;
        *sum = sum.saturating_add(count);
        counts.total = counts.total.saturating_add(count);
        if probe.index == ENTRY {
            counts.head = counts.head.saturating_add(count);
            let (parent, call, name) = {
                let node = &self.tree.nodes[node];
                (node.parent, node.call, node.name)
            };
            // What is inlined is not called by a branch.
            if let Some(checksum) = inliner.filter(|_| parent != ROOT) {
                let caller = self.tree.counts(parent);
                let caller = &mut self.tree.functions[caller].counts;
                caller.checksum = Some(checksum);
                caller.total = caller.total.saturating_add(count);
                let position = caller.body.entry(call).or_default();
                position.count = position.count.saturating_add(count);
                *position.targets.entry(name).or_default() += count;
            }
        }
        Some(index)
    }

    /// Counts a branch from a call.
    fn add_call(&mut self, context: &[u64], from: u64, to: u64, count: u64) {
        let probes = self.probes;
        let Some(probe) = probes.call_at(from) else { return };
        let Some((node, _)) = self.node(context, probe) else { return };
        let callee = self.functions.entered(to, self.names);
        let index = self.tree.counts(node);
        let counts = &mut self.tree.functions[index].counts;
        counts.total = counts.total.saturating_add(count);
        let call = SourcePosition { line: probe.index, discriminator: 0 };
        let position = counts.body.entry(call).or_default();
        position.count = position.count.saturating_add(count);
        if let Some(callee) = callee {
            *position.targets.entry(callee).or_default() += count;
        }
    }

    /// The function of a probe below its callers, and the checksum of the function that it is inlined into.
    fn node(&mut self, context: &[u64], probe: &Probe) -> Option<(NodeIndex, Option<u64>)> {
        let mut calls = Vec::new();
        self.tail_calls.complete(context, probe.address, self.functions, &mut calls);
        // Compilers cannot use callers above a call without a probe.
        let first = calls.iter().rposition(|&call| self.probes.call_at(call).is_none()).map_or(0, |last| last + 1);
        let mut frames: Vec<ContextFrame> = Vec::new();
        for &call in &calls[first..] {
            let probes = self.probes;
            self.add_frames(probes.call_at(call)?, &mut frames);
        }
        self.add_frames(probe, &mut frames);
        let (leaf, _) = frames.pop()?;
        unwind::remove_repetitions(&mut frames);
        let outermost = frames.len().saturating_sub(unwind::DEPTH);
        let (mut node, mut call) = (ROOT, SourcePosition::default());
        for &(name, position) in &frames[outermost..] {
            node = self.tree.child(node, call, name, self.names);
            call = position;
        }
        let node = self.tree.child(node, call, leaf, self.names);
        let chain = self.probes.frames(probe);
        let inliner = chain.len().checked_sub(2).map(|index| chain[index].0.checksum);
        let checksum = chain.last()?.0.checksum;
        let index = self.tree.counts(node);
        let counts = &mut self.tree.functions[index].counts;
        counts.checksum = Some(checksum);
        counts.attributes |= if self.probes.is_inlined(probe) { WAS_INLINED } else { 0 };
        Some((node, inliner))
    }

    /// Adds the functions at a probe. Above a call whose probe is unknown, callers are of no use.
    fn add_frames(&mut self, probe: &Probe, frames: &mut Vec<ContextFrame>) {
        let (functions, is_cut) = self.probes.named_frames(probe);
        if is_cut {
            frames.clear();
        }
        for (function, index) in functions {
            let name = self.names.number(&function.name);
            frames.push((name, SourcePosition { line: index, discriminator: 0 }));
        }
    }
}
