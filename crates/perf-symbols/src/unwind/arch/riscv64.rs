//! 64-bit RISC-V: `enum perf_event_riscv_regs`; columns of the RISC-V DWARF specification.

use super::{Architecture, Column, FrameChain, same};
use object::elf;

const RA: u8 = 1;
const SP: u8 = 2;
const S0: u8 = 8;

/// 64-bit RISC-V.
pub(super) const RISCV64: Architecture = Architecture {
    machines: &[elf::EM_RISCV],
    pointer_size: 8,
    columns: &COLUMNS,
    ip: 0,
    stack_pointer: SP,
    return_address: RA,
    frame_bias: 0,
    ignored_bits: 0,
    // The frame pointer is the canonical frame address, unlike that of x86, which points to the saved one.
    frame_chain: Some(FrameChain { register: S0, saved_register: -16, return_address: -8, stack_pointer: 0 }),
    pushes_return_address: false,
    trampoline: None,
};

/// PC, in the place of the zero register; RA, SP, GP, TP, T0 to T2, S0, S1, A0 to A7, S2 to S11, T3 to T6.
const COLUMNS: [Column; 32] = {
    let mut columns = same();
    columns[0] = None;
    columns
};
