//! Instructions of each architecture. Texts of whole programs are compared with objdump by an oracle test.

use super::InstructionClass::{Call, ConditionalJump, Jump, Other, Return, System};
use super::{Disassembler, Instruction, InstructionClass};
use object::elf;
use proptest::prelude::*;

/// Class, target and text of code at 0x1000.
fn decoded(machine: elf::Machine, is_64: bool, code: &[u8]) -> (InstructionClass, Option<u64>, String) {
    let disassembler = Disassembler::new(machine.0, is_64).unwrap();
    let mut text = String::new();
    let Instruction { len, class, target } = disassembler.decode_text(code, 0x1000, &mut text).unwrap();
    assert_eq!(usize::from(len), code.len(), "{text}");
    assert!((0..code.len()).all(|len| disassembler.decode(&code[..len], 0x1000).is_none()), "truncated {text}");
    (class, target, text)
}

#[test]
fn x86_instructions() {
    let cases: &[(&[u8], InstructionClass, Option<u64>, &str)] = &[
        (&[0x90], Other, None, "nop"),
        (&[0x48, 0x8b, 0x7c, 0x24, 0x10], Other, None, "mov 0x10(%rsp),%rdi"),
        (&[0x48, 0x8d, 0x1d, 0xf9, 0xf, 0, 0], Other, None, "lea 0xff9(%rip),%rbx # 0x2000"),
        (&[0xe8, 0xfb, 0xff, 0xff, 0xff], Call, Some(0x1000), "call 0x1000"),
        (&[0xff, 0xd0], Call, None, "call *%rax"),
        (&[0xeb, 0x0e], Jump, Some(0x1010), "jmp 0x1010"),
        (&[0xff, 0xe0], Jump, None, "jmp *%rax"),
        (&[0x74, 0xfe], ConditionalJump, Some(0x1000), "je 0x1000"),
        (&[0xe3, 0x02], ConditionalJump, Some(0x1004), "jrcxz 0x1004"),
        (&[0xe2, 0x02], ConditionalJump, Some(0x1004), "loop 0x1004"),
        (&[0xc3], Return, None, "ret"),
        (&[0x0f, 0x05], System, None, "syscall"),
        (&[0x0f, 0x0b], Other, None, "ud2"),
    ];
    for (code, class, target, text) in cases {
        assert_eq!(decoded(elf::EM_X86_64, true, code), (*class, *target, (*text).to_owned()));
    }
    assert_eq!(decoded(elf::EM_386, false, &[0x40]), (Other, None, "inc %eax".to_owned()));
    assert_eq!(decoded(elf::EM_386, false, &[0xe9, 0, 0xf0, 0xff, 0xff]).1, Some(5));
    assert!(
        Disassembler::new(elf::EM_X86_64.0, true).unwrap().decode(&[0x06], 0).is_none(),
        "no instruction of 64 bits"
    );
}

#[test]
fn aarch64_instructions() {
    let cases: &[(u32, InstructionClass, Option<u64>, &str)] = &[
        (0xd280_0002, Other, None, "mov x2, #0x0"),
        (0x9400_0001, Call, Some(0x1004), "bl 0x1004"),
        (0x17ff_ffff, Jump, Some(0xffc), "b 0xffc"),
        (0x5400_0140, ConditionalJump, Some(0x1028), "b.eq 0x1028"),
        (0x54ff_ffa2, ConditionalJump, Some(0xff4), "b.cs 0xff4"),
        (0x3400_0060, ConditionalJump, Some(0x100c), "cbz w0, 0x100c"),
        (0x3607_ffe0, ConditionalJump, Some(0xffc), "tbz w0, #0x0, 0xffc"),
        (0xd63f_0060, Call, None, "blr x3"),
        (0xd61f_0220, Jump, None, "br x17"),
        (0xd65f_03c0, Return, None, "ret"),
        (0xd400_0001, System, None, "svc #0x0"),
        (0x9000_0bd0, Other, None, "adrp x16, 0x179000"),
        (0x9280_0003, Other, None, "mov x3, #0xffffffffffffffff"),
        (0x1e6e_1001, Other, None, "fmov d1, #1.000000000000000000e+00"),
        (0x4c40_2000, Other, None, "ld1 {v0.16b-v3.16b}, [x0]"),
        // SVE and SVE2.
        (0xe400_e000, Other, None, "st1b {z0.b}, p0, [x0]"),
        (0x2522_1ce1, Other, None, "whilelo p1.b, x7, x2"),
        (0x0570_134c, Other, None, "ext z12.b, {z26.b, z27.b}, #0x84"),
        (0xa522_3211, Other, None, "ld1row {z17.s}, p4/z, [x16, #0x40]"),
        (0x046d_a2c1, Other, None, "adr z1.d, [z22.d, z13.d, uxtw]"),
        (0xe471_7f15, Other, None, "st4b {z21.b-z24.b}, p7, [x24, x17]"),
        (0x25f5_5461, Other, None, "psel p1, p5, p3.b[w13, 14]"),
        (0xa520_0dc8, Other, None, "ld1row {z8.s}, p3/z, [x14, x0, lsl #0x2]"),
        // SME.
        (0x8099_e842, Other, None, ".inst 0x8099e842"),
    ];
    for (code, class, target, text) in cases {
        let (decoded_class, decoded_target, decoded_text) = decoded(elf::EM_AARCH64, true, &code.to_le_bytes());
        assert_eq!((decoded_class, decoded_target, &*decoded_text), (*class, *target, *text));
    }
}

