//! A function's instructions and source lines with the samples at them.
//!
//! A sample counts at the instruction that was interrupted, and, in `total`, at the calls that lead to it. Instructions of one source
//! line form a block: those that follow each other, or all of them. Where the code is unknown, sampled addresses take the place of
//! instructions, and a reason is given.

pub(crate) mod flow;
mod instructions;

use super::location::{LocationSelection, Locations};
use super::source_files::SourceFiles;
use super::{Counts, Usage};
use crate::profile::intern::stacks::StackId;
use crate::profile::symbolize::code::{CodeFunction, FrameFunctions};
use crate::profile::{Frame, Profile};
use flow::{ExecutedRange, FunctionFlow, TakenJump};
use hashbrown::{HashMap, HashSet};
use instructions::{disassembled, sampled};
use perf_data::session::names::NameId;
use perf_data::stream::events::EventIndex;
use perf_symbols::symbol::code::MissingCode;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

/// The order of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum BlockOrder {
    /// By address: a block is what lies together
    #[default]
    Address,
    /// By samples: a block is all code of a source line
    Samples,
}

/// Functions with the samples at their instructions.
#[derive(Debug)]
pub(crate) struct Annotation {
    /// The events with samples in these functions, with the counts of all their samples.
    pub events: Vec<(EventIndex, Counts)>,
    /// The functions, those with the most samples first.
    pub functions: Vec<AnnotatedFunction>,
    code: Vec<CodeFunction>,
}

/// A function.
#[derive(Debug)]
pub(crate) struct AnnotatedFunction {
    /// Its name.
    pub name: NameId,
    /// Name of its file.
    pub dso: NameId,
    /// Counts of its samples, by event.
    pub usage: Vec<Usage>,
    /// By address.
    pub instructions: Vec<AnnotatedInstruction>,
    /// The source lines.
    pub blocks: Vec<CodeBlock>,
    /// Basic blocks and loops, if branch stacks count them.
    pub flow: Option<FunctionFlow>,
    /// Why its instructions are unknown.
    pub missing: Option<String>,
    /// Time of the file that its code is from.
    pub modified: Option<SystemTime>,
    /// Index of its code.
    code: Option<usize>,
}

/// An instruction, or an address with samples.
#[derive(Debug)]
pub(crate) struct AnnotatedInstruction {
    /// Address, as the symbol table states it.
    pub address: u64,
    /// Number of its bytes.
    pub len: u8,
    /// Text; `None` for an address.
    pub text: Option<String>,
    /// Address of a direct jump or call.
    pub target: Option<u64>,
    /// Whether it may jump within the function.
    pub is_jump: bool,
    /// Where it is from.
    pub position: Arc<CodePosition>,
    /// Whether samples are at an address inside of it, where no instruction begins.
    pub has_inner_samples: bool,
    /// Counts of samples, by event.
    pub usage: Vec<Usage>,
}

/// A source line, and the functions that are inlined there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct CodePosition {
    /// Path of the source file; empty if unknown.
    pub file: String,
    /// Line; 0 if unknown.
    pub line: i64,
    /// Inlined functions, the innermost first.
    pub inlined: Vec<InlinedFunction>,
}

/// An inlined function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct InlinedFunction {
    /// Full name.
    pub name: String,
    /// Short name.
    pub short: String,
}

/// Instructions of one position.
#[derive(Debug, Default)]
pub(crate) struct CodeBlock {
    /// The position.
    pub position: Arc<CodePosition>,
    /// Indexes of its instructions.
    pub instructions: Vec<usize>,
    /// Counts of samples, by event.
    pub usage: Vec<Usage>,
}

/// A selected frame in a function.
#[derive(Clone, Copy)]
struct SelectedFrame {
    function: usize,
    instruction: usize,
}

/// What identifies a function: its code, or else its name and file.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum FunctionKey {
    Code(usize),
    Name(NameId, NameId, MissingCode),
}

/// A function whose instructions are not yet counted.
struct FunctionFrames {
    key: FunctionKey,
    name: NameId,
    dso: NameId,
    /// Indexes of its frames in the list of selected frames, and their addresses.
    frames: Vec<(usize, u64)>,
    /// Whether a frame is selected by the function itself, not only by what is inlined into it.
    is_whole: bool,
}

