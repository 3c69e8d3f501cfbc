//! Rewrite passes: records in, records out.
//!
//! A pass is requested with its options, of which each pass has a type: [`Recording::rewrite`](crate::Recording::rewrite) and
//! [`convert`](crate::Recording::convert) [apply](crate::recording::Rewrite::apply) them.
//!
//! ```
//! use perfconv::rewrite::{Head, SampleEvery};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let output = directory.path().join("out.data");
//! let recording = perfconv::Recording::open("roundtrip/fixtures/callgraph.data")?;
//! recording.rewrite().apply(SampleEvery::new(10)).apply(Head::new(5)).write(output)?;
//! # Ok(())
//! # }
//! ```
//!
//! A pass of your own implements [`crate::rewrite::framework::pass::Pass`]. The modules besides passes:
//!
//! * [`framework`]: what a pass is, chains of passes, and building blocks that passes share; `registry` lists all passes.
//! * [`header`]: a recording's metadata, and edits of it that work in any container.
//!
//! [`merge`] and [`split`] work on several recordings. [`endian`] checks whether a recording can be written in the other byte order.

pub mod anonymize;
pub mod build_ids;
pub mod embedded_symbols;
pub mod endian;
pub mod filter;
pub mod framework;
pub mod header;
pub mod itrace;
pub mod jit;
pub mod merge;
pub mod perf_version;
pub mod quipper;
#[cfg(feature = "cli")]
pub mod registry;
pub mod repair;
pub mod sched_stat;
pub mod sort;
pub mod split;
pub mod strip_user_stack;
pub mod unwind;

pub use anonymize::options::Anonymize;
pub use build_ids::maps::BuildIdMaps;
pub use build_ids::table::BuildIdTable;
pub use embedded_symbols::{EmbedSymbols, EmbeddedNames, StripSymbols};
pub use filter::comm::Comm;
pub use filter::cpu::Cpu;
pub use filter::dso::Dso;
pub use filter::event::Event;
pub use filter::head::Head;
pub use filter::kind::RecordTypes;
pub use filter::sample_every::SampleEvery;
pub use filter::task::{Pid, Tid};
pub use filter::time::Time;
pub use header::edits::HeaderEdit;
pub use itrace::{Itrace, NoItrace};
pub use jit::pass::Jit;
pub use jit::perf_map::PerfMap;
pub use perf_version::ForPerfVersion;
pub use quipper::Quipper;
pub use repair::Repair;
pub use sched_stat::SchedStat;
pub use sort::Sort;
pub use split::criterion::By;
pub use strip_user_stack::StripUserStack;
pub use unwind::Unwind;
