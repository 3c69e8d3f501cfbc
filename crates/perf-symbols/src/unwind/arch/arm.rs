//! 32-bit Arm: `enum perf_event_arm_regs`; columns of the DWARF for the Arm Architecture. Also 32-bit programs on AArch64.

use super::{Architecture, Column, same};
use object::elf;

const SP: u8 = 13;
const LR: u8 = 14;

/// 32-bit Arm.
pub(super) const ARM: Architecture = Architecture {
    machines: &[elf::EM_ARM],
    pointer_size: 4,
    columns: &COLUMNS,
    ip: 15,
    stack_pointer: SP,
    return_address: LR,
    frame_bias: 0,
    // The instruction set to return to.
    ignored_bits: 1,
    // Compilers differ in what the frame pointer points to.
    frame_chain: None,
    pushes_return_address: false,
    trampoline: None,
};

/// R0 to R14; PC.
const COLUMNS: [Column; 16] = {
    let mut columns = same();
    columns[15] = None;
    columns
};
