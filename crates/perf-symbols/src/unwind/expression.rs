//! Evaluation of DWARF expressions in CFI: of PLT entries, signal trampolines and realigned stacks.

use super::arch::Architecture;
use super::memory::Unreadable;
use super::registers::Registers;
use gimli::{Encoding, EndianSlice, Expression, Format, Operation, RunTimeEndian};

/// Maximum number of operations. Expressions of compilers have a few; those of crafted files may jump back forever.
const MAX_STEPS: usize = 256;

/// Maximum number of values on the stack; a limit allows an array instead of an allocation.
const MAX_DEPTH: usize = 32;

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// Memory that it reads is unavailable.
    Memory(Unreadable),
    /// It is invalid, reads an unknown register, or does not end.
    Invalid,
}

/// The stack of an evaluation.
struct Stack {
    values: [u64; MAX_DEPTH],
    len: usize,
}

impl Stack {
    fn push(&mut self, value: u64) -> Result<(), Failed> {
        *self.values.get_mut(self.len).ok_or(Failed::Invalid)? = value;
        self.len += 1;
        Ok(())
    }

    fn pop(&mut self) -> Result<u64, Failed> {
        self.len = self.len.checked_sub(1).ok_or(Failed::Invalid)?;
        Ok(self.values[self.len])
    }

    /// The value at this depth; 0 is the top.
    fn at(&self, depth: usize) -> Result<u64, Failed> {
        let index = self.len.checked_sub(depth + 1).ok_or(Failed::Invalid)?;
        Ok(self.values[index])
    }
}

/// Evaluates an expression. `initial` is on the stack at the start, and `read` returns an integer in memory.
///
/// # Errors
/// If it has no value.
pub(crate) fn evaluate(
    expression: Expression<EndianSlice<'_, RunTimeEndian>>,
    arch: &Architecture,
    registers: &Registers,
    initial: Option<u64>,
    mut read: impl FnMut(u64, u8) -> Result<u64, Unreadable>,
) -> Result<u64, Failed> {
    let mut stack = Stack { values: [0; MAX_DEPTH], len: 0 };
    if let Some(value) = initial {
        stack.push(value)?;
    }
    // Only operations of other sections depend on format and version.
    let encoding = Encoding { format: Format::Dwarf32, version: 4, address_size: arch.pointer_size };
    let whole = expression.0;
    let mut rest = whole;
    let address = |value: u64| arch.wrapped(value);
    let signed = |value: u64| if arch.pointer_size == 4 { i64::from(value as i32) } else { value as i64 };
    for _ in 0..MAX_STEPS {
        if rest.is_empty() {
            return stack.at(0).map(address);
        }
        let operation = Operation::parse(&mut rest, encoding).map_err(|_| Failed::Invalid)?;
        let value = match operation {
            Operation::Nop => continue,
            Operation::Drop => {
                stack.pop()?;
                continue;
            }
            Operation::Swap => {
                let (top, below) = (stack.pop()?, stack.pop()?);
                stack.push(top)?;
                below
            }
            Operation::Rot => {
                let (first, second, third) = (stack.pop()?, stack.pop()?, stack.pop()?);
                stack.push(first)?;
                stack.push(third)?;
                second
            }
            Operation::Skip { target } => {
                rest = jump(whole, rest, target)?;
                continue;
            }
            Operation::Bra { target } => {
                if stack.pop()? != 0 {
                    rest = jump(whole, rest, target)?;
                }
                continue;
            }
            Operation::Pick { index } => stack.at(index.into())?,
            Operation::Deref { size, space: false, .. } => {
                let pointer = stack.pop()?;
                read(address(pointer), size).map_err(Failed::Memory)?
            }
            Operation::UnsignedConstant { value } => value,
            Operation::SignedConstant { value } => value as u64,
            Operation::Address { address } => address,
            Operation::RegisterOffset { register, offset, .. } => {
                let slot = arch.slot(register.0).ok_or(Failed::Invalid)?;
                registers.get(slot).ok_or(Failed::Invalid)?.wrapping_add(offset as u64)
            }
            Operation::PlusConstant { value } => stack.pop()?.wrapping_add(value),
            Operation::Abs => signed(stack.pop()?).unsigned_abs(),
            Operation::Neg => stack.pop()?.wrapping_neg(),
            Operation::Not => !stack.pop()?,
            binary => {
                let (right, left) = (stack.pop()?, stack.pop()?);
                let shift = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
                // As in gimli's evaluator: division and comparisons are signed, the remainder is unsigned.
                match binary {
                    Operation::And => left & right,
                    Operation::Or => left | right,
                    Operation::Xor => left ^ right,
                    Operation::Plus => left.wrapping_add(right),
                    Operation::Minus => left.wrapping_sub(right),
                    Operation::Mul => left.wrapping_mul(right),
                    Operation::Div => signed(left).checked_div(signed(right)).ok_or(Failed::Invalid)? as u64,
                    Operation::Mod => left.checked_rem(right).ok_or(Failed::Invalid)?,
                    Operation::Shl => left.checked_shl(shift(right)).unwrap_or(0),
                    Operation::Shr => address(left).checked_shr(shift(right)).unwrap_or(0),
                    Operation::Shra => (signed(left) >> right.min(63)) as u64,
                    Operation::Eq => (signed(left) == signed(right)).into(),
                    Operation::Ne => (signed(left) != signed(right)).into(),
                    Operation::Ge => (signed(left) >= signed(right)).into(),
                    Operation::Gt => (signed(left) > signed(right)).into(),
                    Operation::Le => (signed(left) <= signed(right)).into(),
                    Operation::Lt => (signed(left) < signed(right)).into(),
                    _ => return Err(Failed::Invalid),
                }
            }
        };
        stack.push(value)?;
    }
    Err(Failed::Invalid)
}

