//! Recordings described by programs, threads and the distribution of their time.
//!
//! * [`file`](mod@file): the scenario file; [`time`]: durations in it.
//! * [`plan`]: the validated scenario, built by `read`; [`registers`] by name.
//! * [`run`](mod@run): generation of the records: `samples`, context switches in `slices`; [`share`]: random choice of stacks by
//!   seed.
//! * [`images`]: the programs as ELF files; [`code`]: their machine code.
//! * [`damage`]: deliberate corruption.

pub mod code;
pub mod damage;
pub mod file;
pub mod images;
pub mod plan;
mod read;
pub mod registers;
pub mod run;
mod samples;
pub mod share;
mod slices;
pub mod time;

pub use plan::Scenario;
