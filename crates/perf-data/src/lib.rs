//! Reads and writes Linux `perf.data` recordings: of any perf, file, pipe or directory, compressed or not, of any byte order.
//!
//! Samples, with the processes and mappings at their time:
//!
//! ```
//! # fn main() -> perf_data::Result<()> {
//! let recording = perf_data::Recording::open("tests/recordings/callgraph.data")?;
//! recording.for_each_sample(|sample| {
//!     println!("{} {:?} {:?}", sample.event_name(), sample.comm(), sample.frames().next());
//!     Ok(())
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! Records, in file order, decoded on request:
//!
//! ```
//! # fn main() -> perf_data::Result<()> {
//! use perf_data::abi::record::Body;
//!
//! let mut records = perf_data::Recording::open("tests/recordings/callgraph.data")?.records()?;
//! let mut lost = 0;
//! while let Some(record) = records.next()? {
//!     if let Body::Lost(body) = record.decode().body {
//!         lost += body.lost;
//!     }
//! }
//! println!("{lost} lost");
//! # Ok(())
//! # }
//! ```
//!
//! Records of all types in time order, borrowed, for programs that follow processes and mappings themselves:
//! [`Recording::for_each_record`].
//!
//! Definitions, each of which reads and writes its structure: all of [`abi`]. A definition does no I/O.
//!
//! ```
//! use perf_data::abi::{self, Endian, record::lost::Lost};
//!
//! let bytes = abi::to_bytes(&Lost { id: 7, lost: 3 }, Endian::Big).unwrap();
//! let (lost, used) = abi::parse::<Lost>(&bytes, Endian::Big, ()).unwrap();
//! assert_eq!((lost.lost, used), (3, 16));
//! ```
//!
//! For programs that process streams, [`stream::source::Source`] passes records to a [`stream::Sink`] without copying them, and
//! [`stream::write`] has the sinks that write containers. The [ledger](stream::ledger::Ledger) of a stream accounts for every
//! record.
//!
//! # Versions
//!
//! The format grows with each Linux release. What this crate does not know is kept as bytes: a recording that is read and written
//! without changes has the same bytes as before, whatever perf wrote it. A new record type, feature section, sample field or attr
//! field, and a new value of an enumeration that describes the format, such as [`container::read::Container`], is a new minor
//! version (0.2, 0.3). The structures of [`abi`] have public fields and can be matched exhaustively, so that a program that must
//! handle everything notices what is new when it is compiled. Enumerations and options that do not describe the format are
//! `#[non_exhaustive]`.
//!
//! # Modules
//!
//! Each uses only those above it.
//!
//! | module | contents |
//! |---|---|
//! | [`abi`] | definitions of headers, sections, attrs, records, sample fields and features |
//! | [`error`] | error types |
//! | [`printable`] | escapes and limits of text that people read |
//! | [`threads`] | worker pools that preserve order |
//! | [`progress`] | progress of long work, for programs that show it |
//! | [`tracepoint`] | tracepoint formats and fields |
//! | [`trace`] | hardware traces |
//! | [`container`] | files, pipes, directories and compressed frames |
//! | [`stream`] | records in order, with their events |
//! | [`ibs`] | registers of AMD Instruction-Based Sampling in samples |
//! | [`session`] | processes, threads and mappings over time |
//! | [`recording`] | [`Recording`]: samples, records, features |

pub mod abi;
pub mod container;
pub mod error;
pub mod ibs;
pub mod printable;
pub mod progress;
pub mod recording;
pub mod session;
pub mod stream;
pub mod threads;
pub mod trace;
pub mod tracepoint;

pub use error::{Error, ErrorKind, Result};
pub use recording::Recording;
