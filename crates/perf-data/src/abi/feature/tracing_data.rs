//! Tracepoint formats: the feature TRACING_DATA, and the payload of HEADER_TRACING_DATA.

use super::FeatureId;
use super::descriptor::{FeatureDescriptor, FeatureFlags};
use super::tracepoint_format::TracepointFormat;
use crate::abi::counted;
use crate::abi::fields::{FieldVisitor, VisitFields};
use crate::abi::serde::readable;
use binrw::{NullString, binrw};
use serde::{Deserialize, Serialize};

/// Files of tracefs needed to decode the RAW bytes of tracepoints. Since perf 2.6.33.
///
/// ```c
/// u8 magic[10] = "\x17\x08\x44tracing"; char version[];  // NUL-terminated
/// u8 big_endian, long_size;
/// u32 page_size;
/// ...
/// ```
/// Integers after `big_endian` are in the byte order that it selects.
#[binrw]
#[brw(magic = b"\x17\x08\x44tracing")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracingData {
    /// Version of the format, such as `0.6`.
    #[serde(with = "readable::null_string")]
    pub version: NullString,
    /// Byte order of the traced machine.
    pub byte_order: ByteOrder,
    /// Size of a `long` in bytes.
    pub long_size: u8,
    /// The files.
    #[br(args(has_saved_cmdlines(&version)))]
    #[brw(is_big = byte_order.is_big())]
    pub files: TracingFiles,
}

impl TracingData {
    /// Magic.
    pub const MAGIC: &[u8] = b"\x17\x08\x44tracing";

    /// Formats of the tracepoints of `systems`, with the minimum that perf requires.
    pub fn new(byte_order: ByteOrder, long_size: u8, page_size: u32, systems: Vec<TraceSystem>) -> Self {
        let empty = || TraceFile { text: Vec::new() };
        let files = TracingFiles {
            page_size,
            header_page: TraceFile { text: header_page(long_size, page_size).into() },
            header_event: empty(),
            ftrace: Vec::new(),
            systems,
            kallsyms: Vec::new(),
            printk_formats: Vec::new(),
            saved_cmdlines: Some(empty()),
        };
        Self { version: VERSION.into(), byte_order, long_size, files }
    }
}

/// Latest version of the format, with `saved_cmdlines`.
const VERSION: &str = "0.6";

/// Layout of a page of the kernel's ring buffer: a timestamp and a `long`, then data. perf rejects other texts.
fn header_page(long_size: u8, page_size: u32) -> String {
    let data = 8 + u32::from(long_size);
    let size = page_size.saturating_sub(data);
    format!(
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
         \tfield: local_t commit;\toffset:8;\tsize:{long_size};\tsigned:1;\n\
         \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
         \tfield: char data;\toffset:{data};\tsize:{size};\tsigned:1;\n"
    )
}

/// A byte order: 0 for little-endian.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteOrder(pub u8);

impl ByteOrder {
    /// Whether it is big-endian.
    pub fn is_big(self) -> bool {
        self.0 != 0
    }
}

/// The files of tracefs.
#[binrw]
#[br(import(has_saved_cmdlines: bool))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracingFiles {
    /// Page size in bytes.
    pub page_size: u32,
    /// `events/header_page`: layout of a page of the ring buffer.
    #[brw(magic = b"header_page\0")]
    pub header_page: TraceFile,
    /// `events/header_event`: layout of an event.
    #[brw(magic = b"header_event\0")]
    pub header_event: TraceFile,
    #[br(temp)]
    #[bw(calc = ftrace.len() as u32)]
    nr_ftrace: u32,
    /// Formats of the function tracer's events.
    #[br(parse_with = counted::items, args(nr_ftrace.into()))]
    pub ftrace: Vec<TraceFile>,
    #[br(temp)]
    #[bw(calc = systems.len() as u32)]
    nr_systems: u32,
    /// Tracepoint formats by system.
    #[br(parse_with = counted::items, args(nr_systems.into()))]
    pub systems: Vec<TraceSystem>,
    #[br(temp)]
    #[bw(calc = kallsyms.len() as u32)]
    kallsyms_size: u32,
    /// `/proc/kallsyms`, empty except in very old recordings.
    #[br(parse_with = counted::bytes, args(kallsyms_size.into()))]
    #[serde(with = "readable::text")]
    pub kallsyms: Vec<u8>,
    #[br(temp)]
    #[bw(calc = printk_formats.len() as u32)]
    printk_size: u32,
    /// `printk_formats`: formats of `trace_printk` by address.
    #[br(parse_with = counted::bytes, args(printk_size.into()))]
    #[serde(with = "readable::text")]
    pub printk_formats: Vec<u8>,
    /// `saved_cmdlines`: thread names. Since version 0.6 (perf 4.17).
    #[br(if(has_saved_cmdlines))]
    pub saved_cmdlines: Option<TraceFile>,
}

