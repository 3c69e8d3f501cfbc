//! Protobuf text format: written and read one field of PerfDataProto at a time.

use super::wire::Fields;
use crate::container::read::ReadOptions;
use crate::error::{Error, Result};
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
pub struct ToText<W> {
    out: W,
}

impl<W: Write> ToText<W> {
    /// Writes text to `out`.
    pub fn new(out: W) -> Self {
        Self { out }
    }
}

impl<W: Write> Write for ToText<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for field in Fields::new(bytes) {
            let field = field.map_err(|_| ErrorKind::InvalidData)?;
            let message = DynamicMessage::decode(descriptor()?, field.whole).map_err(io::Error::other)?;
            let text = message.to_text_format_with_options(&FormatOptions::new().pretty(true));
            self.out.write_all(text.trim_end().as_bytes())?;
            self.out.write_all(b"\n")?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Converts text to an encoded message.
///
/// # Errors
/// If the text is invalid, with its line.
pub fn from_text(stream: &mut dyn Read, name: &str, options: &ReadOptions, out: &mut impl Write) -> Result<()> {
    let mut stream = BufReader::with_capacity(1 << 17, stream);
    let (mut chunk, mut nesting) = (Vec::new(), Nesting::default());
    let (mut line, mut first) = (0_u64, 1);
    let mut last = None;
    loop {
        let start = chunk.len();
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
            let what = format!("line {first}: not a field of PerfDataProto in text format: {why}");
            Error::input(name, None, what)
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

    #[test]
    fn field_and_message_may_be_many_lines_apart() {
        let text = format!("events:{}{{}}\nevents {{}}", "\n".repeat(3 << 20));
        let mut out = Vec::new();
        from_text(&mut text.as_bytes(), "text", &ReadOptions::default(), &mut out).unwrap();
        assert_eq!(out, [0x12, 0, 0x12, 0]);
    }
}
