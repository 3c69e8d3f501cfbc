//! JSON form of the information on a recording.

use super::build_ids::FileId;
use super::events::{EventInfo, EventNames, events, groups};
use super::header::{captured_on, features, file_header, version};
use super::stats::Stats;
use super::{Info, Parts};
use perf_data::abi::Endian;
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::container::read::Container;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The JSON object, with a field for each requested part.
#[derive(Serialize)]
struct InfoObject<'a> {
    file: &'a str,
    header: Option<ContainerHeader>,
    features: Option<BTreeMap<FeatureName, Content>>,
    events: Option<Vec<EventInfo<'a>>>,
    groups: Option<Vec<String>>,
    build_ids: Option<&'a [FileId]>,
    stats: Option<&'a Stats>,
}

/// Fields of the container, named as by `perf data convert --to-json`.
#[derive(Serialize)]
struct ContainerHeader {
    container: &'static str,
    endian: &'static str,
    captured_on: Option<String>,
    header_version: Option<u32>,
    data_offset: Option<u64>,
    data_size: Option<u64>,
    feat_offset: Option<u64>,
}

/// Name of a feature, or its number if it has none.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FeatureName(FeatureId);

impl Serialize for FeatureName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Fields of a feature, or its bytes if they do not have its layout.
#[derive(Serialize)]
#[serde(untagged)]
enum Content {
    Fields(Feature),
    Raw { raw: serde_bytes::ByteBuf },
}

impl From<Feature> for Content {
    fn from(feature: Feature) -> Self {
        match feature {
            Feature::Opaque(bytes) => Self::Raw { raw: bytes.into() },
            feature => Self::Fields(feature),
        }
    }
}

impl Serialize for Info {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (meta, Parts { header, events: has_events, build_ids, .. }) = (&self.meta, self.parts);
        let features = || features(meta).into_iter().map(|(id, feature)| (FeatureName(id), feature.into())).collect();
        let object = InfoObject {
            file: &meta.files[0],
            header: header.then(|| self.header()),
            features: header.then(features),
            events: has_events.then(|| events(meta, EventNames::Recorded)),
            groups: has_events.then(|| groups(meta, EventNames::Recorded)),
            build_ids: build_ids.then_some(&*self.build_ids),
            stats: self.stats.as_ref(),
        };
        object.serialize(serializer)
    }
}

impl Info {
    fn header(&self) -> ContainerHeader {
        let file = file_header(&self.meta);
        ContainerHeader {
            container: match self.meta.container {
                Container::File => "file",
                Container::Pipe => "pipe",
                Container::Directory => "directory",
            },
            endian: match self.meta.endian {
                Endian::Little => "little",
                Endian::Big => "big",
            },
            captured_on: captured_on(&self.meta),
            header_version: file.as_ref().map(version),
            data_offset: file.as_ref().map(|header| header.data.offset),
            data_size: file.as_ref().map(|header| header.data.size),
            feat_offset: file.as_ref().map(|header| header.data.end()),
        }
    }
}
