//! Addresses of networks, UUIDs and buffers: what `%p` prints with a suffix.

use super::expression::{Expression, Payload};
use super::field::FieldLocation;
use crate::abi::Endian;
use std::io::Write;

/// What a `%p` stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum PointerForm {
    /// The pointer.
    #[default]
    Number,
    /// A function of the kernel, with or without the offset in it: `%pS`, `%ps`.
    Function(bool),
    /// A hardware address: its separator, and whether its bytes are reversed.
    Mac(&'static str, bool),
    /// An IPv4 address: whether numbers have three digits, and whether its bytes are reversed.
    Ip4(bool, bool),
    /// An IPv6 address.
    Ip6(Ip6Form),
    /// A `struct sockaddr`: form of IPv6, whether the port is printed, and whether bytes of IPv4 are reversed.
    Socket(Ip6Form, bool, bool),
    /// A UUID: whether it is little-endian, and in upper case.
    Uuid(bool, bool),
    /// A buffer with this separator.
    Buffer(&'static str),
    /// An unknown kind of network address, which perf prints as nothing.
    Nothing,
}

/// How an IPv6 address is printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ip6Form {
    /// 32 digits.
    Plain,
    /// With colons.
    Colons,
    /// The longest run of zeros as `::`.
    Compressed,
}

impl PointerForm {
    /// Parses what follows `%p`; returns the rest. Suffixes that perf does not know are text.
    pub(super) fn parse(text: &str, endian: Endian) -> (Self, &str) {
        let mut rest = text;
        let mut take = |characters: &[char]| {
            let first = rest.chars().next().filter(|first| characters.contains(first))?;
            rest = &rest[first.len_utf8()..];
            Some(first)
        };
        let is_reversed = |order: Option<char>| match order {
            Some('h') => endian == Endian::Little,
            order => order == Some('l'),
        };
        let orders = ['h', 'n', 'b', 'l'];
        let form = match take(&['F', 'S', 'f', 's', 'M', 'm', 'I', 'i', 'U', 'h']) {
            Some('F' | 'S') => Self::Function(true),
            Some('f' | 's') => Self::Function(false),
            Some(mac @ ('M' | 'm')) => match (mac, take(&['F', 'R'])) {
                ('m', order) => Self::Mac("", order == Some('R')),
                (_, Some('F')) => Self::Mac("-", false),
                (_, order) => Self::Mac(":", order == Some('R')),
            },
            Some(ip @ ('I' | 'i')) => {
                let plain = if ip == 'I' { Ip6Form::Colons } else { Ip6Form::Plain };
                match take(&['4', '6', 'S']) {
                    Some('4') => Self::Ip4(ip == 'i', is_reversed(take(&orders))),
                    Some('6') if take(&['c']).is_some() && ip == 'I' => Self::Ip6(Ip6Form::Compressed),
                    Some('6') => Self::Ip6(plain),
                    Some(_) => {
                        let has_port = take(&['p']).is_some() && ip == 'I';
                        while take(&['p', 'f', 's']).is_some() {}
                        let order = take(&orders);
                        let is_compressed = take(&['c']).is_some() && ip == 'I';
                        let form = if is_compressed { Ip6Form::Compressed } else { plain };
                        Self::Socket(form, has_port, is_reversed(order))
                    }
                    None => Self::Nothing,
                }
            }
            Some('U') => {
                let order = take(&['L', 'l', 'B', 'b']);
                Self::Uuid(matches!(order, Some('L' | 'l')), matches!(order, Some('L' | 'B')))
            }
            Some(_) => Self::Buffer(match take(&['C', 'D', 'N']) {
                Some('C') => ":",
                Some('D') => "-",
                Some(_) => "",
                None => " ",
            }),
            None => Self::Number,
        };
        (form, rest)
    }

    /// Appends an argument that is not printed as a number. `len` is the length that the format gives to a buffer.
    pub(super) fn print(self, argument: &Expression, payload: Payload<'_>, len: i64, out: &mut Vec<u8>) {
        if self == Self::Nothing {
            return;
        }
        let needed = if matches!(self, Self::Buffer(_)) { DYNAMIC_ARRAY } else { FIELD };
        let (kind, bytes) = match argument {
            Expression::Field(field) => (argument_kind(argument, payload), payload.field_bytes(*field)),
            _ => (argument_kind(argument, payload), &[][..]),
        };
        if kind != needed {
            // Writing to a vector cannot fail.
            let _ = write!(out, "ARG TYPE NOT FIELD BUT {kind}");
            return;
        }
        match self {
            Self::Mac(separator, is_reversed) => match <[u8; 6]>::try_from(bytes) {
                Ok(mut address) => {
                    if is_reversed {
                        address.reverse();
                    }
                    hex(&address, separator, out);
                }
                Err(_) => out.extend_from_slice(b"INVALIDMAC"),
            },
            Self::Ip4(has_zeros, is_reversed) => match bytes.try_into() {
                Ok(address) => ip4(address, has_zeros, is_reversed, out),
                Err(_) => out.extend_from_slice(b"INVALIDIPv4"),
            },
            Self::Ip6(form) => match bytes.try_into() {
                Ok(address) => ip6(address, form, out),
                Err(_) => out.extend_from_slice(b"INVALIDIPv6"),
            },
            Self::Socket(form, has_port, is_reversed) => {
                socket(bytes, form, has_port, is_reversed, payload.endian, out)
            }
            Self::Uuid(is_little, is_upper) => uuid(bytes, is_little, is_upper, out),
            Self::Buffer(separator) => {
                let len = usize::try_from(len).unwrap_or(0).min(bytes.len());
                hex(&bytes[..len], separator, out);
            }
            Self::Number | Self::Function(_) | Self::Nothing => {}
        }
    }
}

