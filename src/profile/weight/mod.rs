//! What a sample is worth: its period, a field, its share of the elapsed time, the time that its thread then waited,
//! or the time until another event.
//!
//! This is decided once, while samples are collected in time order, so that all outputs have the same values.

pub(crate) mod event_roles;
pub(crate) mod field;
pub mod lengths;
pub(crate) mod number;
pub(crate) mod off_cpu;
pub(crate) mod parallelism;
pub(crate) mod sample_weight;
pub(crate) mod scheduler;
pub(crate) mod spans;

pub use sample_weight::{SampleWeight, Span, WeightOptions};
