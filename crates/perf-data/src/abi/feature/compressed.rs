//! Feature COMPRESSED.

use super::FeatureId;
use super::descriptor::{FeatureDescriptor, FeatureFlags};
use crate::abi::open_enum::open_enum;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

open_enum! {
    /// `PERF_COMP_*`: compression algorithm.
    CompressionType: u32 {
        /// No compression.
        NONE = 0,
        /// Zstandard.
        ZSTD = 1,
    }
}

/// Compression of records. Since perf 5.2.
///
/// ```c
/// u32 version, type, level, ratio, mmap_len;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compression {
    /// 0.
    pub version: u32,
    /// Algorithm.
    pub kind: CompressionType,
    /// Requested level.
    pub level: u32,
    /// Ratio of uncompressed to compressed size, rounded.
    pub ratio: u32,
    /// Maximum number of decompressed bytes in a record.
    pub mmap_len: u32,
}

/// Descriptor of COMPRESSED.
pub const COMPRESSED: FeatureDescriptor =
    FeatureDescriptor::recording(FeatureId::COMPRESSED, (5, 2)).with(FeatureFlags::STORAGE);

roles! { Compression { version: number, kind: number, level: number, ratio: number, mmap_len: number } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &Compression { version: 0, kind: CompressionType::ZSTD, level: 3, ratio: 9, mmap_len: 0x8_1000 },
            (),
            "00000000 01000000 03000000 09000000 00100800",
            "00000000 00000001 00000003 00000009 00081000",
        );
    }
}
