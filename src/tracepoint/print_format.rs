//! Print formats of tracepoints: a printf(3) format with arguments, as in `"comm=%s pid=%d", __get_str(comm), REC->pid`.

use super::address::PointerForm;
use super::expression::{Evaluated, Expression, Payload};
use super::expression_parser::Parser;
use super::field::{Field, Kind};
use crate::abi::Endian;
use hashbrown::HashMap;
use std::io::Write;

/// Maximum width of a conversion.
const MAX_WIDTH: usize = 256;

/// Maximum size of a printed sample, beyond which the rest is omitted: a hostile format can repeat a field.
const MAX_SIZE: usize = 256 << 10;

/// The text of a sample, with functions of the kernel whose names are inserted later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintedText {
    /// The text without the functions.
    pub text: Vec<u8>,
    /// Functions, in order of the text.
    pub functions: Vec<PrintedFunction>,
}

/// A function in the text of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintedFunction {
    /// Where it is inserted in the text.
    pub at: usize,
    /// Its address.
    pub address: u64,
    /// Whether the offset in the function is printed.
    pub has_offset: bool,
}

/// Strings of the kernel by address, which some tracepoints record instead of the text.
pub type KernelStrings = HashMap<u64, Vec<u8>>;

/// A parsed print format.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintFormat(Vec<Piece>);

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    /// A conversion, its `*` and its argument.
    Conversion(Conversion, Option<Expression>, Expression),
}

/// A conversion such as `%08lx`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Conversion {
    is_left: bool,
    has_zeros: bool,
    is_alternate: bool,
    width: usize,
    precision: Option<usize>,
    /// Size of the argument in bytes.
    size: u32,
    kind: char,
    pointer: PointerForm,
    star: Star,
}

/// What an argument before that of the conversion gives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Star {
    #[default]
    Nothing,
    Width,
    Precision,
}

impl PrintFormat {
    /// Parses a print format; `None` if it has parts that are not understood. `long_size` is the size of a `long`: 4 or 8.
    pub fn parse(text: &str, fields: &[Field], long_size: usize) -> Option<Self> {
        if !matches!(long_size, 4 | 8) {
            return None;
        }
        let mut parser = Parser::new(text, fields, long_size)?;
        let format = parser.string()?;
        let mut pieces = Vec::new();
        let mut rest = &*format;
        while let Some((before, after)) = rest.split_once('%') {
            pieces.push(Piece::Text(before.to_owned()));
            if let Some(after) = after.strip_prefix('%') {
                pieces.push(Piece::Text("%".to_owned()));
                rest = after;
                continue;
            }
            let (conversion, after) = Conversion::parse(after, long_size)?;
            let star = if conversion.star == Star::Nothing { None } else { Some(parser.argument()?) };
            pieces.push(Piece::Conversion(conversion, star, parser.argument()?));
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        parser.is_at_end().then_some(Self(pieces))
    }

    /// Appends the text of a sample.
    pub fn print(&self, payload: Payload<'_>, strings: &KernelStrings, printed: &mut PrintedText) {
        let limit = printed.text.len() + MAX_SIZE;
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => printed.text.extend_from_slice(text.as_bytes()),
                Piece::Conversion(conversion, star, argument) => {
                    let star = star.as_ref().map(|star| star.evaluate(payload).number());
                    conversion.argument(star, argument, payload, strings, printed);
                }
            }
            if printed.text.len() > limit {
                printed.text.truncate(limit);
                printed.functions.retain(|function| function.at <= limit);
                return;
            }
        }
    }
}

