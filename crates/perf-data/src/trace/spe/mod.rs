//! Arm SPE: records of sampled operations, each a sequence of packets.
//!
//! * [`packet`]: packets.
//! * [`record`]: records of packets, and how many bytes they have.

pub mod packet;
pub mod record;
