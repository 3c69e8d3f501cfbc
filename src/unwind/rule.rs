//! Compact unwind rules: how the registers of a caller follow from those of its callee.

use super::arch::Architecture;
use super::registers::Slot;
use gimli::{CfaRule, RegisterRule, UnwindExpression, UnwindTableRow};

/// A row of a CFI table.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The canonical frame address.
    pub cfa: Cfa,
    /// Where the list of its registers begins, and its length.
    pub registers: (u32, u8),
    /// The slot of the return address.
    pub return_address: Slot,
    /// Whether this is the frame of a signal trampoline: its caller was interrupted, and did not call.
    pub is_signal: bool,
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
    pub value: Value,
}

/// The value of a register.
#[derive(Clone, Copy, Debug)]
pub enum Value {
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

/// Where an expression is in its section.
#[derive(Clone, Copy, Debug)]
pub struct ExpressionRange {
    /// Offset in the section.
    pub offset: u32,
    /// Number of bytes.
    pub len: u32,
    /// Whether the section is `.debug_frame`.
    pub is_in_debug_frame: bool,
}

impl Rule {
    /// Compiles a row. Appends the rules of registers to `all`; `None` if the frame address depends on an untracked register.
    pub fn new(
        row: &UnwindTableRow<usize>,
        return_column: u16,
        is_signal: bool,
        is_in_debug_frame: bool,
        arch: &Architecture,
        all: &mut Vec<Saved>,
    ) -> Option<Self> {
        let range = |expression: &UnwindExpression<usize>| {
            let (offset, len) = (expression.offset.try_into().ok()?, expression.length.try_into().ok()?);
            Some(ExpressionRange { offset, len, is_in_debug_frame })
        };
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => Cfa::Register(arch.slot(register.0)?, *offset),
            CfaRule::Expression(expression) => Cfa::Expression(range(expression)?),
        };
        let return_address = arch.slot(return_column)?;
        let first = all.len();
        for (register, rule) in row.registers() {
            let Some(slot) = arch.slot(register.0) else { continue };
            let value = match rule {
                RegisterRule::SameValue => continue,
                RegisterRule::Offset(offset) => Value::At(*offset),
                RegisterRule::ValOffset(offset) => Value::Cfa(*offset),
                RegisterRule::Register(other) => arch.slot(other.0).map_or(Value::Undefined, Value::Register),
                RegisterRule::Expression(expression) => range(expression).map_or(Value::Undefined, Value::AtExpression),
                RegisterRule::ValExpression(expression) => {
                    range(expression).map_or(Value::Undefined, Value::Expression)
                }
                RegisterRule::Constant(value) => Value::Constant(*value),
                RegisterRule::Undefined | RegisterRule::Architectural => Value::Undefined,
            };
            all.push(Saved { slot, value });
        }
        // There are fewer slots than 256.
        let registers = (first as u32, (all.len() - first) as u8);
        Some(Self { cfa, registers, return_address, is_signal })
    }
}