impl Conversion {
    /// Parses what follows `%`; returns the rest.
    fn parse(text: &str, long_size: usize) -> Option<(Self, &str)> {
        let mut this = Self { size: 4, ..Self::default() };
        let flags = text.find(|c| !"-0#+ ".contains(c))?;
        (this.is_left, this.has_zeros) = (text[..flags].contains('-'), text[..flags].contains('0'));
        this.is_alternate = text[..flags].contains('#');
        let number = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            (text[..end].parse().unwrap_or(0).min(MAX_WIDTH), end)
        };
        let mut rest = &text[flags..];
        if let Some(after) = rest.strip_prefix('*') {
            (this.star, rest) = (Star::Width, after);
        } else {
            let (width, end) = number(rest);
            (this.width, rest) = (width, &rest[end..]);
        }
        if let Some(after) = rest.strip_prefix('.') {
            if let Some(after) = after.strip_prefix('*').filter(|_| this.star == Star::Nothing) {
                (this.star, rest) = (Star::Precision, after);
            } else {
                let (precision, end) = number(after);
                (this.precision, rest) = (Some(precision), &after[end..]);
            }
        }
        let kind = rest.find(|c| !"hlLqzt".contains(c))?;
        this.size = match &rest[..kind] {
            "" => 4,
            "h" => 2,
            "hh" => 1,
            "l" | "z" | "t" => long_size as u32,
            _ => 8,
        };
        this.kind = rest[kind..].chars().next()?;
        let mut rest = &rest[kind + this.kind.len_utf8()..];
        match this.kind {
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c' | 's' => {}
            'p' => {
                (this.pointer, rest) = PointerForm::parse(rest, Endian::Little);
                this.size = 8;
            }
            _ => return None,
        }
        Some((this, rest))
    }

    /// Appends an argument. `star` is the value of the `*`.
    fn argument(
        mut self,
        star: Option<i64>,
        argument: &Expression,
        payload: Payload<'_>,
        strings: &KernelStrings,
        printed: &mut PrintedText,
    ) {
        let given = star.and_then(|star| usize::try_from(star).ok());
        match self.star {
            Star::Nothing => {}
            Star::Width => self.width = given.unwrap_or(0).min(MAX_WIDTH),
            Star::Precision => self.precision = given,
        }
        match self.pointer {
            PointerForm::Number => {}
            PointerForm::Function(has_offset) => {
                let address = argument.evaluate(payload).number() as u64;
                return printed.functions.push(PrintedFunction { at: printed.text.len(), address, has_offset });
            }
            form => return form.print(argument, payload, star.unwrap_or(1), &mut printed.text),
        }
        let value = argument.evaluate(payload);
        if self.kind == 's' && is_pointer(argument, payload) {
            // A pointer to a string of the kernel. perf ignores the width.
            let address = value.number() as u64;
            match strings.get(&address) {
                Some(string) => printed.text.extend_from_slice(string),
                // Writing to a vector cannot fail.
                None => drop(write!(printed.text, "{address:x}")),
            }
            return;
        }
        self.print(&value, &mut printed.text);
    }

    fn print(&self, value: &Evaluated<'_>, out: &mut Vec<u8>) {
        let unused = 64 - 8 * self.size;
        let signed = value.number() << unused >> unused;
        let unsigned = value.number() as u64 & (u64::MAX >> unused);
        let mut text = Vec::new();
        // Writing to a vector cannot fail.
        let _ = match (self.kind, value) {
            ('s', Evaluated::Text(bytes)) => {
                let shown = self.precision.unwrap_or(usize::MAX).min(bytes.len());
                text.write_all(&bytes[..shown])
            }
            ('d' | 'i' | 's', _) => write!(text, "{signed}"),
            ('x', _) if self.is_alternate && unsigned != 0 => write!(text, "{unsigned:#x}"),
            ('x', _) => write!(text, "{unsigned:x}"),
            ('X', _) => write!(text, "{unsigned:X}"),
            ('o', _) => write!(text, "{unsigned:o}"),
            ('c', _) => text.write_all(&[unsigned as u8]),
            ('p', _) if unsigned == 0 => write!(text, "(nil)"),
            ('p', _) => write!(text, "{unsigned:#x}"),
            _ => write!(text, "{unsigned}"),
        };
        let fill = self.width.saturating_sub(text.len());
        if self.is_left {
            out.append(&mut text);
            out.resize(out.len() + fill, b' ');
        } else if self.has_zeros && self.kind != 's' {
            let sign = usize::from(text.first() == Some(&b'-'));
            out.extend_from_slice(&text[..sign]);
            out.resize(out.len() + fill, b'0');
            out.extend_from_slice(&text[sign..]);
        } else {
            out.resize(out.len() + fill, b' ');
            out.append(&mut text);
        }
    }
}

