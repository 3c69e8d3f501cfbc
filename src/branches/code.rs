//! The instructions of functions: where each begins, how long it is, and whether code runs on behind it.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};
use object::elf::{EM_386, EM_AARCH64, EM_X86_64, SHT_NOBITS};
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
    /// Whether it never continues with the next one: an unconditional jump, a call or a return.
    pub is_unconditional: bool,
}

/// How instructions are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InstructionSet {
    /// x86 with addresses of this many bits.
    X86(u32),
    AArch64,
}

/// The instructions of some functions.
pub(super) struct Code<'a> {
    set: InstructionSet,
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
        let set = match object.machine() {
            machine if machine == EM_X86_64.0 => InstructionSet::X86(64),
            machine if machine == EM_386.0 => InstructionSet::X86(32),
            machine if machine == EM_AARCH64.0 => InstructionSet::AArch64,
            _ => return None,
        };
        let sections = object.sections().iter().enumerate();
        let sections = sections
            .filter(|(_, section)| section.is_executable && section.kind != SHT_NOBITS.0 && &*section.name != STUBS);
        let sections = sections.map(|(index, section)| (section.address, object.section_data(index))).collect();
        Some(Self { set, sections, parts: BTreeMap::new() })
    }

    /// Decodes a part of a function, if it is in a section with code.
    pub(super) fn decode(&mut self, part: Range<u64>) {
        let Self { set, sections, parts } = self;
        let bytes = sections.iter().find_map(|(address, data)| {
            let start = usize::try_from(part.start.checked_sub(*address)?).ok()?;
            let len = usize::try_from(part.end.checked_sub(part.start)?).ok()?;
            data.get(start..start.checked_add(len)?)
        });
        let Some(bytes) = bytes else { return };
        parts.entry(part.start).or_insert_with(|| match *set {
            InstructionSet::X86(bits) => x86(bytes, bits, part.start),
            InstructionSet::AArch64 => aarch64(bytes, part.start),
        });
    }

    /// The instructions from an address on to the end of its part; `None` if none begins there.
    pub(super) fn instructions_at(&self, address: u64) -> Option<&[CodeInstruction]> {
        let rest = self.instructions_from(address);
        rest.first().is_some_and(|first| first.address == address).then_some(rest)
    }

    /// The instructions that begin at an address or after it, to the end of its part.
    pub(super) fn instructions_from(&self, address: u64) -> &[CodeInstruction] {
        let part = self.parts.range(..=address).next_back();
        part.map_or(&[], |(_, list)| &list[list.partition_point(|instruction| instruction.address < address)..])
    }
}

fn x86(bytes: &[u8], bits: u32, start: u64) -> Vec<CodeInstruction> {
    let mut decoder = Decoder::with_ip(bits, bytes, start, DecoderOptions::NONE);
    let (mut list, mut instruction) = (Vec::new(), Instruction::default());
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        let is_jump = matches!(
            instruction.flow_control(),
            FlowControl::UnconditionalBranch
                | FlowControl::IndirectBranch
                | FlowControl::Return
                | FlowControl::IndirectCall
        );
        list.push(CodeInstruction {
            address: instruction.ip(),
            len: instruction.len() as u8,
            // System calls, which iced counts as calls, continue with the next instruction for whoever sees no kernel.
            is_unconditional: is_jump || instruction.is_call_near() || instruction.is_call_far(),
        });
    }
    list
}

fn aarch64(bytes: &[u8], start: u64) -> Vec<CodeInstruction> {
    let instruction = |(address, word): (u64, &[u8; 4])| CodeInstruction {
        address,
        len: 4,
        is_unconditional: is_unconditional_aarch64(u32::from_le_bytes(*word)),
    };
    (start..).step_by(4).zip(bytes.as_chunks().0).map(instruction).collect()
}

/// Whether this is B, BL, BR, BLR, RET or one of their forms with pointer authentication.
fn is_unconditional_aarch64(word: u32) -> bool {
    // B and BL differ in the highest bit.
    let is_immediate = word & 0x7c00_0000 == 0x1400_0000;
    // The opcodes of BR, BLR and RET are 0, 1 and 2; with authentication, bit 24 or bits 10 and 11 are set.
    let is_register = word & 0xfe1f_f000 == 0xd61f_0000 && word >> 21 & 7 <= 2;
    is_immediate || is_register
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_after_which_code_does_not_run_on() {
        // push rbp; je +2; call rax; syscall; jmp -2; ret
        let bytes = [0x55, 0x74, 2, 0xff, 0xd0, 0x0f, 0x05, 0xeb, 0xfe, 0xc3];
        let list = x86(&bytes, 64, 0x1000);
        let found: Vec<_> = list.iter().map(|i| (i.address - 0x1000, i.len, i.is_unconditional)).collect();
        assert_eq!(found, [(0, 1, false), (1, 2, false), (3, 2, true), (5, 2, false), (7, 2, true), (9, 1, true)]);
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
        let mistaken: Vec<_> = words.iter().filter(|(word, is)| is_unconditional_aarch64(*word) != *is).collect();
        assert!(mistaken.is_empty(), "{mistaken:x?}");
    }
}
