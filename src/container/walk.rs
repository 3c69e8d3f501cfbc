//! From one record to the next.

use crate::abi::Endian;
use crate::abi::feature::tracing_data::TracingData;
use crate::abi::record::payload::payload_size;
use crate::abi::record::{RecordHeader, RecordType};
use crate::container::misframed;
use std::fmt;

/// What stands at a place among records.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A whole record.
    Record {
        /// Its header.
        header: RecordHeader,
        /// Its size.
        len: usize,
        /// How many bytes follow that belong to it but are not counted in its size.
        payload: usize,
    },
    /// The bytes end before the record does.
    Cut {
        /// How many bytes the record takes with its payload, as far as can be told.
        needed: u64,
    },
    /// Frames of which the first has swallowed the others.
    Misframed {
        /// How many bytes they take.
        len: usize,
    },
    /// What stands here cannot be the header of a record: no record is smaller than its header, and no recorder numbers
    /// types like this.
    Garbage {
        /// What the header would be.
        header: RecordHeader,
    },
    /// Exactly here the bytes end.
    End,
}

/// Looks at the place `at` bytes into `bytes`.
#[inline]
pub fn step(bytes: &[u8], at: usize, endian: Endian) -> Step {
    let rest = &bytes[at..];
    let Some(header) = RecordHeader::peek(rest, endian) else {
        return if rest.is_empty() { Step::End } else { Step::Cut { needed: RecordHeader::SIZE as u64 } };
    };
    let len = header.len();
    if len < RecordHeader::SIZE || !is_possible(header.kind) {
        return misframed(header, rest, endian).unwrap_or(Step::Garbage { header });
    }
    if len > rest.len() {
        return Step::Cut { needed: len as u64 };
    }
    if matches!(header.kind, RecordType::AUXTRACE | RecordType::HEADER_TRACING_DATA | RecordType::COMPRESSED2) {
        return misframed(header, rest, endian).unwrap_or_else(|| with_payload(header, rest, endian));
    }
    Step::Record { header, len, payload: 0 }
}

/// Frames of which the first has swallowed the others, if that is what stands here.
#[cold]
fn misframed(header: RecordHeader, rest: &[u8], endian: Endian) -> Option<Step> {
    let needed = misframed::size(rest, endian).filter(|&size| size > header.len() as u64)?;
    Some(if needed > rest.len() as u64 { Step::Cut { needed } } else { Step::Misframed { len: needed as usize } })
}

/// How many bytes behind the record at a place belong to it; none where no whole record is there.
pub fn payload(bytes: &[u8], at: usize, endian: Endian) -> usize {
    match step(bytes, at, endian) {
        Step::Record { payload, .. } => payload,
        _ => 0,
    }
}

/// A record of a type that bytes may follow. There are few of them.
#[cold]
fn with_payload(header: RecordHeader, rest: &[u8], endian: Endian) -> Step {
    let len = header.len();
    let mut payload = payload_size(&rest[..len], endian);
    // `perf inject` to a pipe writes tracing data before the record that should announce it.
    let tracing_data = &rest[len..rest.len().min(len + TracingData::MAGIC.len())];
    if header.kind == RecordType::HEADER_TRACING_DATA && !TracingData::MAGIC.starts_with(tracing_data) {
        payload = 0;
    }
    let needed = (len as u64).saturating_add(payload);
    if needed > rest.len() as u64 {
        Step::Cut { needed }
    } else {
        Step::Record { header, len, payload: payload as usize }
    }
}

/// Whether a recorder may write records of this type, known here or not: the kernel and perf number theirs from 1 and from
/// 64 on, simpleperf from 32768 on.
#[inline]
fn is_possible(kind: RecordType) -> bool {
    matches!(kind.0, 1..256 | 32768..33024)
}

/// How many of the bytes are whole records, and why they end there.
pub fn whole_records(bytes: &[u8], endian: Endian) -> (usize, Step) {
    let mut at = 0;
    loop {
        match step(bytes, at, endian) {
            Step::Record { len, payload, .. } => at += len + payload,
            Step::Misframed { len } => at += len,
            end => return (at, end),
        }
    }
}

/// How many of the bytes are a whole number of records and of gaps between them, so that what follows can wait for more
/// bytes; and why they end there.
pub fn complete(bytes: &[u8], endian: Endian) -> (usize, Step) {
    let mut from = 0;
    loop {
        let (whole, end) = whole_records(&bytes[from..], endian);
        from += whole;
        match end {
            Step::Garbage { .. } => match resynchronise(bytes, from, endian) {
                Some(next) => from = next,
                None => return (from, end),
            },
            _ => return (from, end),
        }
    }
}

/// How many records in a row must look sound before a place behind damage is believed to be a record.
const BELIEVABLE: usize = 6;

