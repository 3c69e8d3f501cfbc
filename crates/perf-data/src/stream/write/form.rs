//! The form of written records: compression and byte order, and the events and features that follow from it.

use crate::abi;
use crate::abi::Endian;
use crate::abi::feature::{FeatureId, FeatureSection, build_ids};
use crate::abi::record::{Record, RecordHeader, RecordType};
use crate::abi::sample::words::SampleWords;
use crate::container::block::Origin;
use crate::container::read::Container;
use crate::container::read::file::FileAttr;
use crate::container::write::encoded;
use crate::container::write::frames::FrameOptions;
use crate::container::write::pipe;
use crate::error::Result;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The form in which a recording is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Form {
    /// How to write compressed frames.
    pub frames: CompressedFrames,
    /// Byte order; that of the recording if not set.
    ///
    /// Bytes that belong to the recorder are not swapped: raw data, stacks, AUX areas, BPF programs, tracing data.
    pub endian: Option<Endian>,
    /// Number of features known to the perf that is to read a pipe, which marks their end; if not set, a number that all recent
    /// versions accept.
    pub features_known: Option<u64>,
}

/// How to write compressed frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompressedFrames {
    /// Unchanged; uncompressed where a frame could not be read: in the other byte order, or in a directory, where a frame is
    /// separated from its predecessors.
    #[default]
    Kept,
    /// Uncompressed.
    Plain,
    /// All kernel records are compressed again.
    Compressed(FrameOptions),
}

impl Form {
    /// The byte order of the output.
    pub fn endian(&self, meta: &Meta) -> Endian {
        self.endian.unwrap_or(meta.endian)
    }

    /// Whether frames are written unchanged.
    pub fn keeps_frames(&self, meta: &Meta) -> bool {
        self.frames == CompressedFrames::Kept && self.is_same_endian(meta) && meta.container != Container::Directory
    }

    /// Whether the bytes between header and sections are the same as in the recording, if the container is.
    pub fn is_copy(&self, meta: &Meta) -> bool {
        self.frames == CompressedFrames::Kept && self.is_same_endian(meta)
    }

    /// Accounts for the written records: all are in the output, with frames as themselves or as their records.
    pub fn account(&self, meta: &Meta, ledger: &mut Ledger) {
        let left: Vec<_> = ledger.entries().iter().map(|(&kind, entry)| (kind, entry.unaccounted())).collect();
        for (kind, count) in left {
            if kind.is_frame() && !self.keeps_frames(meta) {
                ledger.consumed(kind, count);
            } else {
                ledger.emitted(kind, count);
            }
        }
    }

    fn is_same_endian(&self, meta: &Meta) -> bool {
        self.endian(meta) == meta.endian
    }