#[test]
fn riscv_instructions() {
    let cases: &[(&[u8], InstructionClass, Option<u64>, &str)] = &[
        (&[0x06, 0xe4], Other, None, "sd ra,8(sp)"),
        (&[0x81, 0x46], Other, None, "li a3,0"),
        (&[0xa2, 0x84], Other, None, "mv s1,s0"),
        (&[0x97, 0x03, 0x10, 0x00], Other, None, "auipc t2,0x100"),
        (&[0x21, 0xa0], Jump, Some(0x1008), "j 0x1008"),
        (&[0xef, 0x00, 0x40, 0x00], Call, Some(0x1004), "jal 0x1004"),
        (&[0x81, 0xc7], ConditionalJump, Some(0x1008), "beqz a5,0x1008"),
        (&[0xe3, 0x8e, 0xe7, 0xfe], ConditionalJump, Some(0xffc), "beq a5,a4,0xffc"),
        (&[0x82, 0x80], Return, None, "ret"),
        (&[0x82, 0x97], Call, None, "jalr a5"),
        (&[0x82, 0x87], Jump, None, "jr a5"),
        (&[0x73, 0, 0, 0], System, None, "ecall"),
        (&[0xf5, 0x8f], Other, None, "and a5,a5,a3"),
        (&[0x13, 0x17, 0x0b, 0x02], Other, None, "slli a4,s6,0x20"),
        (&[0x02, 0x16], Other, None, "slli a2,a2,0x20"),
        (&[0x81, 0x93], Other, None, "srli a5,a5,0x20"),
        (&[0x7d, 0x97], Other, None, "srai a4,a4,0x3f"),
        (&[0x73, 0x20, 0x17, 0x00], Other, None, "csrs fflags,a4"),
        (&[0x73, 0x2b, 0x20, 0x00], Other, None, "frrm s6"),
        (&[0xd3, 0x17, 0x35, 0xc2], Other, None, "fcvt.lu.d a5,fa0,rtz"),
        (&[0xaf, 0x26, 0xe4, 0x1c], Other, None, "sc.w.aq a3,a4,(s0)"),
        (&[0x02, 0x90], System, None, "ebreak"),
        (&[0x57, 0x70, 0x00, 0x0c], Other, None, ".4byte 0x0c007057"),
        (&[0, 0], Other, None, ".2byte 0x0000"),
    ];
    for (code, class, target, text) in cases {
        assert_eq!(decoded(elf::EM_RISCV, true, code), (*class, *target, (*text).to_owned()));
    }
    assert_eq!(decoded(elf::EM_RISCV, false, &[0x11, 0x20]).0, Call, "c.jal, which RV64 lacks");
}

#[test]
fn other_machines_have_no_disassembler() {
    assert!(Disassembler::new(elf::EM_S390.0, true).is_none() && Disassembler::new(elf::EM_ARM.0, false).is_none());
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_within_their_length(bytes in prop::collection::vec(any::<u8>(), 0..20), address: u64) {
        for (machine, is_64) in [(elf::EM_X86_64, true), (elf::EM_386, false), (elf::EM_AARCH64, true), (elf::EM_RISCV, true), (elf::EM_RISCV, false)] {
            let disassembler = Disassembler::new(machine.0, is_64).unwrap();
            let mut text = String::new();
            if let Some(instruction) = disassembler.decode_text(&bytes, address, &mut text) {
                prop_assert!(usize::from(instruction.len) <= bytes.len() && instruction.len > 0 && !text.is_empty());
            }
        }
    }
}
