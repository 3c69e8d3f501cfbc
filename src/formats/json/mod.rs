//! A recording as JSON, both ways: one object a line (JSON Lines), or the same objects in a list.
//!
//! Every record, event and feature is told by the fields of its definition in [`abi`](crate::abi), under the names that
//! these have there. `docs/json.md` has the specification, `docs/json.schema.json` the schema.
//!
//! * Both ways: `layout` and `objects` are the objects besides records, `directory_files` files beside the recording, `sample` a
//!   fast path for the most frequent record.
//! * Writing: `export` takes the stream, `render_queue` gathers records, `render` and `tracepoint` make objects of them, `value_writer`
//!   writes values, `digits` numbers.
//! * Reading: `batches` cuts the stream, `rules` reads values and `field_error` says in which field they are wrong, `object` is
//!   an object as it is read, `item` and `encode` its content and bytes, `layout_check` compares these with the event's layout,
//!   `import` puts all of it together, with `frames` and `target`.

mod batches;
mod digits;
mod directory_files;
mod encode;
mod export;
mod field_error;
mod frames;
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
mod target;
mod tracepoint;
mod value_writer;

pub(crate) use digits::append_hex;
pub use export::Export;
pub use import::import;
pub use objects::VERSION;
pub use value_writer::append;

use super::options::{FormatOption, Takes};
use super::{Format, Reads, Writes};
use crate::error::Result;
use crate::formats::carry::{Carry, CarryOptions};
use crate::stream::ledger::Ledger;
use crate::stream::order::Order;
use crate::stream::source::Source;
use std::io::{BufWriter, Write};

/// JSON Lines.
pub const LINES_FORMAT: Format = Format {
    extensions: &[("jsonl", None), ("ndjson", None)],
    writes: Writes::Carry(begin_lines),
    reads: Reads::Import(import),
    recognises,
    is_distinctive: true,
    options: &[DECODE],
    ..Format::new("jsonl", "a recording as JSON Lines, one object for each record, and back")
};

/// One JSON document. By its content it is recognized as JSON Lines are, which are read alike.
pub const DOCUMENT_FORMAT: Format = Format {
    extensions: &[("json", None)],
    writes: Writes::Carry(begin_document),
    reads: Reads::Import(import),
    is_distinctive: true,
    options: &[DECODE],
    ..Format::new("json", "the same objects in one JSON document, and back")
};

/// What is written besides what the recording is reconstructed from.
pub const DECODE: FormatOption = FormatOption {
    is_last: true,
    ..FormatOption::new(
        "decode",
        "WHAT",
        "What JSON tells besides what it is made again of",
        Takes::Choice(&[(TRACEPOINTS, "The fields of tracepoints' samples, by the formats in the recording")]),
    )
};

const TRACEPOINTS: &str = "tracepoints";

/// Begins a recording as JSON Lines.
pub fn begin_lines<'a>(out: &'a mut dyn Write, options: &CarryOptions) -> Box<dyn Carry + 'a> {
    Box::new(Export::new(BufWriter::with_capacity(1 << 17, out), false, options))
}

/// Begins a recording as one JSON document.
pub fn begin_document<'a>(out: &'a mut dyn Write, options: &CarryOptions) -> Box<dyn Carry + 'a> {
    Box::new(Export::new(BufWriter::with_capacity(1 << 17, out), true, options))
}

/// Writes a recording as JSON Lines, its records in the order of time or else as they are stored.
///
/// # Errors
/// Where the recording cannot be read, or the output cannot be written.
pub fn write_lines(source: Source, by_time: bool, out: &mut dyn Write) -> Result<Ledger> {
    let read = source.options().clone();
    let mut lines = begin_lines(out, &CarryOptions::default());
    let (_, mut ledger) =
        if by_time { source.run(&mut Order::new(&mut lines, read))? } else { source.run(&mut lines)? };
    lines.account(&mut ledger);
    Ok(ledger)
}

/// Whether an input that begins like this is a recording as JSON.
pub fn recognises(start: &[u8]) -> bool {
    let next = |bytes: &'_ [u8]| bytes.trim_ascii_start().to_vec();
    let start = next(start);
    let start = next(start.strip_prefix(b"[").unwrap_or(&start));
    start.strip_prefix(b"{").is_some_and(|start| next(start).starts_with(b"\"perfconv\""))
}
