//! What `perf script` prints of samples, as of perf 6.1 and 6.12: with and without call chains.

mod frame;
mod head;
mod import;

pub use import::{import, recognises};
