//! Functions, inlined frames, lines and unwound stacks of addresses in Linux perf.data recordings.

pub mod object;
pub mod symbol;
pub mod unwind;
