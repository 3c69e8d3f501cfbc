//! `PERF_RECORD_HEADER_FEATURE`.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::abi::counted;
use crate::abi::feature::FeatureId;
use crate::abi::fields::{FieldVisitor, VisitFields};
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// A feature section, in a pipe. Since perf 4.14.
///
/// ```c
/// u64 feat_id; u8 data[];
/// ```
///
/// Without data and with an ID beyond those known to the writer, it marks the end of the features.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderFeature {
    /// Feature ID; see [`id`](Self::id).
    pub feat_id: u64,
    /// Content, as in a file's section.
    #[br(parse_with = counted::bytes_to_end)]
    #[serde(with = "crate::abi::serde::byte_string")]
    pub data: Vec<u8>,
}

impl HeaderFeature {
    /// Feature ID; `None` if it exceeds 32 bits.
    pub fn id(&self) -> Option<FeatureId> {
        u32::try_from(self.feat_id).ok().map(FeatureId)
    }
}

/// Descriptor of HEADER_FEATURE.
pub const HEADER_FEATURE: RecordDescriptor = RecordDescriptor::state(RecordType::HEADER_FEATURE, (4, 14), 16)
    .with(RecordFlags::HEADER.union(RecordFlags::UNALIGNED));

impl VisitFields for HeaderFeature {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let id = self.id();
        let Self { feat_id: _, data } = self;
        match id {
            // The end mark has no content.
            _ if data.is_empty() => {}
            Some(id) => visitor.feature(id, data),
            None => visitor.unknown(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        let feature = HeaderFeature { feat_id: 34, data: vec![1, 2, 3] };
        assert_eq!(feature.id(), Some(FeatureId::CLN_SIZE));
        both_orders(&feature, (), "2200000000000000 010203", "0000000000000022 010203");
    }
}
