//! A recording record by record, as text for people and for `diff`.
//!
//! Each record has a line with its place, type and header, and below it its fields by the names of their definitions in
//! [`abi`](crate::abi):
//!
//! ```text
//! 0x2f8 SAMPLE size=64 cpumode=USER misc=[EXACT_IP] event=cpu-clock
//!   ip: 0x55f2c4a0
//!   task: {pid: 17, tid: 17}
//!   callchain: {ips: [0xfffffffffffffe00, 0x55f2c4a0]}
//! ```
//!
//! What fits on one line is on one line. Numbers and names are told as in the [JSON](crate::formats::json) of recordings.

mod dumper;
mod hex;
pub(super) mod text;
mod writer;

pub use dumper::{DumpOptions, Dumper};
