//! Prints a recording record by record, as text for people and for `diff`.
//!
//! Each record has a line with its offset, type and header, followed by its fields, which are named as in [`abi`](perf_data::abi):
//!
//! ```text
//! 0x2f8 SAMPLE size=64 cpumode=USER misc=[EXACT_IP] event=cpu-clock
//!   ip: 0x55f2c4a0
//!   task: {pid: 17, tid: 17}
//!   callchain: {ips: [0xfffffffffffffe00, 0x55f2c4a0]}
//! ```
//!
//! Groups that fit on one line are on one line. Numbers and names are written as in the [JSON](crate::formats::json) of
//! recordings.

mod dumper;
mod hex;
pub(super) mod text;
mod writer;

pub use dumper::{DumpOptions, Dumper};
