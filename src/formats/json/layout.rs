//! The bytes before and after the records of a file: as perf writes them, and how a recording differs.

use super::objects::{ByteReplacement, FileEnd};
use flate2::Crc;
use perf_data::abi::Endian;
use perf_data::abi::bytes::Integer;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::header::{EventType, FeatureBits, FileHeader};
use perf_data::container::image::FileImage;
use perf_data::container::read::Container;
use perf_data::container::read::file::FileAttr;
use perf_data::container::write::file::FileWriter;
use perf_data::container::write::pipe;
use perf_data::error::Result;
use serde_bytes::ByteBuf;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::ops::Range;

/// Offsets in the file header of its size, the size of the data section, and the feature bitmap.
const HEADER_SIZE: Range<usize> = 8..16;
const DATA_SIZE: Range<usize> = 48..56;
const ADDS_FEATURES: Range<usize> = 72..104;

/// Everything in a file apart from its records and features.
pub(super) struct Layout<'a> {
    pub container: Container,
    pub endian: Endian,
    pub events: &'a [FileAttr],
    pub event_types: &'a [EventType],
}

impl Layout<'_> {
    /// The bytes that perf writes before the records: the header, without data size and feature bitmap, and the
    /// events.
    pub(super) fn before(&self) -> Result<Vec<u8>> {
        if self.container == Container::Pipe {
            return pipe::header(self.endian);
        }
        let none = Cursor::new(Vec::new());
        let writer = FileWriter::begin(none, self.endian, self.events, self.event_types)?;
        let len = writer.position() as usize;
        let mut before = writer.finish(self.events, self.event_types, &BTreeMap::new())?.into_inner();
        before.truncate(len);
        blank(&mut before, self.endian);
        Ok(before)
    }

    /// The bytes that perf writes after the records, which end at `end`, with unused slots in the feature table.
    fn behind(&self, end: u64, features: &BTreeMap<FeatureId, Vec<u8>>, spare_slots: u8) -> Result<Vec<u8>> {
        if self.container == Container::Pipe {
            return Ok(Vec::new());
        }
        let none = Cursor::new(Vec::new());
        let mut writer = FileWriter::begin(none, self.endian, self.events, self.event_types)?;
        let len = writer.position();
        writer.skip(end.saturating_sub(len));
        writer.leave_slots(spare_slots);
        let mut behind = writer.finish(self.events, self.event_types, features)?.into_inner();
        behind.drain(..len as usize);
        Ok(behind)
    }

    /// The difference of a file's bytes before the records, if any.
    pub(super) fn change_before(&self, image: &FileImage) -> Result<Option<ByteReplacement>> {
        let mut before = image.before.to_vec();
        if self.container != Container::Pipe {
            blank(&mut before, self.endian);
        }
        Ok(change(&self.before()?, &before))
    }

    /// The difference of a file's bytes after the records, and of the header fields about them.
    pub(super) fn change_behind(
        &self,
        image: &FileImage,
        data: u64,
        features: &BTreeMap<FeatureId, Vec<u8>>,
    ) -> Result<FileEnd> {
        if self.container == Container::Pipe {
            return Ok(FileEnd::default());
        }
        let end = image.before.len() as u64 + data;
        let spare_slots = self.spare_slots(&image.behind, end, features.len() as u64);
        let behind = change(&self.behind(end, features, spare_slots)?, &image.behind);
        let size = image.before.get(DATA_SIZE).map(|bytes| number(bytes, self.endian));
        let data_size = size.filter(|&size| size != data);
        let mut adds_features = None;
        if has_bitmap(&image.before, self.endian) {
            let stored_bitmap = &image.before[ADDS_FEATURES];
            adds_features = (stored_bitmap != bitmap(features, self.endian)).then(|| ByteBuf::from(stored_bitmap));
        }
        let deviates = behind.is_some() || data_size.is_some() || adds_features.is_some();
        let spare_slots = (spare_slots > 0).then_some(spare_slots);
        Ok(FileEnd { spare_slots, data: deviates.then_some(data), data_size, adds_features, behind })
    }

    /// Number of unused slots between the feature table and the first feature, from the offset of that feature.
    fn spare_slots(&self, behind: &[u8], end: u64, features: u64) -> u8 {
        // An entry of the feature table is an offset and a size of 8 bytes each.
        let slot = 16;
        let first = behind.get(..8).map(|offset| number(offset, self.endian)).filter(|_| features > 0);
        let spare = first.and_then(|first| first.checked_sub(end + slot * features));
        spare.filter(|bytes| bytes.is_multiple_of(slot)).and_then(|bytes| (bytes / slot).try_into().ok()).unwrap_or(0)
    }

    /// Returns the bytes after the records, and completes the header with data size and feature bitmap.
    pub(super) fn finish(
        &self,
        before: &mut [u8],
        data: u64,
        features: &BTreeMap<FeatureId, Vec<u8>>,
        stored: &FileEnd,
    ) -> Result<Vec<u8>> {
        let spare_slots = stored.spare_slots.unwrap_or(0);
        let mut behind = self.behind(before.len() as u64 + data, features, spare_slots)?;
        if self.container == Container::Pipe {
            return Ok(behind);
        }
        let change_applies = stored.behind.as_ref().is_none_or(|change| change.of == checksum(&behind));
        let holds = stored.data == Some(data) && change_applies;
        let mut size = data;
        if holds {
            size = stored.data_size.unwrap_or(data);
            if let Some(change) = &stored.behind {
                apply(change, &mut behind);
            }
        }
        if let Some(data_size) = before.get_mut(DATA_SIZE) {
            data_size.copy_from_slice(&size.to_bytes(self.endian));
        }
        if has_bitmap(before, self.endian) {
            let stored = stored.adds_features.as_ref().filter(|bytes| holds && bytes.len() == ADDS_FEATURES.len());
            match stored {
                Some(bytes) => before[ADDS_FEATURES].copy_from_slice(bytes),
                None => before[ADDS_FEATURES].copy_from_slice(&bitmap(features, self.endian)),
            }
        }
        Ok(behind)
    }
}

