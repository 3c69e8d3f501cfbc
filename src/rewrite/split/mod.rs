//! One recording as several, each of which is a whole one, with the maps, names and build ids that it needs.
//!
//! * [`run`]: the way that it takes; [`by`]: what a recording can be split by; [`partition`]: which part a sample is in.
//! * [`pre_scan`]: a first look that finds out which parts there are; [`route`]: each record to the parts that need it.

pub mod by;
pub mod partition;
pub mod pre_scan;
pub mod route;
pub mod run;
