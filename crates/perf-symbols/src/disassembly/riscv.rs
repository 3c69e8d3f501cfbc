//! RISC-V: the base instruction sets, and the extensions of RV64GC and RV32GC with bit manipulation. Texts are those of riscv-isa,
//! in the notation of `riscv_text`.

use super::riscv_text::objdump_text;
use super::{Architecture, Decode, Instruction, InstructionClass};
use object::elf;
use riscv_isa::{Target, Xlen, decode_le_bytes};

/// RV64.
pub(super) const RISCV64: Architecture =
    Architecture { machine: elf::EM_RISCV.0, is_64: Some(true), alignment: 2, decoder: &RiscV { xlen: Xlen::Rv64 } };

/// RV32.
pub(super) const RISCV32: Architecture =
    Architecture { machine: elf::EM_RISCV.0, is_64: Some(false), alignment: 2, decoder: &RiscV { xlen: Xlen::Rv32 } };

struct RiscV {
    xlen: Xlen,
}

/// The registers x1 and x5, which calls and returns use for the return address.
fn is_link(register: u32) -> bool {
    register == 1 || register == 5
}

/// A number of so many bits, with a sign.
fn signed(value: u32, bits: u32) -> u64 {
    i64::from(((value << (32 - bits)) as i32) >> (32 - bits)) as u64
}

/// A group of bits of a word: from `high` to `low`, moved to begin at `to`.
fn bits(word: u32, high: u32, low: u32, to: u32) -> u32 {
    (word >> low & ((1 << (high - low + 1)) - 1)) << to
}

/// Class and offset of the target of an instruction of 4 bytes.
fn class(word: u32) -> (InstructionClass, Option<u64>) {
    let (rd, rs1) = (bits(word, 11, 7, 0), bits(word, 19, 15, 0));
    match word & 0x7f {
        0x6f => {
            let offset =
                bits(word, 31, 31, 20) | bits(word, 19, 12, 12) | bits(word, 20, 20, 11) | bits(word, 30, 21, 1);
            let class = if is_link(rd) { InstructionClass::Call } else { InstructionClass::Jump };
            (class, Some(signed(offset, 21)))
        }
        0x67 if is_link(rd) => (InstructionClass::Call, None),
        0x67 if is_link(rs1) => (InstructionClass::Return, None),
        0x67 => (InstructionClass::Jump, None),
        0x63 => {
            let offset = bits(word, 31, 31, 12) | bits(word, 7, 7, 11) | bits(word, 30, 25, 5) | bits(word, 11, 8, 1);
            (InstructionClass::ConditionalJump, Some(signed(offset, 13)))
        }
        // ecall, ebreak, sret, mret.
        0x73 if [0x0000_0073, 0x0010_0073, 0x1020_0073, 0x3020_0073].contains(&word) => {
            (InstructionClass::System, None)
        }
        _ => (InstructionClass::Other, None),
    }
}

impl RiscV {
    /// Class and offset of the target of an instruction of 2 bytes.
    fn compressed_class(&self, code: u32) -> (InstructionClass, Option<u64>) {
        let jump = || {
            let parts = [(12, 12, 11), (11, 11, 4), (10, 9, 8), (8, 8, 10), (7, 7, 6), (6, 6, 7), (5, 3, 1), (2, 2, 5)];
            Some(signed(parts.iter().map(|&(high, low, to)| bits(code, high, low, to)).sum(), 12))
        };
        let branch = || {
            let parts = [(12, 12, 8), (11, 10, 3), (6, 5, 6), (4, 3, 1), (2, 2, 5)];
            Some(signed(parts.iter().map(|&(high, low, to)| bits(code, high, low, to)).sum(), 9))
        };
        let (register, other) = (bits(code, 11, 7, 0), bits(code, 6, 2, 0));
        match (code & 3, code >> 13) {
            (1, 1) if self.xlen == Xlen::Rv32 => (InstructionClass::Call, jump()),
            (1, 5) => (InstructionClass::Jump, jump()),
            (1, 6 | 7) => (InstructionClass::ConditionalJump, branch()),
            (2, 4) if other == 0 && register == 0 && code >> 12 & 1 == 1 => (InstructionClass::System, None),
            (2, 4) if other == 0 && register != 0 => match code >> 12 & 1 {
                1 => (InstructionClass::Call, None),
                _ if is_link(register) => (InstructionClass::Return, None),
                _ => (InstructionClass::Jump, None),
            },
            _ => (InstructionClass::Other, None),
        }
    }
}

