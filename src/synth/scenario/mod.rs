//! Recordings described by programs, threads and the distribution of their time.
//!
//! * [`file`](mod@file): the scenario file; [`time`]: durations in it.
//! * [`plan`]: the validated scenario, built by `read`; [`registers`] by name.
//! * [`run`](mod@run): generation of the records: `samples`, context switches in `slices`; [`share`]: random choice of stacks by
//!   seed.
//! * [`images`]: the programs as ELF files; [`code`]: their machine code.
//! * [`damage`]: deliberate corruption.

pub(crate) mod code;
pub(crate) mod damage;
pub(crate) mod file;
pub(crate) mod images;
pub(crate) mod plan;
mod read;
pub(crate) mod registers;
pub(crate) mod run;
mod samples;
pub(crate) mod share;
mod slices;
mod switch_samples;
pub(crate) mod time;

pub use plan::Scenario;
