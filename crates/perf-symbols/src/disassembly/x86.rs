//! x86-64 and i386, by iced-x86.

use super::{Architecture, Decode, Instruction, InstructionClass};
use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter, Mnemonic, OpKind};
use object::elf;

/// x86-64, including programs with 32-bit pointers (x32).
pub(super) const X86_64: Architecture =
    Architecture { machine: elf::EM_X86_64.0, is_64: None, alignment: 1, decoder: &X86 { bits: 64 } };

/// i386.
pub(super) const I386: Architecture =
    Architecture { machine: elf::EM_386.0, is_64: None, alignment: 1, decoder: &X86 { bits: 32 } };

struct X86 {
    bits: u32,
}

impl X86 {
    fn instruction(&self, bytes: &[u8], address: u64) -> Option<iced_x86::Instruction> {
        let instruction = Decoder::with_ip(self.bits, bytes, address, DecoderOptions::NONE).decode();
        (!instruction.is_invalid()).then_some(instruction)
    }
}

impl Decode for X86 {
    fn decode(&self, bytes: &[u8], address: u64) -> Option<Instruction> {
        let instruction = self.instruction(bytes, address)?;
        let is_direct =
            matches!(instruction.op0_kind(), OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64);
        let class = class(instruction.mnemonic(), is_direct);
        let target = (is_direct && class != InstructionClass::Other).then(|| instruction.near_branch_target());
        Some(Instruction { len: instruction.len() as u8, class, target })
    }

    fn write_text(&self, bytes: &[u8], address: u64, text: &mut String) {
        let Some(instruction) = self.instruction(bytes, address) else { return };
        let mut formatter = GasFormatter::new();
        let options = formatter.options_mut();
        options.set_uppercase_hex(false);
        options.set_small_hex_numbers_in_decimal(false);
        options.set_branch_leading_zeros(false);
        options.set_rip_relative_addresses(true);
        options.set_show_zero_displacements(true);
        formatter.format(&instruction, text);
        if instruction.is_ip_rel_memory_operand() {
            *text += &format!(" # {:#x}", instruction.ip_rel_memory_address());
        }
    }
}

fn class(mnemonic: Mnemonic, is_direct: bool) -> InstructionClass {
    use Mnemonic::{
        Call, Int, Int1, Int3, Into, Iret, Iretd, Iretq, Jmp, Ret, Retf, Syscall, Sysenter, Sysexit, Sysexitq, Sysret,
        Sysretq, Uiret, Xbegin,
    };
    match mnemonic {
        Ret | Retf => InstructionClass::Return,
        Int | Int1 | Int3 | Into | Syscall | Sysenter => InstructionClass::System,
        Iret | Iretd | Iretq | Sysexit | Sysexitq | Sysret | Sysretq | Uiret => InstructionClass::System,
        Call => InstructionClass::Call,
        Jmp => InstructionClass::Jump,
        // Jumps only when its transaction is aborted.
        Xbegin => InstructionClass::Other,
        _ if is_direct => InstructionClass::ConditionalJump,
        _ => InstructionClass::Other,
    }
}
