//! Hardware traces in the AUX area.
//!
//! A trace is bytes of the processor, always little-endian, which AUXTRACE records carry as their payload.
//!
//! * [`clock`]: times of traces.
//! * [`bts`]: the Branch Trace Store of Intel.
//! * [`spe`]: the Statistical Profiling Extension of Arm.

pub mod bts;
pub mod clock;
pub mod spe;

use crate::abi::record::auxtrace_info::AuxtraceType;

/// The sources of traces that are decoded to samples.
pub const DECODED: [AuxtraceType; 2] = [AuxtraceType::ARM_SPE, AuxtraceType::INTEL_BTS];

/// Whether traces of this source are decoded to samples.
pub fn is_decoded(source: AuxtraceType) -> bool {
    DECODED.contains(&source)
}
