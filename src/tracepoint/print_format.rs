//! Print formats of tracepoints: a printf(3) format with arguments, as in `"comm=%s pid=%d", __get_str(comm), REC->pid`.

use super::expression::{Evaluated, Expression, Payload};
use super::expression_parser::Parser;
use super::field::Field;
use std::io::Write;

/// Maximum width of a conversion.
const MAX_WIDTH: usize = 256;

/// Maximum size of a printed sample, beyond which the rest is omitted: a hostile format can repeat a field.
const MAX_SIZE: usize = 256 << 10;

/// A parsed print format.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintFormat(Vec<Piece>);

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Conversion(Conversion, Expression),
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
}

impl PrintFormat {
    /// Parses a print format; `None` if it has parts that are not understood. `long_size` is the size of a `long`.
    pub fn parse(text: &str, fields: &[Field], long_size: usize) -> Option<Self> {
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
            pieces.push(Piece::Conversion(conversion, parser.argument()?));
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        parser.is_at_end().then_some(Self(pieces))
    }

    /// Appends the text of a sample.
    pub fn print(&self, payload: Payload<'_>, out: &mut Vec<u8>) {
        let limit = out.len() + MAX_SIZE;
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Conversion(conversion, argument) => conversion.print(&argument.evaluate(payload), out),
            }
            if out.len() > limit {
                out.truncate(limit);
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
        let (width, end) = number(rest);
        (this.width, rest) = (width, &rest[end..]);
        if let Some(after) = rest.strip_prefix('.') {
            let (precision, end) = number(after);
            (this.precision, rest) = (Some(precision), &after[end..]);
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
                // A function: its address is printed.
                rest = rest.strip_prefix(['s', 'S', 'f', 'F', 'x', 'K']).unwrap_or(rest);
                if rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
                    return None;
                }
                this.size = 8;
            }
            _ => return None,
        }
        Some((this, rest))
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
