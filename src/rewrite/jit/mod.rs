//! Symbols for code compiled at run time: generates ELF images of it, and records that map them.
//!
//! * `plan`: the mappings to insert for a jitdump; [`pass`](mod@pass): the pass that inserts them.
//! * `perf_map`: the pass that maps anonymous memory to images of `perf-PID.map` files.
//! * `clock`: converts the times of a jitdump.
//! * [`images`]: writes image files.

pub(crate) mod clock;
pub mod images;
pub mod pass;
pub(crate) mod perf_map;
pub(crate) mod plan;
