//! Several recordings as one, in the order of time.
//!
//! * [`run`]: the way that it takes; [`options`]: what can be asked for; [`member`]: a recording that is merged, and a first
//!   [`pre_scan`] at it.
//! * [`compatibility`], [`clock`], [`kernel`]: what cannot be merged, and why; how times become those of one clock, and whose kernel
//!   it is.
//! * [`events`]: which events are one, and their ids; [`features`], [`formats`]: what the result tells of itself, and of its
//!   tracepoints.
//! * [`duplicates`]: recordings that are merged twice.
//! * [`remap`]: records with the ids, fields, times and processes of the result.
//! * [`streams`]: all of them at once, a thread each, the earliest record first.

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
