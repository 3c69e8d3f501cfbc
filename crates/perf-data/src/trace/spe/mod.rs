//! Arm SPE: records of sampled operations, each a sequence of packets.
//!
//! * [`packet`]: the packets of a trace.
//! * [`record`]: records of packets, and how many bytes they have.
//! * [`metadata`]: the models of the CPUs.
//! * [`data_source`]: where the data of memory accesses came from, by model.
//! * [`details`]: raw data of samples, with what they have no fields for.

pub mod data_source;
pub mod details;
pub mod metadata;
pub mod packet;
pub mod record;
