//! Expressions in the arguments of a print format: a subset of C over the fields of a tracepoint.

use super::field::{Field, Kind};
use super::value::{Value, bytes_of, unsigned};
use crate::abi::Endian;
use std::borrow::Cow;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A number. Names that the format does not define are 0.
    Number(i64),
    /// A string.
    Text(String),
    /// Value of a field, by its index.
    Field(usize),
    /// Element of an array.
    Element(usize, Box<Expression>),
    /// Length of a dynamic array in bytes.
    Length(usize),
    /// An operator with one operand.
    Unary(char, Box<Expression>),
    /// An operator with two operands.
    Binary(&'static str, Box<Expression>, Box<Expression>),
    /// `condition ? yes : no`.
    Choice(Box<[Expression; 3]>),
    /// A cast to an integer of some bytes, signed or not.
    Cast(u32, bool, Box<Expression>),
    /// `__print_flags`: names of the set bits.
    Flags(Box<Expression>, String, Names),
    /// `__print_symbolic`: name of the value.
    Symbolic(Box<Expression>, Names),
    /// `__print_hex`: bytes of an array, and whether spaces separate them.
    Hex(usize, bool),
    /// `__print_array`: that many elements of some bytes of an array.
    Array(usize, Box<Expression>, Box<Expression>),
    /// `__get_bitmask`: a dynamic array as a hexadecimal number, highest bits first.
    Bitmask(usize),
}

/// Names of values.
pub type Names = Vec<(i64, String)>;

/// A result.
#[derive(Clone, Debug, PartialEq)]
pub enum Evaluated<'a> {
    /// A number.
    Number(i64),
    /// A text, not necessarily UTF-8.
    Text(Cow<'a, [u8]>),
}

impl Evaluated<'_> {
    /// The number; 0 for a text.
    pub fn number(&self) -> i64 {
        match self {
            Self::Number(number) => *number,
            Self::Text(_) => 0,
        }
    }
}

/// What expressions refer to.
#[derive(Clone, Copy)]
pub struct Payload<'a> {
    /// The fields, common ones first.
    pub fields: &'a [Field],
    /// The bytes of the sample.
    pub bytes: &'a [u8],
    /// Their byte order.
    pub endian: Endian,
}

impl<'a> Payload<'a> {
    fn value(self, field: usize) -> Option<Value<'a>> {
        Value::read(self.fields.get(field)?, self.bytes, self.endian)
    }

    /// The bytes of a field as recorded; empty if it lies beyond the end.
    pub fn bytes_of(self, field: usize) -> &'a [u8] {
        let field = self.fields.get(field);
        field.and_then(|field| bytes_of(field.place, self.bytes, self.endian)).unwrap_or_default()
    }
}

