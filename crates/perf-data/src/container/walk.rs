//! Steps from one record to the next, and resynchronization after corrupt bytes.

use crate::abi::Endian;
use crate::abi::feature::tracing_data::TracingData;
use crate::abi::record::payload::payload_size;
use crate::abi::record::{RecordHeader, RecordType};
use crate::container::misframed;
use std::fmt;

/// What is at an offset among records.
#[derive(Clone, Copy, Debug)]
pub enum WalkStep {
    /// A complete record.
    Record {
        /// Its header.
        header: RecordHeader,
        /// Its size, header included.
        len: usize,
        /// Number of bytes that follow and belong to it but are not counted in its size.
        payload: usize,
    },
    /// The bytes end before the record does.
    Cut {
        /// Size of the record with its payload, as far as known.
        needed: u64,
    },
    /// A misframed record: one whose size is not where the next record begins.
    Misframed {
        /// Total size of the frames that it covers.
        len: usize,
    },
    /// Not a record: a size smaller than the header, or a type that no recorder uses.
    Garbage {
        /// The bytes decoded as a header.
        header: RecordHeader,
    },
    /// The end of the bytes.
    End,
}

/// Classifies what is at offset `at`.
#[inline]
pub fn step(bytes: &[u8], at: usize, endian: Endian) -> WalkStep {
    let rest = &bytes[at..];
    match RecordHeader::peek(rest, endian) {
        Some(header) if is_common(header.kind) && (RecordHeader::SIZE..=rest.len()).contains(&header.len()) => {
            WalkStep::Record { header, len: header.len(), payload: 0 }
        }
        header => other_step(header, rest, endian),
    }
}

/// Whether a record of this type is complete at the end of its size, as nearly all are.
#[inline]
fn is_common(kind: RecordType) -> bool {
    matches!(kind.0, 1..256) && !kind.may_have_payload()
}

/// Classifies anything else: records that a payload may follow, those of simpleperf, corrupt bytes and the end.
#[cold]
fn other_step(header: Option<RecordHeader>, rest: &[u8], endian: Endian) -> WalkStep {
    let Some(header) = header else {
        return if rest.is_empty() { WalkStep::End } else { WalkStep::Cut { needed: RecordHeader::SIZE as u64 } };
    };
    if misframed::is_undecided(rest, endian) {
        return WalkStep::Cut { needed: (RecordHeader::SIZE + size_of::<u64>()) as u64 };
    }
    let len = header.len();
    if len < RecordHeader::SIZE || !is_possible(header.kind) {
        return misframed(header, rest, endian).unwrap_or(WalkStep::Garbage { header });
    }
    if len > rest.len() {
        return WalkStep::Cut { needed: len as u64 };
    }
    misframed(header, rest, endian).unwrap_or_else(|| with_payload(header, rest, endian))
}

/// The misframed record that starts here, if any.
#[cold]
fn misframed(header: RecordHeader, rest: &[u8], endian: Endian) -> Option<WalkStep> {
    let needed = misframed::size(rest, endian).filter(|&size| size > header.len() as u64)?;
    Some(if needed > rest.len() as u64 {
        WalkStep::Cut { needed }
    } else {
        WalkStep::Misframed { len: needed as usize }
    })
}

/// Size of the payload after the record at `at`; 0 if no complete record is there.
pub fn payload(bytes: &[u8], at: usize, endian: Endian) -> usize {
    match step(bytes, at, endian) {
        WalkStep::Record { payload, .. } => payload,
        _ => 0,
    }
}

/// A record of a type that a payload may follow. They are rare.
#[cold]
fn with_payload(header: RecordHeader, rest: &[u8], endian: Endian) -> WalkStep {
    let len = header.len();
    let mut payload = payload_size(&rest[..len], endian);
    // `perf inject` to a pipe writes the tracing data before the record that announces it.
    let tracing_data = &rest[len..rest.len().min(len + TracingData::MAGIC.len())];
    if header.kind == RecordType::HEADER_TRACING_DATA && !TracingData::MAGIC.starts_with(tracing_data) {
        payload = 0;
    }
    let needed = (len as u64).saturating_add(payload);
    if needed > rest.len() as u64 {
        WalkStep::Cut { needed }
    } else {
        WalkStep::Record { header, len, payload: payload as usize }
    }
}

