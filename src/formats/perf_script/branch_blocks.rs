//! Prints the instructions that ran between the branches of a branch stack, as perf script does.
//!
//! Each block begins at the target of a branch and ends at the source of the next one, from the oldest branch to the sample. The bytes
//! are those of the recorded files: where a file is missing, or its code is not that of the branches, the block is omitted.

use super::call_chain::last_component;
use super::fields::{FieldSet, SRCLINE};
use super::printer::Printer;
use crate::formats::framework::sample_writer::SampleState;
use crate::profile::intern::mappings::Mappings;
use crate::profile::intern::stacks::{FrameId, Stacks};
use crate::profile::symbolize::function_name::with_version;
use crate::profile::symbolize::symbols::{FunctionId, Line};
use crate::profile::symbolize::{SymbolSources, Symbolization};
use hashbrown::HashMap;
use perf_data::abi::sample::branch::BranchFlags;
use perf_data::session::map::MapId;
use perf_data::session::space::Space;
use perf_data::stream::meta::Meta;
use perf_symbols::disassembly::{Disassembler, Instruction, InstructionClass};
use std::borrow::Cow;
use std::io::Write;
use std::rc::Rc;

/// Longest block in bytes, as in perf.
const MAX_BLOCK: u64 = 16384 - MAX_INSTRUCTION;

/// Longest instruction in bytes, with which a block can end.
const MAX_INSTRUCTION: u64 = 15;

/// Number of bytes in which perf searches the next branch, if a sample is not in the block that the newest branch leads to.
const SEARCHED: u64 = 128;

/// Number of blocks that are kept: those of hot loops recur in all samples.
const MAX_BLOCKS: usize = 1 << 16;

/// What is printed of instructions.
const BYTES: FieldSet = FieldSet::from_names(&["brstackinsn"]);
const LENGTHS: FieldSet = FieldSet::from_names(&["brstackinsnlen"]);
const TEXTS: FieldSet = FieldSet::from_names(&["brstackdisasm"]);

/// Code of blocks.
pub(super) struct BlockCode {
    sources: SymbolSources,
    /// Whether source files are printed without their directories.
    has_short_paths: bool,
    files: Option<BlockFiles>,
    blocks: HashMap<BlockKey, Rc<Block>>,
}

/// Where code and symbols are looked up.
struct BlockFiles {
    symbolization: Symbolization,
    mappings: Mappings,
    stacks: Stacks,
}

/// A block in a mapping.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct BlockKey {
    map: MapId,
    start: u64,
    end: u64,
}

/// The instructions of a block, up to bytes that are none.
struct Block {
    instructions: Vec<BlockInstruction>,
    /// Address behind the last instruction.
    limit: u64,
}

struct BlockInstruction {
    address: u64,
    /// 0 of bytes that are no instruction.
    len: u8,
    is_branch: bool,
    hex: String,
    text: String,
    /// Its function.
    symbol: Option<BlockSymbol>,
    /// Its source file and line: the function whose code it is, which may be inlined, and the line.
    line: Option<Line>,
}

#[derive(Clone, Copy)]
struct BlockSymbol {
    function: FunctionId,
    start: u64,
    offset: i64,
}

/// A branch of a stack.
#[derive(Clone, Copy)]
struct Entry {
    from: u64,
    to: u64,
    flags: BranchFlags,
}

/// What is known while the blocks of a sample are printed.
struct Listing {
    fields: FieldSet,
    /// Start of the function whose name was printed last.
    latest: Option<u64>,
    /// Sum of the cycles of the branches so far.
    cycles: u64,
}

impl BlockCode {
    /// Code that is looked up with symbols.
    pub(super) fn new(sources: &SymbolSources, has_short_paths: bool) -> Self {
        Self { sources: sources.clone(), has_short_paths, files: None, blocks: HashMap::new() }
    }

    /// The instructions from `start` to the one at `end`; `None` if the code is unknown.
    fn block(&mut self, (state, meta): (&SampleState, &Meta), pid: u32, start: u64, end: u64) -> Option<Rc<Block>> {
        let is_block = start != 0 && end != 0 && space(start) == space(end);
        if !is_block || end.checked_sub(start)? > MAX_BLOCK {
            return None;
        }
        let map = state.session.map_at(pid, space(start), start)?;
        let key = BlockKey { map, start, end };
        if let Some(block) = self.blocks.get(&key) {
            return (!block.instructions.is_empty()).then(|| Rc::clone(block));
        }
        if self.blocks.len() >= MAX_BLOCKS {
            self.blocks.clear();
        }
        let block = Rc::new(self.decode(state, meta, key));
        self.blocks.insert(key, Rc::clone(&block));
        (!block.instructions.is_empty()).then_some(block)
    }

