//! AArch64, with SVE and SVE2. Texts are those of fARM64, in the notation of `aarch64_text`.
//!
//! yaxpeax-arm 0.5 has no SVE. exarmo-aarch64 0.4 is as good, but takes 42 s and 3 GB to compile, and needs Rust 1.91.

use super::aarch64_text::objdump_text;
use super::{Architecture, Decode, Instruction, InstructionClass};
use fARM64::format::{FmtFormatter, Formatter};
use fARM64::{Decoder, DecoderOptions};
use object::elf;

/// AArch64. Instructions are little-endian where data is big-endian, too.
pub(super) const AARCH64: Architecture =
    Architecture { machine: elf::EM_AARCH64.0, is_64: None, alignment: 4, decoder: &Aarch64 };

struct Aarch64;

/// The word that code begins with.
fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|word| u32::from_le_bytes(*word))
}

/// A field of so many bits, with a sign, in units of instructions.
fn offset(word: u32, shift: u32, bits: u32) -> u64 {
    let field = (word >> shift) << (32 - bits);
    i64::from((field as i32) >> (32 - bits)).wrapping_mul(4) as u64
}

impl Decode for Aarch64 {
    fn decode(&self, bytes: &[u8], address: u64) -> Option<Instruction> {
        let word = word(bytes)?;
        let matches = |mask, value| word & mask == value;
        let (class, offset) = if matches(0xfc00_0000, 0x1400_0000) {
            (InstructionClass::Jump, Some(offset(word, 0, 26)))
        } else if matches(0xfc00_0000, 0x9400_0000) {
            (InstructionClass::Call, Some(offset(word, 0, 26)))
        } else if matches(0xff00_0000, 0x5400_0000) || matches(0x7e00_0000, 0x3400_0000) {
            // b.cond, bc.cond, cbz, cbnz.
            (InstructionClass::ConditionalJump, Some(offset(word, 5, 19)))
        } else if matches(0x7e00_0000, 0x3600_0000) {
            // tbz, tbnz.
            (InstructionClass::ConditionalJump, Some(offset(word, 5, 14)))
        } else if matches(0xfe00_0000, 0xd600_0000) {
            // Branches to registers, also those with authentication of pointers.
            let class = match word >> 21 & 0xf {
                0 | 8 => InstructionClass::Jump,
                1 | 9 => InstructionClass::Call,
                2 => InstructionClass::Return,
                4 | 5 => InstructionClass::System,
                _ => InstructionClass::Other,
            };
            (class, None)
        } else if matches(0xff00_0000, 0xd400_0000) && word & 3 != 0 && word >> 21 & 7 == 0 {
            // svc, hvc, smc.
            (InstructionClass::System, None)
        } else {
            (InstructionClass::Other, None)
        };
        Some(Instruction { len: 4, class, target: offset.map(|offset| address.wrapping_add(offset)) })
    }

    fn write_text(&self, bytes: &[u8], address: u64, text: &mut String) {
        let Some(word) = word(bytes) else { return };
        let instruction = Decoder::new(&word.to_le_bytes(), address, DecoderOptions::default()).decode();
        if instruction.is_invalid() {
            *text += &format!(".inst {word:#010x}");
            return;
        }
        let mut decoded = String::new();
        FmtFormatter::new().format(&instruction, &mut decoded);
        *text += &objdump_text(&decoded, word);
    }
}
