//! `PERF_RECORD_AUXTRACE_INFO`.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::abi::counted;
use crate::abi::open_enum::open_enum;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

open_enum! {
    /// `PERF_AUXTRACE_*`: source of the AUX data.
    AuxtraceType: u32 {
        /// Not recorded.
        UNKNOWN = 0,
        /// Intel Processor Trace.
        INTEL_PT = 1,
        /// Intel Branch Trace Store.
        INTEL_BTS = 2,
        /// Arm CoreSight.
        CS_ETM = 3,
        /// Arm Statistical Profiling Extension.
        ARM_SPE = 4,
        /// The sampling facility of s390.
        S390_CPUMSF = 5,
        /// HiSilicon PCIe trace.
        HISI_PTT = 6,
        /// Dispatch trace log of PowerPC. Since perf 7.0.
        VPA_DTL = 7,
    }
}

impl AuxtraceType {
    /// The name that people use.
    pub fn title(self) -> &'static str {
        match self {
            Self::INTEL_PT => "Intel PT",
            Self::INTEL_BTS => "Intel BTS",
            Self::CS_ETM => "Arm CoreSight",
            Self::ARM_SPE => "Arm SPE",
            Self::S390_CPUMSF => "s390 CPU-MSF",
            Self::HISI_PTT => "HiSilicon PTT",
            Self::VPA_DTL => "PowerPC VPA DTL",
            _ => "unknown source",
        }
    }
}

/// Parameters for decoding the AUX area. Since perf 4.2.
///
/// ```c
/// u32 type, reserved; u64 priv[];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuxtraceInfo {
    /// Source of the data.
    pub kind: AuxtraceType,
    /// Unused.
    pub reserved: u32,
    /// Decoder-specific data.
    #[br(parse_with = counted::u64s_to_end)]
    pub private: Vec<u64>,
}

/// Descriptor of AUXTRACE_INFO.
pub const AUXTRACE_INFO: RecordDescriptor =
    RecordDescriptor::state(RecordType::AUXTRACE_INFO, (4, 2), 16).with(RecordFlags::CONFIDENTIAL);

roles! { AuxtraceInfo { kind: number, reserved: opaque, private: opaque } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &AuxtraceInfo { kind: AuxtraceType::CS_ETM, reserved: 1, private: vec![2, 3] },
            (),
            "03000000 01000000 0200000000000000 0300000000000000",
            "00000003 00000001 0000000000000002 0000000000000003",
        );
    }
}
