//! Merges several recordings into one, in time order.
//!
//! * [`run`]: drives the merge; [`options`]: its options; `member`: a recording to be merged, and its `pre_scan`.
//! * `compatibility`, `clock`, `kernel`: what can be merged; alignment of times; the choice of the kernel.
//! * `events`: merges events and assigns IDs; `features`, `formats`: merge features and tracepoint formats.
//! * `duplicates`: detects recordings that are merged twice.
//! * `remap`: remaps records to the IDs, fields, times and processes of the result.
//! * `streams`: reads all recordings with a thread each, and merges their records by time.

pub(crate) mod clock;
pub(crate) mod compatibility;
pub(crate) mod duplicates;
pub(crate) mod events;
pub(crate) mod features;
pub(crate) mod formats;
pub(crate) mod kernel;
pub(crate) mod member;
pub mod options;
mod patch;
pub(crate) mod pre_scan;
pub(crate) mod remap;
pub mod run;
pub(crate) mod streams;
