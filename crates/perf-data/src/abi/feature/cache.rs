//! Feature CACHE.

use super::FeatureId;
use super::descriptor::{FeatureDescriptor, FeatureFlags};
use super::string::PerfStr;
use crate::abi::counted;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// CPU caches. Since perf 4.6.
///
/// ```c
/// u32 version, nr;
/// struct { u32 level, line_size, sets, ways; string type, size, map; } caches[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caches {
    /// 1.
    pub version: u32,
    #[br(temp)]
    #[bw(calc = caches.len() as u32)]
    nr: u32,
    /// The caches.
    #[br(parse_with = counted::items, args(nr.into()))]
    pub caches: Vec<Cache>,
}

/// A cache.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// Level.
    pub level: u32,
    /// Line size in bytes.
    pub line_size: u32,
    /// Number of sets.
    pub sets: u32,
    /// Number of ways.
    pub ways: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: PerfStr,
    /// Size, such as `32K`.
    pub size: PerfStr,
    /// CPUs that share it, such as `0-3`.
    pub map: PerfStr,
}

/// Descriptor of CACHE.
pub const CACHE: FeatureDescriptor = FeatureDescriptor::machine(FeatureId::CACHE, (4, 6)).with(FeatureFlags::FILE_ONLY);

roles! { Caches { version: number, caches: fields } }

roles! {
    Cache {
        level: number,
        line_size: number,
        sets: number,
        ways: number,
        kind: text(Topology),
        size: text(Topology),
        map: text(Topology),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        let text = |text: &[u8]| PerfStr { bytes: text.to_vec() };
        let cache = Cache {
            level: 1,
            line_size: 64,
            sets: 2,
            ways: 8,
            kind: text(b"Data"),
            size: text(b"32K"),
            map: text(b"0"),
        };
        both_orders(
            &Caches { version: 1, caches: vec![cache] },
            (),
            "01000000 01000000 01000000 40000000 02000000 08000000 04000000 'Data' 03000000 '32K' 01000000 '0'",
            "00000001 00000001 00000001 00000040 00000002 00000008 00000004 'Data' 00000003 '32K' 00000001 '0'",
        );
    }
}