impl RiscV {
    /// The text of compressed instructions that riscv-isa 0.3.1 does not know: `c.and`, and shifts by 32 and more.
    fn compressed_text(&self, code: u16) -> Option<String> {
        let [to, other] = [code >> 7, code >> 2].map(|register| 8 + (register & 7));
        let register = code >> 7 & 0x1f;
        let distance = (code >> 7 & 0x20) | (code >> 2 & 0x1f);
        let is_long = distance >= 32 && self.xlen == Xlen::Rv64;
        match (code & 3, code >> 13, code >> 10 & 3) {
            (1, 4, 0) if is_long => Some(format!("srli x{to}, x{to}, {distance}")),
            (1, 4, 1) if is_long => Some(format!("srai x{to}, x{to}, {distance}")),
            (1, 4, 3) if code & 0x1060 == 0x60 => Some(format!("and x{to}, x{to}, x{other}")),
            (2, 0, _) if is_long && register != 0 => Some(format!("slli x{register}, x{register}, {distance}")),
            _ => None,
        }
    }
}

impl Decode for RiscV {
    fn decode(&self, bytes: &[u8], address: u64) -> Option<Instruction> {
        let low = u32::from(u16::from_le_bytes(*bytes.first_chunk()?));
        // Longer ones are reserved.
        let (len, (class, offset)) = match low & 3 {
            3 if low & 0x1c == 0x1c => return None,
            3 => (4, class(u32::from_le_bytes(*bytes.first_chunk()?))),
            _ => (2, self.compressed_class(low)),
        };
        let mask = if self.xlen == Xlen::Rv32 { u64::from(u32::MAX) } else { u64::MAX };
        Some(Instruction { len, class, target: offset.map(|offset| address.wrapping_add(offset) & mask) })
    }

    fn write_text(&self, bytes: &[u8], address: u64, text: &mut String) {
        let target = Target {
            xlen: self.xlen,
            privileged: true,
            supervisor_mode: true,
            m: true,
            a: true,
            f: true,
            d: true,
            q: false,
            c: true,
            zicsr: true,
            zifencei: true,
            zawrs: true,
            zfh: true,
            zba: true,
            zbb: true,
            zbc: true,
            zbkb: true,
            zbs: true,
        };
        let Some(Instruction { len, target: jump, .. }) = self.decode(bytes, address) else { return };
        let decoded = match len {
            2 => self.compressed_text(u16::from_le_bytes([bytes[0], bytes[1]])),
            _ => None,
        };
        let decoded =
            decoded.or_else(|| decode_le_bytes(bytes, &target).map(|(instruction, _)| instruction.to_string()));
        match decoded {
            Some(decoded) if len == 4 && bytes[0] & 0x7f == 0x2f => {
                let (name, operands) = decoded.split_once(' ').unwrap_or((&decoded, ""));
                let ordering = ["", ".rl", ".aq", ".aqrl"][usize::from(bytes[3] >> 1 & 3)];
                *text += &objdump_text(&format!("{name}{ordering} {operands}"), jump);
            }
            Some(decoded) if len == 4 && decoded.starts_with("fcvt.") => {
                // The rounding mode, unless it is the dynamic one. Conversions that cannot be inexact have none.
                let mode = ["rne", "rtz", "rdn", "rup", "rmm", "", "", ""][usize::from(bytes[1] >> 4 & 7)];
                let is_to_integer = decoded.starts_with("fcvt.w") || decoded.starts_with("fcvt.l");
                let mode = if mode.is_empty() || !is_to_integer { String::new() } else { format!(",{mode}") };
                *text += &format!("{}{mode}", objdump_text(&decoded, jump));
            }
            Some(decoded) if decoded != "unimp" => *text += &objdump_text(&decoded, jump),
            _ if len == 2 => *text += &format!(".2byte {:#06x}", u16::from_le_bytes([bytes[0], bytes[1]])),
            _ => *text += &format!(".4byte {:#010x}", u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
        }
    }
}