/// Content of a file: `u64 size; char text[size]`.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceFile {
    #[br(temp)]
    #[bw(calc = text.len() as u64)]
    size: u64,
    /// The text.
    #[br(parse_with = counted::bytes, args(size))]
    #[serde(with = "readable::text")]
    pub text: Vec<u8>,
}

impl From<&TracepointFormat> for TraceFile {
    fn from(format: &TracepointFormat) -> Self {
        Self { text: format.to_string().into_bytes() }
    }
}

impl TraceFile {
    /// Parses the file as a tracepoint format; `None` if it is not one.
    pub fn format(&self) -> Option<TracepointFormat> {
        TracepointFormat::parse(&self.text).ok()
    }
}

/// A tracepoint system: `char name[]; u32 nr; file formats[nr]`.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSystem {
    /// Name, such as `sched`.
    #[serde(with = "readable::null_string")]
    pub name: NullString,
    #[br(temp)]
    #[bw(calc = formats.len() as u32)]
    nr: u32,
    /// Formats of its recorded tracepoints.
    #[br(parse_with = counted::items, args(nr.into()))]
    pub formats: Vec<TraceFile>,
}

/// Whether this version of the format has `saved_cmdlines`.
fn has_saved_cmdlines(version: &NullString) -> bool {
    let number = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or(0_u32);
    let version = String::from_utf8_lossy(version);
    let mut parts = version.split('.');
    (number(parts.next()), number(parts.next())) >= (0, 6)
}

/// Descriptor of TRACING_DATA.
pub const TRACING_DATA: FeatureDescriptor = FeatureDescriptor::recording(FeatureId::TRACING_DATA, (2, 6))
    .with(FeatureFlags::FILE_ONLY.union(FeatureFlags::DERIVED));

impl VisitFields for TracingData {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        visitor.tracing_data(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    fn file(text: &[u8]) -> TraceFile {
        TraceFile { text: text.to_vec() }
    }

    fn data(version: &str, byte_order: u8) -> TracingData {
        TracingData {
            version: version.into(),
            byte_order: ByteOrder(byte_order),
            long_size: 8,
            files: TracingFiles {
                page_size: 0x1000,
                header_page: file(b"p"),
                header_event: file(b"ev"),
                ftrace: vec![file(b"f")],
                systems: vec![TraceSystem { name: "sched".into(), formats: vec![file(b"sw")] }],
                kallsyms: b"k".to_vec(),
                printk_formats: b"pf".to_vec(),
                saved_cmdlines: None,
            },
        }
    }

    #[test]
    fn bytes_in_the_recorded_byte_order() {
        let little = "17 08 44 'tracing' '0.5' 00 00 08 00100000 'header_page' 00 0100000000000000 'p' \
                      'header_event' 00 0200000000000000 'ev' 01000000 0100000000000000 'f' \
                      01000000 'sched' 00 01000000 0200000000000000 'sw' 01000000 'k' 02000000 'pf'";
        both_orders(&data("0.5", 0), (), little, little);
        let big = "17 08 44 'tracing' '0.5' 00 01 08 00001000 'header_page' 00 0000000000000001 'p' \
                   'header_event' 00 0000000000000002 'ev' 00000001 0000000000000001 'f' \
                   00000001 'sched' 00 00000001 0000000000000002 'sw' 00000001 'k' 00000002 'pf'";
        both_orders(&data("0.5", 1), (), big, big);
        let mut newer = data("0.6", 0);
        newer.files.saved_cmdlines = Some(file(b"1 init"));
        let little = little.replace("'0.5'", "'0.6'") + " 0600000000000000 31 20 'init'";
        both_orders(&newer, (), &little, &little);
    }

    #[test]
    fn files_contain_formats() {
        let format = TracepointFormat::new("sched_switch", 3);
        assert_eq!(TraceFile::from(&format).format(), Some(format));
        assert_eq!(file(b"sw").format(), None);
    }
}