/// The first place behind `from` where sound records begin again: several in a row, of known types and no absurd size, or
/// fewer that end exactly where the bytes end.
pub fn resynchronise(bytes: &[u8], from: usize, endian: Endian) -> Option<usize> {
    (from + 1..bytes.len()).find(|&start| {
        let mut at = start;
        for seen in 0..BELIEVABLE {
            match step(bytes, at, endian) {
                Step::Record { header, len, payload } if is_sound(&header) => at += len + payload,
                Step::End => return seen > 1,
                _ => return false,
            }
        }
        true
    })
}

/// Whether a header is one that a recorder would write: a type with a name, and a size that the kernel would give it.
pub fn is_sound(header: &RecordHeader) -> bool {
    header.kind.name().is_some() && (header.kind >= RecordType::USER_START || header.len().is_multiple_of(8))
}

/// Something that is not as it should be, and how reading went on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Which of the recording's files, by name.
    pub file: String,
    /// Where in it.
    pub offset: u64,
    /// What is wrong and what is missing for it.
    pub what: String,
    /// Bytes of the recording that cannot be read because of it, those that a truncated file lacks included; 0 where no byte is
    /// lost or the number is unknown.
    pub unread: u64,
}

impl Damage {
    /// Damage by which no known number of bytes is lost.
    pub fn new(file: impl Into<String>, offset: u64, what: impl Into<String>) -> Self {
        Self { file: file.into(), offset, what: what.into(), unread: 0 }
    }

    /// The same damage, by which this many bytes cannot be read.
    pub fn with_unread(self, unread: u64) -> Self {
        Self { unread, ..self }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: at offset {}: {}", self.file, self.offset, self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, len: u8) -> Vec<u8> {
        let mut bytes = vec![kind, 0, 0, 0, 0, 0, len, 0];
        bytes.resize(len.into(), 0xee);
        bytes
    }

    #[test]
    fn whole_records_end_where_the_last_one_does_not_fit() {
        let mut bytes = [record(3, 24), record(68, 8)].concat();
        assert!(matches!(whole_records(&bytes, Endian::Little), (32, Step::End)));
        bytes.extend(&record(9, 40)[..39]);
        assert!(matches!(whole_records(&bytes, Endian::Little), (32, Step::Cut { needed: 40 })));
        bytes.truncate(36);
        assert!(matches!(whole_records(&bytes, Endian::Little), (32, Step::Cut { needed: 8 })));
        bytes.truncate(32);
        bytes.extend([0; 16]);
        assert!(matches!(whole_records(&bytes, Endian::Little), (32, Step::Garbage { .. })));
    }

    #[test]
    fn a_gap_is_passed_over_and_the_cut_record_behind_it_waits() {
        let sound = record(9, 40).repeat(8);
        let bytes = [&sound[..], &[0; 50], &sound[..], &record(9, 40)[..30]].concat();
        assert!(matches!(complete(&bytes, Endian::Little), (690, Step::Cut { needed: 40 })));
        assert!(matches!(complete(&bytes[..360], Endian::Little), (320, Step::Garbage { .. })));
    }

    #[test]
    fn a_payload_belongs_to_its_record() {
        let mut bytes = record(71, 48);
        bytes[8..16].copy_from_slice(&16_u64.to_le_bytes());
        bytes.extend([0; 16]);
        assert!(matches!(step(&bytes, 0, Endian::Little), Step::Record { len: 48, payload: 16, .. }));
        bytes[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(matches!(step(&bytes, 0, Endian::Little), Step::Cut { needed: u64::MAX }));
    }

    #[test]
    fn tracing_data_that_stands_elsewhere_is_not_taken_from_other_records() {
        let mut bytes = record(66, 16);
        bytes[8..12].copy_from_slice(&16_u32.to_le_bytes());
        let with = [&bytes[..], TracingData::MAGIC, &[0; 6]].concat();
        assert!(matches!(step(&with, 0, Endian::Little), Step::Record { len: 16, payload: 16, .. }));
        assert!(matches!(step(&with[..20], 0, Endian::Little), Step::Cut { needed: 32 }));
        bytes.extend(record(9, 40));
        assert!(matches!(step(&bytes, 0, Endian::Little), Step::Record { len: 16, payload: 0, .. }));
    }

    #[test]
    fn records_behind_damage_are_found_again() {
        let mut bytes = vec![0; 50];
        let sound = bytes.len();
        bytes.extend((0..8).flat_map(|_| record(9, 40)));
        assert_eq!(resynchronise(&bytes, 0, Endian::Little), Some(sound));
        assert_eq!(resynchronise(&[0; 500], 0, Endian::Little), None);
    }

    #[test]
    fn simpleperfs_sizes_are_of_32_bits() {
        let mut bytes = vec![1, 0x80, 0, 0, 1, 0, 16, 0];
        bytes.resize(0x1_0010, 0);
        assert!(matches!(step(&bytes, 0, Endian::Little), Step::Record { len: 0x1_0010, .. }));
    }
}
