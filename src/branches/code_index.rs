//! Instructions of an object by address. Code is decoded where it is needed, from the symbol before it on.

use super::code::{Code, CodeInstruction, Flow};
use hashbrown::HashMap;
use perf_symbols::symbol::elf::ElfFiles;

/// The instructions of an object, as far as it has symbols.
pub(crate) struct CodeIndex<'a> {
    code: Code<'a>,
    /// Addresses of symbols, sorted.
    symbols: Vec<u64>,
    /// What is asked for again and again: samples have a few thousand distinct addresses and ranges.
    instructions: HashMap<u64, Option<CodeInstruction>>,
    calls: HashMap<u64, Option<u64>>,
    ranges: HashMap<(u64, u64), bool>,
}

impl<'a> CodeIndex<'a> {
    /// `None` if instructions of the object cannot be decoded, or it has no symbols.
    pub(crate) fn new(files: &'a ElfFiles) -> Option<Self> {
        let code = Code::new(files.object()?)?;
        let mut symbols = Vec::new();
        files.each_symbol(&mut |address, _| symbols.push(address));
        symbols.sort_unstable();
        symbols.dedup();
        let (instructions, calls, ranges) = Default::default();
        (!symbols.is_empty()).then_some(Self { code, symbols, instructions, calls, ranges })
    }

    /// Decodes the code of the symbol that an address is in.
    fn decode(&mut self, address: u64) {
        let after = self.symbols.partition_point(|&start| start <= address);
        if let Some(&start) = after.checked_sub(1).and_then(|index| self.symbols.get(index)) {
            self.code.decode(start..self.symbols.get(after).copied().unwrap_or(u64::MAX));
        }
    }

    /// The instruction that begins at an address.
    pub(super) fn instruction(&mut self, address: u64) -> Option<CodeInstruction> {
        if let Some(instruction) = self.instructions.get(&address) {
            return *instruction;
        }
        self.decode(address);
        let instruction = self.code.instructions_at(address).and_then(|list| list.first()).copied();
        self.instructions.insert(address, instruction);
        instruction
    }

    /// Whether an instruction begins at an address.
    pub(crate) fn is_code(&mut self, address: u64) -> bool {
        self.instruction(address).is_some()
    }

    /// Where execution continues after the instruction at an address.
    pub(super) fn flow(&mut self, address: u64) -> Option<Flow> {
        self.instruction(address).map(|instruction| instruction.flow)
    }

    /// The last instruction before an address.
    pub(super) fn before(&mut self, address: u64) -> Option<CodeInstruction> {
        self.decode(address.checked_sub(1)?);
        self.code.last_before(address)
    }

    /// The address of the call that returns to an address.
    pub(super) fn call_before(&mut self, address: u64) -> Option<u64> {
        if let Some(call) = self.calls.get(&address) {
            return *call;
        }
        let call = self.before(address).filter(|instruction| instruction.flow == Flow::Call);
        let call = call.map(|instruction| instruction.address);
        self.calls.insert(address, call);
        call
    }

    /// Whether code runs from the instruction at `start` to that at `end`: not over a jump, a call or a return.
    pub(crate) fn runs_through(&mut self, start: u64, end: u64) -> bool {
        if let Some(&is_possible) = self.ranges.get(&(start, end)) {
            return is_possible;
        }
        let mut address = start;
        while address < end {
            match self.instruction(address) {
                Some(CodeInstruction { len, flow: Flow::Next, .. }) => address += u64::from(len.max(1)),
                _ => break,
            }
        }
        let is_possible = address == end;
        self.ranges.insert((start, end), is_possible);
        is_possible
    }
}