    fn decode(&mut self, state: &SampleState, meta: &Meta, key: BlockKey) -> Block {
        let Self { sources, files, .. } = self;
        let files = files.get_or_insert_with(|| BlockFiles {
            symbolization: Symbolization::new(sources, meta).keep_objects().keep_code(meta),
            mappings: Mappings::new(sources.has_objects()),
            stacks: Stacks::default(),
        });
        let mut block = Block { instructions: Vec::new(), limit: key.start };
        let first = files.look_up(state, key.map, &[key.start])[0];
        let frame = files.stacks.frames()[first as usize];
        let len = (key.end - key.start + MAX_INSTRUCTION) as usize;
        let Some(code) = files.symbolization.code_from(frame, len) else { return block };
        let disassembler = code.machine.and_then(|machine| Disassembler::new(machine, code.is_64));
        let Some(disassembler) = disassembler else { return block };
        block = decoded(disassembler, &code.bytes, key);
        let addresses: Vec<u64> = block.instructions.iter().map(|instruction| instruction.address).collect();
        let ids = files.look_up(state, key.map, &addresses);
        let symbols = files.symbolization.symbols();
        for (instruction, id) in block.instructions.iter_mut().zip(ids) {
            let function = symbols.frame_function(id).and_then(|_| Some(symbols.lines(id).last()?.function));
            let symbol = |(function, offset): (FunctionId, i64)| {
                let start = instruction.address.wrapping_sub(offset as u64);
                BlockSymbol { function, start, offset }
            };
            instruction.symbol = function.zip(symbols.symbol_offset(id)).map(symbol);
            instruction.line = symbols.lines(id).first().copied();
        }
        block
    }

    /// The source file of a line; `None` if it is unknown.
    fn source_file(&self, line: Line) -> Option<Cow<'_, str>> {
        let symbols = self.files.as_ref().map(|files| files.symbolization.symbols())?;
        let path = symbols.name(symbols.function(line.function)?.file);
        let path = if self.has_short_paths { last_component(path) } else { path };
        (!path.is_empty()).then(|| String::from_utf8_lossy(path))
    }

    /// The name of a function.
    fn name(&self, function: FunctionId) -> Cow<'_, str> {
        let symbols = self.files.as_ref().map(|files| files.symbolization.symbols());
        let name = symbols.and_then(|symbols| Some(with_version(symbols.function(function)?, symbols)));
        String::from_utf8_lossy(name.unwrap_or_default())
    }
}

impl BlockFiles {
    /// Looks up addresses in a mapping, and returns their frames.
    fn look_up(&mut self, state: &SampleState, map: MapId, addresses: &[u64]) -> Vec<FrameId> {
        let Self { symbolization, mappings, stacks } = self;
        let frame = |&address| stacks.frame_id(mappings.frame(map, || state.session.map(map), address, false));
        let ids = addresses.iter().map(frame).collect();
        symbolization.look_up(stacks.frames(), mappings.list(), state.session.process_files());
        ids
    }
}

/// The address space of an end of a branch.
fn space(address: u64) -> Space {
    if address >> 63 == 1 { Space::Kernel } else { Space::User }
}

/// Decodes a block up to the instruction at its end.
fn decoded(disassembler: Disassembler, bytes: &[u8], key: BlockKey) -> Block {
    let mut block = Block { instructions: Vec::new(), limit: key.start };
    while block.limit <= key.end {
        let rest = bytes.get((block.limit - key.start) as usize..).unwrap_or_default();
        if rest.is_empty() {
            break;
        }
        let address = block.limit;
        let mut text = String::new();
        let instruction = disassembler.decode_text(rest, address, &mut text);
        let len = instruction.map_or(0, |instruction| instruction.len);
        let hex = rest[..usize::from(len)].iter().map(|byte| format!("{byte:02x} ")).collect();
        let is_branch = |instruction: Instruction| instruction.class != InstructionClass::Other;
        let is_branch = instruction.is_some_and(is_branch);
        block.instructions.push(BlockInstruction { address, len, is_branch, hex, text, symbol: None, line: None });
        block.limit += u64::from(len);
        if len == 0 {
            break;
        }
    }
    block
}

/// Blocks with the bytes of their instructions.
pub(super) fn bytes(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    blocks(printer, out);
}

/// Blocks with the lengths of their instructions, unless another field prints them.
pub(super) fn lengths(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    if !printer.fields.has(BYTES) {
        blocks(printer, out);
    }
}

/// Blocks with the texts of their instructions, unless another field prints their bytes.
pub(super) fn texts(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    if !printer.fields.has(BYTES | LENGTHS) {
        blocks(printer, out);
    }
}