impl Expression {
    /// Evaluates the expression. Fields beyond the end of the payload are 0.
    pub fn evaluate<'a>(&'a self, payload: Payload<'a>) -> Evaluated<'a> {
        let number = |expression: &Self| expression.evaluate(payload).number();
        Evaluated::Number(match self {
            Self::Number(number) => *number,
            Self::Text(text) => return Evaluated::Text(text.as_bytes().into()),
            Self::Field(field) => match payload.value(*field) {
                Some(Value::Signed(number)) => number,
                Some(Value::Unsigned(number) | Value::Pointer(number)) => number as i64,
                Some(Value::Text(text) | Value::Bytes(text)) => return Evaluated::Text(text.into()),
                Some(Value::Numbers(numbers)) => return Evaluated::Text(numbers.bytes.into()),
                None if payload.fields.get(*field).is_some_and(|field| field.kind == Kind::Text) => {
                    return Evaluated::Text(Cow::Borrowed(b""));
                }
                None => 0,
            },
            Self::Element(field, index) => element(payload, *field, number(index)),
            Self::Length(field) => payload.value(*field).map_or(0, |value| value.size() as i64),
            Self::Unary(operator, operand) => match (operator, number(operand)) {
                ('-', number) => number.wrapping_neg(),
                ('~', number) => !number,
                (_, number) => (number == 0).into(),
            },
            Self::Binary(operator, left, right) => binary(operator, number(left), number(right)),
            Self::Choice(parts) => {
                let [condition, yes, no] = &**parts;
                let is_yes = number(condition) != 0;
                return if is_yes { yes } else { no }.evaluate(payload);
            }
            Self::Cast(size, is_signed, operand) => match operand.evaluate(payload) {
                Evaluated::Number(number) => cast(number, *size, *is_signed),
                text @ Evaluated::Text(_) => return text,
            },
            Self::Flags(value, separator, names) => {
                return Evaluated::Text(flags(number(value), separator, names).into_bytes().into());
            }
            Self::Symbolic(value, names) => {
                let value = number(value);
                let name = names.iter().find(|(known, _)| *known == value).map(|(_, name)| name.as_bytes().into());
                return Evaluated::Text(name.unwrap_or_else(|| format!("{value:#x}").into_bytes().into()));
            }
            Self::Hex(field, has_spaces) => {
                let bytes = match payload.value(*field) {
                    Some(Value::Bytes(bytes) | Value::Text(bytes)) => bytes,
                    Some(Value::Numbers(numbers)) => numbers.bytes,
                    _ => &[],
                };
                let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                return Evaluated::Text(bytes.join(if *has_spaces { " " } else { "" }).into_bytes().into());
            }
            Self::Array(field, count, size) => {
                let (count, size) = (number(count), number(size));
                return Evaluated::Text(array(payload, *field, count, size).into_bytes().into());
            }
            Self::Bitmask(field) => {
                return Evaluated::Text(bitmask(payload.bytes_of(*field), payload.endian).into_bytes().into());
            }
        })
    }
}

