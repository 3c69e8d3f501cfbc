//! Expressions in the arguments of a print format: a subset of C over the fields of a tracepoint.

use super::field::{Field, FieldLocation, TracepointKind};
use super::value::{FieldValue, field_bytes, unsigned};
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
    /// A cast to an integer, which keeps these bits.
    Cast(u64, Box<Expression>),
    /// `__print_flags`: names of the set bits.
    Flags(Box<Expression>, String, Names),
    /// `__print_symbolic`: name of the value.
    Symbolic(Box<Expression>, Names),
    /// `__print_hex`: that many bytes of an array, and whether spaces separate them.
    Hex(usize, Box<Expression>, bool),
    /// `__print_array`: that many elements of some bytes of an array.
    Array(usize, Box<Expression>, Box<Expression>),
    /// `__get_bitmask`: a dynamic array as a hexadecimal number, highest bits first.
    Bitmask(usize),
    /// `__get_cpumask`: the set bits of a dynamic array as a list of ranges.
    CpuList(usize),
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
    /// The bytes of the payload from the start of a field: lengths that are recorded apart may reach beyond the field.
    fn bytes_from(self, field: usize) -> &'a [u8] {
        let Some(field) = self.fields.get(field) else { return &[] };
        let begin = match field.location {
            FieldLocation::Here { offset, .. } => Some(offset),
            location => field_bytes(location, self.bytes, self.endian)
                .map(|bytes| bytes.as_ptr().addr() - self.bytes.as_ptr().addr()),
        };
        begin.and_then(|begin| self.bytes.get(begin..)).unwrap_or_default()
    }

    fn value(self, field: usize) -> Option<FieldValue<'a>> {
        FieldValue::read(self.fields.get(field)?, self.bytes, self.endian)
    }

    /// The bytes of a field as recorded; empty if it lies beyond the end.
    pub fn field_bytes(self, field: usize) -> &'a [u8] {
        let field = self.fields.get(field);
        field.and_then(|field| field_bytes(field.location, self.bytes, self.endian)).unwrap_or_default()
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
                Some(FieldValue::Signed(_) | FieldValue::Unsigned(_) | FieldValue::Pointer(_)) => {
                    unsigned(payload.field_bytes(*field), payload.endian).unwrap_or_default() as i64
                }
                Some(FieldValue::Text(text) | FieldValue::Bytes(text)) => return Evaluated::Text(text.into()),
                Some(FieldValue::Numbers(numbers)) => return Evaluated::Text(numbers.bytes.into()),
                None if payload.fields.get(*field).is_some_and(|field| field.kind == TracepointKind::Text) => {
                    return Evaluated::Text(Cow::Borrowed(b""));
                }
                Some(FieldValue::EventHeader(_)) | None => 0,
            },
            Self::Element(field, index) => element(payload, *field, number(index)),
            Self::Length(field) => payload.value(*field).map_or(0, |value| value.size() as i64),
            Self::Unary(operator, operand) => match (operator, number(operand)) {
                ('-', number) => number.wrapping_neg(),
                ('~', number) => !number,
                ('+', number) => number,
                (_, number) => (number == 0).into(),
            },
            Self::Binary(operator, left, right) => binary(operator, number(left), number(right)),
            Self::Choice(parts) => {
                let [condition, yes, no] = &**parts;
                let is_yes = number(condition) != 0;
                return if is_yes { yes } else { no }.evaluate(payload);
            }
            Self::Cast(mask, operand) => number(operand) & *mask as i64,
            Self::Flags(value, separator, names) => {
                let pieces = flags(number(value), separator, names);
                return Evaluated::Text(
                    pieces.into_iter().map(|(piece, _)| piece).collect::<String>().into_bytes().into(),
                );
            }
            Self::Symbolic(value, names) => {
                return Evaluated::Text(symbol(number(value), names).0.into_owned().into_bytes().into());
            }
            Self::Hex(field, len, has_spaces) => {
                let len = usize::try_from(number(len)).unwrap_or(0);
                let bytes = payload.bytes_from(*field);
                let bytes: Vec<String> = bytes.iter().take(len).map(|byte| format!("{byte:02x}")).collect();
                return Evaluated::Text(bytes.join(if *has_spaces { " " } else { "" }).into_bytes().into());
            }
            Self::Array(field, count, size) => {
                let (count, size) = (number(count), number(size));
                return Evaluated::Text(array(payload, *field, count, size).into_bytes().into());
            }
            Self::Bitmask(field) => {
                return Evaluated::Text(bitmask(payload.field_bytes(*field), payload.endian).into_bytes().into());
            }
            Self::CpuList(field) => {
                return Evaluated::Text(cpu_list(payload.field_bytes(*field), payload.endian).into_bytes().into());
            }
        })
    }
}

