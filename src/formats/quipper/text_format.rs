//! Protobuf text format: written and read one field of PerfDataProto at a time.

use super::schema::PERF_DATA_PROTO;
use super::text_writer::{Unsupported, write_fields};
use crate::formats::framework::wire::Fields;
use perf_data::container::read::ReadOptions;
use perf_data::error::{Error, Result};
use prost::Message;
use prost_reflect::text_format::FormatOptions;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::sync::LazyLock;

/// Descriptor of PerfDataProto.
static DESCRIPTOR: LazyLock<Option<MessageDescriptor>> = LazyLock::new(|| {
    let pool = DescriptorPool::decode(&include_bytes!(concat!(env!("OUT_DIR"), "/perf_data.bin"))[..]).ok()?;
    pool.get_message_by_name("quipper.PerfDataProto")
});

fn descriptor() -> io::Result<MessageDescriptor> {
    DESCRIPTOR.clone().ok_or_else(|| io::Error::other("cannot load the descriptor of PerfDataProto"))
}

/// Converts whole fields of PerfDataProto to text as they are written.
pub(super) struct ToText<W> {
    out: W,
    /// Text of the current field.
    text: Vec<u8>,
}

impl<W: Write> ToText<W> {
    /// Writes text to `out`.
    pub(super) fn new(out: W) -> Self {
        Self { out, text: Vec::new() }
    }
}

