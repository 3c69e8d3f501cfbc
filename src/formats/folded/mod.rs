//! Folded stacks, the input of flame graph tools: `main;work;leaf 12`, one stack per line, root first, with its
//! count.

mod import;

pub use import::{import, recognizes};

use super::{Format, Reader};

/// Folded stacks.
pub const FORMAT: Format = Format {
    extensions: &[("folded", None), ("collapsed", None), ("stacks", None)],
    reader: Reader::Import(import),
    recognizes,
    ..Format::new("folded", "folded stacks of flame graphs; input only")
};
