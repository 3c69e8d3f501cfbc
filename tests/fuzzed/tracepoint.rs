//! Formats of tracepoints with a payload.

use perf_data::abi::Endian;
use perf_data::abi::feature::tracepoint_format::TracepointFormat;
use perf_data::tracepoint::expression::Payload;
use perf_data::tracepoint::field::Field;
use perf_data::tracepoint::print_format::{KernelStrings, PrintFormat, PrintedText};

/// Maximum size of a printed sample.
const MAX_SIZE: usize = 256 << 10;

/// Any bytes as the size of a `long`, a format and, after a NUL, a payload: the text is limited, and what precedes it is kept.
pub fn tracepoint(bytes: &[u8]) {
    let Some((&long_size, bytes)) = bytes.split_first() else { return };
    let mut parts = bytes.splitn(2, |&byte| byte == 0);
    let (format, payload) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Ok(format) = TracepointFormat::parse(format) else { return };
    let long_size = usize::from(long_size);
    let fields: Vec<Field> =
        format.common.iter().chain(&format.fields).map(|field| Field::new(field, long_size)).collect();
    for endian in [Endian::Little, Endian::Big] {
        let Some(parsed) = PrintFormat::parse(&format.print_fmt, &fields, endian, long_size) else { return };
        let mut out = PrintedText { text: b"before".to_vec(), ..PrintedText::default() };
        parsed.print(Payload { fields: &fields, bytes: payload, endian }, &KernelStrings::default(), &mut out);
        let text = out.text.strip_prefix(b"before").expect("the text should be appended");
        assert!(text.len() <= MAX_SIZE, "{} bytes", text.len());
    }
}
