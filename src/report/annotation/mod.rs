//! A function's instructions and source lines with the samples at them.
//!
//! A sample counts at the instruction that was interrupted, and, in `total`, at the calls that lead to it. Instructions of one source
//! line form a block: those that follow each other, or all of them. Where the code is unknown, sampled addresses take the place of
//! instructions, and a reason is given.

mod instructions;

use super::location::{LocationSelection, Locations};
use super::source_files::SourceFiles;
use super::{Counts, Usage};
use crate::profile::symbolize::code::{CodeFunction, FrameFunctions};
use crate::profile::{Frame, Profile};
use hashbrown::HashMap;
use instructions::{disassembled, sampled};
use perf_data::session::names::NameId;
use perf_data::stream::events::EventIndex;
use perf_symbols::symbol::code::MissingCode;
use std::cmp::Reverse;
use std::collections::BTreeMap;
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
    pub position: CodePosition,
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
    pub position: CodePosition,
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
        let functions = grouped(&ids, &found, locations, selection);
        let mut targets: Vec<Option<SelectedFrame>> = vec![None; frames.len()];
        let mut annotated = Vec::new();
        for (number, group) in functions.iter().enumerate() {
            let code = match group.key {
                FunctionKey::Code(index) => found.functions.get(index),
                FunctionKey::Name(..) => None,
            };
            let selected = |index: usize| (ids[index], list[index]);
            let mut function = annotate(profile, locations, selection, group, code, &selected);
            for &(index, address) in &group.frames {
                let after = function.instructions.partition_point(|instruction| instruction.address <= address);
                let Some(at) = after.checked_sub(1) else { continue };
                let instruction = &mut function.instructions[at];
                if address - instruction.address >= u64::from(instruction.len.max(1)) {
                    continue;
                }
                let is_inner = address != instruction.address && !list[index].is_caller;
                instruction.has_inner_samples |= is_inner && instruction.text.is_some();
                targets[ids[index] as usize] = Some(SelectedFrame { function: number, instruction: at });
            }
            function.blocks = blocks(&function.instructions, order);
            annotated.push(function);
        }
        let mut annotation = Self { events: Vec::new(), functions: annotated, code: found.functions };
        annotation.count(profile, &targets, order);
        annotation
    }

    /// Adds the texts of source files with samples that are not found, but that debug information contains.
    pub(crate) fn add_embedded_sources(&self, profile: &Profile, files: &mut SourceFiles<'_>) {
        let Some(sources) = &profile.tables.code else { return };
        for function in &self.functions {
            let Some(code) = function.code.and_then(|index| self.code.get(index)) else { continue };
            let mut missing: BTreeMap<&str, u64> = BTreeMap::new();
            for instruction in function.instructions.iter().filter(|instruction| instruction.has_samples()) {
                let file = &*instruction.position.file;
                if !file.is_empty() && files.text(file).is_none() {
                    missing.entry(file).or_insert(instruction.address);
                }
            }
            let (names, addresses): (Vec<&str>, Vec<u64>) = missing.into_iter().unzip();
            if names.is_empty() {
                continue;
            }
            for (name, text) in names.into_iter().zip(sources.embedded_sources(code, &addresses)) {
                if let Some(text) = text {
                    files.add(name, &text);
                }
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
            // A recursive function is counted once for each row.
            let mut latest: HashMap<(usize, Option<(bool, usize)>), usize> = HashMap::new();
            let rows = profile.rows.iter().enumerate().filter(|(_, row)| row.event == event);
            for (number, row) in rows {
                all += row.into();
                for (depth, frame) in profile.tables.stacks.stack(row.stack).iter().enumerate() {
                    let Some(SelectedFrame { function, instruction }) = targets[*frame as usize] else { continue };
                    let block = block_of[function][instruction];
                    let mut add = |usage: &mut Vec<Usage>, key| {
                        let usage = &mut usage[event_number];
                        if depth == 0 {
                            usage.own += row.into();
                        }
                        if latest.insert((function, key), number) != Some(number) {
                            usage.total += row.into();
                        }
                    };
                    let annotated = &mut self.functions[function];
                    add(&mut annotated.usage, None);
                    add(&mut annotated.instructions[instruction].usage, Some((false, instruction)));
                    add(&mut annotated.blocks[block].usage, Some((true, block)));
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

/// Groups selected frames by function.
fn grouped(
    ids: &[u32],
    found: &FrameFunctions,
    locations: &Locations,
    selection: &LocationSelection,
) -> Vec<FunctionFrames> {
    let (mut groups, mut by_key): (Vec<FunctionFrames>, HashMap<FunctionKey, usize>) = (Vec::new(), HashMap::new());
    for (index, (&id, result)) in ids.iter().zip(&found.frames).enumerate() {
        // The last location is the function that the others are inlined into.
        let Some(&outermost) = locations.frame_locations(id).last() else { continue };
        let location = locations.get(outermost);
        let (key, address) = match *result {
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
    profile: &Profile,
    locations: &Locations,
    selection: &LocationSelection,
    group: &FunctionFrames,
    code: Option<&CodeFunction>,
    selected: &dyn Fn(usize) -> (u32, Frame),
) -> AnnotatedFunction {
    let addresses = || group.frames.iter().map(|&(index, address)| (address, selected(index).0));
    let (mut instructions, missing) = match (code.zip(profile.tables.code.as_ref()), &group.key) {
        (Some((function, sources)), _) => match disassembled(function, sources) {
            Ok(instructions) => (instructions, None),
            Err(reason) => (sampled(addresses(), locations), Some(reason)),
        },
        (None, FunctionKey::Name(_, _, missing)) => (sampled(addresses(), locations), Some(missing.to_string())),
        (None, FunctionKey::Code(_)) => (sampled(addresses(), locations), Some(MissingCode::NoObject.to_string())),
    };
    if !group.is_whole && missing.is_none() {
        let names = selection.names(locations);
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
            BlockOrder::Samples => by_position.get(position).copied(),
        };
        let number = number.unwrap_or_else(|| {
            blocks.push(CodeBlock { position: position.clone(), ..CodeBlock::default() });
            by_position.insert(position, blocks.len() - 1);
            blocks.len() - 1
        });
        blocks[number].instructions.push(index);
    }
    blocks
}
