//! Parts of a recording that other messages already contain: they are referenced, not stored again.

use super::proto::PerfDataProto;
use super::proto::perf_data_proto::{Chunk, Feature, Splice};
use super::sections::section;
use super::splice::spliced;
use bytes::Bytes;
use hashbrown::HashMap;
use perf_data::abi::bytes::ByteReader;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::header::{FeatureBits, FileHeader};
use perf_data::abi::record::{RecordHeader, RecordType};
use perf_data::abi::{self, Endian};
use perf_data::container::read::file::FileAttr;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

/// The parts that can be referenced, as they are in the recording.
pub(super) struct Pieces {
    endian: Endian,
    attrs: Vec<Vec<u8>>,
    ids: Vec<Vec<u8>>,
    features: BTreeMap<FeatureId, Bytes>,
    /// Event index by the bytes of attr and IDs.
    by_bytes: HashMap<Vec<u8>, u32>,
    /// Bytes that may still be referenced.
    remaining: Cell<usize>,
}

/// Limit for the total of referenced bytes: a recording contains each part once or twice.
const MAX_REFERENCED: usize = 256 << 20;

/// A part and the file offset where it is expected.
type ExpectedChunk = (u64, Chunk);

impl Pieces {
    /// Collects the events and features of a recording.
    pub(super) fn new(events: &[FileAttr], features: BTreeMap<FeatureId, Bytes>, endian: Endian) -> Self {
        let attrs: Vec<_> = events.iter().map(|event| event.attr.to_bytes(endian).unwrap_or_default()).collect();
        let ids: Vec<_> = events.iter().map(|event| abi::to_bytes(&event.ids, endian).unwrap_or_default()).collect();
        let both = attrs.iter().zip(&ids).map(|(attr, ids)| [&attr[..], ids].concat());
        let by_bytes = both.zip(0..).collect();
        Self { endian, attrs, ids, features, by_bytes, remaining: Cell::new(MAX_REFERENCED) }
    }

    /// Collects the features that messages describe, with their differences applied.
    pub(super) fn from_messages(message: &PerfDataProto, events: &[FileAttr], endian: Endian) -> Option<Self> {
        let mut features = BTreeMap::<FeatureId, Bytes>::new();
        for id in (1..super::features::FEATURES).map(FeatureId) {
            let encoded = section(id, message, events, endian);
            if !encoded.is_empty() {
                features.insert(id, encoded.into());
            }
        }
        for Feature { id, splice } in &message.features {
            let id = FeatureId(id.unwrap_or_default());
            let encoded = features.remove(&id).unwrap_or_default();
            features.insert(id, spliced(encoded.into(), splice.as_ref())?.into());
        }
        Some(Self::new(events, features, endian))
    }

    /// Differences between the features and those encoded from messages.
    pub(super) fn differences(&self, message: &PerfDataProto, events: &[FileAttr]) -> Vec<Feature> {
        let differences = self.features.iter().filter_map(|(id, bytes)| {
            let splice = Splice::between(&section(*id, message, events, self.endian), bytes)?;
            Some(Feature { id: Some(id.0), splice: Some(splice) })
        });
        differences.collect()
    }

    pub(super) fn feature(&self, id: FeatureId) -> Option<&[u8]> {
        self.features.get(&id).map(AsRef::as_ref)
    }

    fn bytes<'a>(&'a self, chunk: &'a Chunk) -> Option<&'a [u8]> {
        if let Some(index) = chunk.attr {
            return self.attrs.get(index as usize).map(Vec::as_slice);
        }
        if let Some(index) = chunk.ids {
            return self.ids.get(index as usize).map(Vec::as_slice);
        }
        match chunk.feature {
            Some(id) => self.feature(FeatureId(id)),
            None => Some(chunk.raw()),
        }
    }

    /// Returns the bytes of chunks; `None` if a referenced part is missing, or the total exceeds the limit.
    pub(super) fn resolve(&self, chunks: &[Chunk]) -> Option<Vec<u8>> {
        let parts = chunks.iter().map(|chunk| {
            let bytes = self.bytes(chunk)?;
            let referenced = bytes.len() - chunk.raw().len().min(bytes.len());
            self.remaining.set(self.remaining.get().checked_sub(referenced)?);
            Some(bytes)
        });
        parts.collect::<Option<Vec<_>>>().map(|parts| parts.concat())
    }

