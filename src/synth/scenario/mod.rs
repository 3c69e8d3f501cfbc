//! Recordings as a person thinks of them: programs, threads, where the time goes.
//!
//! * [`file`](mod@file): what a scenario's file says; [`time`]: times in it.
//! * [`plan`]: that checked and put together, which `read` does; [`registers`] by their names.
//! * [`run`](mod@run): the records: `samples`, threads that come and go in their `slices`; [`share`]: which stack comes when, by
//!   the seed.
//! * [`images`]: the programs, as ELF files; [`code`]: what is in them.
//! * [`damage`]: what becomes of the bytes.

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

pub use file::expect::Expect;
pub use plan::Scenario;