/// Whether recorders write records of this type, including unknown ones: the kernel and perf number theirs from 1 and 64,
/// simpleperf from 32768.
#[inline]
fn is_possible(kind: RecordType) -> bool {
    matches!(kind.0, 1..256 | 32768..33024)
}

/// Length of the complete records at the start of the bytes, and what follows them.
pub fn whole_records(bytes: &[u8], endian: Endian) -> (usize, WalkStep) {
    let mut at = 0;
    loop {
        match step(bytes, at, endian) {
            WalkStep::Record { len, payload, .. } => at += len + payload,
            WalkStep::Misframed { len } => at += len,
            end => return (at, end),
        }
    }
}

/// Length of the complete records and the gaps between them, and what follows. The rest can wait for more bytes.
pub fn complete(bytes: &[u8], endian: Endian) -> (usize, WalkStep) {
    let mut from = 0;
    loop {
        let (whole, end) = whole_records(&bytes[from..], endian);
        from += whole;
        match end {
            WalkStep::Garbage { .. } => match resynchronize(bytes, from, endian) {
                Some(next) => from = next,
                None => return (from, end),
            },
            _ => return (from, end),
        }
    }
}

/// Number of consecutive valid records required to accept an offset after corrupt bytes: a few can be valid by chance, as the
/// words of a call chain that look like headers.
const MIN_CONSECUTIVE: usize = 6;

/// The first offset after `from` where valid records begin: several in a row of known types and plausible sizes, or fewer that
/// end exactly at the end of the bytes.
pub fn resynchronize(bytes: &[u8], from: usize, endian: Endian) -> Option<usize> {
    (from + 1..bytes.len()).find(|&start| {
        let mut at = start;
        for seen in 0..MIN_CONSECUTIVE {
            match step(bytes, at, endian) {
                WalkStep::Record { header, len, payload } if is_plausible(&header) => at += len + payload,
                WalkStep::End => return seen > 1,
                _ => return false,
            }
        }
        true
    })
}

/// Whether a recorder would write this header: a known type, and for kernel records a size that is a multiple of 8.
pub fn is_plausible(header: &RecordHeader) -> bool {
    header.kind.name().is_some() && (header.kind >= RecordType::USER_START || header.len().is_multiple_of(8))
}

/// The kind of a [`Damage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DamageKind {
    /// Bytes are missing at the end of a file, a stream or a compressed frame.
    Truncated,
    /// `perf record` was interrupted before it completed the header.
    Interrupted,
    /// A section of a file, such as that of a feature, is missing or not within the file.
    MissingSection,
    /// A file of a directory is missing.
    MissingFile,
    /// Bytes that are not a valid record.
    CorruptRecord,
    /// A compressed frame that cannot be decompressed.
    CorruptFrame,
    /// Reading failed, because of an I/O error or a corrupt .gz or .zst file.
    ReadError,
}

impl DamageKind {
    /// The problem in words, without details.
    pub fn description(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Interrupted => "interrupted before its header was complete",
            Self::MissingSection => "a section is missing",
            Self::MissingFile => "a file is missing",
            Self::CorruptRecord => "a corrupt record",
            Self::CorruptFrame => "a corrupt compressed frame",
            Self::ReadError => "a read error",
        }
    }
}

/// A problem of a recording, and how reading continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Kind of the problem.
    pub kind: DamageKind,
    /// Name of the file.
    pub file: String,
    /// Offset in the file.
    pub offset: u64,
    /// What is wrong, and what is missing because of it.
    pub problem: String,
    /// Number of bytes that cannot be read because of it, including those missing from a truncated file; 0 if none are lost
    /// or the number is unknown.
    pub unread: u64,
}

impl Damage {
    /// A problem without a known number of lost bytes.
    pub fn new(kind: DamageKind, file: impl Into<String>, offset: u64, problem: impl Into<String>) -> Self {
        Self { kind, file: file.into(), offset, problem: problem.into(), unread: 0 }
    }

