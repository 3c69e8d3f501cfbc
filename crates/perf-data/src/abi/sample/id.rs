//! `sample_id`: the trailer with task, time and event of records other than SAMPLE.

use super::field::{SampleField, TRAILER};
use crate::abi::Endian;
use crate::abi::bytes::ByteReader;
use crate::abi::bytes::Integer;
use crate::abi::sample_type::SampleType;
use crate::abi::serde::readable;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// The trailer of kernel records other than SAMPLE, if `sample_id_all` is set.
///
/// ```c
/// struct sample_id {
///     u32 pid, tid;       // with PERF_SAMPLE_TID
///     u64 time;           // TIME
///     u64 id;             // ID
///     u64 stream_id;      // STREAM_ID
///     u32 cpu, res;       // CPU
///     u64 identifier;     // IDENTIFIER
/// };
/// ```
/// Since Linux 2.6.38. Its position follows from the end of the record.
#[binrw]
#[br(import_raw(sample_type: SampleType))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleId {
    /// Process and thread ID.
    #[br(if(sample_type.contains(SampleType::TID)))]
    #[serde(with = "readable::task", default)]
    pub task: Option<(u32, u32)>,
    /// Time in nanoseconds on the clock of the recording. Synthesized records have 0 or all ones, which mean none.
    #[br(if(sample_type.contains(SampleType::TIME)))]
    pub time: Option<u64>,
    /// Event ID.
    #[br(if(sample_type.contains(SampleType::ID)))]
    pub id: Option<u64>,
    /// ID of the event itself.
    #[br(if(sample_type.contains(SampleType::STREAM_ID)))]
    pub stream_id: Option<u64>,
    /// CPU number, and the unused half of its word.
    #[br(if(sample_type.contains(SampleType::CPU)))]
    #[serde(with = "readable::cpu", default)]
    pub cpu: Option<(u32, u32)>,
    /// Event ID, last in the record.
    #[br(if(sample_type.contains(SampleType::IDENTIFIER)))]
    pub identifier: Option<u64>,
}

impl SampleId {
    /// The fields of trailers.
    pub const FIELDS: SampleType = {
        let (mut fields, mut index) = (SampleType::empty(), 0);
        while index < TRAILER.len() {
            fields = fields.union(TRAILER[index].bits());
            index += 1;
        }
        fields
    };

    /// Size of the trailer, 8 bytes for each field.
    #[inline]
    pub fn size(sample_type: SampleType) -> usize {
        8 * (sample_type.bits() & Self::FIELDS.bits()).count_ones() as usize
    }

    /// Distance of the event ID from the end of a trailer, in words: of the identifier, if present.
    pub fn id_from_end(sample_type: SampleType) -> Option<usize> {
        let fields = TRAILER.into_iter().rev().filter(|field| sample_type.intersects(field.bits()));
        let of = |id| fields.clone().position(|field| field == id).map(|behind| behind + 1);
        of(SampleField::Identifier).or_else(|| of(SampleField::Id))
    }

    /// Appends an encoded trailer. Missing fields are 0.
    pub fn append(&self, sample_type: SampleType, endian: Endian, out: &mut Vec<u8>) {
        let pair = |(first, second): (u32, u32)| match endian {
            Endian::Little => u64::from(second) << 32 | u64::from(first),
            Endian::Big => u64::from(first) << 32 | u64::from(second),
        };
        for field in TRAILER.into_iter().filter(|field| sample_type.intersects(field.bits())) {
            let word = match field {
                SampleField::Task => self.task.map(pair),
                SampleField::Time => self.time,
                SampleField::Id => self.id,
                SampleField::StreamId => self.stream_id,
                SampleField::Cpu => self.cpu.map(pair),
                _ => self.identifier,
            };
            let word = word.unwrap_or_default();
            out.extend(word.to_bytes(endian));
        }
    }

    /// The present fields.
    pub fn fields(&self) -> SampleType {
        let fields = [
            (SampleType::TID, self.task.is_some()),
            (SampleType::TIME, self.time.is_some()),
            (SampleType::ID, self.id.is_some()),
            (SampleType::STREAM_ID, self.stream_id.is_some()),
            (SampleType::CPU, self.cpu.is_some()),
            (SampleType::IDENTIFIER, self.identifier.is_some()),
        ];
        fields.into_iter().filter(|&(_, is_there)| is_there).map(|(field, _)| field).collect()
    }

