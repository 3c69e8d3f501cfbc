//! Reads, writes, converts and rewrites Linux `perf.data` recordings.
//!
//! [`Recording`] is what to call first. Each example here is complete; memory does not grow with the recording in any of them
//! but for what is unique, such as stacks.
//!
//! Samples in time order, with their stacks resolved to mapped files:
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
//! Filter, and write a recording that perf reads:
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
//! Convert to a pprof:
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
//! Read what a recording says about itself:
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
//! Put a recording together, as a test of something that reads recordings does:
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
//! The cargo features `bundle`, `csv`, `inspect`, `json`, `pprof`, `quipper`, `quipper-text`, `rewrite` and `synth` add what they
//! are named after, `cli` the program with all of them; all are on by default. `default-features = false` reads and writes
//! perf.data.
//!
//! The library is built from these modules; each uses only those above it. The public ones are [`abi`], [`error`], [`recording`]
//! and [`synth`]. The cargo feature `internals` makes the others public too, for the program, tests and benchmarks; they may
//! change in any release.
//!
//! | module | contents |
//! |---|---|
//! | [`abi`] | definitions of every header, section, attr, record, sample field and feature |
//! | [`error`] | what can go wrong, and where |
//! | `threads` | work on several threads, in order |
//! | `tracepoint` | formats and fields of tracepoints |
//! | `container` | files, pipes, directories and compressed frames |
//! | `object` | ELF images |
//! | `stream` | records in order, with the events that they belong to |
//! | `session` | processes, threads and mappings over time |
//! | `rewrite` | passes over records |
//! | [`synth`] | recordings from a description |
//! | `bundle` | a recording with its objects in one file |
//! | `profile` | interned stacks and values |
//! | `inspect` | what a recording contains, whether it is sound, records as text, differences of two |
//! | `formats` | other formats |
//! | `convert` | a recording to a profile or another format in one call |
//! | [`recording`] | [`Recording`] |

// What only the program and some features use is not in use without them.
#![cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]
// What the signatures of public items name can be named. Those of `synth` still name sinks and containers; `inspect` implements
// serializers, whose error types count.
#![cfg_attr(not(any(feature = "inspect", feature = "internals", feature = "synth")), deny(unnameable_types))]

pub mod abi;
pub mod error;
pub mod recording;
#[cfg(feature = "synth")]
pub mod synth;

/// The modules behind the public ones, under the names that they have with the feature `internals`.
#[path = "."]
mod modules {
    #[cfg(feature = "bundle")]
    pub mod bundle;
    pub mod container;
    #[cfg(feature = "formats")]
    pub mod convert;
    #[cfg(feature = "formats")]
    pub mod formats;
    #[cfg(feature = "inspect")]
    pub mod inspect;
    #[cfg(any(feature = "rewrite", feature = "synth"))]
    pub mod object;
    pub mod profile;
    pub mod rewrite;
    pub mod session;
    pub mod stream;
    pub mod threads;
    pub mod tracepoint;
}

pub use error::{Error, ErrorKind, Result};
#[cfg(not(feature = "internals"))]
use modules::*;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub use modules::*;
pub use recording::Recording;

/// The examples of the README, as tests.
#[cfg(all(doctest, feature = "cli"))]
#[doc = include_str!("../README.md")]
struct Readme;
