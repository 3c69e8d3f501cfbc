//! Instructions of machine code: length, what they do to the flow of control, target and text.
//!
//! ```
//! use perf_symbols::disassembly::{Disassembler, InstructionClass};
//!
//! // 62 is x86-64.
//! let disassembler = Disassembler::new(62, true).unwrap();
//! let mut text = String::new();
//! let call = disassembler.decode_text(&[0xe8, 0xfb, 0, 0, 0], 0x1000, &mut text).unwrap();
//! assert_eq!((call.len, call.class, call.target), (5, InstructionClass::Call, Some(0x1100)));
//! assert_eq!(text, "call 0x1100");
//! ```
//!
//! Code is untrusted: it may be data, or not be the code that ran. Each architecture is one file and a line of `ARCHITECTURES`. Texts
//! are those of objdump, as far as the crates that write them agree with it.

mod aarch64;
mod aarch64_text;
mod riscv;
mod riscv_text;
mod x86;

/// What an instruction does to the flow of control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InstructionClass {
    /// Continues with the next instruction.
    Other,
    /// Calls a function.
    Call,
    /// Jumps, always.
    Jump,
    /// Jumps or continues with the next instruction.
    ConditionalJump,
    /// Returns to the caller.
    Return,
    /// Enters or leaves the kernel: a system call, an interrupt, or the return from one.
    System,
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Number of its bytes.
    pub len: u8,
    /// What it does to the flow of control.
    pub class: InstructionClass,
    /// Address of a direct jump or call.
    pub target: Option<u64>,
}

impl Instruction {
    /// Whether the next instruction is not reached from it.
    pub fn ends_flow(&self) -> bool {
        matches!(self.class, InstructionClass::Jump | InstructionClass::Return)
    }
}

/// Decodes the instructions of an architecture.
trait Decode: Sync {
    /// The instruction that the bytes begin with, at an address; `None` if they are none, or truncated.
    fn decode(&self, bytes: &[u8], address: u64) -> Option<Instruction>;

    /// Appends the text of the instruction that the bytes, which [`decode`](Self::decode) knows, begin with.
    fn write_text(&self, bytes: &[u8], address: u64, text: &mut String);
}

/// An architecture.
struct Architecture {
    /// `e_machine` of its ELF files.
    machine: u16,
    /// Class of its ELF files; `None` if it is irrelevant.
    is_64: Option<bool>,
    /// Number of bytes after which code may go on behind bytes that are no instruction.
    alignment: u8,
    decoder: &'static dyn Decode,
}

const ARCHITECTURES: [Architecture; 5] = [x86::X86_64, x86::I386, aarch64::AARCH64, riscv::RISCV64, riscv::RISCV32];

/// Decodes machine code.
#[derive(Clone, Copy)]
pub struct Disassembler {
    architecture: &'static Architecture,
}

impl Disassembler {
    /// A disassembler for an ELF machine and class; `None` if its instructions are unknown.
    pub fn new(machine: u16, is_64: bool) -> Option<Self> {
        let is_for = |architecture: &&Architecture| {
            architecture.machine == machine && architecture.is_64.is_none_or(|class| class == is_64)
        };
        ARCHITECTURES.iter().find(is_for).map(|architecture| Self { architecture })
    }

    /// The instruction that the bytes begin with, at an address, without its text; `None` if they are none, or truncated.
    pub fn decode(&self, bytes: &[u8], address: u64) -> Option<Instruction> {
        self.architecture.decoder.decode(bytes, address)
    }

    /// As [`decode`](Self::decode); appends the text in the syntax of objdump.
    pub fn decode_text(&self, bytes: &[u8], address: u64, text: &mut String) -> Option<Instruction> {
        let instruction = self.decode(bytes, address)?;
        self.architecture.decoder.write_text(bytes, address, text);
        Some(instruction)
    }

    /// Number of bytes to skip where there is no instruction.
    pub fn alignment(&self) -> u8 {
        self.architecture.alignment
    }
}

impl std::fmt::Debug for Disassembler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disassembler").field("machine", &self.architecture.machine).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
