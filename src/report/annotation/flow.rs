//! Basic blocks and loops of a function, counted from branch stacks.
//!
//! Between two branches of a stack, all instructions were executed once, in the recorded number of cycles. A range of several basic
//! blocks divides its cycles evenly among its instructions, since processors record them with taken branches only.

use super::AnnotatedInstruction;
use crate::profile::collect::branch_ranges::BranchRange;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Instructions that were executed one after the other.
pub(super) struct ExecutedRange {
    /// Index of the first instruction.
    pub start: usize,
    /// Index of the last one.
    pub end: usize,
    pub counts: BranchRange,
}

/// A taken branch within the function.
pub(super) struct TakenJump {
    /// Index of its instruction.
    pub from: usize,
    /// Index of its target.
    pub to: usize,
    pub count: u64,
    pub mispredicted: u64,
}

/// What branch stacks say about a function.
#[derive(Debug)]
pub(crate) struct FunctionFlow {
    /// By instruction: how often it was executed.
    pub times: Vec<u64>,
    /// Basic blocks that were executed, those with the most executed instructions first.
    pub blocks: Vec<BasicBlock>,
    /// Loops, those that took the most time first.
    pub loops: Vec<CountedLoop>,
}

/// Instructions that are executed together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BasicBlock {
    /// Indexes of its instructions.
    pub instructions: RangeInclusive<usize>,
    /// How often it was executed.
    pub times: u64,
    /// Mean number of cycles, if cycles are recorded.
    pub cycles: Option<f64>,
}

/// Instructions that are repeated by a jump back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CountedLoop {
    /// Indexes of its instructions, from the target of the jump back to the last jump.
    pub instructions: RangeInclusive<usize>,
    /// How often it was repeated.
    pub iterations: u64,
    /// How many of the jumps back were mispredicted.
    pub mispredicted: u64,
    /// Number of instructions that were executed in it, without those that it calls.
    pub executed: u64,
    /// Mean number of cycles of an iteration, without those of what it calls, if cycles are recorded.
    pub cycles: Option<f64>,
}

impl BasicBlock {
    /// Number of instructions.
    pub(crate) fn len(&self) -> usize {
        self.instructions.clone().count()
    }

    /// Instructions per cycle.
    pub(crate) fn ipc(&self) -> Option<f64> {
        self.cycles.filter(|cycles| *cycles > 0.0).map(|cycles| self.len() as f64 / cycles)
    }
}

impl FunctionFlow {
    /// Counts basic blocks and loops; `None` if nothing of the function was executed.
    pub(super) fn new(
        instructions: &[AnnotatedInstruction],
        ranges: &[ExecutedRange],
        jumps: &[TakenJump],
    ) -> Option<Self> {
        let count = instructions.len();
        let (mut times, mut cycles) = (vec![0_u64; count], vec![0.0; count]);
        let mut has_cycles = false;
        for ExecutedRange { start, end, counts } in ranges {
            let len = (end - start + 1) as f64;
            let mean = if counts.timed > 0 { counts.cycles as f64 / counts.timed as f64 } else { 0.0 };
            has_cycles |= counts.timed > 0;
            for index in *start..=*end {
                times[index] = times[index].saturating_add(counts.count);
                cycles[index] += mean * counts.count as f64 / len;
            }
        }
        if times.iter().all(|&times| times == 0) {
            return None;
        }
        let sum = |range: RangeInclusive<usize>| cycles[range].iter().sum::<f64>();
        let mean = |range: RangeInclusive<usize>, times: u64| has_cycles.then(|| sum(range) / times.max(1) as f64);
        let mut blocks: Vec<_> = basic_blocks(instructions, &times)
            .into_iter()
            .map(|block| BasicBlock { times: times[*block.start()], cycles: None, instructions: block })
            .filter(|block| block.times > 0)
            .collect();
        for block in &mut blocks {
            block.cycles = mean(block.instructions.clone(), block.times);
        }
        blocks.sort_by_key(|block| Reverse(block.times.saturating_mul(block.len() as u64)));
        let mut loops: Vec<_> = repeated(instructions, jumps).into_values().collect();
        for counted in &mut loops {
            let range = counted.instructions.clone();
            counted.executed = times[range.clone()].iter().fold(0, |sum, times| sum.saturating_add(*times));
            counted.cycles = mean(range, counted.iterations);
        }
        let cost = |counted: &CountedLoop| match counted.cycles {
            Some(_) => sum(counted.instructions.clone()) as u64,
            None => counted.executed,
        };
        loops.sort_by_key(|counted| Reverse(cost(counted)));
        Some(Self { times, blocks, loops })
    }
}

/// Divides instructions at targets of jumps, after jumps, and where the number of executions changes.
fn basic_blocks(instructions: &[AnnotatedInstruction], times: &[u64]) -> Vec<RangeInclusive<usize>> {
    let mut is_first = vec![false; instructions.len()];
    for (index, instruction) in instructions.iter().enumerate().filter(|(_, instruction)| instruction.is_jump) {
        let after = is_first.get_mut(index + 1);
        after.into_iter().for_each(|after| *after = true);
        let target = instruction
            .target
            .and_then(|target| instructions.binary_search_by_key(&target, |instruction| instruction.address).ok());
        target.into_iter().for_each(|target| is_first[target] = true);
    }
    let mut blocks: Vec<RangeInclusive<usize>> = Vec::new();
    for index in 0..instructions.len() {
        match blocks.last_mut() {
            Some(block) if !is_first[index] && times[index] == times[index - 1] => *block = *block.start()..=index,
            _ => blocks.push(index..=index),
        }
    }
    blocks
}

/// Loops by their first instruction. Several jumps back to it are one loop.
fn repeated(instructions: &[AnnotatedInstruction], jumps: &[TakenJump]) -> BTreeMap<usize, CountedLoop> {
    let mut loops: BTreeMap<usize, CountedLoop> = BTreeMap::new();
    // A call of the function by itself jumps back, too.
    for jump in jumps.iter().filter(|jump| jump.to <= jump.from && instructions[jump.from].is_jump) {
        let empty = || CountedLoop {
            instructions: jump.to..=jump.from,
            iterations: 0,
            mispredicted: 0,
            executed: 0,
            cycles: None,
        };
        let counted = loops.entry(jump.to).or_insert_with(empty);
        counted.instructions = jump.to..=jump.from.max(*counted.instructions.end());
        counted.iterations = counted.iterations.saturating_add(jump.count);
        counted.mispredicted = counted.mispredicted.saturating_add(jump.mispredicted);
    }
    loops
}