    /// Splits the bytes of a file from `offset` on into chunks, with references to the parts found in their places.
    fn chunks(&self, bytes: &[u8], offset: u64, expected: &[ExpectedChunk]) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let mut covered = 0;
        for (at, chunk) in expected {
            let Some(at) = at.checked_sub(offset).and_then(|at| usize::try_from(at).ok()) else { continue };
            let Some(piece) = self.bytes(chunk).filter(|piece| !piece.is_empty() && at >= covered) else { continue };
            if bytes.get(at..).is_some_and(|rest| rest.starts_with(piece)) {
                chunks.extend(raw(&bytes[covered..at]));
                chunks.push(chunk.clone());
                covered = at + piece.len();
            }
        }
        chunks.extend(raw(&bytes[covered..]));
        chunks
    }

    /// Splits the bytes before and after the records of a file into chunks.
    pub(super) fn layout(&self, before: &[u8], behind: &[u8], records: u64) -> (Vec<Chunk>, Vec<Chunk>) {
        let expected = self.expected_chunks(before, behind, before.len() as u64 + records).unwrap_or_default();
        let behind_at = before.len() as u64 + records;
        (self.chunks(before, 0, &expected), self.chunks(behind, behind_at, &expected))
    }

    /// Locates the parts by the file header.
    fn expected_chunks(&self, before: &[u8], behind: &[u8], behind_at: u64) -> Option<Vec<ExpectedChunk>> {
        let header = FileHeader::read_from(before, self.endian).ok()?;
        let at = |range: Range<u64>| {
            let within = |bytes: &[u8], base: u64| {
                let (start, end) = (range.start.checked_sub(base)?, range.end.checked_sub(base)?);
                bytes.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?).map(<[u8]>::to_vec)
            };
            within(before, 0).or_else(|| within(behind, behind_at))
        };
        let section = |offset: u64| {
            let bytes = at(offset..offset.checked_add(16)?)?;
            ByteReader::new(&bytes, self.endian).u64()
        };
        let mut expected = Vec::new();
        for index in 0..self.attrs.len() as u32 {
            let entry = header.attrs.offset.checked_add(header.attr_size.checked_mul(index.into())?)?;
            expected.push((entry, Chunk { attr: Some(index), ..Chunk::default() }));
            // An entry ends with the offset and size of the section of its IDs.
            let ids = entry.checked_add(header.attr_size)?.checked_sub(16).and_then(section);
            expected.extend(ids.map(|ids| (ids, Chunk { ids: Some(index), ..Chunk::default() })));
        }
        let bits = before.get(FileHeader::SIZE_WITHOUT_FEATURES as usize..).and_then(|bits| bits.first_chunk());
        let bits = bits.map(|bits| FeatureBits::read(bits, self.endian)).unwrap_or_default();
        // The table of features follows the data, with an offset and a size for each bit, in order.
        for (number, id) in (0..).zip(bits.iter()) {
            let feature = header.data.end().checked_add(16 * number).and_then(section);
            expected.extend(feature.map(|feature| (feature, Chunk { feature: Some(id), ..Chunk::default() })));
        }
        expected.sort_by_key(|(at, _)| *at);
        Some(expected)
    }

    /// Splits a header record of a pipe into chunks.
    pub(super) fn header_record(&self, record: &[u8]) -> Vec<Chunk> {
        let referenced = RecordHeader::peek(record, self.endian).and_then(|header| {
            let (head, chunks) = match header.kind {
                RecordType::HEADER_ATTR => {
                    let index = *self.by_bytes.get(&record[RecordHeader::SIZE..])?;
                    let attr = Chunk { attr: Some(index), ..Chunk::default() };
                    (RecordHeader::SIZE, vec![attr, Chunk { ids: Some(index), ..Chunk::default() }])
                }
                RecordType::HEADER_FEATURE => {
                    let head = RecordHeader::SIZE + size_of::<u64>();
                    let id = ByteReader::new(record.get(RecordHeader::SIZE..head)?, self.endian).u64()?;
                    (head, vec![self.feature_reference(id.try_into().ok()?, &record[head..])?])
                }
                RecordType::HEADER_TRACING_DATA => {
                    let head = header.len();
                    (head, vec![self.feature_reference(FeatureId::TRACING_DATA.0, record.get(head..)?)?])
                }
                _ => return None,
            };
            Some(raw(&record[..head]).into_iter().chain(chunks).collect())
        });
        referenced.unwrap_or_else(|| raw(record).into_iter().collect())
    }

    fn feature_reference(&self, id: u32, bytes: &[u8]) -> Option<Chunk> {
        let feature = self.features.get(&FeatureId(id)).filter(|feature| !feature.is_empty())?;
        (feature == bytes).then(|| Chunk { feature: Some(id), ..Chunk::default() })
    }
}

/// A chunk of bytes that are stored nowhere else.
pub(super) fn raw(bytes: &[u8]) -> Option<Chunk> {
    (!bytes.is_empty()).then(|| Chunk { raw: Some(bytes.to_vec()), ..Chunk::default() })
}
