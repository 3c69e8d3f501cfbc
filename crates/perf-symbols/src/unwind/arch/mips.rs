//! 64-bit MIPS: `enum perf_event_mips_regs`; columns of the ABI.

use super::{Architecture, Column};
use object::elf;

const SP: u8 = 29;
const RA: u8 = 31;

/// 64-bit MIPS.
pub(super) const MIPS64: Architecture = Architecture {
    machines: &[elf::EM_MIPS],
    pointer_size: 8,
    columns: &COLUMNS,
    ip: 0,
    stack_pointer: SP,
    return_address: RA,
    frame_bias: 0,
    ignored_bits: 0,
    frame_chain: None,
    pushes_return_address: false,
    trampoline: None,
};

/// PC, R1 to R25, R28 to R31.
const COLUMNS: [Column; 30] = {
    let mut columns = [None; 30];
    let mut at = 1;
    while at < columns.len() {
        columns[at] = Some(if at < 26 { at as u8 } else { at as u8 + 2 });
        at += 1;
    }
    columns
};