/// The operations after a jump by `offset` bytes from the start of `rest`.
fn jump<'a>(
    whole: EndianSlice<'a, RunTimeEndian>,
    rest: EndianSlice<'a, RunTimeEndian>,
    offset: i16,
) -> Result<EndianSlice<'a, RunTimeEndian>, Failed> {
    let position = whole.len() - rest.len();
    let target = position.checked_add_signed(offset.into()).filter(|&target| target <= whole.len());
    Ok(whole.range_from(target.ok_or(Failed::Invalid)?..))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(expression: &[u8], initial: Option<u64>) -> Result<u64, Failed> {
        let arch = Architecture::find(Some("x86_64"), None, true).unwrap();
        let mut registers = Registers::default();
        registers.set(7, Some(0x7000));
        registers.set(16, Some(0x40_102b));
        let expression = Expression(EndianSlice::new(expression, RunTimeEndian::Little));
        let read = |address, size| if size == 8 { Ok(address + 1) } else { Err(Unreadable::Outside) };
        evaluate(expression, arch, &registers, initial, read)
    }

    #[test]
    fn values_of_expressions() {
        // The frame address in a PLT entry: rsp + 8, and 8 more after its push.
        let plt = [0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
        assert_eq!(value(&plt, None), Ok(0x7010));
        // A saved register of a signal trampoline.
        assert_eq!(value(&[0x77, 0xa0, 1, 0x06], None), Ok(0x70a1));
        // Skip over a constant, then drop, swap, rotate.
        assert_eq!(value(&[0x35, 0x2f, 1, 0, 0x36, 0x37, 0x13], None), Ok(5));
        assert_eq!(value(&[0x31, 0x32, 0x16, 0x1c], None), Ok(1));
        assert_eq!(value(&[0x31, 0x32, 0x33, 0x17, 0x12, 0x14, 0x22, 0x22], None), Ok(6));
        assert_eq!(value(&[0x23, 4], Some(10)), Ok(14));
        assert_eq!(value(&[0x31, 0x28, 1, 0, 0x35], Some(9)), Ok(9));
    }

    #[test]
    fn invalid_expressions_have_no_value() {
        let endless = [0x2f, 0xfd, 0xff];
        let overflow = [0x12; 300];
        for (expression, initial) in
            [(&endless[..], Some(1)), (&overflow, Some(1)), (&[0x22], Some(1)), (&[], None), (&[0x2f, 9, 9], Some(1))]
        {
            assert_eq!(value(expression, initial), Err(Failed::Invalid), "{expression:x?}");
        }
        assert_eq!(value(&[0x31, 0x30, 0x1b], None), Err(Failed::Invalid), "division by zero");
        assert_eq!(value(&[0x72, 0], None), Err(Failed::Invalid), "unknown register");
        assert_eq!(value(&[0x94, 4], Some(1)), Err(Failed::Memory(Unreadable::Outside)));
    }
}
