//! Writes encoded messages in protobuf text format, without decoding them to values.

use super::schema::{Field, Kind, MESSAGES};
use prost::encoding::{WireType, decode_key, decode_varint};

/// A message has other fields than those that [`write_fields`] supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unsupported;

type Result<T = (), E = Unsupported> = std::result::Result<T, E>;

/// Appends the fields of a message, an index in [`MESSAGES`], to `out`, as prost-reflect prints them.
///
/// # Errors
/// If fields are unknown, not sorted by number or encoded as another type, or if a field that is not repeated occurs twice; `out`
/// then has a part of the text.
pub(super) fn write_fields(message: usize, mut bytes: &[u8], indent: usize, out: &mut Vec<u8>) -> Result {
    let mut fields = MESSAGES[message].iter();
    let mut is_first = true;
    while !bytes.is_empty() {
        let (number, wire) = decode_key(&mut bytes).map_err(|_| Unsupported)?;
        // Known fields of smaller numbers follow only in unsorted messages.
        let field = fields.find(|field| field.number >= number).filter(|field| field.number == number);
        let field = field.ok_or(Unsupported)?;
        if !std::mem::take(&mut is_first) {
            line(indent, out);
        }
        out.extend_from_slice(field.name.as_bytes());
        if field.is_repeated {
            out.extend_from_slice(b": [");
            bytes = write_list(field, wire, bytes, indent, out)?;
            out.push(b']');
        } else {
            out.extend_from_slice(if matches!(field.kind, Kind::Message(_)) { b" " } else { b": " });
            bytes = write_value(field.kind, wire, bytes, indent, out)?;
        }
    }
    Ok(())
}

/// Appends the values of a repeated field, whose first key is already read. Returns the bytes after the last value.
fn write_list<'a>(
    field: &Field,
    mut wire: WireType,
    mut bytes: &'a [u8],
    indent: usize,
    out: &mut Vec<u8>,
) -> Result<&'a [u8]> {
    loop {
        let is_number = matches!(field.kind, Kind::Bool | Kind::Uint32 | Kind::Uint64);
        if is_number && wire == WireType::LengthDelimited {
            bytes = write_packed(field.kind, bytes, indent, out)?;
        } else {
            bytes = write_value(field.kind, wire, bytes, indent, out)?;
        }
        let mut rest = bytes;
        match decode_key(&mut rest) {
            Ok((number, next)) if number == field.number => (wire, bytes) = (next, rest),
            _ => return Ok(bytes),
        }
        out.extend_from_slice(b", ");
    }
}

/// Appends the values of a packed field. Returns the bytes after them.
fn write_packed<'a>(kind: Kind, bytes: &'a [u8], indent: usize, out: &mut Vec<u8>) -> Result<&'a [u8]> {
    let (mut packed, rest) = delimited(bytes)?;
    loop {
        packed = write_value(kind, WireType::Varint, packed, indent, out)?;
        if packed.is_empty() {
            return Ok(rest);
        }
        out.extend_from_slice(b", ");
    }
}

/// Appends a value. Returns the bytes after it.
fn write_value<'a>(
    kind: Kind,
    wire: WireType,
    mut bytes: &'a [u8],
    indent: usize,
    out: &mut Vec<u8>,
) -> Result<&'a [u8]> {
    match (kind, wire) {
        (Kind::Bool | Kind::Uint32 | Kind::Uint64, WireType::Varint) => {
            let number = decode_varint(&mut bytes).map_err(|_| Unsupported)?;
            match kind {
                Kind::Bool => out.extend_from_slice(if number == 0 { b"false" } else { b"true" }),
                Kind::Uint32 => write_number(u64::from(number as u32), out),
                _ => write_number(number, out),
            }
            Ok(bytes)
        }
        (Kind::Fixed64, WireType::SixtyFourBit) => {
            let (number, rest) = bytes.split_first_chunk().ok_or(Unsupported)?;
            write_number(u64::from_le_bytes(*number), out);
            Ok(rest)
        }
        (Kind::Bytes, WireType::LengthDelimited) => {
            let (text, rest) = delimited(bytes)?;
            write_string(text, out);
            Ok(rest)
        }
        (Kind::Message(message), WireType::LengthDelimited) => {
            let (fields, rest) = delimited(bytes)?;
            out.push(b'{');
            if !fields.is_empty() {
                line(indent + 2, out);
                write_fields(message, fields, indent + 2, out)?;
                line(indent, out);
            }
            out.push(b'}');
            Ok(rest)
        }
        _ => Err(Unsupported),
    }
}

/// Splits off a value that begins with its length.
fn delimited(mut bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let len = decode_varint(&mut bytes).ok().and_then(|len| usize::try_from(len).ok());
    len.and_then(|len| bytes.split_at_checked(len)).ok_or(Unsupported)
}

fn line(indent: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.resize(out.len() + indent, b' ');
}

fn write_number(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn write_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text {
        match byte {
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\\' | b'\'' | b'"' => out.extend_from_slice(&[b'\\', byte]),
            b' '..=b'~' => out.push(byte),
            _ => out.extend_from_slice(&[b'\\', b'0' + (byte >> 6), b'0' + (byte >> 3 & 7), b'0' + (byte & 7)]),
        }
    }
    out.push(b'"');
}
