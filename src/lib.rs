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
//! use perfconv::abi::{sample::Sample, sample_type::SampleType};
//! use perfconv::synth::{Event, Map};
//!
//! # fn main() -> perfconv::Result<()> {
//! let mut recording = perfconv::Recording::builder();
//! let cycles = recording.event(Event::named("cycles:u")?.period(1_000_000).with(SampleType::IP));
//! recording.process(7, "app").map(7, Map::of("/usr/bin/app", 0x400000, 0x3000));
//! recording.sample(cycles, Sample { ip: Some(0x401010), task: Some((7, 7)), time: Some(1), ..Sample::default() });
//! let recording = perfconv::Recording::from_bytes("app.data", recording.to_bytes()?)?;
//! assert!(recording.samples()?.next()?.is_some());
//! # Ok(())
//! # }
//! ```
//!
//! The cargo features `bundle`, `callgrind`, `chrome`, `csv`, `firefox`, `flamegraph`, `html`, `inspect`, `json`, `otlp`, `perfetto`, `pprof`, `quipper`, `quipper-text`, `report`,
//! `rewrite`, `speedscope`, `symbols` and `synth` add the functionality of that name; `cli` adds the program with all of them. All are enabled by
//! default; `debuginfod`, which downloads debug files, is not. With `default-features = false`, the library reads and writes
//! perf.data.
//!
//! The library consists of these modules; each uses only those above it. The public ones are [`abi`], [`error`], [`recording`]
//! and [`synth`]. The cargo feature `internals` makes the others public for the program, tests and benchmarks; they may change in
//! any release.
//!
//! | module | contents |
//! |---|---|
//! | [`abi`] | definitions of headers, sections, attrs, records, sample fields and features |
//! | [`error`] | error types |
//! | `printable` | escapes and limits of text that people read |
//! | `suggest` | messages about unknown names |
//! | `threads` | worker pools that preserve order |
//! | `progress` | progress of long work, for programs that show it |
//! | `tracepoint` | tracepoint formats and fields |
//! | `container` | files, pipes, directories and compressed frames |
//! | `object` | object files and images: build IDs, jitdumps, perf maps |
//! | `stream` | records in order, with their events |
//! | `session` | processes, threads and mappings over time |
//! | `symbol` | addresses to functions, inlined functions and lines |
//! | `unwind` | user stack dumps to frames |
//! | `profile` | interned stacks and values |
//! | `report` | functions with the most samples, callers, callees and lines |
//! | `rewrite` | passes over records |
//! | [`synth`] | synthetic recordings |
//! | `bundle` | archives of a recording with its object files |
//! | `inspect` | `info`, `check`, `dump` and `diff` |
//! | `formats` | other formats |
//! | `conversion` | conversion of an input to an output |
//! | [`recording`] | [`Recording`] |

pub mod bundle;
pub mod conversion;
pub mod formats;
pub mod inspect;
#[cfg(feature = "cli")]
pub mod option_values;
pub mod profile;
pub mod recording;
pub mod report;
pub mod rewrite;
pub mod suggest;
pub mod synth;

pub use perf_data::{Error, ErrorKind, Result, abi, error};
pub use recording::Recording;

/// Tests of the examples in README.md.
#[cfg(all(doctest, feature = "cli"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// Tests of the examples in docs/library.md.
#[cfg(all(doctest, feature = "cli"))]
#[doc = include_str!("../docs/library.md")]
struct LibraryPage;
