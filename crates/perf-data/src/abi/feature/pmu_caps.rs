//! Features CPU_PMU_CAPS and PMU_CAPS.

use super::FeatureId;
use super::descriptor::FeatureDescriptor;
use super::string::PerfStr;
use crate::abi::counted;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Capabilities of a PMU. The content of CPU_PMU_CAPS, for the core PMU. Since perf 5.8.
///
/// ```c
/// u32 nr; struct { string name, value; } caps[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    #[br(temp)]
    #[bw(calc = caps.len() as u32)]
    nr: u32,
    /// The capabilities.
    #[br(parse_with = counted::items, args(nr.into()))]
    pub caps: Vec<Cap>,
}

/// A capability.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    /// Name.
    pub name: PerfStr,
    /// Value.
    pub value: PerfStr,
}

/// Capabilities of several PMUs: PMU_CAPS. Since perf 6.0; from 5.14 for core PMUs of hybrid systems only.
///
/// ```c
/// u32 nr_pmu; struct { u32 nr; struct { string name, value; } caps[nr]; string pmu_name; } pmus[nr_pmu];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PmuCaps {
    #[br(temp)]
    #[bw(calc = pmus.len() as u32)]
    nr_pmu: u32,
    /// The PMUs.
    #[br(parse_with = counted::items, args(nr_pmu.into()))]
    pub pmus: Vec<CapsOfPmu>,
}

/// Capabilities of a PMU, with its name.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapsOfPmu {
    /// Its capabilities.
    pub caps: Caps,
    /// Its name.
    pub pmu_name: PerfStr,
}

/// Descriptor of CPU_PMU_CAPS.
pub const CPU_PMU_CAPS: FeatureDescriptor = FeatureDescriptor::machine(FeatureId::CPU_PMU_CAPS, (5, 8));

/// Descriptor of PMU_CAPS. Named HYBRID_CPU_PMU_CAPS before perf 6.0.
pub const PMU_CAPS: FeatureDescriptor = FeatureDescriptor::machine(FeatureId::PMU_CAPS, (5, 14));

roles! { Caps { caps: fields } }

roles! { Cap { name: text(Hardware), value: text(Hardware) } }

roles! { PmuCaps { pmus: fields } }

roles! { CapsOfPmu { caps: fields, pmu_name: text(Pmu) } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        let text = |text: &[u8]| PerfStr { bytes: text.to_vec() };
        let caps = Caps { caps: vec![Cap { name: text(b"branches"), value: text(b"32") }] };
        let little = "01000000 08000000 'branches' 02000000 '32'";
        let big = "00000001 00000008 'branches' 00000002 '32'";
        both_orders(&caps, (), little, big);
        both_orders(
            &PmuCaps { pmus: vec![CapsOfPmu { caps, pmu_name: text(b"cpu") }] },
            (),
            &format!("01000000 {little} 03000000 'cpu'"),
            &format!("00000001 {big} 00000003 'cpu'"),
        );
    }
}
