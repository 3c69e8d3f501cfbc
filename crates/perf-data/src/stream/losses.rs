//! Losses that the kernel reports: LOST and LOST_SAMPLES records.

use super::meta::Meta;
use super::raw::Raw;
use crate::abi;
use crate::abi::record::RecordType;
use crate::abi::record::lost::{Lost, LostSamples};

/// What a record reports as lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedLosses {
    /// Records that did not fit into the ring buffer, of any type: they are only known by their number.
    pub records: u64,
    /// Samples that the kernel or the hardware lost.
    pub samples: u64,
}

impl ReportedLosses {
    /// Decodes a LOST or LOST_SAMPLES record; `None` if it is of another type or malformed.
    pub fn decode(meta: &Meta, raw: &Raw<'_>) -> Option<Self> {
        // LOST_SAMPLES has its event ID in the trailer only, which is not part of its fields.
        let (fields, _) = meta.events.split(raw);
        match raw.header().kind {
            RecordType::LOST => {
                let (record, _) = abi::parse::<Lost>(fields, raw.endian(), ()).ok()?;
                Some(Self { records: record.lost, samples: 0 })
            }
            RecordType::LOST_SAMPLES => {
                let (record, _) = abi::parse::<LostSamples>(fields, raw.endian(), ()).ok()?;
                Some(Self { records: 0, samples: record.lost })
            }
            _ => None,
        }
    }
}
