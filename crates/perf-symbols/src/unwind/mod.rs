//! Unwinding of user stack dumps (`perf record --call-graph dwarf`) to frames.
//!
//! * [`arch`]: registers and conventions of architectures; [`registers`]: their values.
//! * [`memory`]: the dump; `cfi`: CFI of object files, compiled to [`rule`]s; `expression`: DWARF expressions.
//! * `exidx`: tables of 32-bit Arm; `jit`: code compiled at run time.
//! * `object`: an object with its rules; [`objects`]: those of a recording; [`code`]: what is known about an address.
//! * [`walk`]: the walk from frame to frame.

pub mod arch;
pub(crate) mod cfi;
pub mod code;
pub(crate) mod exidx;
pub(crate) mod expression;
pub(crate) mod jit;
pub mod memory;
pub(crate) mod object;
pub mod objects;
pub mod registers;
pub mod rule;
pub mod walk;
