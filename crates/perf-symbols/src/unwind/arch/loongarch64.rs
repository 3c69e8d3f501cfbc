//! 64-bit LoongArch: `enum perf_event_loongarch_regs`; columns of the ELF ABI.

use super::{Architecture, Column, FrameChain, same};
use object::elf;

const RA: u8 = 1;
const SP: u8 = 3;
const FP: u8 = 22;

/// 64-bit LoongArch.
pub(super) const LOONGARCH64: Architecture = Architecture {
    machines: &[elf::EM_LOONGARCH],
    pointer_size: 8,
    columns: &COLUMNS,
    ip: 0,
    stack_pointer: SP,
    return_address: RA,
    frame_bias: 0,
    ignored_bits: 0,
    // The frame pointer is the canonical frame address, unlike that of x86, which points to the saved one.
    frame_chain: Some(FrameChain { register: FP, saved_register: -16, return_address: -8, stack_pointer: 0 }),
    pushes_return_address: false,
    trampoline: None,
};

/// PC, in the place of the zero register; R1 to R31.
const COLUMNS: [Column; 32] = {
    let mut columns = same();
    columns[0] = None;
    columns
};
