//! Parses the JSON of an ordinary sample as `write` formats it: the same fields in the same order, without blanks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use perf_data::abi::Endian;
use perf_data::abi::bytes::ByteWriter;
use perf_data::abi::record::{CpuMode, Misc, RecordHeader, RecordType};
use perf_data::abi::sample_type::SampleType;

/// A parsed sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scanned {
    /// Length of its object.
    pub len: usize,
    /// Fields of the sample.
    pub fields: SampleType,
    /// Whether it is in a frame.
    pub is_in_frame: bool,
}

/// Parses the object at the start of a text, and appends the record to `out`. Returns `None` and appends nothing for
/// anything but an ordinary sample in exactly this format; the general parser decides whether it is valid.
#[inline]
pub(crate) fn scan(text: &[u8], endian: Endian, out: &mut Vec<u8>) -> Option<Scanned> {
    let rest = text.strip_prefix(b"{\"record\":\"SAMPLE\",")?;
    let start = out.len();
    let mut scanner = Scanner { rest, out: ByteWriter::new(out, endian) };
    let sample = scanner.sample(start);
    match sample {
        Some((fields, is_in_frame)) => Some(Scanned { len: text.len() - scanner.rest.len(), fields, is_in_frame }),
        None => {
            out.truncate(start);
            None
        }
    }
}

/// Value of each character as a hexadecimal digit, or 255.
const DIGITS: [u8; 256] = {
    let mut digits = [255; 256];
    let mut digit = 0;
    while digit < 16 {
        digits[b"0123456789abcdef"[digit] as usize] = digit as u8;
        digit += 1;
    }
    digits
};

struct Scanner<'t, 'o> {
    rest: &'t [u8],
    out: ByteWriter<'o>,
}

