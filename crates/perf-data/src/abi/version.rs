//! Versions of perf, and which version introduced what.

use crate::abi::attr_flags::AttrFlags;
use crate::abi::feature::FeatureId;
use crate::abi::read_format::ReadFormat;
use crate::abi::record::RecordType;
use crate::abi::sample::field::SampleField;
use crate::abi::sample_type::{BranchSampleType, SampleType};
use std::fmt;
use std::str::FromStr;

/// A version of perf, which is that of its Linux release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerfVersion(pub u32, pub u32);

impl fmt::Display for PerfVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl PerfVersion {
    /// The oldest version that a recording can be written for.
    pub const FIRST: Self = Self(5, 1);

    /// Deferred user call chains.
    pub const DEFERRED_CALLCHAINS: Self = Self(6, 19);
    /// CPU sets as ranges.
    pub const CPU_RANGES: Self = Self(6, 2);
    /// Build IDs in MMAP2.
    pub const MMAP_BUILD_IDS: Self = Self(5, 12);
    /// Weights of three numbers (`PERF_SAMPLE_WEIGHT_STRUCT`).
    pub const WEIGHT_STRUCTS: Self = Self(5, 12);
    /// `aux_action` in the attr.
    pub const AUX_ACTION: Self = Self(6, 13);
    /// From this version on, every record except compressed frames and features must have a size that is a multiple of 8.
    pub const ALIGNED_RECORDS: Self = Self(7, 1);
    /// COMPRESSED2 records.
    pub const COMPRESSED2: Self = Self(6, 16);

    /// Whether the version knows records of this type. No version knows types without a name here.
    pub fn knows_record(self, kind: RecordType) -> bool {
        kind.descriptor().is_some_and(|descriptor| descriptor.since <= self)
    }

    /// Whether the version knows this feature. No version knows features without a name here.
    pub fn knows_feature(self, id: FeatureId) -> bool {
        id.descriptor().is_some_and(|descriptor| descriptor.since <= self)
    }

    /// The number of features that the version knows (`HEADER_LAST_FEATURE`), which ends the features of a pipe.
    pub fn feature_end(self) -> u64 {
        let features = FeatureId::NAMED.iter().map(|(id, _)| *id).filter(|&id| self.knows_feature(id));
        features.map(|id| u64::from(id.0) + 1).max().unwrap_or_default()
    }

    /// Size of the version's `perf_event_attr`, the largest that it reads.
    pub fn attr_size(self) -> usize {
        // 112 is that of the oldest supported version.
        ATTR_SIZES.iter().rfind(|(_, since)| *since <= self).map_or(112, |(size, _)| *size)
    }

    /// The attr flags that the version knows.
    pub fn attr_flags(self) -> AttrFlags {
        self.supported_bits(ATTR_FLAGS, 40)
    }

    /// The sample fields that the version knows.
    pub fn sample_type(self) -> SampleType {
        let fields = SampleField::known_to_linux(self);
        if self < Self::WEIGHT_STRUCTS { fields - SampleType::WEIGHT_STRUCT } else { fields }
    }

    /// The read format bits that the version knows.
    pub fn read_format(self) -> ReadFormat {
        self.supported_bits(READ_FORMATS, 5)
    }

    /// The branch stack bits that the version knows.
    pub fn branch_sample_type(self) -> BranchSampleType {
        self.supported_bits(BRANCH_SAMPLE_TYPES, 20)
    }

    /// The lowest `bits` bits, which are those of the newest version, except for those newer than this version.
    fn supported_bits<F: bitflags::Flags<Bits = u64> + Copy>(self, newer: &[(F, Self)], bits: u32) -> F {
        let unknown = newer.iter().filter(|(_, since)| *since > self).fold(0, |bits, (flag, _)| bits | flag.bits());
        F::from_bits_retain(((1 << bits) - 1) & !unknown)
    }
}

/// Sizes of the attr, by the version that introduced them.
const ATTR_SIZES: &[(usize, PerfVersion)] =
    &[(120, PerfVersion(5, 5)), (128, PerfVersion(5, 13)), (136, PerfVersion(6, 3)), (144, PerfVersion(7, 0))];

/// Newer attr flags.
const ATTR_FLAGS: &[(AttrFlags, PerfVersion)] = &[
    (AttrFlags::AUX_OUTPUT, PerfVersion(5, 4)),
    (AttrFlags::CGROUP, PerfVersion(5, 7)),
    (AttrFlags::TEXT_POKE, PerfVersion(5, 9)),
    (AttrFlags::BUILD_ID, PerfVersion::MMAP_BUILD_IDS),
    (AttrFlags::INHERIT_THREAD, PerfVersion(5, 13)),
    (AttrFlags::REMOVE_ON_EXEC, PerfVersion(5, 13)),
    (AttrFlags::SIGTRAP, PerfVersion(5, 13)),
    (AttrFlags::DEFER_CALLCHAIN, PerfVersion::DEFERRED_CALLCHAINS),
    (AttrFlags::DEFER_OUTPUT, PerfVersion::DEFERRED_CALLCHAINS),
];

/// Newer read format bits.
const READ_FORMATS: &[(ReadFormat, PerfVersion)] = &[(ReadFormat::LOST, PerfVersion(6, 0))];

/// Newer branch stack bits.
const BRANCH_SAMPLE_TYPES: &[(BranchSampleType, PerfVersion)] = &[
    (BranchSampleType::HW_INDEX, PerfVersion(5, 7)),
    (BranchSampleType::PRIV_SAVE, PerfVersion(6, 1)),
    (BranchSampleType::COUNTERS, PerfVersion(6, 8)),
];

impl FromStr for PerfVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed =
            text.split_once('.').and_then(|(major, minor)| Some(Self(major.parse().ok()?, minor.parse().ok()?)));
        match parsed {
            None => Err("expected a version such as 6.1".to_owned()),
            Some(version) if version < Self::FIRST => Err(format!("the oldest supported version is {}", Self::FIRST)),
            Some(version) => Ok(version),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_knows_what_earlier_versions_introduced() {
        let [old, debian, new] = ["5.10", "6.1", "7.2"].map(|version| version.parse::<PerfVersion>().unwrap());
        assert_eq!([old, debian, new].map(PerfVersion::attr_size), [120, 128, 144]);
        // perf's own HEADER_LAST_FEATURE.
        assert_eq!([old, debian, new].map(PerfVersion::feature_end), [30, 32, 35]);
        assert!(debian.knows_record(RecordType::FINISHED_INIT) && !old.knows_record(RecordType::FINISHED_INIT));
        assert!(new.knows_record(RecordType::SCHEDSTAT_CPU) && !new.knows_record(RecordType(99)));
        assert!(
            !debian.attr_flags().contains(AttrFlags::DEFER_OUTPUT) && debian.attr_flags().contains(AttrFlags::SIGTRAP)
        );
        assert!(!old.read_format().contains(ReadFormat::LOST) && debian.read_format().contains(ReadFormat::LOST));
        assert!(["4.19", "6", "x.1", "6.1.2"].iter().all(|text| text.parse::<PerfVersion>().is_err()));
    }
}