/// Whether an argument is a field of the size of an address.
fn is_pointer(argument: &Expression, payload: Payload<'_>) -> bool {
    let Expression::Field(field) = argument else { return false };
    payload.fields.get(*field).is_some_and(|field| matches!(field.kind, Kind::Pointer(_) | Kind::Number(8)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Endian;
    use crate::tracepoint::field::{FieldLocation, Kind};

    /// A format with the number `n`, -3, the text `s`, "cat", and the address `p`, 0xffff.
    fn print(format: &str, long_size: usize) -> Option<String> {
        let field = |name: &str, offset, size, kind| Field {
            name: name.to_owned(),
            type_name: String::new(),
            place: FieldLocation::Here { offset, size },
            kind,
            is_signed: true,
        };
        let fields = [
            field("n", 0, 8, Kind::Number(8)),
            field("s", 8, 4, Kind::Text),
            field("p", 12, 8, Kind::Pointer(8)),
            field("beyond", 40, 8, Kind::Number(8)),
            field("text_beyond", 40, 8, Kind::Text),
        ];
        let bytes = [&(-3_i64).to_le_bytes()[..], b"cat\0", &0xffff_u64.to_le_bytes()].concat();
        let mut out = PrintedText { text: b"before ".to_vec(), ..PrintedText::default() };
        let parsed = PrintFormat::parse(format, &fields, long_size)?;
        parsed.print(
            Payload { fields: &fields, bytes: &bytes, endian: Endian::Little },
            &KernelStrings::default(),
            &mut out,
        );
        Some(String::from_utf8(out.text).unwrap().strip_prefix("before ").unwrap().to_owned())
    }

    #[test]
    fn conversions_are_those_of_printf() {
        for (format, expected) in [
            (r#""plain 100%%""#, "plain 100%"),
            (r#""a" "b\n""#, "ab\n"),
            (r#""%d %i", REC->n, REC->n"#, "-3 -3"),
            (r#""%u", REC->n"#, "4294967293"),
            (r#""%llu", REC->n"#, "18446744073709551613"),
            (r#""%lx|%#x|%#x|%X", REC->n, 255, 0, 255"#, "fffffffffffffffd|0xff|0|FF"),
            (r#""%hhx %hx", REC->n, REC->n"#, "fd fffd"),
            (r#""%5d|%-5d|%05d", REC->n, REC->n, REC->n"#, "   -3|-3   |-0003"),
            (r#""%o %c", 8, 'x'"#, "10 x"),
            (r#""%s|%6s|%-6s|%.2s", REC->s, REC->s, REC->s, REC->s"#, "cat|   cat|cat   |ca"),
            (r#""%s", 1 ? "yes" : "no""#, "yes"),
            // Names of functions are inserted by the caller.
            (r#""%p %pS %p", REC->p, REC->p, 0"#, "0xffff  (nil)"),
            (r#""%d%s.", REC->beyond, REC->text_beyond"#, "0."),
            (r#""%s", __print_flags(6, "|", { 2, "two" }, { 8, "eight" })"#, "two|0x4"),
            (r#""%s", __print_flags(0, "|", { 0, "none" })"#, "none"),
            (r#""%s %s", __print_symbolic(2, { 2, "two" }), __print_symbolic(3, { 2, "two" })"#, "two 0x3"),
            (r#""%s %s", __print_hex(REC->s, 3), __print_hex_str(REC->s, 3)"#, "63 61 74 636174"),
            (r#""%d", __get_dynamic_array_len(s)"#, "3"),
        ] {
            assert_eq!(print(format, 8).as_deref(), Some(expected), "{format}");
        }
    }

    #[test]
    fn lengths_and_addresses_come_from_arguments() {
        for (format, expected) in [
            (r#""%.*s|", 2, REC->s"#, "ca|"),
            (r#""%*d|", 4, REC->n"#, "  -3|"),
            (r#""%pI4 %pi4", REC->s, REC->s"#, "99.97.116.0 099.097.116.000"),
            (r#""%pM", REC->s"#, "INVALIDMAC"),
            (r#""%d", __builtin_expect(!!(7), 0)"#, "1"),
            (r#""%s", REC->p"#, "ffff"),
        ] {
            assert_eq!(print(format, 8).as_deref(), Some(expected), "{format}");
        }
    }

    #[test]
    fn a_long_has_the_size_of_the_machine() {
        assert_eq!(print(r#""%lx %zu", REC->n, REC->n"#, 4).unwrap(), "fffffffd 4294967293");
        for size in [0, 3, 255] {
            assert_eq!(print(r#""%lx", REC->n"#, size), None, "{size}");
        }
    }

    #[test]
    fn formats_that_are_not_understood_are_rejected() {
        for format in
            ["", "REC->n", r#""%d""#, r#""%d", REC->missing"#, r#""%f", REC->n"#, r#""%"#, r#""%", 1"#, r#""x", 1"#]
        {
            assert_eq!(print(format, 8), None, "{format}");
        }
    }

    #[test]
    fn width_and_size_are_limited() {
        assert_eq!(print(r#""%99999999999999999999d", 1"#, 8).unwrap().len(), 1);
        assert_eq!(print(r#""%100000d", 1"#, 8).unwrap().len(), MAX_WIDTH);
        let many = format!("\"{}\"{}", "%256d".repeat(2000), ",1".repeat(2000));
        assert_eq!(print(&many, 8).unwrap().len(), MAX_SIZE);
    }
}
