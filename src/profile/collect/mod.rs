//! Builds a profile from records: events, values, labels and parts of samples.

pub(crate) mod branch_entries;
pub(crate) mod branch_ranges;
mod branch_samples;
pub(crate) mod collector;
mod derived_events;
pub(crate) mod dispatch;
pub(crate) mod merged_events;
pub(crate) mod observation;
mod off_cpu_samples;
pub(crate) mod omissions;
pub(crate) mod parts;
pub(crate) mod pre_scan;
pub(crate) mod programs;
pub(crate) mod sample_batch;
pub(crate) mod sample_context;
pub mod sample_sink;
pub(crate) mod selection;
mod span_samples;
pub(crate) mod stack_collector;
pub(crate) mod stack_counter;
pub(crate) mod values;
pub(crate) mod weights;
