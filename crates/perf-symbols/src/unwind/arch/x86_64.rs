//! x86-64: `enum perf_event_x86_regs`; columns of the System V ABI.

use super::{Architecture, Column, FrameChain, Trampoline};
use object::elf;

const RBP: u8 = 6;
const RSP: u8 = 7;
const RIP: u8 = 16;

/// x86-64.
pub(super) const X86_64: Architecture = Architecture {
    machines: &[elf::EM_X86_64],
    pointer_size: 8,
    columns: &COLUMNS,
    ip: 8,
    stack_pointer: RSP,
    return_address: RIP,
    frame_bias: 0,
    ignored_bits: 0,
    frame_chain: Some(FrameChain { register: RBP, saved_register: 0, return_address: 8, stack_pointer: 16 }),
    pushes_return_address: true,
    // mov $15, %rax or %eax; syscall. musl and Go have no CFI for it. `struct ucontext`: 40 bytes before its sigcontext, which
    // begins with R8 to R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP.
    trampoline: Some(Trampoline {
        code: &[&[0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05], &[0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05]],
        offset: 40,
        slots: &[8, 9, 10, 11, 12, 13, 14, 15, 5, 4, RBP, 3, 1, 0, 2, RSP],
    }),
};

/// AX, BX, CX, DX, SI, DI, BP, SP, IP, FLAGS, CS, SS, DS, ES, FS, GS, R8 to R15.
const COLUMNS: [Column; 24] = [
    Some(0),
    Some(3),
    Some(2),
    Some(1),
    Some(4),
    Some(5),
    Some(RBP),
    Some(RSP),
    Some(RIP),
    None,
    None,
    None,
    None,
    None,
    None,
    None,
    Some(8),
    Some(9),
    Some(10),
    Some(11),
    Some(12),
    Some(13),
    Some(14),
    Some(15),
];
