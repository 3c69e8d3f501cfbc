//! Splits a recording into several complete ones, each with the mappings, names and build IDs that it needs.
//!
//! * [`run`]: drives the split; [`criterion`]: the criterion; [`partition`]: the part of a sample.
//! * `pre_scan`: a first pass that finds the parts; `route`: sends each record to the parts that need it.

pub mod criterion;
pub mod partition;
pub(crate) mod pre_scan;
pub(crate) mod route;
pub mod run;
