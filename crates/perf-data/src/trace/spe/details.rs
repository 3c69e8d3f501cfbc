//! Raw data of samples that were decoded from a trace: what the other fields of samples have no room for.
//!
//! ```c
//! char magic[4];                  // "SPE1"
//! u64 events;                     // SpeEvents
//! u16 data_source;                // numbered by the model of the CPU; 0xffff: none
//! u8 class, subclass;             // SpeOperation; class 0xff: none
//! u32 reserved;
//! ```
//! Always little-endian, as the trace.

use super::packet::{SpeEvents, SpeOperation};
use super::record::SpeRecord;

/// Details of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpeDetails {
    /// What happened to the operation.
    pub events: SpeEvents,
    /// Where data came from, numbered by the model of the CPU.
    pub data_source: Option<u16>,
    /// The kind of operation.
    pub operation: Option<SpeOperation>,
}

impl SpeDetails {
    /// Size of the raw data. With the word before it that has the size, it is a multiple of 8 bytes.
    pub const SIZE: usize = 20;

    const MAGIC: [u8; 4] = *b"SPE1";

    /// Decodes raw data; `None` if it is of another kind.
    #[inline]
    pub fn decode(raw: &[u8]) -> Option<Self> {
        let raw = raw.strip_prefix(&Self::MAGIC)?;
        let (events, raw) = raw.split_first_chunk()?;
        let (source, raw) = raw.split_first_chunk()?;
        let &[class, subclass] = raw.first_chunk()?;
        let source = u16::from_le_bytes(*source);
        Some(Self {
            events: SpeEvents::from_bits_retain(u64::from_le_bytes(*events)),
            data_source: (source != u16::MAX).then_some(source),
            operation: (class != u8::MAX).then_some(SpeOperation { class, subclass }),
        })
    }

    /// Encodes them as raw data.
    #[inline]
    pub fn encode(self) -> [u8; Self::SIZE] {
        let mut raw = [0; Self::SIZE];
        let operation = self.operation.map_or([u8::MAX, 0], |operation| [operation.class, operation.subclass]);
        raw[..4].copy_from_slice(&Self::MAGIC);
        raw[4..12].copy_from_slice(&self.events.bits().to_le_bytes());
        raw[12..14].copy_from_slice(&self.data_source.unwrap_or(u16::MAX).to_le_bytes());
        raw[14..16].copy_from_slice(&operation);
        raw
    }
}

impl From<&SpeRecord> for SpeDetails {
    fn from(record: &SpeRecord) -> Self {
        Self { events: record.events, data_source: record.data_source, operation: record.operation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_decoded_as_encoded() {
        let details = SpeDetails {
            events: SpeEvents::RETIRED | SpeEvents::NOT_TAKEN,
            data_source: Some(0xe),
            operation: Some(SpeOperation { class: 2, subclass: 1 }),
        };
        assert_eq!(SpeDetails::decode(&details.encode()), Some(details));
        assert_eq!(SpeDetails::decode(&SpeDetails::default().encode()), Some(SpeDetails::default()));
        for raw in [&[][..], b"SPE1", b"SPE2aaaaaaaaaaaaaaaa"] {
            assert_eq!(SpeDetails::decode(raw), None);
        }
    }
}
