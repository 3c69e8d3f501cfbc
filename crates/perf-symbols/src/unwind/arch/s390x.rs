//! s390x: `enum perf_event_s390_regs`; columns of the ELF ABI.

use super::{Architecture, Column, same};
use object::elf;

const R14: u8 = 14;
const R15: u8 = 15;

/// s390x.
pub(super) const S390X: Architecture = Architecture {
    machines: &[elf::EM_S390],
    pointer_size: 8,
    columns: &COLUMNS,
    ip: 33,
    stack_pointer: R15,
    return_address: R14,
    // The caller's area for saved registers.
    frame_bias: 160,
    ignored_bits: 0,
    frame_chain: None,
    pushes_return_address: false,
    trampoline: None,
};

/// R0 to R15, FP0 to FP15, MASK, PC. Leaf functions save registers in floating-point registers.
const COLUMNS: [Column; 34] = {
    let mut columns = same();
    let of_fp: [u8; 16] = [16, 20, 17, 21, 18, 22, 19, 23, 24, 28, 25, 29, 26, 30, 27, 31];
    let mut at = 0;
    while at < of_fp.len() {
        columns[16 + at] = Some(of_fp[at]);
        at += 1;
    }
    (columns[32], columns[33]) = (None, None);
    columns
};
