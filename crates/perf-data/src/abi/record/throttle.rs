//! `PERF_RECORD_THROTTLE` and `PERF_RECORD_UNTHROTTLE`.

use super::RecordType;
use super::descriptor::RecordDescriptor;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Sampling of an event was throttled (THROTTLE) or resumed (UNTHROTTLE). Since Linux 2.6.31.
///
/// ```c
/// u64 time, id, stream_id;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttle {
    /// Time in nanoseconds on the clock of the recording.
    pub time: u64,
    /// Event ID, that of the parent if inherited.
    pub id: u64,
    /// ID of the event itself.
    pub stream_id: u64,
}

/// Descriptor of THROTTLE.
pub const THROTTLE: RecordDescriptor = RecordDescriptor::event(RecordType::THROTTLE, (2, 6), 32);

/// Descriptor of UNTHROTTLE.
pub const UNTHROTTLE: RecordDescriptor = RecordDescriptor::event(RecordType::UNTHROTTLE, (2, 6), 32);

roles! { Throttle { time: time, id: own_event_id, stream_id: own_event_id } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &Throttle { time: 0x1122_3344_5566_7788, id: 5, stream_id: 6 },
            (),
            "8877665544332211 0500000000000000 0600000000000000",
            "1122334455667788 0000000000000005 0000000000000006",
        );
    }
}
