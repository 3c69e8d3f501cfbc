//! Compact unwind rules: how the registers of a caller follow from those of its callee.

use super::arch::Architecture;
use super::registers::Slot;
use gimli::{CfaRule, EndianSlice, Expression, Reader, RegisterRule, RunTimeEndian, UnwindExpression, UnwindTableRow};

/// A row of a CFI table.
#[derive(Debug)]
pub struct Rule {
    /// The canonical frame address.
    pub cfa: Cfa,
    /// The registers of the caller that differ.
    pub saved: Box<[Saved]>,
    /// The slot of the return address.
    pub return_address: Slot,
    /// Whether this is the frame of a signal trampoline: its caller was interrupted, and did not call.
    pub is_signal: bool,
    /// Its DWARF expressions.
    pub expressions: Expressions,
}

/// The bytes of DWARF expressions.
#[derive(Debug)]
pub struct Expressions {
    bytes: Vec<u8>,
    endian: RunTimeEndian,
}

/// How the canonical frame address is found.
#[derive(Clone, Copy, Debug)]
pub enum Cfa {
    /// A register plus an offset.
    Register(Slot, i64),
    /// The value of an expression.
    Expression(ExpressionRange),
}

/// A register of the caller, and where its value is.
#[derive(Clone, Copy, Debug)]
pub struct Saved {
    /// The register.
    pub slot: Slot,
    /// Its value.
    pub value: RegisterValue,
}

/// The value of a register.
#[derive(Clone, Copy, Debug)]
pub enum RegisterValue {
    /// Unknown.
    Undefined,
    /// In memory, at an offset from the canonical frame address.
    At(i64),
    /// The canonical frame address plus an offset.
    Cfa(i64),
    /// That of another register.
    Register(Slot),
    /// In memory, at the address that an expression computes.
    AtExpression(ExpressionRange),
    /// The value of an expression.
    Expression(ExpressionRange),
    /// A constant.
    Constant(u64),
}

/// Where an expression is in [`Expressions`].
#[derive(Clone, Copy, Debug)]
pub struct ExpressionRange {
    start: u16,
    len: u16,
}

/// Maximum size of the expressions of a rule. Compilers write at most dozens of bytes.
const MAX_EXPRESSIONS: usize = 4096;

impl Expressions {
    /// No expressions, of a file with this byte order.
    pub fn new(endian: RunTimeEndian) -> Self {
        Self { bytes: Vec::new(), endian }
    }

    /// Copies an expression from its section.
    fn add(&mut self, expression: &UnwindExpression<usize>, section: &[u8]) -> Option<ExpressionRange> {
        let bytes = section.get(expression.offset..)?.get(..expression.length)?;
        let start = self.bytes.len();
        if start + bytes.len() > MAX_EXPRESSIONS {
            return None;
        }
        self.bytes.extend_from_slice(bytes);
        Some(ExpressionRange { start: start as u16, len: bytes.len() as u16 })
    }

    /// An expression.
    pub fn get(&self, range: ExpressionRange) -> Expression<EndianSlice<'_, RunTimeEndian>> {
        let bytes = self.bytes.get(range.start.into()..).and_then(|bytes| bytes.get(..range.len.into()));
        Expression(EndianSlice::new(bytes.unwrap_or_default(), self.endian))
    }
}

impl Rule {
    /// Whether a function that was interrupted where this rule applies has its return address in the link register.
    pub fn returns_to_link_register(&self, arch: &Architecture) -> bool {
        let Some(link) = arch.slot(arch.return_address.into()).filter(|_| !self.is_signal) else { return false };
        let saved = self.saved.iter().find(|saved| saved.slot == self.return_address);
        match saved.map(|saved| saved.value) {
            None => self.return_address == link,
            Some(RegisterValue::Register(slot)) => slot == link,
            Some(_) => false,
        }
    }

    /// Compiles a row of a section; `None` if the frame address depends on an untracked register.
    pub fn new(
        row: &UnwindTableRow<usize>,
        return_column: u16,
        is_signal: bool,
        section: EndianSlice<'_, RunTimeEndian>,
        arch: &Architecture,
    ) -> Option<Self> {
        let mut expressions = Expressions::new(section.endian());
        let mut range = |expression: &UnwindExpression<usize>| expressions.add(expression, section.slice());
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => Cfa::Register(arch.slot(register.0)?, *offset),
            CfaRule::Expression(expression) => Cfa::Expression(range(expression)?),
        };
        let return_address = arch.slot(return_column)?;
        let mut saved = Vec::new();
        for (register, rule) in row.registers() {
            let Some(slot) = arch.slot(register.0) else { continue };
            let value = match rule {
                RegisterRule::SameValue => continue,
                RegisterRule::Offset(offset) => RegisterValue::At(*offset),
                RegisterRule::ValOffset(offset) => RegisterValue::Cfa(*offset),
                RegisterRule::Register(other) => {
                    arch.slot(other.0).map_or(RegisterValue::Undefined, RegisterValue::Register)
                }
                RegisterRule::Expression(expression) => {
                    range(expression).map_or(RegisterValue::Undefined, RegisterValue::AtExpression)
                }
                RegisterRule::ValExpression(expression) => {
                    range(expression).map_or(RegisterValue::Undefined, RegisterValue::Expression)
                }
                RegisterRule::Constant(value) => RegisterValue::Constant(*value),
                RegisterRule::Undefined | RegisterRule::Architectural => RegisterValue::Undefined,
            };
            saved.push(Saved { slot, value });
        }
        Some(Self { cfa, saved: saved.into(), return_address, is_signal, expressions })
    }
}
