//! Callers that are missing in call chains because they ended in a jump to the called function (a tail call).
//!
//! If the recorded branches lead from a call to the function of the next frame by jumps between functions, in one way only, these are
//! added. As in llvm-profgen.

use super::super::code::Flow;
use super::super::code_index::CodeIndex;
use super::super::functions::Functions;
use super::unwind::Contexts;
use hashbrown::{HashMap, HashSet};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of jumps between two frames.
const DEPTH: usize = 128;

/// Index of a function.
type FunctionIndex = usize;

/// The calls and jumps between functions that were recorded.
#[derive(Default)]
pub(super) struct TailCalls {
    /// Functions that were called from an address.
    calls: BTreeMap<u64, BTreeSet<FunctionIndex>>,
    /// Functions that were jumped to from an address in another.
    jumps: BTreeMap<u64, BTreeSet<FunctionIndex>>,
    /// Addresses of these jumps by function.
    jumps_of_function: HashMap<FunctionIndex, Vec<u64>>,
    targets: HashSet<FunctionIndex>,
    /// Results of the search: the only way, or the number of ways, up to two.
    ways: HashMap<(FunctionIndex, FunctionIndex), Result<Vec<u64>, usize>>,
    visiting: HashSet<FunctionIndex>,
}

impl TailCalls {
    pub(super) fn new(contexts: &Contexts, functions: &Functions, code: &mut CodeIndex<'_>) -> Self {
        let mut tail_calls = Self::default();
        for &(from, to) in contexts.values().flat_map(|counts| counts.branches.keys()) {
            let parts = functions.part(from).zip(functions.part(to));
            let Some(((_, source), (_, target))) = parts else { continue };
            let callee = target.function;
            let flow = code.flow(from);
            if flow == Some(Flow::Call) {
                tail_calls.calls.entry(from).or_default().insert(callee);
            } else if flow == Some(Flow::Jump) && source.function != callee {
                tail_calls.jumps.entry(from).or_default().insert(callee);
                tail_calls.targets.insert(callee);
            }
        }
        for &from in tail_calls.jumps.keys() {
            if let Some((_, part)) = functions.part(from) {
                tail_calls.jumps_of_function.entry(part.function).or_default().push(from);
            }
        }
        tail_calls
    }

    /// Adds missing callers to the addresses of calls, to which that of the leaf is added. The result has no leaf.
    pub(super) fn complete(&mut self, context: &[u64], leaf: u64, functions: &Functions, out: &mut Vec<u64>) {
        out.clear();
        for (index, &from) in context.iter().enumerate() {
            out.push(from);
            let to = context.get(index + 1).copied().unwrap_or(leaf);
            let Some((_, to)) = functions.part(to) else { continue };
            let to = to.function;
            let Some(callees) = self.calls.get(&from).filter(|callees| !callees.contains(&to)) else { continue };
            if !self.targets.contains(&to) {
                continue;
            }
            let callees = callees.clone();
            self.visiting.clear();
            let before = out.len();
            if self.search_all(&callees, to, out) != 1 {
                out.truncate(before);
            }
        }
    }

    /// The number of ways from any of these functions to another; beyond one, they are not all counted. The only one is appended.
    fn search_all(&mut self, from: &BTreeSet<FunctionIndex>, to: FunctionIndex, way: &mut Vec<u64>) -> usize {
        let mut ways = 0;
        for &callee in from {
            ways += self.search(callee, to, way);
            if ways > 1 {
                break;
            }
        }
        ways
    }

    /// The number of ways from one function to another, up to two; the only one is appended.
    fn search(&mut self, from: FunctionIndex, to: FunctionIndex, way: &mut Vec<u64>) -> usize {
        if from == to {
            return 1;
        }
        if self.visiting.contains(&from) || self.visiting.len() == DEPTH {
            return 0;
        }
        match self.ways.get(&(from, to)) {
            Some(Ok(only)) => {
                way.extend(only);
                return 1;
            }
            Some(Err(ways)) => return *ways,
            None => {}
        }
        let Some(jumps) = self.jumps_of_function.get(&from).cloned() else { return 0 };
        self.visiting.insert(from);
        let (before, mut ways) = (way.len(), 0);
        for jump in jumps {
            let callees = self.jumps.get(&jump).cloned().unwrap_or_default();
            let before = way.len();
            way.push(jump);
            let ways_of_jump = self.search_all(&callees, to, way);
            if ways_of_jump != 1 {
                way.truncate(before);
            }
            ways += ways_of_jump;
            if ways > 1 {
                break;
            }
        }
        self.visiting.remove(&from);
        if ways != 1 {
            way.truncate(before);
        }
        let result = if ways == 1 { Ok(way[before..].to_vec()) } else { Err(ways.min(2)) };
        self.ways.insert((from, to), result);
        ways
    }
}