/// Elements of an array, separated by spaces. A size that no integer has is reported as by perf.
fn array(payload: Payload<'_>, field: usize, count: i64, size: i64) -> String {
    let bytes = payload.bytes_of(field);
    let is_known = matches!(size, 1 | 2 | 4 | 8);
    let elements = bytes.chunks_exact(if is_known { size as usize } else { 1 });
    let texts = elements.take(usize::try_from(count).unwrap_or(0)).map(|element| match is_known {
        true => unsigned(element, payload.endian).unwrap_or_default().to_string(),
        false => format!("BAD SIZE:{size} {:#x}", element[0]),
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// Two digits for each byte, with a comma every 32 bits.
fn bitmask(bytes: &[u8], endian: Endian) -> String {
    let mut text = String::new();
    for at in 0..bytes.len() {
        let left = bytes.len() - at;
        if at > 0 && left.is_multiple_of(4) {
            text.push(',');
        }
        let byte = bytes[if endian == Endian::Big { at } else { left - 1 }];
        text += &format!("{byte:02x}");
    }
    text
}

fn element(payload: Payload<'_>, field: usize, index: i64) -> i64 {
    let Ok(index) = usize::try_from(index) else { return 0 };
    match payload.value(field) {
        Some(Value::Numbers(numbers)) => match numbers.iter().nth(index) {
            Some(Value::Signed(number)) => number,
            Some(Value::Unsigned(number)) => number as i64,
            _ => 0,
        },
        Some(Value::Bytes(bytes) | Value::Text(bytes)) => bytes.get(index).copied().unwrap_or(0).into(),
        _ => 0,
    }
}

fn binary(operator: &str, left: i64, right: i64) -> i64 {
    match operator {
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => left.checked_div(right).unwrap_or(0),
        "%" => left.checked_rem(right).unwrap_or(0),
        "<<" => left.wrapping_shl(right as u32),
        ">>" => left.wrapping_shr(right as u32),
        "&" => left & right,
        "|" => left | right,
        "^" => left ^ right,
        "==" => (left == right).into(),
        "!=" => (left != right).into(),
        "<" => (left < right).into(),
        ">" => (left > right).into(),
        "<=" => (left <= right).into(),
        ">=" => (left >= right).into(),
        "&&" => (left != 0 && right != 0).into(),
        _ => (left != 0 || right != 0).into(),
    }
}

fn cast(number: i64, size: u32, is_signed: bool) -> i64 {
    let unused = 64 - 8 * size.clamp(1, 8);
    let shifted = number << unused;
    if is_signed { shifted >> unused } else { (shifted as u64 >> unused) as i64 }
}

/// The names of the set bits, and the rest as a number.
fn flags(mut value: i64, separator: &str, names: &Names) -> String {
    let mut found: Vec<Cow<'_, str>> = Vec::new();
    for (bits, name) in names {
        if value == 0 && *bits == 0 && found.is_empty() {
            found.push(name.into());
            break;
        }
        if *bits != 0 && value & bits == *bits {
            found.push(name.into());
            value &= !bits;
        }
    }
    if value != 0 {
        found.push(format!("{value:#x}").into());
    }
    found.join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracepoint::field::FieldLocation;

    fn field(offset: usize, size: usize, kind: Kind) -> Field {
        let place = FieldLocation::Here { offset, size };
        Field { name: String::new(), type_name: String::new(), place, kind, is_signed: true }
    }

    #[test]
    fn fields_have_values_of_their_kind() {
        let fields = [
            field(0, 2, Kind::Number(2)),
            field(2, 4, Kind::Text),
            field(6, 4, Kind::Numbers(2)),
            field(6, 4, Kind::Bytes),
            field(9, 4, Kind::Text),
            field(9, 4, Kind::Number(4)),
        ];
        let payload = Payload { fields: &fields, bytes: b"\xff\xfeab\0x\0\x05\xff\xff", endian: Endian::Big };
        let text = |text: &'static [u8]| Evaluated::Text(text.into());
        for (expression, expected) in [
            (Expression::Field(0), Evaluated::Number(-2)),
            (Expression::Field(1), text(b"ab")),
            (Expression::Field(2), text(b"\0\x05\xff\xff")),
            (Expression::Field(4), text(b"")),
            (Expression::Field(5), Evaluated::Number(0)),
            (Expression::Field(99), Evaluated::Number(0)),
            (Expression::Element(2, Box::new(Expression::Number(0))), Evaluated::Number(5)),
            (Expression::Element(2, Box::new(Expression::Number(1))), Evaluated::Number(-1)),
            (Expression::Element(2, Box::new(Expression::Number(-1))), Evaluated::Number(0)),
            (Expression::Element(3, Box::new(Expression::Number(1))), Evaluated::Number(5)),
            (Expression::Element(3, Box::new(Expression::Number(4))), Evaluated::Number(0)),
            (Expression::Length(2), Evaluated::Number(4)),
            (Expression::Length(99), Evaluated::Number(0)),
            (Expression::Cast(1, false, Box::new(Expression::Field(0))), Evaluated::Number(0xfe)),
            (Expression::Cast(8, false, Box::new(Expression::Field(1))), text(b"ab")),
            (Expression::Hex(3, true), text(b"00 05 ff ff")),
            (Expression::Hex(0, true), text(b"")),
        ] {
            assert_eq!(expression.evaluate(payload), expected, "{expression:?}");
        }
    }

    #[test]
    fn arithmetic_wraps() {
        for (operator, left, right, expected) in [
            ("+", i64::MAX, 1, i64::MIN),
            ("*", i64::MIN, -1, i64::MIN),
            ("/", i64::MIN, -1, 0),
            ("%", i64::MIN, -1, 0),
            ("<<", 1, 65, 2),
            (">>", -8, 1, -4),
            ("&&", 2, 0, 0),
            ("||", 2, 0, 1),
        ] {
            assert_eq!(binary(operator, left, right), expected, "{left} {operator} {right}");
        }
        assert_eq!((cast(-1, 4, false), cast(0x80, 1, true), cast(-1, 8, false)), (0xffff_ffff, -0x80, -1));
    }

    #[test]
    fn flags_name_bits_and_the_rest() {
        let names = vec![(0, "none".to_owned()), (1, "one".to_owned()), (6, "six".to_owned())];
        for (value, expected) in
            [(0, "none"), (1, "one"), (7, "one+six"), (2, "0x2"), (9, "one+0x8"), (-8, "0xfffffffffffffff8")]
        {
            assert_eq!(flags(value, "+", &names), expected);
        }
    }
}
