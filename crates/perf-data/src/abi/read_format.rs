//! `perf_event_attr.read_format`, and counter values in SAMPLE and READ records.

use super::bytes::ByteReader;
use super::counted;
use super::fields::{FieldVisitor, VisitFields};
use crate::abi::bit_set::bit_set;
use binrw::binrw;
use serde::{Deserialize, Serialize};

bit_set! {
    /// `PERF_FORMAT_*`: members of a `read_format` structure.
    ReadFormat: u64 {
        /// Time enabled, in nanoseconds.
        TOTAL_TIME_ENABLED = 1 << 0,
        /// Time running, in nanoseconds.
        TOTAL_TIME_RUNNING = 1 << 1,
        /// Event ID with each value.
        ID = 1 << 2,
        /// Values of the whole group.
        GROUP = 1 << 3,
        /// Number of lost samples with each value. Since Linux 6.0.
        LOST = 1 << 4,
    }
}

impl ReadFormat {
    /// All bits with a known layout.
    pub const KNOWN: Self = Self::from_bits_retain((1 << 5) - 1);
}

/// Value of one event.
#[binrw]
#[br(import_raw(format: ReadFormat))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadValue {
    /// Counter value since creation, not since the last sample.
    pub value: u64,
    /// Event ID, with [`ReadFormat::ID`].
    #[br(if(format.contains(ReadFormat::ID)))]
    pub id: Option<u64>,
    /// Number of lost samples, with [`ReadFormat::LOST`].
    #[br(if(format.contains(ReadFormat::LOST)))]
    pub lost: Option<u64>,
}

/// A `read_format` structure.
///
/// ```c
/// struct { u64 value; u64 time_enabled; u64 time_running; u64 id; u64 lost; }          // without GROUP
/// struct { u64 nr; u64 time_enabled; u64 time_running; { u64 value, id, lost } [nr]; } // with GROUP
/// ```
/// Members other than `value` and `nr` are present only if their bits are set. With bits beyond [`ReadFormat::KNOWN`], it is not
/// decoded.
#[binrw]
#[br(import_raw(format: ReadFormat), pre_assert(ReadFormat::KNOWN.contains(format)))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadValues {
    /// Values of one event.
    #[br(pre_assert(!format.contains(ReadFormat::GROUP)))]
    Single {
        /// Counter value since creation, not since the last sample.
        value: u64,
        /// Time enabled, in nanoseconds.
        #[br(if(format.contains(ReadFormat::TOTAL_TIME_ENABLED)))]
        time_enabled: Option<u64>,
        /// Time running, in nanoseconds.
        #[br(if(format.contains(ReadFormat::TOTAL_TIME_RUNNING)))]
        time_running: Option<u64>,
        /// Event ID.
        #[br(if(format.contains(ReadFormat::ID)))]
        id: Option<u64>,
        /// Number of lost samples.
        #[br(if(format.contains(ReadFormat::LOST)))]
        lost: Option<u64>,
    },
    /// Values of a group.
    #[br(pre_assert(format.contains(ReadFormat::GROUP)))]
    Group {
        #[br(temp)]
        #[bw(calc = values.len() as u64)]
        nr: u64,
        /// Time enabled, in nanoseconds.
        #[br(if(format.contains(ReadFormat::TOTAL_TIME_ENABLED)))]
        time_enabled: Option<u64>,
        /// Time running, in nanoseconds.
        #[br(if(format.contains(ReadFormat::TOTAL_TIME_RUNNING)))]
        time_running: Option<u64>,
        /// Values, leader first.
        #[br(parse_with = counted::items_with, args(nr, format))]
        values: Vec<ReadValue>,
    },
}

impl Default for ReadValues {
    fn default() -> Self {
        Self::Single { value: 0, time_enabled: None, time_running: None, id: None, lost: None }
    }
}

impl VisitFields for ReadValues {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        self.ids_mut().for_each(|id| visitor.event_id(id));
    }
}

impl ReadValues {
    /// The event IDs of the values, if recorded.
    pub fn ids_mut(&mut self) -> impl Iterator<Item = &mut u64> {
        let (single, group) = match self {
            Self::Single { id, .. } => (Some(id), None),
            Self::Group { values, .. } => (None, Some(values)),
        };
        single.into_iter().chain(group.into_iter().flatten().map(|value| &mut value.id)).flatten()
    }
}

/// [`ReadValues`] borrowed from a record.
#[derive(Clone, Copy, Debug)]
pub struct ReadView<'a> {
    /// Time enabled, in nanoseconds.
    pub time_enabled: Option<u64>,
    /// Time running, in nanoseconds.
    pub time_running: Option<u64>,
    values: ByteReader<'a>,
    format: ReadFormat,
    count: usize,
}

