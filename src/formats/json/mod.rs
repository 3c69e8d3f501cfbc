//! A recording as JSON, both ways: one object a line (JSON Lines), or the same objects in a list.
//!
//! Every record, event and feature is told by the fields of its definition in [`abi`](crate::abi), under the names that
//! these have there. `docs/json.md` has the specification.

mod de;
mod export;
mod frames;
mod import;
mod layout;
mod objects;
mod ser;
mod split;

pub use export::Export;
pub use import::import;
pub use objects::VERSION;

use crate::formats::carry::{Carry, CarryOptions};
use std::io::{BufWriter, Write};

/// Begins a recording as JSON Lines.
pub fn begin_lines<'a>(out: &'a mut dyn Write, options: &CarryOptions) -> Box<dyn Carry + 'a> {
    Box::new(Export::new(BufWriter::with_capacity(1 << 17, out), false, options))
}

/// Begins a recording as one JSON document.
pub fn begin_document<'a>(out: &'a mut dyn Write, options: &CarryOptions) -> Box<dyn Carry + 'a> {
    Box::new(Export::new(BufWriter::with_capacity(1 << 17, out), true, options))
}

/// Whether an input that begins like this is a recording as JSON.
pub fn recognises(start: &[u8]) -> bool {
    let next = |bytes: &'_ [u8]| bytes.trim_ascii_start().to_vec();
    let start = next(start);
    let start = next(start.strip_prefix(b"[").unwrap_or(&start));
    start.strip_prefix(b"{").is_some_and(|start| next(start).starts_with(b"\"perfconv\""))
}
