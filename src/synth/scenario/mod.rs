//! Recordings as a person thinks of them: programs, threads, where the time goes.
//!
//! * [`file`](mod@file): what a scenario's file says; [`time`]: times in it.
//! * [`plan`]: that checked and put together; [`share`]: which stack comes when, by the seed.
//! * [`run`](mod@run): the records; [`images`]: the programs, as ELF files that have nothing but symbols.

pub mod file;
pub mod images;
pub mod plan;
pub mod run;
pub mod share;
pub mod time;

pub use file::Expect;
pub use plan::Scenario;
