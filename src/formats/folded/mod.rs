//! Folded stacks, the input of flame graph tools: `main;work;leaf 12`, one stack per line, root first, with its
//! count.

mod import;

pub use import::{import, recognises};

use super::{Format, Reads};

/// Folded stacks.
pub const FORMAT: Format = Format {
    extensions: &[("folded", None), ("collapsed", None), ("stacks", None)],
    reads: Reads::Import(import),
    recognises,
    ..Format::new("folded", "folded stacks of flame graphs; input only")
};
