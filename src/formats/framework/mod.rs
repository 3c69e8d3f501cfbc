//! The framework of formats: their descriptions, options and tables, and building blocks that formats share.
//!
//! * `format`: the description of a format; [`output`]: a format with its options; [`table`], [`recognize`]: lookup by name and by
//!   the first bytes.
//! * [`bounded_json`]: JSON of a limited size.
//! * [`branch_profile`]: profiles for compilers and binary optimizers; [`profile_sum`]: their sums.
//! * [`converter`], `sample_writer`: formats that are written record by record, or sample by sample.
//! * [`retained_fields`]: unknown fields between similar formats.
//! * `tracks`, `slices`, `named_frames`, `frame_lookup`, `json_text`, `message`, `wire`: building blocks.

pub mod bounded_json;
pub mod branch_profile;
pub mod converter;
pub(crate) mod format;
pub(crate) mod frame_lookup;
pub(crate) mod json_text;
#[cfg(feature = "protobuf")]
pub(crate) mod message;
pub(crate) mod named_frames;
pub mod output;
pub(crate) mod printed_maps;
pub mod profile_sum;
pub mod recognize;
pub mod retained_fields;
pub(crate) mod sample_writer;
pub(crate) mod slices;
pub mod table;
pub(crate) mod tracks;
#[cfg(feature = "protobuf")]
pub(crate) mod wire;