/// Numbers of the set bits, as in `0-3,8`.
fn cpu_list(bytes: &[u8], endian: Endian) -> String {
    let is_set = |bit: usize| {
        let byte = bit / 8;
        let byte = if endian == Endian::Big { bytes.len().checked_sub(byte + 1) } else { Some(byte) };
        byte.and_then(|byte| bytes.get(byte)).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    };
    let (mut text, mut bit) = (String::new(), 0);
    while bit < 8 * bytes.len() {
        let len = (bit..).take_while(|&bit| is_set(bit)).count();
        let separator = if text.is_empty() { "" } else { "," };
        match len {
            0 => {}
            1 => text += &format!("{separator}{bit}"),
            _ => text += &format!("{separator}{bit}-{}", bit + len - 1),
        }
        bit += len + 1;
    }
    text
}

/// Elements of an array, separated by spaces. A size that no integer has is reported as by perf.
fn array(payload: Payload<'_>, field: usize, count: i64, size: i64) -> String {
    let bytes = payload.field_bytes(field);
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
        Some(FieldValue::Numbers(numbers)) => {
            let element = numbers.bytes.chunks_exact(numbers.size).nth(index);
            element.and_then(|bytes| unsigned(bytes, payload.endian)).unwrap_or_default() as i64
        }
        Some(FieldValue::Bytes(bytes) | FieldValue::Text(bytes)) => bytes.get(index).copied().unwrap_or(0).into(),
        _ => 0,
    }
}

/// As perf, knows only unsigned numbers.
fn binary(operator: &str, left: i64, right: i64) -> i64 {
    let (low, high) = (left as u64, right as u64);
    match operator {
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => low.checked_div(high).unwrap_or(0) as i64,
        "%" => low.checked_rem(high).unwrap_or(0) as i64,
        "<<" => left.wrapping_shl(right as u32),
        ">>" => low.wrapping_shr(right as u32) as i64,
        "&" => left & right,
        "|" => left | right,
        "^" => left ^ right,
        "==" => (left == right).into(),
        "!=" => (left != right).into(),
        "<" => (low < high).into(),
        ">" => (low > high).into(),
        "<=" => (low <= high).into(),
        ">=" => (low >= high).into(),
        "&&" => (left != 0 && right != 0).into(),
        _ => (left != 0 || right != 0).into(),
    }
}

/// A part of a text, and whether width and precision of the conversion apply to it.
pub type PrintedPiece<'a> = (Cow<'a, str>, bool);

/// The names of the set bits with separators, and the rest as a number. The name of a value that is unknown or negative is that of
/// no bits.
pub fn flags<'a>(mut value: i64, separator: &'a str, names: &'a Names) -> Vec<PrintedPiece<'a>> {
    let mut pieces: Vec<PrintedPiece<'_>> = Vec::new();
    for (bits, name) in names {
        if value == 0 && *bits < 0 {
            pieces.push((name.into(), true));
            break;
        }
        if *bits > 0 && value & bits == *bits {
            if !pieces.is_empty() {
                pieces.push((separator.into(), false));
            }
            pieces.push((name.into(), true));
            value &= !bits;
        }
    }
    if value != 0 {
        if !pieces.is_empty() {
            pieces.push((separator.into(), false));
        }
        pieces.push((format!("{value:#x}").into(), false));
    }
    pieces
}

