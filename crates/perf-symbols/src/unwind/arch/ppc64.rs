//! 64-bit PowerPC: `enum perf_event_powerpc_regs`; columns of the ELF ABI.

use super::{Architecture, Column, same};
use object::elf;

const R1: u8 = 1;
const LR: u8 = 65;

/// 64-bit PowerPC.
pub(super) const PPC64: Architecture = Architecture {
    machines: &[elf::EM_PPC64],
    pointer_size: 8,
    columns: &COLUMNS,
    ip: 32,
    stack_pointer: R1,
    return_address: LR,
    frame_bias: 0,
    ignored_bits: 0,
    frame_chain: None,
    pushes_return_address: false,
    trampoline: None,
};

/// R0 to R31, NIP, MSR, ORIG_R3, CTR, LINK.
const COLUMNS: [Column; 37] = {
    let mut columns = same();
    (columns[32], columns[33], columns[34], columns[35]) = (None, None, None, None);
    columns[36] = Some(LR);
    columns
};
