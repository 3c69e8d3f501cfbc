//! Folded stacks, the text that flame graphs are made of: `main;work;leaf 12`, a stack a line, root first, and how often.

mod import;

pub use import::{import, recognises};

use super::{Format, Reads};

/// Folded stacks.
pub const FORMAT: Format = Format {
    extensions: &[("folded", None), ("collapsed", None), ("stacks", None)],
    reads: Reads::Import(import),
    recognises,
    ..Format::new("folded", "folded stacks, of flame graphs; read alone")
};
