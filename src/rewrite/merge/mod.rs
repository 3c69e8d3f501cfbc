//! Merges several recordings into one, in time order.
//!
//! * [`run`]: drives the merge; [`options`]: its options; [`member`]: a recording to be merged, and its [`pre_scan`].
//! * [`compatibility`], [`clock`], [`kernel`]: what can be merged; alignment of times; the choice of the kernel.
//! * [`events`]: merges events and assigns IDs; [`features`], [`formats`]: merge features and tracepoint formats.
//! * [`duplicates`]: detects recordings that are merged twice.
//! * [`remap`]: remaps records to the IDs, fields, times and processes of the result.
//! * [`streams`]: reads all recordings with a thread each, and merges their records by time.

pub mod clock;
pub mod compatibility;
pub mod duplicates;
pub mod events;
pub mod features;
pub mod formats;
pub mod kernel;
pub mod member;
pub mod options;
mod patch;
pub mod pre_scan;
pub mod remap;
pub mod run;
pub mod streams;
