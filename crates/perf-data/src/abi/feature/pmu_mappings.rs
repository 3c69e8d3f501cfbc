//! Feature PMU_MAPPINGS.

use super::FeatureId;
use super::descriptor::FeatureDescriptor;
use super::string::PerfStr;
use crate::abi::counted;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Dynamic PMU types. Since perf 3.7.
///
/// ```c
/// u32 nr; struct { u32 type; string name; } pmus[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PmuMappings {
    #[br(temp)]
    #[bw(calc = pmus.len() as u32)]
    nr: u32,
    /// The PMUs.
    #[br(parse_with = counted::items, args(nr.into()))]
    pub pmus: Vec<PmuMapping>,
}

/// A PMU.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PmuMapping {
    /// `type` in attrs.
    pub kind: u32,
    /// Name.
    pub name: PerfStr,
}

/// Descriptor of PMU_MAPPINGS.
pub const PMU_MAPPINGS: FeatureDescriptor = FeatureDescriptor::recording(FeatureId::PMU_MAPPINGS, (3, 7));

roles! { PmuMappings { pmus: fields } }

roles! { PmuMapping { kind: number, name: text(Pmu) } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        let name = PerfStr { bytes: b"cpu\0".to_vec() };
        both_orders(
            &PmuMappings { pmus: vec![PmuMapping { kind: 4, name }] },
            (),
            "01000000 04000000 04000000 'cpu' 00",
            "00000001 00000004 00000004 'cpu' 00",
        );
    }
}
