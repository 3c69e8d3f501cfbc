//! The framework of passes: what a pass is, how passes form a chain, and building blocks that passes share.
//!
//! * [`pass`]: the pass trait; [`passes`]: a chain of passes; [`output`]: the recording that a chain writes;
//!   [`disclosure`]: what else an output may contain.
//! * [`pass_options`]: passes with their options; `pass_type`: the same as arguments of a command line.
//! * [`record_function`], [`replacement`], `rounds`, `mmap`, `sample_parts`, `spooled_chains`: building blocks.

pub mod disclosure;
pub(crate) mod mmap;
pub mod output;
pub mod pass;
pub mod pass_options;
#[cfg(feature = "cli")]
pub mod pass_type;
pub mod passes;
pub mod record_function;
pub mod replacement;
pub(crate) mod rounds;
pub(crate) mod sample_parts;
pub(crate) mod spooled_chains;