/// The name of a value, or the value itself.
pub fn symbol(value: i64, names: &Names) -> PrintedPiece<'_> {
    let name = names.iter().find(|(number, _)| *number == value);
    name.map_or_else(|| (format!("{value:#x}").into(), false), |(_, name)| (name.into(), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(offset: usize, size: usize, kind: TracepointKind) -> Field {
        let location = FieldLocation::Here { offset, size };
        Field { name: String::new(), type_name: String::new(), location, kind, is_signed: true }
    }

    #[test]
    fn fields_have_values_of_their_kind() {
        let fields = [
            field(0, 2, TracepointKind::Number(2)),
            field(2, 4, TracepointKind::Text),
            field(6, 4, TracepointKind::Numbers(2)),
            field(6, 4, TracepointKind::Bytes),
            field(9, 4, TracepointKind::Text),
            field(9, 4, TracepointKind::Number(4)),
        ];
        let payload = Payload { fields: &fields, bytes: b"\xff\xfeab\0x\0\x05\xff\xff", endian: Endian::Big };
        let text = |text: &'static [u8]| Evaluated::Text(text.into());
        for (expression, expected) in [
            // perf knows only unsigned numbers.
            (Expression::Field(0), Evaluated::Number(0xfffe)),
            (Expression::Field(1), text(b"ab")),
            (Expression::Field(2), text(b"\0\x05\xff\xff")),
            (Expression::Field(4), text(b"")),
            (Expression::Field(5), Evaluated::Number(0)),
            (Expression::Field(99), Evaluated::Number(0)),
            (Expression::Element(2, Box::new(Expression::Number(0))), Evaluated::Number(5)),
            (Expression::Element(2, Box::new(Expression::Number(1))), Evaluated::Number(0xffff)),
            (Expression::Element(2, Box::new(Expression::Number(-1))), Evaluated::Number(0)),
            (Expression::Element(3, Box::new(Expression::Number(1))), Evaluated::Number(5)),
            (Expression::Element(3, Box::new(Expression::Number(4))), Evaluated::Number(0)),
            (Expression::Length(2), Evaluated::Number(4)),
            (Expression::Length(99), Evaluated::Number(0)),
            (Expression::Cast(0xff, Box::new(Expression::Field(0))), Evaluated::Number(0xfe)),
            (Expression::Hex(3, Box::new(Expression::Number(3)), true), text(b"00 05 ff")),
            (Expression::Hex(3, Box::new(Expression::Number(99)), false), text(b"0005ffff")),
            (Expression::Hex(3, Box::new(Expression::Number(0)), true), text(b"")),
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
            ("%", i64::MIN, -1, i64::MIN),
            ("/", 1, 0, 0),
            ("%", 1, 0, 0),
            ("<<", 1, 65, 2),
            (">>", -8, 1, i64::MAX - 3),
            ("<", -1, 1, 0),
            ("&&", 2, 0, 0),
            ("||", 2, 0, 1),
        ] {
            assert_eq!(binary(operator, left, right), expected, "{left} {operator} {right}");
        }
    }

    #[test]
    fn flags_name_bits_and_the_rest() {
        let names = vec![(0, "none".to_owned()), (1, "one".to_owned()), (6, "six".to_owned())];
        let print = |value, names| flags(value, "+", names).into_iter().map(|(piece, _)| piece).collect::<String>();
        for (value, expected) in
            [(0, ""), (1, "one"), (7, "one+six"), (2, "0x2"), (9, "one+0x8"), (-8, "0xfffffffffffffff8")]
        {
            assert_eq!(print(value, &names), expected);
        }
        assert_eq!(print(0, &vec![(1, "one".to_owned()), (-1, "unknown".to_owned())]), "unknown");
    }

    #[test]
    fn masks_of_cpus_are_lists() {
        for (bytes, expected) in
            [(&[0b1000_1101, 0b0000_0001][..], "0,2-3,7-8"), (&[0, 0], ""), (&[0xff], "0-7"), (&[], ""), (&[0, 1], "8")]
        {
            let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
            assert_eq!(cpu_list(bytes, Endian::Little), expected);
            assert_eq!(cpu_list(&reversed, Endian::Big), expected);
        }
    }
}