impl Annotation {
    /// Annotates the functions that contain selected locations.
    pub(crate) fn new(
        profile: &Profile,
        locations: &Locations,
        selection: &LocationSelection,
        order: BlockOrder,
    ) -> Self {
        let tables = &*profile.tables;
        let is_selected = |location: &u32| selection.is_selected[*location as usize];
        let frames = tables.stacks.frames();
        let ids: Vec<u32> =
            (0..frames.len() as u32).filter(|&id| locations.frame_locations(id).iter().any(is_selected)).collect();
        let list: Vec<Frame> = ids.iter().map(|&id| frames[id as usize]).collect();
        let found = match &tables.code {
            Some(code) => code.functions(&list),
            None => {
                let missing = |frame: &Frame| Err((MissingCode::NoObject, frame.address));
                FrameFunctions { functions: Vec::new(), frames: list.iter().map(missing).collect() }
            }
        };
        let is_sampled = sampled_frames(profile);
        let functions = grouped(&ids, &found, locations, selection, &is_sampled);
        let code_of = |group: &FunctionFrames| match group.key {
            FunctionKey::Code(index) => found.functions.get(index),
            FunctionKey::Name(..) => None,
        };
        let with_code: Vec<&CodeFunction> = functions.iter().filter_map(code_of).collect();
        let decoded = tables.code.as_ref().map(|sources| disassembled(&with_code, sources)).unwrap_or_default();
        let mut decoded = decoded.into_iter();
        let mut targets: Vec<Option<SelectedFrame>> = vec![None; frames.len()];
        let names = selection.names(locations);
        let mut annotated = Vec::new();
        for (number, group) in functions.iter().enumerate() {
            let code = code_of(group);
            let instructions = code.and_then(|_| decoded.next());
            let mut function = annotate(locations, &names, (group, code), instructions, &|index| ids[index]);
            for &(index, address) in &group.frames {
                let after = function.instructions.partition_point(|instruction| instruction.address <= address);
                let Some(at) = after.checked_sub(1) else { continue };
                let instruction = &mut function.instructions[at];
                if address - instruction.address >= u64::from(instruction.len.max(1)) {
                    continue;
                }
                let is_inner =
                    address != instruction.address && !list[index].is_caller && is_sampled[ids[index] as usize];
                instruction.has_inner_samples |= is_inner && instruction.text.is_some();
                targets[ids[index] as usize] = Some(SelectedFrame { function: number, instruction: at });
            }
            function.blocks = blocks(&function.instructions, order);
            annotated.push(function);
        }
        let mut annotation = Self { events: Vec::new(), functions: annotated, code: found.functions };
        annotation.add_flow(profile, &targets);
        annotation.count(profile, &targets, order);
        annotation.functions.retain(|function| {
            function.flow.is_some() || function.usage.iter().any(|usage| usage.total != Counts::default())
        });
        annotation
    }

    /// Adds the texts of source files with samples that are not found, but that debug information contains or a server has.
    pub(crate) fn add_missing_sources(&self, profile: &Profile, files: &mut SourceFiles<'_>) {
        let Some(sources) = &profile.tables.code else { return };
        let mut wanted = Vec::new();
        for function in &self.functions {
            let Some(code) = function.code.and_then(|index| self.code.get(index)) else { continue };
            let mut missing: BTreeMap<&str, u64> = BTreeMap::new();
            for instruction in function.instructions.iter().filter(|instruction| instruction.has_samples()) {
                let file = &*instruction.position.file;
                if !file.is_empty() && files.text(file).is_none() {
                    missing.entry(file).or_insert(instruction.address);
                }
            }
            wanted.extend(missing.into_iter().map(|(name, address)| (code, address, name)));
        }
        for ((.., name), text) in wanted.iter().zip(sources.sources(&wanted)) {
            if let Some(text) = text {
                files.add(name, &text);
            }
        }
    }

    /// Counts the basic blocks and loops of functions.
    fn add_flow(&mut self, profile: &Profile, targets: &[Option<SelectedFrame>]) {
        let counted = &profile.tables.branch_ranges;
        let ends = |first: u32, second: u32| {
            let [first, second] = [first, second].map(|frame| targets[frame as usize]);
            let (first, second) = first.zip(second)?;
            (first.function == second.function).then_some((first.function, first.instruction, second.instruction))
        };
        let mut by_function: HashMap<usize, (Vec<ExecutedRange>, Vec<TakenJump>)> = HashMap::new();
        for range in &counted.ranges {
            if let Some((function, start, end)) = ends(range.start, range.end).filter(|(_, start, end)| start <= end) {
                let executed = ExecutedRange { start, end, counts: *range };
                by_function.entry(function).or_default().0.push(executed);
            }
        }
        for branch in &counted.branches {
            if let Some((function, from, to)) = ends(branch.from, branch.to) {
                let jump = TakenJump { from, to, count: branch.count, mispredicted: branch.mispredicted };
                by_function.entry(function).or_default().1.push(jump);
            }
        }
        for (number, (ranges, jumps)) in by_function {
            let function = &mut self.functions[number];
            if function.missing.is_none() {
                function.flow = FunctionFlow::new(&function.instructions, &ranges, &jumps);
            }
        }
    }

