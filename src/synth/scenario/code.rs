//! Machine code of synthetic functions: it contains the branches of the scenario and nothing else, so that disassembly agrees
//! with the recorded branches.

use gimli::write::{Address, CallFrameInstruction, CommonInformationEntry, EhFrame, EndianVec, FrameDescriptionEntry};
use gimli::write::{FrameTable, Writer};
use gimli::{Encoding, Format, RunTimeEndian, X86_64};
use object::elf;
use perf_data::abi::bytes::Integer;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Limit on the size of images with code. Functions beyond it have names only.
pub(crate) const MAX_SIZE: u64 = 1 << 24;

/// Stack frame size of each function, with the return address at its end.
pub(crate) const FRAME: usize = 32;

const NOP: u8 = 0x90;
const RET: u8 = 0xc3;
const CALL: u8 = 0xe8;
/// `je rel32`.
const JE: [u8; 2] = [0x0f, 0x84];
const JMP_RAX: [u8; 2] = [0xff, 0xe0];
const CALL_RAX: [u8; 2] = [0xff, 0xd0];

/// Whether code can be generated for a machine.
pub(crate) fn is_supported(machine: u16) -> bool {
    machine == elf::EM_X86_64.0
}

/// Code of the function at the offset `start` of its image. Each branch has an offset in the function and a target offset in
/// the image, `None` outside of it. `starts` are the offsets of all functions in the image.
pub(crate) fn function_code(
    start: u64,
    size: u64,
    branches: impl Iterator<Item = (u64, Option<u64>)>,
    starts: &HashSet<u64>,
) -> Vec<u8> {
    let mut code = vec![NOP; size as usize];
    if let Some(last) = code.last_mut() {
        *last = RET;
    }
    let mut targets: BTreeMap<u64, BTreeSet<Option<u64>>> = BTreeMap::new();
    for (offset, to) in branches {
        targets.entry(offset).or_default().insert(to);
    }
    for (offset, to) in targets {
        let to: Vec<_> = to.into_iter().collect();
        let at = start + offset;
        let relative = |len: u64, to: u64| (to.wrapping_sub(at + len) as i64 as i32).to_le_bytes();
        let is_own = |to: u64| (start..start + size).contains(&to);
        let instruction = match to[..] {
            [Some(to)] if is_own(to) && to > start => [&JE[..], &relative(6, to)].concat(),
            [Some(to)] if starts.contains(&to) => [&[CALL][..], &relative(5, to)].concat(),
            [Some(_)] => vec![RET],
            _ if to.iter().all(|to| to.is_some_and(is_own)) => JMP_RAX.to_vec(),
            _ if to.iter().any(|to| to.is_none_or(|to| starts.contains(&to))) => CALL_RAX.to_vec(),
            _ => vec![RET],
        };
        let offset = offset as usize;
        // An instruction that does not fit before the end of the function is omitted.
        if let Some(room) = code.get_mut(offset..offset + instruction.len()) {
            room.copy_from_slice(&instruction);
        }
    }
    code
}

/// The `.eh_frame` of a function: everywhere in it, the return address is at the end of the [`FRAME`] bytes at the stack
/// pointer.
pub(crate) fn unwind(size: u32) -> Vec<u8> {
    let encoding = Encoding { format: Format::Dwarf32, version: 1, address_size: 8 };
    let mut cie = CommonInformationEntry::new(encoding, 1, -8, X86_64::RA);
    cie.fde_address_encoding = gimli::DW_EH_PE_pcrel | gimli::DW_EH_PE_sdata4;
    cie.add_instruction(CallFrameInstruction::Cfa(X86_64::RSP, FRAME as i32));
    cie.add_instruction(CallFrameInstruction::Offset(X86_64::RA, -8));
    let mut table = FrameTable::default();
    let cie = table.add_cie(cie);
    let before = u64::from(size).next_multiple_of(8).wrapping_neg();
    table.add_fde(cie, FrameDescriptionEntry::new(Address::Constant(before), size));
    let mut section = EhFrame(EndianVec::new(RunTimeEndian::Little));
    match table.write_eh_frame(&mut section) {
        Ok(()) if section.len() > 0 => section.0.into_vec(),
        _ => Vec::new(),
    }
}

/// The stack of a thread with these return addresses, innermost first, from the stack pointer on.
pub(crate) fn stack(return_addresses: &[u64], endian: perf_data::abi::Endian) -> Vec<u8> {
    let mut stack = Vec::new();
    for address in return_addresses.iter().copied().chain([0]) {
        stack.extend([0; FRAME - 8]);
        stack.extend(address.to_bytes(endian));
    }
    stack
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_the_branches_of_the_scenario() {
        let branches =
            [(0x10, Some(0x1002)), (0x18, Some(0x2000)), (0x1f, Some(0x2000)), (0x1e, Some(0x2010)), (0x1c, None)];
        let code = function_code(0x1000, 0x20, branches.into_iter(), &HashSet::from([0x1000, 0x2000]));
        assert_eq!(&code[..3], [NOP; 3]);
        assert_eq!(code[0x10..0x16], [0x0f, 0x84, 0xec, 0xff, 0xff, 0xff], "displacement of a jump back to 0x1002");
        assert_eq!(code[0x18..0x1c], [CALL, 0xe3, 0x0f, 0], "the next instruction overwrites its last byte");
        assert_eq!(code[0x1c..], [0xff, 0xd0, RET, RET], "no space for the instruction at the end");
    }

    #[test]
    fn return_addresses_are_at_the_ends_of_frames() {
        let stack = stack(&[0x1234, 0x5678], perf_data::abi::Endian::Little);
        let words: Vec<_> = stack.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words, [0, 0, 0, 0x1234, 0, 0, 0, 0x5678, 0, 0, 0, 0]);
        assert!(!unwind(16).is_empty());
    }
}
