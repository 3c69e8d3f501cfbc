//! The instructions of functions: where each begins, how long it is, and whether code runs on behind it.

use object::elf::SHT_NOBITS;
#[cfg(feature = "disassembly")]
use perf_symbols::disassembly::{Disassembler, InstructionClass};
use perf_symbols::symbol::object::Object;
use std::collections::BTreeMap;
use std::ops::Range;

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodeInstruction {
    /// Address.
    pub address: u64,
    /// Length in bytes.
    pub len: u8,
    /// Where execution continues.
    pub flow: Flow,
}

/// Where execution continues after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// With the next instruction, at least at times.
    Next,
    /// In another function.
    Call,
    /// Elsewhere, always.
    Jump,
    /// In the caller.
    Return,
}

/// Decodes the instructions of bytes at an address.
type DecodeCode = Box<dyn Fn(&[u8], u64) -> Vec<CodeInstruction>>;

/// The instructions of some functions.
pub(super) struct Code<'a> {
    decode: DecodeCode,
    /// Addresses and bytes of the sections with code.
    sections: Vec<(u64, &'a [u8])>,
    /// Instructions by the start of their part of a function.
    parts: BTreeMap<u64, Vec<CodeInstruction>>,
}

/// Sections with stubs of linkers, which belong to no function.
const STUBS: &[u8] = b".plt";

impl<'a> Code<'a> {
    /// The code of an object; `None` if its instructions cannot be decoded.
    pub(super) fn new(object: &'a Object) -> Option<Self> {
        let decode = decoder(object)?;
        let sections = object.sections().iter().enumerate();
        let sections = sections
            .filter(|(_, section)| section.is_executable && section.kind != SHT_NOBITS.0 && &*section.name != STUBS);
        let sections = sections.map(|(index, section)| (section.address, object.section_data(index))).collect();
        Some(Self { decode, sections, parts: BTreeMap::new() })
    }

    /// Decodes a part of a function, as far as it is in a section with code.
    pub(super) fn decode(&mut self, part: Range<u64>) {
        let Self { decode, sections, parts } = self;
        let bytes = sections.iter().find_map(|(address, data)| {
            let start = usize::try_from(part.start.checked_sub(*address)?).ok()?;
            let end = usize::try_from(part.end.checked_sub(*address)?).unwrap_or(usize::MAX);
            data.get(start..end.min(data.len()))
        });
        let Some(bytes) = bytes else { return };
        parts.entry(part.start).or_insert_with(|| decode(bytes, part.start));
    }

    /// The instructions from an address on to the end of its part; `None` if none begins there.
    pub(super) fn instructions_at(&self, address: u64) -> Option<&[CodeInstruction]> {
        let rest = self.instructions_from(address);
        rest.first().is_some_and(|first| first.address == address).then_some(rest)
    }

    /// The last instruction before an address, in the part that begins before it.
    pub(super) fn last_before(&self, address: u64) -> Option<CodeInstruction> {
        let (_, list) = self.parts.range(..address).next_back()?;
        list.get(list.partition_point(|instruction| instruction.address < address).checked_sub(1)?).copied()
    }

    /// The instructions that begin at an address or after it, to the end of its part.
    pub(super) fn instructions_from(&self, address: u64) -> &[CodeInstruction] {
        let part = self.parts.range(..=address).next_back();
        part.map_or(&[], |(_, list)| &list[list.partition_point(|instruction| instruction.address < address)..])
    }
}

/// Decodes instructions of the architecture of an object, if it is known.
#[cfg(feature = "disassembly")]
fn decoder(object: &Object) -> Option<DecodeCode> {
    let disassembler = Disassembler::new(object.machine(), object.is_64())?;
    Some(Box::new(move |bytes, start| decoded(disassembler, bytes, start)))
}

#[cfg(not(feature = "disassembly"))]
fn decoder(_: &Object) -> Option<DecodeCode> {
    None
}

#[cfg(feature = "disassembly")]
fn decoded(disassembler: Disassembler, bytes: &[u8], start: u64) -> Vec<CodeInstruction> {
    let (mut list, mut offset) = (Vec::new(), 0);
    while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
        let address = start + offset as u64;
        let (len, class) = match disassembler.decode(rest, address) {
            Some(instruction) => (instruction.len, instruction.class),
            // Data in code.
            None => (disassembler.alignment(), InstructionClass::Other),
        };
        let flow = match class {
            InstructionClass::Call => Flow::Call,
            InstructionClass::Jump => Flow::Jump,
            InstructionClass::Return => Flow::Return,
            // As seen without the kernel, system calls continue with the next instruction.
            _ => Flow::Next,
        };
        list.push(CodeInstruction { address, len, flow });
        offset += usize::from(len).max(1);
    }
    list
}

#[cfg(all(test, feature = "disassembly"))]
mod tests {
    use super::*;
    use object::elf::{EM_AARCH64, EM_X86_64};

    #[test]
    fn instructions_after_which_code_does_not_run_on() {
        // push rbp; je +2; call rax; syscall; jmp -2; ret
        let bytes = [0x55, 0x74, 2, 0xff, 0xd0, 0x0f, 0x05, 0xeb, 0xfe, 0xc3];
        let list = decoded(Disassembler::new(EM_X86_64.0, true).unwrap(), &bytes, 0x1000);
        let instructions: Vec<_> = list.iter().map(|i| (i.address - 0x1000, i.len, i.flow)).collect();
        use Flow::{Call, Jump, Next, Return};
        assert_eq!(
            instructions,
            [(0, 1, Next), (1, 2, Next), (3, 2, Call), (5, 2, Next), (7, 2, Jump), (9, 1, Return)]
        );
        let words = [
            (0x1400_0001, true),  // b
            (0x9400_0001, true),  // bl
            (0xd61f_0200, true),  // br x16
            (0xd63f_0100, true),  // blr x8
            (0xd65f_03c0, true),  // ret
            (0xd65f_0bff, true),  // retaa
            (0xd71f_0a11, true),  // braa x16, x17
            (0x5400_0041, false), // b.ne
            (0xb400_0040, false), // cbz
            (0xd69f_03e0, false), // eret
            (0xd503_201f, false), // nop
        ];
        let aarch64 = Disassembler::new(EM_AARCH64.0, true).unwrap();
        for (word, is_unconditional) in words {
            let list = decoded(aarch64, &u32::to_le_bytes(word), 0);
            assert_eq!((list.len(), list[0].flow != Flow::Next), (1, is_unconditional), "{word:x}");
        }
    }
}
