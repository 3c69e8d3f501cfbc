//! `PERF_RECORD_LOST` and `PERF_RECORD_LOST_SAMPLES`.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Records lost because the ring buffer was full: `u64 id, lost`. Since Linux 2.6.31.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// ID of the event of the buffer.
    pub id: u64,
    /// Number of lost records.
    pub lost: u64,
}

/// Samples lost by the hardware or, written by perf since 6.1, by a full ring buffer: `u64 lost`. Since Linux 4.2. The ID of their
/// event is in the trailer, which all records have with `sample_id_all`.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostSamples {
    /// Number of lost samples.
    pub lost: u64,
}

/// Descriptor of LOST.
pub const LOST: RecordDescriptor = RecordDescriptor::event(RecordType::LOST, (2, 6), 24).with(RecordFlags::ANY_EVENT);

/// Descriptor of LOST_SAMPLES.
pub const LOST_SAMPLES: RecordDescriptor = RecordDescriptor::event(RecordType::LOST_SAMPLES, (4, 2), 16);

roles! { Lost { id: own_event_id, lost: number } }

roles! { LostSamples { lost: number } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &Lost { id: 0x1234, lost: 5 },
            (),
            "3412000000000000 0500000000000000",
            "0000000000001234 0000000000000005",
        );
        both_orders(&LostSamples { lost: 0x1234 }, (), "3412000000000000", "0000000000001234");
    }
}
