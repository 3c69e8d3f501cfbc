//! Recordings of scenarios, read by other programs.

mod branches;
mod options;
mod readers;
mod schema;
