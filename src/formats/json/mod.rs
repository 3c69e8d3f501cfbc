//! Converts recordings to JSON and back: one object per line (JSON Lines), or the same objects in one array.
//!
//! Records, events and features are objects with the fields of their definitions in [`abi`](perf_data::abi), under the
//! same names. `docs/json.md` is the specification and `docs/json.schema.json` the schema.
//!
//! * Both directions: `layout` and `objects` define the objects other than records, `directory_files` the other files
//!   of a directory recording; `sample` is a fast path for the most frequent record.
//! * Writing: `export` is the sink, `render_queue` batches records for worker threads, `render`, `tracepoint`,
//!   `sample_symbols` and `ibs` build their objects, `value_writer` writes values and `digits` numbers.
//! * Reading: `batches` splits the stream, `rules` reads values, `field_error` locates errors, `object` is a parsed
//!   object, `item` and `encode` turn it into content and bytes, `layout_check` compares those with the event's
//!   layout, and `import` drives all of it, with `frames` and `target`.

mod batches;
mod digits;
mod directory_files;
mod encode;
mod export;
mod field_error;
mod frames;
mod ibs;
mod import;
mod item;
mod layout;
mod layout_check;
mod object;
mod objects;
mod render;
mod render_queue;
mod rules;
mod sample;
mod sample_symbols;
mod target;
mod tracepoint;
mod value_writer;

pub(crate) use digits::append_hex;
pub use export::Export;
pub use import::import;
pub use objects::VERSION;
pub use render::{feature_content, without_payload};
pub use render_queue::failed;
pub use value_writer::append;

use super::{Format, FormatReader, ShowsFunctions};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, RecordFormat};
use perf_data::error::Result;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::order::Order;
use perf_data::stream::source::Source;
use std::io::{BufWriter, Write};

/// JSON Lines.
pub const LINES_FORMAT: Format = Format {
    extensions: &[("jsonl", None), ("ndjson", None)],
    output: Some(OutputType::of::<JsonLines>()),
    functions: SHOWS_FUNCTIONS,
    reader: READER,
    recognizes,
    is_distinctive: true,
    ..Format::new("jsonl", "JSON Lines, one object per record; lossless")
};

/// One JSON document. Its content is recognized, and read, like JSON Lines.
pub const DOCUMENT_FORMAT: Format = Format {
    extensions: &[("json", None)],
    output: Some(OutputType::of::<JsonDocument>()),
    functions: SHOWS_FUNCTIONS,
    reader: READER,
    is_distinctive: true,
    ..Format::new("json", "JSON Lines objects in one document; lossless")
};

/// A constant rather than conditional modules, which other formats share: what is not used is not linked.
const READER: FormatReader =
    if cfg!(feature = "json-input") { FormatReader::Import(import) } else { FormatReader::Nothing };

const SHOWS_FUNCTIONS: ShowsFunctions = ShowsFunctions::With { option: "decode", value: "symbols" };

/// JSON Lines with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct JsonLines {
    /// Write decoded values in addition to the lossless content: the fields of tracepoint samples, the functions of stacks, the registers of AMD IBS.
    #[cfg_attr(feature = "cli", arg(long, value_enum, value_name = "WHAT", value_delimiter = ','))]
    pub decode: Vec<Decoded>,
}

/// One JSON document with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct JsonDocument {
    /// The options.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub options: JsonLines,
}

/// Decoded values, in addition to what a recording is reconstructed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Decoded {
    /// The fields of tracepoint samples.
    Tracepoints,
    /// The functions of stacks.
    Symbols,
    /// The registers in samples of AMD IBS.
    Ibs,
}

impl OutputFormat for JsonLines {
    fn format(&self) -> &'static Format {
        &LINES_FORMAT
    }

    fn shows_samples(&self) -> bool {
        // It keeps traces as they are.
        false
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Converter(self)
    }

    fn shows_functions(&self) -> bool {
        self.decode.contains(&Decoded::Symbols)
    }
}

impl RecordFormat for JsonLines {
    fn begin<'a>(&self, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
        Box::new(Export::new(BufWriter::with_capacity(1 << 17, out), false, &self.decode, options))
    }
}

impl OutputFormat for JsonDocument {
    fn format(&self) -> &'static Format {
        &DOCUMENT_FORMAT
    }

    fn shows_samples(&self) -> bool {
        // It keeps traces as they are.
        false
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Converter(self)
    }

    fn shows_functions(&self) -> bool {
        self.options.shows_functions()
    }
}

impl RecordFormat for JsonDocument {
    fn begin<'a>(&self, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
        Box::new(Export::new(BufWriter::with_capacity(1 << 17, out), true, &self.options.decode, options))
    }
}

/// Writes a recording as JSON Lines, with its records in time order or in file order.
///
/// # Errors
/// If the recording cannot be read or the output cannot be written.
pub fn write_lines(source: Source, by_time: bool, out: &mut dyn Write) -> Result<Ledger> {
    let read = source.options().clone();
    let mut lines = JsonLines::default().begin(out, &ConvertOptions::default());
    let (_, mut ledger) =
        if by_time { source.run(&mut Order::new(&mut lines, read))? } else { source.run(&mut lines)? };
    lines.account(&mut ledger);
    Ok(ledger)
}

/// Whether an input with these first bytes is a recording as JSON.
pub fn recognizes(start: &[u8]) -> bool {
    let next = |bytes: &'_ [u8]| bytes.trim_ascii_start().to_vec();
    let start = next(start);
    let start = next(start.strip_prefix(b"[").unwrap_or(&start));
    start.strip_prefix(b"{").is_some_and(|start| next(start).starts_with(b"\"perfconv\""))
}
