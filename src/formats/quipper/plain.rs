//! A file of the usual layout, from messages that do not say how it was laid out.

use super::chunks::Pieces;
use super::features::FEATURES;
use super::messages::{Item, ProtoContents};
use super::record_builder::RecordBuilder;
use super::record_builder::events_of_file;
use super::sections::section;
use super::unknown::UnknownInEvents;
use crate::abi::feature::FeatureId;
use crate::abi::feature::auxtrace::{AuxtraceIndex, AuxtraceIndexEntry};
use crate::abi::record::{RecordHeader, RecordType};
use crate::abi::sample_type::SampleType;
use crate::abi::{self, Endian};
use crate::container::read::ReadOptions;
use crate::container::spool::Spool;
use crate::container::write::encoded;
use crate::container::write::file::FileWriter;
use crate::error::{Error, Result};
use crate::formats::import::ImportedRecording;
use crate::stream::meta::is_header;
use std::collections::BTreeMap;
use std::io::{BufWriter, IntoInnerError, Write};

/// Size of an AUXTRACE record without its payload.
const AUXTRACE_SIZE: u64 = 48;

/// Features that are lists, which may be empty: a count of 4 bytes then.
const LISTS: [FeatureId; 4] =
    [FeatureId::NUMA_TOPOLOGY, FeatureId::PMU_MAPPINGS, FeatureId::GROUP_DESC, FeatureId::HYBRID_TOPOLOGY];

/// A temporary file.
pub fn buffered(name: &str, options: &ReadOptions) -> Result<BufWriter<Spool>> {
    let spool = Spool::new(options.spool_dir.as_deref());
    Ok(BufWriter::with_capacity(1 << 17, spool.map_err(Error::io(name, "cannot keep in a temporary file"))?))
}

/// The file itself.
pub fn unbuffered(name: &str, spool: BufWriter<Spool>) -> Result<Spool> {
    let spool = spool.into_inner().map_err(IntoInnerError::into_error);
    spool.map_err(Error::io(name, "cannot keep in a temporary file"))
}

/// Makes a file.
pub fn file(told: &ProtoContents<'_>, options: &ReadOptions) -> Result<(ImportedRecording, UnknownInEvents)> {
    let mut damage = Vec::new();
    let mut writer = FileWriter::begin(buffered(told.name, options)?, told.endian, &told.attrs, &[])?;
    let mut builder = RecordBuilder::new(events_of_file(&told.attrs), told.endian);
    let (mut index, mut is_stat) = (Vec::new(), false);
    let pieces = Pieces::of_messages(&told.rest, &told.attrs, told.endian);
    let mut items = told.items();
    while let Some(item) = items.next(&mut damage)? {
        match item {
            Item::Event(event, number) => {
                if let Err(why) = builder.make(&event) {
                    told.warn(&mut damage, 0, format!("events {number}: {why}; it is left out"));
                    items.leave_out();
                    continue;
                }
                if event.auxtrace_event.is_some() {
                    index.push(AuxtraceIndexEntry { file_offset: writer.position(), sz: AUXTRACE_SIZE });
                }
                is_stat |= event.stat_config_event.is_some();
                writer.write_all(&builder.record).map_err(Error::Output)?;
            }
            Item::Record(record) => {
                let bytes = pieces.as_ref().and_then(|pieces| pieces.resolve(&record.chunks));
                if let Some(bytes) = bytes.filter(|bytes| stands_alone(bytes, told.endian)) {
                    writer.write_all(&bytes).map_err(Error::Output)?;
                }
            }
        }
    }
    let mut features = features(told, pieces.as_ref());
    // There are no frames any more, and the AUX areas are elsewhere.
    features.remove(&FeatureId::COMPRESSED);
    features.remove(&FeatureId::AUXTRACE);
    if !index.is_empty() {
        let index = AuxtraceIndex::Counted { entries: index };
        features.insert(FeatureId::AUXTRACE, encoded(abi::to_bytes(&index, told.endian))?);
    }
    if is_stat {
        features.insert(FeatureId::STAT, Vec::new());
    }
    let file = writer.finish(&told.attrs, &[], &features)?;
    Ok((ImportedRecording::from_file(told.name, unbuffered(told.name, file)?, damage)?, items.unknown))
}

/// Whether bytes that are kept apart are one record that a file has among others: not a frame, in the place of which are the
/// records in it, nor what a file tells in its header and sections.
fn stands_alone(bytes: &[u8], endian: Endian) -> bool {
    RecordHeader::peek(bytes, endian).is_some_and(|header| {
        let is_frame = matches!(header.kind, RecordType::COMPRESSED | RecordType::COMPRESSED2);
        header.len() == bytes.len() && !is_frame && !is_header(header.kind)
    })
}

/// The features that hold something, and that the mask names, if there is one; and those that the schema has no place for.
fn features(told: &ProtoContents<'_>, pieces: Option<&Pieces>) -> BTreeMap<FeatureId, Vec<u8>> {
    let mask = told.rest.metadata_mask.first();
    let has_branches = told.attrs.iter().any(|event| event.attr.sample_type.contains(SampleType::BRANCH_STACK));
    let mut features = BTreeMap::new();
    for id in (1..FEATURES).map(FeatureId).filter(|id| mask.is_none_or(|mask| mask >> id.0 & 1 == 1)) {
        let mut section = section(id, &told.rest, &told.attrs, told.endian);
        let is_mark = match id {
            FeatureId::BRANCH_STACK => mask.is_some() || has_branches,
            FeatureId::BUILD_ID => mask.is_some(),
            _ => false,
        };
        if section.is_empty() && mask.is_some() && LISTS.contains(&id) {
            section = vec![0; size_of::<u32>()];
        }
        if !section.is_empty() || is_mark {
            features.insert(id, section);
        }
    }
    let kept = told.rest.features.iter().filter_map(|feature| {
        let id = FeatureId(feature.id());
        Some((id, pieces?.feature(id)?.to_vec()))
    });
    features.extend(kept);
    features
}
