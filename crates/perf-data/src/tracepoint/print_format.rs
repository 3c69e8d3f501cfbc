//! Print formats of tracepoints: a printf(3) format with arguments, as in `"comm=%s pid=%d", __get_str(comm), REC->pid`.

use super::address::PointerForm;
use super::expression::{Evaluated, Expression, Payload, flags, symbol};
use super::expression_parser::Parser;
use super::field::{Field, FieldLocation, TracepointKind};
use crate::abi::Endian;
use crate::abi::text::until_nul;
use hashbrown::HashMap;
use std::io::Write;

/// Maximum width of a conversion. A field can state the width (`%*d`), so that a few bytes could ask for gigabytes of padding.
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
    has_plus: bool,
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
    /// Parses a print format; `None` if it has parts that are not understood. `endian` and `long_size`, the size of a `long`
    /// (4 or 8), are those of the kernel.
    pub fn parse(text: &str, fields: &[Field], endian: Endian, long_size: usize) -> Option<Self> {
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
            let (conversion, after) = Conversion::parse(after, endian, long_size)?;
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
    fn parse(text: &str, endian: Endian, long_size: usize) -> Option<(Self, &str)> {
        let mut this = Self { size: 4, ..Self::default() };
        let flags = text.find(|c| !"-0#+ ".contains(c))?;
        (this.is_left, this.has_zeros) = (text[..flags].contains('-'), text[..flags].contains('0'));
        (this.is_alternate, this.has_plus) = (text[..flags].contains('#'), text[..flags].contains('+'));
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
                (this.pointer, rest) = PointerForm::parse(rest, endian);
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
        match self.kind {
            's' => self.string(argument, payload, strings, &mut printed.text),
            _ => self.number(argument.evaluate(payload).number(), &mut printed.text),
        }
    }

    /// Appends an argument of `%s`. As in perf, width and precision apply to names and strings, not to numbers among them.
    fn string(&self, argument: &Expression, payload: Payload<'_>, strings: &KernelStrings, out: &mut Vec<u8>) {
        let number = |expression: &Expression| expression.evaluate(payload).number();
        match argument {
            Expression::Choice(parts) => {
                let [condition, yes, no] = &**parts;
                self.string(if number(condition) != 0 { yes } else { no }, payload, strings, out);
            }
            Expression::Flags(value, separator, names) => {
                for (piece, is_formatted) in flags(number(value), separator, names) {
                    self.piece(piece.as_bytes(), is_formatted, out);
                }
            }
            Expression::Symbolic(value, names) => {
                let (piece, is_formatted) = symbol(number(value), names);
                self.piece(piece.as_bytes(), is_formatted, out);
            }
            Expression::Number(number) => self.piece(number.to_string().as_bytes(), true, out),
            Expression::Field(_) if is_pointer(argument, payload) => {
                // A pointer to a string of the kernel.
                let address = number(argument) as u64;
                match strings.get(&address) {
                    Some(string) => out.extend_from_slice(string),
                    // Writing to a vector cannot fail.
                    None => drop(write!(out, "{address:x}")),
                }
            }
            Expression::Field(field) => {
                let bytes = payload.field_bytes(*field);
                let is_inline = payload
                    .fields
                    .get(*field)
                    .is_some_and(|field| matches!(field.location, FieldLocation::Here { .. }));
                // Strings elsewhere without bytes, not even a NUL, are not padded.
                self.piece(until_nul(bytes), is_inline || !bytes.is_empty(), out);
            }
            Expression::Text(_)
            | Expression::Bitmask(_)
            | Expression::CpuList(_)
            | Expression::Hex(..)
            | Expression::Array(..) => {
                if let Evaluated::Text(text) = argument.evaluate(payload) {
                    let is_formatted = !matches!(argument, Expression::Hex(..) | Expression::Array(..));
                    self.piece(&text, is_formatted, out);
                }
            }
            // Null pointers and other numbers.
            Expression::Element(..)
            | Expression::Length(_)
            | Expression::Unary(..)
            | Expression::Binary(..)
            | Expression::Cast(..) => {}
        }
    }

    fn piece(&self, text: &[u8], is_formatted: bool, out: &mut Vec<u8>) {
        match self.precision {
            _ if !is_formatted => out.extend_from_slice(text),
            Some(precision) if precision < text.len() => self.pad(0, &text[..precision], out),
            _ => self.pad(0, text, out),
        }
    }

    fn number(&self, value: i64, out: &mut Vec<u8>) {
        let unused = 64 - 8 * self.size;
        let signed = value << unused >> unused;
        let unsigned = value as u64 & (u64::MAX >> unused);
        if self.kind == 'p' {
            // perf ignores the width of addresses.
            // Writing to a vector cannot fail.
            let _ = if unsigned == 0 { write!(out, "(nil)") } else { write!(out, "{unsigned:#x}") };
            return;
        }
        if self.kind == 'c' {
            return self.pad(0, &[unsigned as u8], out);
        }
        let (prefix, digits) = match self.kind {
            'x' => (if self.is_alternate && unsigned != 0 { "0x" } else { "" }, format!("{unsigned:x}")),
            'X' => (if self.is_alternate && unsigned != 0 { "0X" } else { "" }, format!("{unsigned:X}")),
            'o' => (if self.is_alternate && unsigned != 0 { "0" } else { "" }, format!("{unsigned:o}")),
            'd' | 'i' if signed < 0 => ("-", signed.unsigned_abs().to_string()),
            'd' | 'i' => (if self.has_plus { "+" } else { "" }, signed.to_string()),
            _ => ("", unsigned.to_string()),
        };
        let missing = self.precision.map_or(0, |precision| precision.min(MAX_WIDTH).saturating_sub(digits.len()));
        self.pad(prefix.len(), format!("{prefix}{}{digits}", "0".repeat(missing)).as_bytes(), out);
    }

    /// Appends a text that begins with a sign or prefix of some bytes, behind which zeros are inserted.
    fn pad(&self, prefix: usize, text: &[u8], out: &mut Vec<u8>) {
        let fill = self.width.saturating_sub(text.len());
        if self.is_left {
            out.extend_from_slice(text);
            out.resize(out.len() + fill, b' ');
        } else if self.has_zeros && self.precision.is_none() && !matches!(self.kind, 's' | 'c') {
            out.extend_from_slice(&text[..prefix]);
            out.resize(out.len() + fill, b'0');
            out.extend_from_slice(&text[prefix..]);
        } else {
            out.resize(out.len() + fill, b' ');
            out.extend_from_slice(text);
        }
    }
}