impl<W: Write> Write for ToText<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for field in Fields::new(bytes) {
            let field = field.map_err(|_| ErrorKind::InvalidData)?;
            self.text.clear();
            if let Err(Unsupported) = write_fields(PERF_DATA_PROTO, field.whole, 0, &mut self.text) {
                // The fast writer supports only known fields in their usual encoding.
                self.text.clear();
                self.text.extend_from_slice(reflected(field.whole)?.trim_end().as_bytes());
            }
            self.text.push(b'\n');
            self.out.write_all(&self.text)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Text of any field, also with unknown ones in its message.
fn reflected(field: &[u8]) -> io::Result<String> {
    let message = DynamicMessage::decode(descriptor()?, field).map_err(io::Error::other)?;
    Ok(message.to_text_format_with_options(&FormatOptions::new().pretty(true)))
}

/// Converts text to an encoded message.
///
/// # Errors
/// If the text is invalid, with its line.
pub(super) fn from_text(stream: &mut dyn Read, name: &str, options: &ReadOptions, out: &mut impl Write) -> Result<()> {
    let mut stream = BufReader::with_capacity(1 << 17, stream);
    let (mut chunk, mut nesting) = (Vec::new(), Nesting::default());
    let (mut line, mut first) = (0_u64, 1);
    let mut last = None;
    loop {
        let start = chunk.len();
        // One byte more than allowed shows that the field is too long.
        let room = (options.limits.about + 1).saturating_sub(start as u64);
        let read = (&mut stream).take(room).read_until(b'\n', &mut chunk).map_err(Error::io(name, "cannot read"))?;
        line += 1;
        if chunk.len() as u64 > options.limits.about {
            return Err(Error::input(
                name,
                None,
                format!("line {first}: the field that begins here exceeds the limit"),
            ));
        }
        nesting.pass(&chunk[start..]);
        last = chunk[start..].trim_ascii_end().last().copied().or(last);
        // A field and its message may be on different lines.
        let is_complete = nesting.depth == 0 && last != Some(b':');
        if read > 0 && !is_complete {
            continue;
        }
        let text = str::from_utf8(&chunk).map_err(|e| e.to_string());
        let descriptor = descriptor().map_err(Error::Output)?;
        let parsed =
            text.and_then(|text| DynamicMessage::parse_text_format(descriptor, text).map_err(|e| e.to_string()));
        let message = parsed.map_err(|why| {
            let problem = format!("line {first}: not a field of PerfDataProto in text format: {why}");
            Error::input(name, None, problem)
        })?;
        out.write_all(&message.encode_to_vec()).map_err(Error::Output)?;
        if read == 0 {
            return Ok(());
        }
        chunk.clear();
        (last, first) = (None, line + 1);
    }
}

/// Nesting depth of messages.
#[derive(Default)]
struct Nesting {
    depth: usize,
}

impl Nesting {
    /// Scans a line. Strings and comments end with it.
    fn pass(&mut self, line: &[u8]) {
        let mut quote = None;
        let mut bytes = line.iter();
        while let Some(&byte) = bytes.next() {
            match (quote, byte) {
                (Some(_), b'\\') => drop(bytes.next()),
                (Some(end), byte) if byte == end => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'#') => return,
                (None, b'{' | b'<' | b'[') => self.depth += 1,
                (None, b'}' | b'>' | b']') => self.depth = self.depth.saturating_sub(1),
                (None, _) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::schema::{Kind, MESSAGES};
    use prost::encoding::{WireType, encode_key, encode_varint};

    fn put(number: u32, wire: WireType, value: &[u8], out: &mut Vec<u8>) {
        encode_key(number, wire, out);
        if wire == WireType::LengthDelimited {
            encode_varint(value.len() as u64, out);
        }
        out.extend_from_slice(value);
    }

    /// A message with all fields of the schema. Repeated ones have two values.
    fn with_all_fields(message: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for field in MESSAGES[message] {
            for time in 0..=u8::from(field.is_repeated) {
                match field.kind {
                    Kind::Bool => put(field.number, WireType::Varint, &[time], &mut out),
                    Kind::Uint32 | Kind::Uint64 => {
                        put(field.number, WireType::Varint, &[0x80 | time, 0xff, 0xff, 0xff, 0x7f], &mut out);
                    }
                    Kind::Fixed64 => {
                        put(field.number, WireType::SixtyFourBit, &[time, 2, 3, 4, 5, 6, 7, 0xff], &mut out)
                    }
                    Kind::Bytes => {
                        let all: Vec<u8> = (0..=255).collect();
                        put(field.number, WireType::LengthDelimited, &all[time.into()..], &mut out);
                    }
                    Kind::Message(nested) => {
                        put(field.number, WireType::LengthDelimited, &with_all_fields(nested), &mut out);
                    }
                }
            }
        }
        out
    }

    fn texts(message: &[u8]) -> (std::result::Result<String, Unsupported>, String) {
        let mut text = Vec::new();
        let written = write_fields(PERF_DATA_PROTO, message, 0, &mut text);
        (written.map(|()| String::from_utf8(text).unwrap()), reflected(message).unwrap())
    }

    #[test]
    fn text_of_all_fields_is_that_of_prost_reflect() {
        let (written, reflected) = texts(&with_all_fields(PERF_DATA_PROTO));
        assert_eq!(written.unwrap(), reflected);
        assert!(reflected.len() > 50_000, "{} bytes", reflected.len());
    }

    #[test]
    fn fields_of_other_forms_are_written_by_prost_reflect() {
        let metadata_mask = |packed: &[u8]| [&[0x2a, packed.len() as u8], packed].concat();
        let (written, reflected) = texts(&metadata_mask(&[1, 0x81, 1]));
        assert_eq!((written.as_deref(), &*reflected), (Ok("metadata_mask: [1, 129]"), "metadata_mask: [1, 129]"));
        let header_twice = [0x12, 8, 0x0a, 2, 8, 1, 0x0a, 2, 16, 2];
        for other in [&metadata_mask(&[])[..], &[0xf8, 0x3e, 1], &[0x12, 0, 0x0a, 0], &header_twice] {
            let (written, reflected) = texts(other);
            assert_eq!(written, Err(Unsupported), "{other:?}: {reflected}");
            let fields = Fields::new(other).map(|field| self::reflected(field.unwrap().whole).unwrap() + "\n");
            let mut text = Vec::new();
            ToText::new(&mut text).write_all(other).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), fields.collect::<String>());
        }
    }

    #[test]
    fn field_and_message_may_be_many_lines_apart() {
        let text = format!("events:{}{{}}\nevents {{}}", "\n".repeat(3 << 20));
        let mut out = Vec::new();
        from_text(&mut text.as_bytes(), "text", &ReadOptions::default(), &mut out).unwrap();
        assert_eq!(out, [0x12, 0, 0x12, 0]);
    }
}
