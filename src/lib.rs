//! Reads, writes, converts and rewrites Linux `perf.data` recordings.
//!
//! [`Recording`] is the entry point. Each example below is complete. Memory use grows with the unique stacks and names of a
//! recording, not with its size.
//!
//! Iterate over samples in time order, with stacks resolved to mapped files:
//!
//! ```
//! # fn main() -> perfconv::Result<()> {
//! let recording = perfconv::Recording::open("roundtrip/fixtures/callgraph.data")?;
//! let mut samples = recording.samples()?;
//! while let Some(sample) = samples.next()? {
//!     println!("{} {:?} at {:?}", sample.event(), sample.comm(), sample.time());
//!     for frame in sample.frames() {
//!         println!("  {:#x} {}", frame.address(), frame.mapping().map_or("?", |mapping| mapping.path()));
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Filter samples and write a recording:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let output = directory.path().join("kept.data");
//! let recording = perfconv::Recording::open("roundtrip/fixtures/callgraph.data")?;
//! let ledger = recording.rewrite().keep_comm("loop-pie").compress(3).write(&output)?;
//! println!("{ledger}");
//! # Ok(())
//! # }
//! ```
//!
//! Convert to pprof:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let output = directory.path().join("out.pb.gz");
//! let recording = perfconv::Recording::open("roundtrip/fixtures/callgraph.data")?;
//! recording.profile().write(&output)?;
//! # Ok(())
//! # }
//! ```
//!
//! Read metadata:
//!
//! ```
//! # fn main() -> perfconv::Result<()> {
//! let features = perfconv::Recording::open("roundtrip/fixtures/callgraph.data")?.features()?;
//! println!("{:?} on {:?}", features.command_line(), features.hostname());
//! for event in features.events() {
//!     println!("{} {:?}", event.name, event.attr.sample_type);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Build a synthetic recording, for instance to test a reader:
//!
//! ```
//! use perf_data::abi::{sample::Sample, sample_type::SampleType};
//! use perfconv::synth::{Event, Map};
//!
//! # fn main() -> perfconv::Result<()> {
//! let mut recording = perfconv::Recording::builder();
//! let cycles = recording.event(Event::named("cycles:u")?.period(1_000_000).with(SampleType::IP));
//! recording.process(7, "app").map(7, Map::new("/usr/bin/app", 0x400000, 0x3000));
//! recording.sample(cycles, Sample { ip: Some(0x401010), task: Some((7, 7)), time: Some(1), ..Sample::default() });
//! let recording = perfconv::Recording::from_bytes("app.data", recording.to_bytes()?)?;
//! assert!(recording.samples()?.next()?.is_some());
//! # Ok(())
//! # }
//! ```
//!
//! What the program does, the library does with the same result: [`formats`] have their options, [`rewrite`] its passes, [`synth`]
//! and [`inspect`] their own types. Recordings are read and written by [`perf_data`], addresses resolved by [`perf_symbols`];
//! both can be used without this crate.
//!
//! # Cargo features
//!
//! | feature | what it adds |
//! |---|---|
//! | `cli` (default) | the program, and the options of formats and passes as arguments of clap |
//! | `protobuf` | formats of protobuf: pprof, PerfDataProto, OTLP, Perfetto; part of `cli` |
//! | `quipper-text` | PerfDataProto in text format; part of `cli` |
//! | `parquet` | Parquet and Arrow tables |
//! | `debuginfod` | downloads of debug files |
//! | `push` | the command `push` of the program |
//!
//! # Modules
//!
//! Each uses only those above it.
//!
//! | module | contents |
//! |---|---|
//! | [`suggest`] | messages about unknown names |
//! | `option_values` | parsers of the values of options, with the feature `cli` |
//! | `protobuf` | fields of protobuf messages |
//! | `quantity` | numbers with units |
//! | [`profile`] | interned stacks and values |
//! | [`branches`] | counts of taken branches, and what compilers derive from them |
//! | [`report`] | functions with the most samples, callers, callees and lines |
//! | [`rewrite`] | passes over records |
//! | [`synth`] | synthetic recordings |
//! | [`bundle`] | archives of a recording with its object files |
//! | [`inspect`] | `info`, `check` and `dump` |
//! | [`formats`] | other formats |
//! | [`diff`] | differences between recordings |
//! | [`conversion`] | conversion of an input to an output |
//! | [`recording`] | [`Recording`] |

pub mod branches;
pub mod bundle;
pub mod conversion;
pub mod diff;
pub mod formats;
pub mod inspect;
#[cfg(feature = "cli")]
pub mod option_values;
pub mod profile;
mod protobuf;
mod quantity;
pub mod recording;
pub mod report;
pub mod rewrite;
pub mod suggest;
pub mod synth;

pub use perf_data::{self, Error, ErrorKind, Result, abi};
pub use perf_symbols;
pub use recording::Recording;

/// Tests of the examples in README.md.
#[cfg(all(doctest, feature = "cli"))]
#[allow(rustdoc::invalid_codeblock_attributes, reason = "how a test runs the commands is after the language")]
#[doc = include_str!("../README.md")]
struct Readme;

/// Tests of the examples in docs/library.md.
#[cfg(all(doctest, feature = "cli"))]
#[allow(rustdoc::invalid_codeblock_attributes, reason = "how a test runs the commands is after the language")]
#[doc = include_str!("../docs/library.md")]
struct LibraryPage;
