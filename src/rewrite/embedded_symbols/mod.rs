//! Function names that travel inside a recording: `--embed-symbols` stores those of its samples, `--strip-symbols` removes them.
//!
//! They are in simpleperf's feature FILE2, which perf ignores, and which samply and Perfetto read too; `objects` has its contents.
//! Lines and inlined functions are in a feature of perfconv, in `lines`. Merges join both, and splits keep those of a part: `parts`.

mod embed;
mod lines;
mod location;
pub(crate) mod objects;
pub(crate) mod parts;
pub(crate) mod strip;
mod whole_tables;

pub use embed::{EmbedSymbols, EmbeddedNames};
pub use strip::StripSymbols;