    /// The record in this form; `None` if another record has its contents.
    ///
    /// # Errors
    /// If a record cannot be encoded in the other byte order.
    pub fn record<'a>(&self, meta: &Meta, raw: &Raw<'a>) -> Result<Option<Cow<'a, [u8]>>> {
        let is_frame = raw.header().kind.is_frame();
        if if self.keeps_frames(meta) { raw.block().origin == Origin::Frame } else { is_frame } {
            return Ok(None);
        }
        if self.is_same_endian(meta) {
            return Ok(Some(Cow::Borrowed(raw.bytes())));
        }
        if let Some(words) = sample_words(meta, raw) {
            let mut bytes = raw.bytes().to_vec();
            if let Some((header, body)) = bytes.split_first_chunk_mut() {
                RecordHeader::swap(header);
                words.swap(body);
            }
            return Ok(Some(Cow::Owned(bytes)));
        }
        let recoded = match raw.header().kind {
            RecordType::HEADER_FEATURE => self.feature_record(meta, raw)?,
            _ => {
                let record = Record::read(raw.bytes(), &meta.context(raw));
                record.map(|record| encoded(record.to_bytes(self.endian(meta)))).transpose()?
            }
        };
        Ok(Some(Cow::Owned(recoded.unwrap_or_default())))
    }

    /// A HEADER_FEATURE with its content, in the other byte order.
    fn feature_record(&self, meta: &Meta, raw: &Raw<'_>) -> Result<Option<Vec<u8>>> {
        let endian = self.endian(meta);
        let Some((id, bytes)) = raw.body().split_at_checked(8) else { return Ok(None) };
        let Ok((number, _)) = abi::parse::<u64>(id, raw.endian(), ()) else { return Ok(None) };
        let section = match u32::try_from(number) {
            Ok(id) if !bytes.is_empty() => self.section(meta, FeatureId(id), bytes)?,
            _ => bytes.to_vec(),
        };
        let number = encoded(abi::to_bytes(&number, endian))?;
        let header = encoded(abi::to_bytes(&raw.header(), endian))?;
        Ok(Some([header, number, section].concat()))
    }

    /// A feature section in this form.
    fn section(&self, meta: &Meta, id: FeatureId, bytes: &[u8]) -> Result<Vec<u8>> {
        if self.is_same_endian(meta) {
            return Ok(bytes.to_vec());
        }
        let context = meta.feature_context();
        encoded(FeatureSection::read(id, bytes, meta.endian, &context).to_bytes(self.endian(meta)))
    }

    /// The features that are omitted because perf could not read the output with them, each with the reason.
    ///
    /// perf stops at the first feature of a file that it rejects, and needs COMPRESSED to read records. It rejects a pipe with
    /// such a feature.
    pub fn obstacles(&self, meta: &Meta, to: Container) -> Vec<(FeatureId, String)> {
        let has_frames = matches!(self.frames, CompressedFrames::Compressed(_))
            || self.keeps_frames(meta) && meta.features.contains_key(&FeatureId::COMPRESSED);
        let is_needed = |id: FeatureId| match to {
            Container::Pipe => meta.container != Container::Pipe && pipe::has_feature(id),
            Container::File | Container::Directory => has_frames && id < FeatureId::COMPRESSED,
        };
        // This container's own are written anew.
        let is_kept =
            |id: FeatureId| !matches!(id, FeatureId::AUXTRACE | FeatureId::DIR_FORMAT | FeatureId::COMPRESSED);
        let (reader, context) = (meta.perf_reader(to), meta.feature_context());
        let read = meta.features.iter().filter(|&(&id, _)| is_kept(id) && is_needed(id));
        read.filter_map(|(&id, bytes)| {
            Some((id, reader.obstacle(&FeatureSection::read(id, bytes, meta.endian, &context))?))
        })
        .collect()
    }

    /// Reports the omitted features.
    pub fn report_obstacles(&self, meta: &Meta, to: Container, ledger: &mut Ledger) {
        for (id, why) in self.obstacles(meta, to) {
            ledger
                .missing(format!("the feature {id} is omitted, because perf could not read the output with it: {why}"));
        }
    }

    /// The features in this form, for the container of the output. AUXTRACE is omitted: the writer of the records knows their new
    /// offsets.
    ///
    /// # Errors
    /// If a feature cannot be encoded in the other byte order.
    pub fn features(&self, meta: &Meta, to: Container) -> Result<BTreeMap<FeatureId, Vec<u8>>> {
        let mut features = BTreeMap::new();
        for (&id, bytes) in &meta.features {
            let is_written = match id {
                FeatureId::AUXTRACE | FeatureId::DIR_FORMAT => false,
                FeatureId::COMPRESSED => self.keeps_frames(meta),
                _ => true,
            };
            if is_written {
                features.insert(id, self.section(meta, id, bytes)?);
            }
        }
        for (id, _) in self.obstacles(meta, to) {
            features.remove(&id);
        }
        if to == Container::Directory {
            let version: u64 = 1;
            features.insert(FeatureId::DIR_FORMAT, encoded(abi::to_bytes(&version, self.endian(meta)))?);
        }
        if meta.container == Container::Pipe && !meta.build_id_records.is_empty() {
            // With the content that the feature would have.
            let section = build_ids::to_bytes(&meta.build_id_records, self.endian(meta));
            features.insert(FeatureId::BUILD_ID, encoded(section)?);
        }
        Ok(features)
    }
}

/// The events, as containers store them.
pub fn events(meta: &Meta) -> Vec<FileAttr> {
    let events = meta.events.list().iter();
    events.map(|event| FileAttr { attr: event.attr.clone(), ids: event.ids.clone() }).collect()
}

/// The layout of a sample that consists of words only, so that it can be swapped in place.
pub fn sample_words(meta: &Meta, raw: &Raw<'_>) -> Option<SampleWords> {
    if raw.header().kind != RecordType::SAMPLE {
        return None;
    }
    let (_, event) = meta.events.find(raw)?;
    event.layout.words().copied().filter(|words| words.are(raw.body(), raw.endian()))
}