impl Scanner<'_, '_> {
    /// Skips a literal, if the text begins with it. The length is part of the type, so that it is compared in a few
    /// words.
    #[inline]
    fn takes<const N: usize>(&mut self, text: &[u8; N]) -> bool {
        match self.rest.split_first_chunk() {
            Some((start, rest)) if start == text => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    #[inline]
    fn expects<const N: usize>(&mut self, text: &[u8; N]) -> Option<()> {
        self.takes(text).then_some(())
    }

    /// Parses a decimal number, in quotes or not.
    #[inline]
    fn integer(&mut self) -> Option<u64> {
        let is_string = self.takes(b"\"");
        let mut number = 0_u64;
        let mut len = 0;
        while let Some(digit) = self.rest.get(len).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
            number = number.checked_mul(10)?.checked_add(digit.into())?;
            len += 1;
        }
        let has_leading_zero = len > 1 && self.rest[0] == b'0';
        if len == 0 || has_leading_zero {
            return None;
        }
        self.rest = &self.rest[len..];
        // A number with a fraction or exponent is not an integer.
        let goes_on = matches!(self.rest.first(), Some(b'.' | b'e' | b'E'));
        (!goes_on && (!is_string || self.takes(b"\""))).then_some(number)
    }

    #[inline]
    fn small_integer(&mut self) -> Option<u32> {
        self.integer()?.try_into().ok()
    }

    /// Parses a hexadecimal number with `0x`, and the closing quote.
    #[inline]
    fn hex(&mut self) -> Option<u64> {
        self.expects(b"0x")?;
        let digits = self.rest;
        let (mut number, mut len) = (0_u64, 0);
        while let Some(digit) = digits.get(len).map(|&byte| DIGITS[usize::from(byte)]).filter(|&digit| digit < 16) {
            number = number << 4 | u64::from(digit);
            len += 1;
        }
        self.rest = &digits[len..];
        self.expects(b"\"")?;
        (1..=16).contains(&len).then_some(number)
    }

    /// Parses the fields, and whether the sample is in a frame.
    #[inline]
    fn sample(&mut self, start: usize) -> Option<(SampleType, bool)> {
        let is_in_frame = self.takes(b"\"frame\":");
        if is_in_frame {
            self.integer()?;
            self.expects(b",")?;
        }
        let mut misc = 0;
        if self.takes(b"\"cpumode\":\"") {
            let (mode, name) = CpuMode::NAMED.iter().find(|(_, name)| self.rest.starts_with(name.as_bytes()))?;
            self.rest = &self.rest[name.len()..];
            self.expects(b"\",")?;
            misc = mode.0;
        }
        if self.takes(b"\"misc\":[\"EXACT_IP\"],") {
            misc |= Misc::EXACT_IP.bits();
        }
        self.expects(b"\"body\":{")?;
        self.out.put(0_u64);
        let fields = self.fields()?;
        self.expects(b"}")?;
        self.finish(start, misc)?;
        Some((fields, is_in_frame))
    }

    /// Parses the fields of the body, and its closing brace.
    #[inline]
    fn fields(&mut self) -> Option<SampleType> {
        let mut fields = SampleType::empty();
        if self.takes(b"}") {
            return Some(fields);
        }
        /// Parses the field, if present; returns if it is the last one.
        macro_rules! field {
            ($field:ident, $start:literal, $read:expr) => {
                if self.takes($start) {
                    fields |= SampleType::$field;
                    $read;
                    if !self.takes(b",") {
                        return self.takes(b"}").then_some(fields);
                    }
                }
            };
        }
        macro_rules! integer {
            ($field:ident, $start:literal) => {
                field!($field, $start, {
                    let number = self.integer()?;
                    self.out.put(number);
                })
            };
        }
        macro_rules! address {
            ($field:ident, $start:literal) => {
                field!($field, $start, {
                    let number = self.hex()?;
                    self.out.put(number);
                })
            };
        }
        macro_rules! pair {
            ($field:ident, $start:literal, $between:literal) => {
                field!($field, $start, {
                    let first = self.small_integer()?;
                    self.out.put(first);
                    self.expects($between)?;
                    let second = self.small_integer()?;
                    self.out.put(second);
                    self.expects(b"}")?;
                })
            };
        }
        integer!(IDENTIFIER, b"\"identifier\":");
        address!(IP, b"\"ip\":\"");
        pair!(TID, b"\"task\":{\"pid\":", b",\"tid\":");
        integer!(TIME, b"\"time\":");
        address!(ADDR, b"\"addr\":\"");
        integer!(ID, b"\"id\":");
        integer!(STREAM_ID, b"\"stream_id\":");
        pair!(CPU, b"\"cpu\":{\"cpu\":", b",\"res\":");
        integer!(PERIOD, b"\"period\":");
        field!(CALLCHAIN, b"\"callchain\":{\"ips\":[", self.chain()?);
        field!(RAW, b"\"raw\":{\"data\":\"", self.raw()?);
        None
    }

    /// Parses the addresses of a call chain, and writes them after their count.
    #[inline]
    fn chain(&mut self) -> Option<()> {
        let start = self.out.out.len();
        self.out.put(0_u64);
        if !self.takes(b"]") {
            loop {
                self.expects(b"\"")?;
                let ip = self.hex()?;
                self.out.put(ip);
                if !self.takes(b",") {
                    break;
                }
            }
            self.expects(b"]")?;
        }
        let count = (self.out.out.len() - start) as u64 / 8 - 1;
        self.out.put_at(start, count);
        self.expects(b"}")
    }

    /// Parses the RAW data, and writes it after its size.
    #[inline(never)]
    fn raw(&mut self) -> Option<()> {
        let len = memchr::memchr(b'"', self.rest)?;
        let (text, rest) = self.rest.split_at(len);
        let start = self.out.out.len();
        self.out.put(0_u32);
        BASE64.decode_vec(text, self.out.out).ok()?;
        let size = u32::try_from(self.out.out.len() - start - 4).ok()?;
        self.out.put_at(start, size);
        self.rest = &rest[1..];
        self.expects(b"}")
    }

    /// Pads the record to a multiple of 8 bytes, and writes its header.
    #[inline]
    fn finish(&mut self, start: usize, misc: u16) -> Option<()> {
        let header = RecordHeader { kind: RecordType::SAMPLE, misc: Misc::from_bits_retain(misc), size: 0 };
        header.finish(self.out.out, start, self.out.endian())
    }
}