/// Whether an argument is a field of the size of an address.
fn is_pointer(argument: &Expression, payload: Payload<'_>) -> bool {
    let Expression::Field(field) = argument else { return false };
    payload
        .fields
        .get(*field)
        .is_some_and(|field| matches!(field.kind, TracepointKind::Pointer(_) | TracepointKind::Number(8)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Endian;
    use crate::tracepoint::field::{FieldLocation, TracepointKind};

    /// A format with the number `n`, -3, the text `s`, "cat", and the address `p`, 0xffff.
    fn print(format: &str, long_size: usize) -> Option<String> {
        let field = |name: &str, offset, size, kind| Field {
            name: name.to_owned(),
            type_name: String::new(),
            location: FieldLocation::Here { offset, size },
            kind,
            is_signed: true,
        };
        let fields = [
            field("n", 0, 8, TracepointKind::Number(8)),
            field("s", 8, 4, TracepointKind::Text),
            field("p", 12, 8, TracepointKind::Pointer(8)),
            field("beyond", 40, 8, TracepointKind::Number(8)),
            field("text_beyond", 40, 8, TracepointKind::Text),
        ];
        let bytes = [&(-3_i64).to_le_bytes()[..], b"cat\0", &0xffff_u64.to_le_bytes()].concat();
        let mut out = PrintedText { text: b"before ".to_vec(), ..PrintedText::default() };
        let parsed = PrintFormat::parse(format, &fields, Endian::Little, long_size)?;
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
            // As in perf and the kernel.
            (r#""%s", __print_flags(0, "|", { 0, "none" })"#, ""),
            (r#""%s %s", __print_symbolic(2, { 2, "two" }), __print_symbolic(3, { 2, "two" })"#, "two 0x3"),
            (r#""%s %s", __print_hex(REC->s, 3), __print_hex_str(REC->s, 3)"#, "63 61 74 636174"),
            (r#""%d", __get_dynamic_array_len(s)"#, "3"),
        ] {
            assert_eq!(print(format, 8).as_deref(), Some(expected), "{format}");
        }
    }

    #[test]
    fn text_is_that_of_perf() {
        for (format, expected) in [
            // Numbers are unsigned.
            (r#""%s", __print_symbolic(REC->n, { -3, "minus three" })"#, "0xfffffffffffffffd"),
            (r#""%d", REC->n < 0"#, "0"),
            // Width and precision apply to names, not to numbers among them.
            (r#""%-6s|", __print_symbolic(2, { 2, "two" })"#, "two   |"),
            (r#""%-6s|", __print_symbolic(3, { 2, "two" })"#, "0x3|"),
            (r#""%4s|", __print_flags(7, "+", { 1, "a" }, { 2, "b" })"#, "   a+   b+0x4|"),
            (r#""%s|", 1 ? ((void *)0) : "x""#, "|"),
            (r#""%#08x %#06o %+d %.3d %05.3d %c%c", 1, 8, 5, 5, 5, 'a', 98"#, "0x000001 000010 +5 005   005 ab"),
            (r#""%20p|%*pbl", REC->p, 4, REC->p"#, "0xffff|0xffffbl"),
            (r#""%s", __print_hex_str(REC->s, 2)"#, "6361"),
            (
                r#""%llx", __builtin_expect(!!((unsigned long)(void *)(REC->p) >= (unsigned long)-4095), 0) ? 0 : REC->p"#,
                "ffff",
            ),
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

    #[test]
    fn addresses_in_host_order_are_those_of_the_recorded_machine() {
        let form = |endian| Conversion::parse("pI4h", endian, 8).map(|(conversion, _)| conversion.pointer);
        assert_eq!(form(Endian::Little), Some(PointerForm::Ip4(false, true)));
        assert_eq!(form(Endian::Big), Some(PointerForm::Ip4(false, false)));
    }
}
