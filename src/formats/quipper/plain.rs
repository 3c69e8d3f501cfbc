//! Builds a file of the standard layout from messages without layout information.

use super::chunks::Pieces;
use super::features::FEATURES;
use super::messages::{Item, ProtoContents};
use super::record_builder::RecordBuilder;
use super::record_builder::file_events;
use super::sections::section;
use super::unknown::UnknownInEvents;
use crate::formats::import::ImportedRecording;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::auxtrace::{AuxtraceIndex, AuxtraceIndexEntry};
use perf_data::abi::record::RecordHeader;
use perf_data::abi::sample_type::SampleType;
use perf_data::abi::{self, Endian};
use perf_data::container::read::ReadOptions;
use perf_data::container::spool::Spool;
use perf_data::container::write::encoded;
use perf_data::container::write::file::FileWriter;
use perf_data::error::{Error, Result};
use std::collections::BTreeMap;
use std::io::{BufWriter, IntoInnerError, Write};

/// Size of an AUXTRACE record without its payload, as perf stores it in the index.
const AUXTRACE_SIZE: u64 = 48;

/// Features that are lists. Messages do not distinguish an empty list from a missing one; perf writes an empty one as a count of
/// 4 bytes.
const LISTS: [FeatureId; 4] =
    [FeatureId::NUMA_TOPOLOGY, FeatureId::PMU_MAPPINGS, FeatureId::GROUP_DESC, FeatureId::HYBRID_TOPOLOGY];

/// Creates a buffered temporary file.
pub(super) fn buffered(name: &str, options: &ReadOptions) -> Result<BufWriter<Spool>> {
    let spool = Spool::new(options.spool_dir.as_deref());
    Ok(BufWriter::with_capacity(1 << 17, spool.map_err(Error::io(name, "cannot write to a temporary file"))?))
}

/// Flushes the buffer and returns the file.
pub(super) fn unbuffered(name: &str, spool: BufWriter<Spool>) -> Result<Spool> {
    let spool = spool.into_inner().map_err(IntoInnerError::into_error);
    spool.map_err(Error::io(name, "cannot write to a temporary file"))
}

/// Builds a file from messages.
pub(super) fn build_file(
    contents: &ProtoContents<'_>,
    options: &ReadOptions,
) -> Result<(ImportedRecording, UnknownInEvents)> {
    let mut damage = Vec::new();
    let mut writer = FileWriter::begin(buffered(contents.name, options)?, contents.endian, &contents.attrs, &[])?;
    let mut builder = RecordBuilder::new(file_events(&contents.attrs), contents.endian);
    let (mut index, mut is_stat) = (Vec::new(), false);
    let pieces = Pieces::from_messages(&contents.rest, &contents.attrs, contents.endian);
    let mut items = contents.items();
    while let Some(item) = items.next(&mut damage)? {
        match item {
            Item::Event(event, number) => {
                if let Err(why) = builder.build(&event) {
                    contents.warn(&mut damage, 0, format!("events {number}: {why}; skipped"));
                    items.skip_last();
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
                if let Some(bytes) = bytes.filter(|bytes| is_plain_record(bytes, contents.endian)) {
                    writer.write_all(&bytes).map_err(Error::Output)?;
                }
            }
        }
    }
    let mut features = features(contents, pieces.as_ref());
    // Records are no longer in frames, and AUX areas have moved.
    features.remove(&FeatureId::COMPRESSED);
    features.remove(&FeatureId::AUXTRACE);
    if !index.is_empty() {
        let index = AuxtraceIndex::Counted { entries: index };
        features.insert(FeatureId::AUXTRACE, encoded(abi::to_bytes(&index, contents.endian))?);
    }
    if is_stat {
        features.insert(FeatureId::STAT, Vec::new());
    }
    let file = writer.finish(&contents.attrs, &[], &features)?;
    Ok((ImportedRecording::from_file(contents.name, unbuffered(contents.name, file)?, damage)?, items.unknown))
}

/// Whether stored bytes are one record that a file contains among others: neither a frame, whose records are stored
/// themselves, nor a header record, which a file replaces by its header and sections.
fn is_plain_record(bytes: &[u8], endian: Endian) -> bool {
    RecordHeader::peek(bytes, endian)
        .is_some_and(|header| header.len() == bytes.len() && !header.kind.is_frame() && !header.kind.is_header())
}

/// The features with content that the mask contains, if there is a mask, and those that the schema cannot represent.
fn features(contents: &ProtoContents<'_>, pieces: Option<&Pieces>) -> BTreeMap<FeatureId, Vec<u8>> {
    let mask = contents.rest.metadata_mask.first();
    let has_branches = contents.attrs.iter().any(|event| event.attr.sample_type.contains(SampleType::BRANCH_STACK));
    let mut features = BTreeMap::new();
    for id in (1..FEATURES).map(FeatureId).filter(|id| mask.is_none_or(|mask| mask >> id.0 & 1 == 1)) {
        let mut section = section(id, &contents.rest, &contents.attrs, contents.endian);
        // The presence of these is information, even if they are empty.
        let is_kept_empty = match id {
            FeatureId::BRANCH_STACK => mask.is_some() || has_branches,
            FeatureId::BUILD_ID => mask.is_some(),
            _ => false,
        };
        if section.is_empty() && mask.is_some() && LISTS.contains(&id) {
            section = vec![0; size_of::<u32>()];
        }
        if !section.is_empty() || is_kept_empty {
            features.insert(id, section);
        }
    }
    let unsupported = contents.rest.features.iter().filter_map(|feature| {
        let id = FeatureId(feature.id());
        Some((id, pieces?.feature(id)?.to_vec()))
    });
    features.extend(unsupported);
    features
}