    /// Counts the samples of all events.
    fn count(&mut self, profile: &Profile, targets: &[Option<SelectedFrame>], order: BlockOrder) {
        let events: Vec<EventIndex> = profile.has_samples.iter().copied().collect();
        let block_of: Vec<Vec<usize>> = self.functions.iter().map(AnnotatedFunction::block_numbers).collect();
        for (event_number, &event) in events.iter().enumerate() {
            for function in &mut self.functions {
                let instructions = function.instructions.iter_mut().map(|instruction| &mut instruction.usage);
                let blocks = function.blocks.iter_mut().map(|block| &mut block.usage);
                instructions.chain(blocks).chain([&mut function.usage]).for_each(|usage| usage.push(Usage::default()));
            }
            let mut all = Counts::default();
            // Rows of a timeline, one of each sample, share stacks.
            let mut by_stack: HashMap<StackId, Counts> = HashMap::new();
            for row in profile.rows.iter().filter(|row| row.event == event) {
                all += row.into();
                *by_stack.entry(row.stack).or_default() += row.into();
            }
            // By function: the latest stack that was counted for it, for its instructions and for its blocks. A recursive function is
            // counted once for each stack.
            let counted = |function: &AnnotatedFunction| {
                vec![usize::MAX; 1 + function.instructions.len() + function.blocks.len()]
            };
            let mut latest: Vec<Vec<usize>> = self.functions.iter().map(counted).collect();
            for (number, (&stack, &counts)) in by_stack.iter().enumerate() {
                for (depth, frame) in profile.tables.stacks.stack(stack).iter().enumerate() {
                    let Some(SelectedFrame { function, instruction }) = targets[*frame as usize] else { continue };
                    let block = block_of[function][instruction];
                    let mut add = |usage: &mut Vec<Usage>, index: usize| {
                        let usage = &mut usage[event_number];
                        if depth == 0 {
                            usage.own += counts;
                        }
                        if std::mem::replace(&mut latest[function][index], number) != number {
                            usage.total += counts;
                        }
                    };
                    let annotated = &mut self.functions[function];
                    let first_block = 1 + annotated.instructions.len();
                    add(&mut annotated.usage, 0);
                    add(&mut annotated.instructions[instruction].usage, 1 + instruction);
                    add(&mut annotated.blocks[block].usage, first_block + block);
                }
            }
            self.events.push((event, all));
        }
        self.omit_unused_events();
        self.functions.sort_by_key(|function| Reverse(function.usage.iter().map(|usage| usage.total).max()));
        if order == BlockOrder::Samples {
            let most = |block: &CodeBlock| Reverse(block.usage.iter().map(|usage| (usage.own, usage.total)).max());
            self.functions.iter_mut().for_each(|function| function.blocks.sort_by_key(most));
        }
    }

    /// Removes the columns of events without samples in the functions.
    fn omit_unused_events(&mut self) {
        let is_used =
            |number: usize| self.functions.iter().any(|function| function.usage[number].total != Counts::default());
        let used: Vec<bool> = (0..self.events.len()).map(is_used).collect();
        let retain = |usage: &mut Vec<Usage>| {
            let mut used = used.iter();
            usage.retain(|_| used.next() == Some(&true));
        };
        for function in &mut self.functions {
            let instructions = function.instructions.iter_mut().map(|instruction| &mut instruction.usage);
            let blocks = function.blocks.iter_mut().map(|block| &mut block.usage);
            instructions.chain(blocks).chain([&mut function.usage]).for_each(retain);
        }
        let mut used = used.iter();
        self.events.retain(|_| used.next() == Some(&true));
    }
}

impl AnnotatedFunction {
    /// By instruction: the number of its block.
    fn block_numbers(&self) -> Vec<usize> {
        let mut numbers = vec![0; self.instructions.len()];
        for (number, block) in self.blocks.iter().enumerate() {
            block.instructions.iter().for_each(|&instruction| numbers[instruction] = number);
        }
        numbers
    }

    /// The source files of lines with samples.
    pub(crate) fn sampled_files(&self) -> BTreeSet<&str> {
        let has_samples = |block: &&CodeBlock| block.usage.iter().any(|usage| usage.total != Counts::default());
        let files = self.blocks.iter().filter(has_samples).map(|block| &*block.position.file);
        files.filter(|file| !file.is_empty()).collect()
    }

    /// By instruction: whether it has samples, or is at most so many instructions from one that has.
    pub(crate) fn near_samples(&self, context: usize) -> Vec<bool> {
        let mut near = vec![false; self.instructions.len()];
        for (index, instruction) in self.instructions.iter().enumerate() {
            if instruction.has_samples() {
                let end = near.len().min(index.saturating_add(context).saturating_add(1));
                near[index.saturating_sub(context)..end].fill(true);
            }
        }
        near
    }
}

