//! 64-bit Arm: `enum perf_event_arm_regs`; columns of the AArch64 DWARF supplement.

use super::{Architecture, Column, FrameChain, Trampoline, same};
use object::elf;

const X29: u8 = 29;
const LR: u8 = 30;
const SP: u8 = 31;

/// 64-bit Arm.
pub(super) const AARCH64: Architecture = Architecture {
    machines: &[elf::EM_AARCH64],
    pointer_size: 8,
    columns: &COLUMNS,
    ip: 32,
    stack_pointer: SP,
    return_address: LR,
    frame_bias: 0,
    // Pointer authentication codes are above the addresses of user space.
    ignored_bits: !0 << 48,
    frame_chain: Some(FrameChain { register: X29, saved_register: 0, return_address: 8, stack_pointer: 16 }),
    pushes_return_address: false,
    // mov x8, #139; svc #0. The vdso's CFI for it restores the link register in place of the interrupted instruction. `struct
    // rt_sigframe`: siginfo of 128 bytes, ucontext with 176 bytes before its sigcontext, fault address.
    trampoline: Some(Trampoline {
        code: &[&[0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4]],
        offset: 128 + 176 + 8,
        slots: &[
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
            X29, LR, SP,
        ],
    }),
};

/// X0 to X29, LR, SP; PC.
const COLUMNS: [Column; 33] = {
    let mut columns = same();
    columns[32] = None;
    columns
};