impl<'a> ReadView<'a> {
    /// Decodes the structure at the front of `reader`; `None` if the bytes are too few.
    pub fn take(reader: &mut ByteReader<'a>, format: ReadFormat) -> Option<Self> {
        let has = |bit| format.contains(bit);
        let each = 1 + u64::from(has(ReadFormat::ID)) + u64::from(has(ReadFormat::LOST));
        if has(ReadFormat::GROUP) {
            let nr = reader.u64()?;
            let time_enabled = if has(ReadFormat::TOTAL_TIME_ENABLED) { Some(reader.u64()?) } else { None };
            let time_running = if has(ReadFormat::TOTAL_TIME_RUNNING) { Some(reader.u64()?) } else { None };
            let values = *reader;
            reader.words(nr.checked_mul(each)?)?;
            Some(Self { time_enabled, time_running, values, format, count: nr as usize })
        } else {
            let values = *reader;
            reader.u64()?;
            let time_enabled = if has(ReadFormat::TOTAL_TIME_ENABLED) { Some(reader.u64()?) } else { None };
            let time_running = if has(ReadFormat::TOTAL_TIME_RUNNING) { Some(reader.u64()?) } else { None };
            reader.words(each - 1)?;
            Some(Self { time_enabled, time_running, values, format, count: 1 })
        }
    }

    /// Values, leader first.
    pub fn values(&self) -> impl Iterator<Item = ReadValue> + use<'a> {
        let mut reader = self.values;
        let format = self.format;
        let times = [ReadFormat::TOTAL_TIME_ENABLED, ReadFormat::TOTAL_TIME_RUNNING];
        (0..self.count).map_while(move |_| {
            let value = reader.u64()?;
            if !format.contains(ReadFormat::GROUP) {
                reader.words(times.iter().filter(|&&bit| format.contains(bit)).count() as u64)?;
            }
            let id = if format.contains(ReadFormat::ID) { Some(reader.u64()?) } else { None };
            let lost = if format.contains(ReadFormat::LOST) { Some(reader.u64()?) } else { None };
            Some(ReadValue { value, id, lost })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Endian;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes_of_every_combination() {
        for bits in 0..32 {
            let format = ReadFormat::from_bits_retain(bits);
            let has = |bit: ReadFormat, value: u64| format.contains(bit).then_some(value);
            let (time_enabled, time_running) =
                (has(ReadFormat::TOTAL_TIME_ENABLED, 2), has(ReadFormat::TOTAL_TIME_RUNNING, 3));
            let (id, lost) = (has(ReadFormat::ID, 4), has(ReadFormat::LOST, 5));
            let (values, numbers) = if format.contains(ReadFormat::GROUP) {
                let values = vec![ReadValue { value: 1, id, lost }; 2];
                let each = [Some(1), id, lost];
                (
                    ReadValues::Group { time_enabled, time_running, values },
                    vec![vec![Some(2), time_enabled, time_running], each.to_vec(), each.to_vec()],
                )
            } else {
                (
                    ReadValues::Single { value: 1, time_enabled, time_running, id, lost },
                    vec![vec![Some(1), time_enabled, time_running, id, lost]],
                )
            };
            let numbers: Vec<u64> = numbers.concat().into_iter().flatten().collect();
            let little: String = numbers.iter().map(|n| format!("{:016x} ", n.swap_bytes())).collect();
            let big: String = numbers.iter().map(|n| format!("{n:016x} ")).collect();
            both_orders(&values, format, &little, &big);
        }
    }

    fn words(values: &[u64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn a_group_has_a_value_for_each_member() {
        let bytes = words(&[2, 100, 50, 7, 71, 0, 8, 81, 3, 99]);
        let mut reader = ByteReader::new(&bytes, Endian::Little);
        let view = ReadView::take(&mut reader, ReadFormat::from_bits_retain(0x1f)).unwrap();
        assert_eq!((view.time_enabled, view.time_running), (Some(100), Some(50)));
        let values: Vec<_> = view.values().map(|v| (v.value, v.id, v.lost)).collect();
        assert_eq!(values, [(7, Some(71), Some(0)), (8, Some(81), Some(3))]);
        assert_eq!(reader.u64(), Some(99), "the following bytes are unread");
    }

    #[test]
    fn a_single_event_has_its_times_between_value_and_id() {
        let bytes = words(&[7, 100, 50, 71, 5]);
        let mut reader = ByteReader::new(&bytes, Endian::Little);
        let view = ReadView::take(&mut reader, ReadFormat::from_bits_retain(0x17)).unwrap();
        assert_eq!(view.values().collect::<Vec<_>>(), [ReadValue { value: 7, id: Some(71), lost: Some(5) }]);
        assert!(reader.rest().is_empty());
    }

    #[test]
    fn rejects_a_count_beyond_the_record() {
        let bytes = words(&[u64::MAX, 1, 2]);
        let format = ReadFormat::GROUP | ReadFormat::ID;
        assert!(ReadView::take(&mut ByteReader::new(&bytes, Endian::Little), format).is_none());
    }
}