    /// The same problem, with the number of unreadable bytes.
    pub fn with_unread(self, unread: u64) -> Self {
        Self { unread, ..self }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: offset {:#x}: {}", self.file, self.offset, self.problem)
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
    fn whole_records_stop_at_an_incomplete_record() {
        let mut bytes = [record(3, 24), record(68, 8)].concat();
        assert!(matches!(whole_records(&bytes, Endian::Little), (32, WalkStep::End)));
        bytes.extend(&record(9, 40)[..39]);
        assert!(matches!(whole_records(&bytes, Endian::Little), (32, WalkStep::Cut { needed: 40 })));
        bytes.truncate(36);
        assert!(matches!(whole_records(&bytes, Endian::Little), (32, WalkStep::Cut { needed: 8 })));
        bytes.truncate(32);
        bytes.extend([0; 16]);
        assert!(matches!(whole_records(&bytes, Endian::Little), (32, WalkStep::Garbage { .. })));
    }

    #[test]
    fn a_gap_is_skipped_and_a_truncated_record_waits() {
        let sound = record(9, 40).repeat(8);
        let bytes = [&sound[..], &[0; 50], &sound[..], &record(9, 40)[..30]].concat();
        assert!(matches!(complete(&bytes, Endian::Little), (690, WalkStep::Cut { needed: 40 })));
        assert!(matches!(complete(&bytes[..360], Endian::Little), (320, WalkStep::Garbage { .. })));
    }

    #[test]
    fn a_payload_belongs_to_its_record() {
        let mut bytes = record(71, 48);
        bytes[8..16].copy_from_slice(&16_u64.to_le_bytes());
        bytes.extend([0; 16]);
        assert!(matches!(step(&bytes, 0, Endian::Little), WalkStep::Record { len: 48, payload: 16, .. }));
        bytes[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(matches!(step(&bytes, 0, Endian::Little), WalkStep::Cut { needed: u64::MAX }));
    }

    #[test]
    fn misplaced_tracing_data_does_not_swallow_records() {
        let mut bytes = record(66, 16);
        bytes[8..12].copy_from_slice(&16_u32.to_le_bytes());
        let with = [&bytes[..], TracingData::MAGIC, &[0; 6]].concat();
        assert!(matches!(step(&with, 0, Endian::Little), WalkStep::Record { len: 16, payload: 16, .. }));
        assert!(matches!(step(&with[..20], 0, Endian::Little), WalkStep::Cut { needed: 32 }));
        bytes.extend(record(9, 40));
        assert!(matches!(step(&bytes, 0, Endian::Little), WalkStep::Record { len: 16, payload: 0, .. }));
    }

    #[test]
    fn a_frame_of_size_0_waits_for_its_data_size() {
        let mut bytes = vec![83, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend(65_516_u64.to_le_bytes());
        bytes.resize(16 + 65_516, 0);
        for len in 8..16 {
            assert!(matches!(complete(&bytes[..len], Endian::Little), (0, WalkStep::Cut { needed: 16 })), "{len}");
        }
        assert!(matches!(complete(&bytes[..100], Endian::Little), (0, WalkStep::Cut { needed: 65_532 })));
        assert!(matches!(step(&bytes, 0, Endian::Little), WalkStep::Misframed { len: 65_532 }));
    }

    #[test]
    fn finds_records_after_corrupt_bytes() {
        let mut bytes = vec![0; 50];
        let sound = bytes.len();
        bytes.extend((0..8).flat_map(|_| record(9, 40)));
        assert_eq!(resynchronize(&bytes, 0, Endian::Little), Some(sound));
        assert_eq!(resynchronize(&[0; 500], 0, Endian::Little), None);
    }

    #[test]
    fn simpleperf_records_have_32_bit_sizes() {
        let mut bytes = vec![1, 0x80, 0, 0, 1, 0, 16, 0];
        bytes.resize(0x1_0010, 0);
        assert!(matches!(step(&bytes, 0, Endian::Little), WalkStep::Record { len: 0x1_0010, .. }));
    }

    #[test]
    fn types_that_no_recorder_writes_are_gaps() {
        let is_record = |kind: u32| {
            let bytes = [&kind.to_le_bytes()[..], &[0, 0, 16, 0], &[0; 8]].concat();
            matches!(step(&bytes, 0, Endian::Little), WalkStep::Record { len: 16, .. })
        };
        assert_eq!([1, 255, 32768, 33023].map(is_record), [true; 4]);
        assert_eq!([0, 256, 32767, 33024].map(is_record), [false; 4]);
    }
}