/// The blocks of the sample's branch stack.
fn blocks(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let decoded = printer.sample.decoded;
    let Some(stack) = decoded.view.branch_stack else { return };
    let mut words = stack.entries.iter();
    let mut entries = Vec::with_capacity(stack.len());
    while let (Some(from), Some(to), Some(flags)) = (words.next(), words.next(), words.next()) {
        entries.push(Entry { from, to, flags: BranchFlags::from_word(flags, decoded.raw.endian()) });
    }
    let Some((&newest, &oldest)) = entries.first().zip(entries.last()) else { return };
    out.push(b'\n');
    let (pid, ip) = (printer.sample.pid(), decoded.view.ip.unwrap_or(0));
    let mut listing = Listing { fields: printer.fields, latest: None, cycles: 0 };
    let Printer { state, block_code: code, .. } = printer;
    let state = (&**state, decoded.meta);
    // What ran before the oldest branch is unknown.
    if let Some(block) = code.block(state, pid, oldest.from, oldest.from) {
        block.instructions.iter().take(1).for_each(|branch| listing.branch(code, branch, oldest.flags, 0, out));
    }
    let mut index = entries.len() - 1;
    while let Some(next) = index.checked_sub(1) {
        let start = entries[index].to;
        index = next;
        // The processor may record the way out of the kernel, but not the way into it.
        if space(start) != space(entries[index].from) && index > 0 {
            index -= 1;
        }
        let Entry { from: end, flags, .. } = entries[index];
        let Some(block) = code.block(state, pid, start, end) else { continue };
        let mut is_at_end = false;
        for (number, instruction) in (1..).zip(&block.instructions) {
            is_at_end = instruction.address == end;
            match is_at_end {
                true => listing.branch(code, instruction, flags, number, out),
                false => listing.instruction(code, instruction, out),
            }
        }
        if !is_at_end && block.limit != end {
            out.extend_from_slice(b"\tmismatch of LBR data and executable\n");
        }
    }
    // The code behind a branch that is the sample's own has not run yet.
    if newest.from == ip || newest.flags.get(BranchFlags::ABORT) == 1 {
        return;
    }
    let end = if ip < newest.to { newest.to.saturating_add(SEARCHED) } else { ip };
    let reached = code.block(state, pid, newest.to, end);
    let is_whole = reached.is_some();
    let Some(block) = reached.or_else(|| code.block(state, pid, ip, ip)) else { return };
    block.instructions.iter().take(1).for_each(|first| listing.symbol(code, first, out));
    for instruction in &block.instructions {
        listing.line(instruction, out);
        out.push(b'\n');
        if is_whole && instruction.is_branch && instruction.address != ip {
            out.extend_from_slice(b"\t... not reaching sample ...\n");
            break;
        }
    }
}

impl Listing {
    /// The name of an instruction's function, if it differs from the one that was printed before.
    fn symbol(&mut self, code: &BlockCode, instruction: &BlockInstruction, out: &mut Vec<u8>) {
        let Some(symbol) = instruction.symbol.filter(|symbol| self.latest != Some(symbol.start)) else { return };
        self.latest = Some(symbol.start);
        let name = code.name(symbol.function);
        // Writing to a vector cannot fail.
        let _ = match symbol.offset {
            0 => write!(out, "\t{name}:"),
            offset => write!(out, "\t{name}{offset:+}:"),
        };
        if let Some(line) = instruction.line.filter(|_| self.fields.has(SRCLINE))
            && let Some(file) = code.source_file(line)
        {
            let _ = write!(out, "\t{file}:{}", line.line);
        }
        out.push(b'\n');
    }

    /// Address and instruction.
    fn line(&self, instruction: &BlockInstruction, out: &mut Vec<u8>) {
        let _ = write!(out, "\t{:016x}\t{}", instruction.address, self.text(instruction));
        if self.fields.has(LENGTHS) {
            let _ = write!(out, "\tilen: {}", instruction.len);
        }
    }

    fn text(&self, instruction: &BlockInstruction) -> String {
        match instruction.len {
            0 => "<bad>".to_owned(),
            _ if self.fields.has(TEXTS) && !self.fields.has(BYTES | LENGTHS) => instruction.text.clone(),
            _ => format!("insn: {}", instruction.hex),
        }
    }

    /// An instruction that continues with the next one.
    fn instruction(&mut self, code: &BlockCode, instruction: &BlockInstruction, out: &mut Vec<u8>) {
        self.symbol(code, instruction, out);
        self.line(instruction, out);
        out.push(b'\n');
    }

    /// A branch, the instruction with this number in its block; 0 if the block is unknown.
    fn branch(
        &mut self,
        code: &BlockCode,
        instruction: &BlockInstruction,
        flags: BranchFlags,
        number: u32,
        out: &mut Vec<u8>,
    ) {
        self.symbol(code, instruction, out);
        let _ = write!(out, "\t{:016x}\t{:<30}\t", instruction.address, self.text(instruction));
        if self.fields.has(LENGTHS) {
            let _ = write!(out, "ilen: {}\t", instruction.len);
        }
        out.push(b'#');
        let named = [
            (BranchFlags::PREDICTED, " PRED"),
            (BranchFlags::MISPRED, " MISPRED"),
            (BranchFlags::IN_TX, " INTX"),
            (BranchFlags::ABORT, " ABORT"),
        ];
        let set = named.into_iter().filter(|(field, _)| flags.get(*field) == 1);
        set.for_each(|(_, text)| out.extend_from_slice(text.as_bytes()));
        let cycles = flags.get(BranchFlags::CYCLES);
        if cycles > 0 {
            self.cycles += cycles;
            let _ = write!(out, " {cycles} cycles [{}]", self.cycles);
            if number > 0 {
                let _ = write!(out, " {:.2} IPC", number as f32 / cycles as f32);
            }
        }
        out.push(b'\n');
    }
}
