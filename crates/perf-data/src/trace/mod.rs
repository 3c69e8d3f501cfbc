//! Hardware traces in the AUX area.
//!
//! A trace is bytes of the processor, always little-endian, which AUXTRACE records carry as their payload.
//!
//! * [`clock`]: times of traces.
//! * [`spe`]: the Statistical Profiling Extension of Arm.

pub mod clock;
pub mod spe;
