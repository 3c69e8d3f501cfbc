//! `PERF_RECORD_EVENT_UPDATE`.

use crate::abi::text::PaddedStr;
use crate::open_enum;
use binrw::binrw;

open_enum! {
    /// What an EVENT_UPDATE tells of an event.
    EventUpdateType: u64 {
        /// Text: the unit of its values.
        UNIT = 0,
        /// A double: what to multiply its values with.
        SCALE = 1,
        /// Text: its name. Only in pipes.
        NAME = 2,
        /// The CPUs that it was opened on.
        CPUS = 3,
    }
}

/// Something more about an event than its attr tells. Since perf 4.6.
///
/// ```c
/// u64 type; u64 id; u8 data[];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventUpdate {
    /// What is told.
    pub kind: EventUpdateType,
    /// First id of the event.
    pub id: u64,
    /// Text for [`EventUpdateType::UNIT`] and [`EventUpdateType::NAME`].
    pub data: PaddedStr,
}