    /// Decodes a trailer from exactly its bytes; `None` if they are too few. Hand-written, because every record has one.
    #[inline]
    pub fn read(bytes: &[u8], sample_type: SampleType, endian: Endian) -> Option<Self> {
        let mut reader = ByteReader::new(bytes, endian);
        let mut this = Self::default();
        let has = |field| sample_type.contains(field);
        if has(SampleType::TID) {
            this.task = Some((reader.u32()?, reader.u32()?));
        }
        if has(SampleType::TIME) {
            this.time = Some(reader.u64()?);
        }
        if has(SampleType::ID) {
            this.id = Some(reader.u64()?);
        }
        if has(SampleType::STREAM_ID) {
            this.stream_id = Some(reader.u64()?);
        }
        if has(SampleType::CPU) {
            this.cpu = Some((reader.u32()?, reader.u32()?));
        }
        if has(SampleType::IDENTIFIER) {
            this.identifier = Some(reader.u64()?);
        }
        Some(this)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::{both_orders, hex};

    #[test]
    fn bytes() {
        let id = SampleId {
            task: Some((1, 2)),
            time: Some(3),
            id: Some(4),
            stream_id: Some(5),
            cpu: Some((6, 7)),
            identifier: Some(8),
        };
        let little = "01000000 02000000 0300000000000000 0400000000000000 0500000000000000 06000000 07000000 \
                      0800000000000000";
        let big = "00000001 00000002 0000000000000003 0000000000000004 0000000000000005 00000006 00000007 \
                   0000000000000008";
        both_orders(&id, SampleId::FIELDS, little, big);
        assert_eq!(SampleId::read(&hex(little), SampleId::FIELDS, Endian::Little), Some(id));
        assert_eq!(SampleId::read(&hex(big), SampleId::FIELDS, Endian::Big), Some(id));
        for (endian, bytes) in [(Endian::Little, little), (Endian::Big, big)] {
            let mut appended = Vec::new();
            id.append(SampleId::FIELDS, endian, &mut appended);
            assert_eq!(appended, hex(bytes));
        }
    }

    #[test]
    fn appended_trailers_are_decoded_for_all_fields() {
        let words: Vec<u64> = (1..=6).map(|word| word << 32 | (word + 10)).collect();
        for mask in 0..1_u64 << TRAILER.len() {
            let fields = TRAILER.into_iter().enumerate().filter(|(index, _)| mask >> index & 1 == 1);
            let sample_type: SampleType = fields.map(|(_, field)| field.bits()).collect();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let bytes = &bytes[..SampleId::size(sample_type)];
            let id = SampleId::read(bytes, sample_type, Endian::Little).unwrap();
            let mut appended = Vec::new();
            id.append(sample_type, Endian::Little, &mut appended);
            assert_eq!(appended, bytes);
            let from_end = SampleId::id_from_end(sample_type).map(|words| bytes.len() - 8 * words);
            let at = from_end.map(|at| ByteReader::new(&bytes[at..], Endian::Little).u64());
            assert_eq!(at, id.identifier.or(id.id).map(Some));
        }
    }

    #[test]
    fn fields_come_in_kernel_order() {
        let sample_type =
            SampleType::TID | SampleType::TIME | SampleType::CPU | SampleType::IDENTIFIER | SampleType::IP;
        assert_eq!(SampleId::size(sample_type), 32);
        let bytes: Vec<u8> = [7_u64 | 8 << 32, 99, 3, 1234].iter().flat_map(|w| w.to_le_bytes()).collect();
        let id = SampleId::read(&bytes, sample_type, Endian::Little).unwrap();
        assert_eq!((id.task, id.time, id.cpu, id.identifier), (Some((7, 8)), Some(99), Some((3, 0)), Some(1234)));
        assert_eq!((id.id, id.stream_id), (None, None));
        assert!(SampleId::read(&bytes[..24], sample_type, Endian::Little).is_none());
    }
}
