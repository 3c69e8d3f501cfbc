//! Function names that travel inside a recording: `--embed-symbols` stores those of its samples, `--strip-symbols` removes them.
//!
//! They are in simpleperf's feature FILE2, which perf ignores, and which samply and Perfetto read too.

mod embed;
mod objects;
pub(crate) mod strip;

pub use embed::EmbedSymbols;
pub use strip::StripSymbols;
