//! 32-bit x86, also on a 64-bit kernel: `enum perf_event_x86_regs`; columns of the System V ABI.

use super::{Architecture, Column, FrameChain};
use object::elf;

const ESP: u8 = 4;
const EBP: u8 = 5;
const EIP: u8 = 8;

/// 32-bit x86.
pub(super) const I386: Architecture = Architecture {
    machines: &[elf::EM_386],
    pointer_size: 4,
    columns: &COLUMNS,
    ip: 8,
    stack_pointer: ESP,
    return_address: EIP,
    frame_bias: 0,
    ignored_bits: 0,
    frame_chain: Some(FrameChain { register: EBP, saved_register: 0, return_address: 4, stack_pointer: 8 }),
    pushes_return_address: true,
    trampoline: None,
};

/// AX, BX, CX, DX, SI, DI, BP, SP, IP.
const COLUMNS: [Column; 9] = [Some(0), Some(3), Some(1), Some(2), Some(6), Some(7), Some(EBP), Some(ESP), Some(EIP)];