const FIELD: u32 = 2;
const DYNAMIC_ARRAY: u32 = 10;

/// The number of an argument's kind in libtraceevent, which is part of its messages.
fn argument_kind(argument: &Expression, payload: Payload<'_>) -> u32 {
    match argument {
        Expression::Number(_) | Expression::Text(_) => 1,
        Expression::Field(field) => match payload.fields.get(*field).map(|field| field.location) {
            Some(FieldLocation::DataLoc { .. } | FieldLocation::RelLoc { .. }) => DYNAMIC_ARRAY,
            _ => FIELD,
        },
        Expression::Flags(..) => 3,
        Expression::Symbolic(..) => 4,
        Expression::Hex(_, _, true) => 5,
        Expression::Array(..) => 6,
        Expression::Cast(..) => 7,
        Expression::Element(..) | Expression::Unary(..) | Expression::Binary(..) | Expression::Choice(_) => 11,
        Expression::Bitmask(_) => 13,
        Expression::Length(_) => 14,
        Expression::CpuList(_) => 16,
        Expression::Hex(_, _, false) => 15,
    }
}

fn hex(bytes: &[u8], separator: &str, out: &mut Vec<u8>) {
    for (at, byte) in bytes.iter().enumerate() {
        let _ = write!(out, "{}{byte:02x}", if at == 0 { "" } else { separator });
    }
}

fn ip4(mut address: [u8; 4], has_zeros: bool, is_reversed: bool, out: &mut Vec<u8>) {
    if is_reversed {
        address.reverse();
    }
    let [a, b, c, d] = address;
    let _ = match has_zeros {
        true => write!(out, "{a:03}.{b:03}.{c:03}.{d:03}"),
        false => write!(out, "{a}.{b}.{c}.{d}"),
    };
}

fn ip6(address: [u8; 16], form: Ip6Form, out: &mut Vec<u8>) {
    let words: Vec<u16> = address.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]])).collect();
    if form != Ip6Form::Compressed {
        let separator = if form == Ip6Form::Colons { ":" } else { "" };
        for (at, word) in words.iter().enumerate() {
            let _ = write!(out, "{}{word:04x}", if at == 0 { "" } else { separator });
        }
        return;
    }
    let is_mapped = words[..5].iter().all(|&word| word == 0) && words[5] == 0xffff;
    let is_isatap = words[4] | 0x0200 == 0x0200 && words[5] == 0x5efe;
    let shown = if is_mapped || is_isatap { &words[..6] } else { &words[..] };
    let zeros_from = |at: usize| shown[at..].iter().take_while(|&&word| word == 0).count();
    // The first of the longest runs; a single zero is not compressed.
    let longest = (0..shown.len()).rev().max_by_key(|&at| zeros_from(at)).filter(|&at| zeros_from(at) > 1);
    let (mut at, mut needs_colon) = (0, false);
    while at < shown.len() {
        if Some(at) == longest {
            out.extend_from_slice(if needs_colon || at == 0 { b"::" } else { b":" });
            needs_colon = false;
            at += zeros_from(at);
            continue;
        }
        let _ = write!(out, "{}{:x}", if needs_colon { ":" } else { "" }, shown[at]);
        needs_colon = true;
        at += 1;
    }
    if shown.len() < words.len() {
        if needs_colon {
            out.push(b':');
        }
        ip4([address[12], address[13], address[14], address[15]], false, false, out);
    }
}

/// A `struct sockaddr_in` or `struct sockaddr_in6`; nothing for other families.
fn socket(bytes: &[u8], form: Ip6Form, has_port: bool, is_reversed: bool, endian: Endian, out: &mut Vec<u8>) {
    const AF_INET: u16 = 2;
    const AF_INET6: u16 = 10;
    let Some(family) = bytes.first_chunk() else { return };
    let family = if endian == Endian::Big { u16::from_be_bytes(*family) } else { u16::from_le_bytes(*family) };
    let port = bytes.get(2..4).map_or(0, |port| u16::from_be_bytes([port[0], port[1]]));
    match family {
        AF_INET if bytes.len() < 16 => out.extend_from_slice(b"INVALIDIPv4"),
        AF_INET => {
            ip4([bytes[4], bytes[5], bytes[6], bytes[7]], form == Ip6Form::Plain, is_reversed, out);
            if has_port {
                let _ = write!(out, ":{port}");
            }
        }
        AF_INET6 => match bytes.get(8..24).and_then(|address| address.try_into().ok()).filter(|_| bytes.len() >= 28) {
            Some(address) => {
                out.extend_from_slice(if has_port { b"[" } else { b"" });
                ip6(address, form, out);
                if has_port {
                    let _ = write!(out, "]:{port}");
                }
            }
            None => out.extend_from_slice(b"INVALIDIPv6"),
        },
        _ => {}
    }
}

fn uuid(bytes: &[u8], is_little: bool, is_upper: bool, out: &mut Vec<u8>) {
    const BIG: [usize; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    const LITTLE: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    if bytes.len() != BIG.len() {
        return out.extend_from_slice(b"INVALIDUUID");
    }
    for (at, from) in (if is_little { LITTLE } else { BIG }).into_iter().enumerate() {
        let separator = if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" };
        let byte = bytes[from];
        let _ = match is_upper {
            true => write!(out, "{separator}{byte:02X}"),
            false => write!(out, "{separator}{byte:02x}"),
        };
    }
}
