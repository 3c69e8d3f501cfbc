//! What lies before and behind the records of a file: made as perf does, and how a recording differs from that.

use super::objects::{Change, End};
use crate::abi::Endian;
use crate::abi::feature::FeatureId;
use crate::abi::header::{EventType, FeatureBits, FileHeader};
use crate::container::image::FileImage;
use crate::container::read::Container;
use crate::container::read::file::FileAttr;
use crate::container::write::file::FileWriter;
use crate::container::write::pipe;
use crate::error::Result;
use flate2::Crc;
use serde_bytes::ByteBuf;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::ops::Range;

/// Where in the header the size of the header is told, that of the records, and the bitmap of features.
const HEADER_SIZE: Range<usize> = 8..16;
const DATA_SIZE: Range<usize> = 48..56;
const ADDS_FEATURES: Range<usize> = 72..104;

/// What is in a file apart from its records.
pub struct Layout<'a> {
    pub container: Container,
    pub endian: Endian,
    pub events: &'a [FileAttr],
    pub event_types: &'a [EventType],
}

impl Layout<'_> {
    /// What perf would write before the records: the header, without what it says of records and features, and the events.
    pub fn before(&self) -> Result<Vec<u8>> {
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

    /// What perf would write behind the records, which end at `end`, with slots of the feature table left free.
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

    /// How a file's bytes before the records differ, if they do.
    pub fn change_before(&self, image: &FileImage) -> Result<Option<Change>> {
        let mut found = image.before.to_vec();
        if self.container != Container::Pipe {
            blank(&mut found, self.endian);
        }
        Ok(change(&self.before()?, &found))
    }

    /// How a file's bytes behind the records differ, and what its header says of them.
    pub fn change_behind(&self, image: &FileImage, data: u64, features: &BTreeMap<FeatureId, Vec<u8>>) -> Result<End> {
        if self.container == Container::Pipe {
            return Ok(End::default());
        }
        let end = image.before.len() as u64 + data;
        let spare_slots = self.spare_slots(&image.behind, end, features.len() as u64);
        let behind = change(&self.behind(end, features, spare_slots)?, &image.behind);
        let size = image.before.get(DATA_SIZE).map(|bytes| number(bytes, self.endian));
        let data_size = size.filter(|&size| size != data);
        let mut adds_features = None;
        if has_bitmap(&image.before, self.endian) {
            let found = &image.before[ADDS_FEATURES];
            adds_features = (found != bitmap(features, self.endian)).then(|| ByteBuf::from(found));
        }
        let deviates = behind.is_some() || data_size.is_some() || adds_features.is_some();
        let spare_slots = (spare_slots > 0).then_some(spare_slots);
        Ok(End { spare_slots, data: deviates.then_some(data), data_size, adds_features, behind })
    }

    /// How many slots are free between a feature table and the first feature, by where that is.
    fn spare_slots(&self, behind: &[u8], end: u64, features: u64) -> u8 {
        let slot = 16;
        let first = behind.get(..8).map(|offset| number(offset, self.endian)).filter(|_| features > 0);
        let spare = first.and_then(|first| first.checked_sub(end + slot * features));
        spare.filter(|bytes| bytes.is_multiple_of(slot)).and_then(|bytes| (bytes / slot).try_into().ok()).unwrap_or(0)
    }

    /// The bytes behind the records; and puts into the header what it says of records and features.
    pub fn finish(
        &self,
        before: &mut [u8],
        data: u64,
        features: &BTreeMap<FeatureId, Vec<u8>>,
        told: &End,
    ) -> Result<Vec<u8>> {
        let spare_slots = told.spare_slots.unwrap_or(0);
        let mut behind = self.behind(before.len() as u64 + data, features, spare_slots)?;
        if self.container == Container::Pipe {
            return Ok(behind);
        }
        let is_of = told.behind.as_ref().is_none_or(|change| change.of == checksum(&behind));
        let holds = told.data == Some(data) && is_of;
        let mut size = data;
        if holds {
            size = told.data_size.unwrap_or(data);
            if let Some(change) = &told.behind {
                apply(change, &mut behind);
            }
        }
        if let Some(place) = before.get_mut(DATA_SIZE) {
            place.copy_from_slice(&match self.endian {
                Endian::Little => size.to_le_bytes(),
                Endian::Big => size.to_be_bytes(),
            });
        }
        if has_bitmap(before, self.endian) {
            let told = told.adds_features.as_ref().filter(|bytes| holds && bytes.len() == ADDS_FEATURES.len());
            match told {
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
    match endian {
        Endian::Little => u64::from_le_bytes(bytes),
        Endian::Big => u64::from_be_bytes(bytes),
    }
}

/// Whether a file's header has a bitmap of features.
fn has_bitmap(before: &[u8], endian: Endian) -> bool {
    let size = before.get(HEADER_SIZE).map(|bytes| number(bytes, endian));
    size == Some(FileHeader::SIZE) && before.len() >= ADDS_FEATURES.end
}

/// Takes out of a header what depends on records and features.
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

/// What makes `found` of `made`, if they differ.
fn change(made: &[u8], found: &[u8]) -> Option<Change> {
    if made == found {
        return None;
    }
    let same = |(a, b): &(&u8, &u8)| a == b;
    let at = made.iter().zip(found).take_while(same).count();
    let (made_rest, found_rest) = (&made[at..], &found[at..]);
    let end = made_rest.iter().rev().zip(found_rest.iter().rev()).take_while(same).count();
    Some(Change {
        of: checksum(made),
        at,
        instead_of: made_rest.len() - end,
        bytes: ByteBuf::from(&found_rest[..found_rest.len() - end]),
    })
}

/// Makes a change, if it is one of these bytes.
pub fn apply(change: &Change, made: &mut Vec<u8>) {
    let end = change.at.checked_add(change.instead_of).filter(|&end| end <= made.len());
    if let Some(end) = end.filter(|_| change.of == checksum(made)) {
        made.splice(change.at..end, change.bytes.iter().copied());
    }
}
