//! One recording as several, each of which is a whole one, with the maps, names and build ids that it needs.
//!
//! * [`run`]: the way that it takes; [`by`]: what a recording can be split by; [`choice`]: which part a sample is in.
//! * [`look`]: a first look that finds out which parts there are; [`route`]: each record to the parts that need it.

pub mod by;
pub mod choice;
pub mod look;
pub mod route;
pub mod run;
