//! What a sample is worth: its period, a field, its share of the elapsed time, or the time that its thread then waited.
//!
//! This is decided once, while samples are collected in time order, so that all outputs have the same values.

pub(crate) mod field;
pub(crate) mod number;
pub(crate) mod off_cpu;
pub(crate) mod parallelism;
pub(crate) mod scheduler;
pub(crate) mod value;

pub use value::{SampleValue, ValueOptions};
