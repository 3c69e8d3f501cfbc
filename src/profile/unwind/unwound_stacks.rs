//! Counts unwound stacks by their ends.

use hashbrown::HashMap;
use perf_data::session::Session;
use perf_data::session::map::MapId;
use perf_data::stream::ledger::Ledger;
use perf_symbols::unwind::objects::Objects;
use perf_symbols::unwind::walk::StackEnd;

/// Numbers of unwound stacks.
#[derive(Debug, Default)]
pub(crate) struct UnwoundStacks {
    complete: u64,
    at_limit: u64,
    truncated: u64,
    damaged: u64,
    /// By the mapping whose code has no CFI.
    without_cfi: HashMap<MapId, u64>,
    /// Stacks whose last frames are from a recorded call chain.
    pub continued: u64,
    /// Dumps without the registers that unwinding begins with, or of an unknown architecture.
    pub without_registers: u64,
    /// Call chains that are complete, or were completed from the link register.
    pub recorded: u64,
    /// Call chains whose first caller may be in the link register only.
    pub without_leaf_cfi: u64,
}

/// Number of objects that a message lists.
const LISTED: usize = 5;

impl UnwoundStacks {
    /// Counts a stack.
    pub(crate) fn count(&mut self, end: StackEnd) {
        match end {
            StackEnd::Complete => self.complete += 1,
            StackEnd::MaxFrames => self.at_limit += 1,
            StackEnd::Truncated => self.truncated += 1,
            StackEnd::Damaged => self.damaged += 1,
            StackEnd::NoCfi(map) => *self.without_cfi.entry(map).or_default() += 1,
        }
    }

    /// Adds to a ledger how many stacks are incomplete, and why.
    pub(crate) fn note(&self, session: &Session, objects: Option<&Objects>, ledger: &mut Ledger) {
        let Self { complete, at_limit, truncated, damaged, without_cfi, continued, without_registers, .. } = self;
        let ended: u64 = without_cfi.values().sum();
        let all = complete + at_limit + truncated + damaged + continued + ended;
        if ended > 0 {
            let mut ends: HashMap<(&[u8], bool), u64> = HashMap::new();
            for (&map, count) in without_cfi {
                let is_missing = objects.is_some_and(|objects| objects.is_missing(map));
                *ends.entry((&session.map(map).filename, is_missing)).or_default() += count;
            }
            let mut ends: Vec<_> = ends.into_iter().collect();
            ends.sort_by(|(a, count_a), (b, count_b)| count_b.cmp(count_a).then(a.cmp(b)));
            let end = |&((name, is_missing), count): &((&[u8], bool), u64)| {
                let why = if is_missing { ", no matching file" } else { "" };
                format!("{} ({count}{why})", String::from_utf8_lossy(name))
            };
            let mut list: Vec<_> = ends.iter().take(LISTED).map(end).collect();
            if let Some(others) = ends.len().checked_sub(LISTED).filter(|&others| others > 0) {
                list.push(format!("{others} others"));
            }
            // On the recorded machine, no file is missing.
            let rewriting = match ends.iter().any(|&((_, is_missing), _)| is_missing) {
                true => {
                    ", and rewrite --unwind --embed-symbols on the recorded machine a recording that needs no files"
                }
                false => "",
            };
            ledger.missing(format!(
                "user stacks that end where unwind information is missing: {ended} of {all}, in {}; --symfs DIR or \
                 --debug-dir DIR may provide it{rewriting}",
                list.join(", ")
            ));
        }
        if *continued > 0 {
            ledger.note(format!(
                "user stacks that are incomplete and continue with their recorded call chain: {continued} of {all}; \
                 --no-splice omits these frames"
            ));
        }
        if *truncated > 0 {
            ledger.note(format!(
                "user stacks that are longer than their dumps: {truncated} of {all}; perf record --call-graph dwarf,16384 \
                 records larger dumps"
            ));
        }
        if *damaged > 0 {
            ledger.note(format!("user stacks that end at values that are not frames: {damaged} of {all}"));
        }
        if *at_limit > 0 {
            ledger.note(format!(
                "user stacks that are longer than the limit: {at_limit} of {all}; --max-stack N changes it"
            ));
        }
        let Self { recorded, without_leaf_cfi, .. } = self;
        if *without_leaf_cfi > 0 {
            let all = recorded + without_leaf_cfi;
            ledger.note(format!(
                "call chains that may lack the caller of the interrupted function, whose unwind information is missing: \
                 {without_leaf_cfi} of {all}; --symfs DIR or --debug-dir DIR may provide it"
            ));
        }
        if *without_registers > 0 {
            ledger.missing(format!(
                "samples whose user stack dumps cannot be unwound: {without_registers}; their registers or the architecture \
                 are not supported"
            ));
        }
    }
}