fn bitmap(features: &BTreeMap<FeatureId, Vec<u8>>, endian: Endian) -> [u8; 32] {
    features.keys().map(|id| id.0).collect::<FeatureBits>().to_bytes(endian)
}

fn number(bytes: &[u8], endian: Endian) -> u64 {
    let bytes = bytes.first_chunk().copied().unwrap_or_default();
    u64::from_bytes(bytes, endian)
}

/// Whether a file's header has a feature bitmap.
fn has_bitmap(before: &[u8], endian: Endian) -> bool {
    let size = before.get(HEADER_SIZE).map(|bytes| number(bytes, endian));
    size == Some(FileHeader::SIZE) && before.len() >= ADDS_FEATURES.end
}

/// Zeroes the header fields that depend on records and features.
fn blank(before: &mut [u8], endian: Endian) {
    if has_bitmap(before, endian) {
        before[ADDS_FEATURES].fill(0);
    }
    if let Some(size) = before.get_mut(DATA_SIZE) {
        size.fill(0);
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// The change that turns `made` into `actual`, if they differ.
fn change(made: &[u8], actual: &[u8]) -> Option<ByteReplacement> {
    if made == actual {
        return None;
    }
    let same = |(a, b): &(&u8, &u8)| a == b;
    let at = made.iter().zip(actual).take_while(same).count();
    let (made_rest, actual_rest) = (&made[at..], &actual[at..]);
    let end = made_rest.iter().rev().zip(actual_rest.iter().rev()).take_while(same).count();
    Some(ByteReplacement {
        of: checksum(made),
        at,
        instead_of: made_rest.len() - end,
        bytes: ByteBuf::from(&actual_rest[..actual_rest.len() - end]),
    })
}

/// Applies a change, if it belongs to these bytes.
pub(super) fn apply(change: &ByteReplacement, made: &mut Vec<u8>) {
    let end = change.at.checked_add(change.instead_of).filter(|&end| end <= made.len());
    if let Some(end) = end.filter(|_| change.of == checksum(made)) {
        made.splice(change.at..end, change.bytes.iter().copied());
    }
}