impl AnnotatedInstruction {
    /// Whether any event has samples at it.
    pub(crate) fn has_samples(&self) -> bool {
        self.usage.iter().any(|usage| usage.total != Counts::default())
    }
}

/// By frame: whether it is in the stack of a sample, not only an end of a branch.
fn sampled_frames(profile: &Profile) -> Vec<bool> {
    let tables = &*profile.tables;
    let has_branches = !tables.branch_ranges.branches.is_empty();
    let mut is_sampled = vec![!has_branches; tables.stacks.frames().len()];
    for row in profile.rows.iter().filter(|_| has_branches) {
        tables.stacks.stack(row.stack).iter().for_each(|&frame| is_sampled[frame as usize] = true);
    }
    is_sampled
}

/// Groups selected frames by function.
fn grouped(
    ids: &[u32],
    found: &FrameFunctions,
    locations: &Locations,
    selection: &LocationSelection,
    is_sampled: &[bool],
) -> Vec<FunctionFrames> {
    let (mut groups, mut by_key): (Vec<FunctionFrames>, HashMap<FunctionKey, usize>) = (Vec::new(), HashMap::new());
    for (index, (&id, result)) in ids.iter().zip(&found.frames).enumerate() {
        // The last location is the function that the others are inlined into.
        let Some(&outermost) = locations.frame_locations(id).last() else { continue };
        let location = locations.get(outermost);
        let (key, address) = match *result {
            // Ends of branches have no samples.
            Err(_) if !is_sampled[id as usize] => continue,
            Ok((function, address)) => (FunctionKey::Code(function), address),
            Err((missing, address)) => (FunctionKey::Name(location.function, location.dso, missing), address),
        };
        let group = *by_key.entry(key).or_insert_with(|| {
            let (name, dso) = (location.function, location.dso);
            groups.push(FunctionFrames { key, name, dso, frames: Vec::new(), is_whole: false });
            groups.len() - 1
        });
        groups[group].frames.push((index, address));
        groups[group].is_whole |= selection.is_selected[outermost as usize];
    }
    groups
}

/// A function with its instructions, or with addresses if they are unknown, without counts.
fn annotate(
    locations: &Locations,
    names: &HashSet<Cow<'_, str>>,
    (group, code): (&FunctionFrames, Option<&CodeFunction>),
    decoded: Option<Result<Vec<AnnotatedInstruction>, String>>,
    frame: &dyn Fn(usize) -> u32,
) -> AnnotatedFunction {
    let addresses = || group.frames.iter().map(|&(index, address)| (address, frame(index)));
    let (mut instructions, missing) = match (decoded, &group.key) {
        (Some(Ok(instructions)), _) => (instructions, None),
        (Some(Err(reason)), _) => (sampled(addresses(), locations), Some(reason)),
        (None, FunctionKey::Name(_, _, missing)) => (sampled(addresses(), locations), Some(missing.to_string())),
        (None, FunctionKey::Code(_)) => (sampled(addresses(), locations), Some(MissingCode::NoObject.to_string())),
    };
    if !group.is_whole && missing.is_none() {
        instructions.retain(|instruction| {
            instruction.position.inlined.iter().any(|function| names.contains(function.name.as_str()))
        });
    }
    AnnotatedFunction {
        name: group.name,
        dso: group.dso,
        usage: Vec::new(),
        instructions,
        blocks: Vec::new(),
        flow: None,
        missing,
        modified: code.and_then(|function| function.code.modified),
        code: match group.key {
            FunctionKey::Code(index) => Some(index),
            FunctionKey::Name(..) => None,
        },
    }
}

/// Groups instructions by position.
fn blocks(instructions: &[AnnotatedInstruction], order: BlockOrder) -> Vec<CodeBlock> {
    let mut blocks: Vec<CodeBlock> = Vec::new();
    let mut by_position: HashMap<&CodePosition, usize> = HashMap::new();
    for (index, instruction) in instructions.iter().enumerate() {
        let position = &instruction.position;
        let number = match order {
            BlockOrder::Address => blocks.len().checked_sub(1).filter(|&last| blocks[last].position == *position),
            BlockOrder::Samples => by_position.get(&**position).copied(),
        };
        let number = number.unwrap_or_else(|| {
            blocks.push(CodeBlock { position: Arc::clone(position), ..CodeBlock::default() });
            by_position.insert(position, blocks.len() - 1);
            blocks.len() - 1
        });
        blocks[number].instructions.push(index);
    }
    blocks
}
