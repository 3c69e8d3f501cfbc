//! `PERF_RECORD_STAT_CONFIG`, `PERF_RECORD_STAT` and `PERF_RECORD_STAT_ROUND`, written by `perf stat record`.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::abi::counted;
use crate::abi::open_enum::open_enum;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

open_enum! {
    /// `PERF_STAT_CONFIG_TERM__*`: a setting of `perf stat`.
    StatConfigTag: u64 {
        /// Aggregation mode.
        AGGR_MODE = 0,
        /// Interval between rounds in milliseconds.
        INTERVAL = 1,
        /// Whether counts are scaled by enabled and running time.
        SCALE = 2,
        /// Cache level for aggregation. Since perf 6.5.
        AGGR_LEVEL = 3,
    }
}

open_enum! {
    /// `PERF_STAT_ROUND_TYPE__*`: type of a round.
    StatRoundType: u64 {
        /// End of an interval.
        INTERVAL = 0,
        /// End of counting.
        FINAL = 1,
    }
}

/// Settings of `perf stat`. Since perf 4.5.
///
/// ```c
/// u64 nr; struct { u64 tag, val; } data[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatConfig {
    #[br(temp)]
    #[bw(calc = data.len() as u64)]
    nr: u64,
    /// The settings.
    #[br(parse_with = counted::items, args(nr))]
    pub data: Vec<StatConfigTerm>,
}

/// A setting.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatConfigTerm {
    /// Setting.
    pub tag: StatConfigTag,
    /// Value.
    pub val: u64,
}

/// A counter value. Since perf 4.5.
///
/// ```c
/// u64 id; u32 cpu, thread; u64 val, ena, run;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    /// Event ID.
    pub id: u64,
    /// Index of the CPU among those of the event.
    pub cpu: u32,
    /// Index of the thread among those of the event.
    pub thread: u32,
    /// Counter value.
    pub val: u64,
    /// Time enabled, in nanoseconds.
    pub ena: u64,
    /// Time running, in nanoseconds.
    pub run: u64,
}

/// End of a round, after its counter values. Since perf 4.5.
///
/// ```c
/// u64 type, time;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatRound {
    /// Type of the round.
    pub kind: StatRoundType,
    /// Nanoseconds since the start of counting.
    pub time: u64,
}

/// Descriptor of STAT_CONFIG.
pub const STAT_CONFIG: RecordDescriptor =
    RecordDescriptor::state(RecordType::STAT_CONFIG, (4, 5), 16).with(RecordFlags::METADATA);

/// Descriptor of STAT.
pub const STAT: RecordDescriptor = RecordDescriptor::state(RecordType::STAT, (4, 5), 48);

/// Descriptor of STAT_ROUND.
pub const STAT_ROUND: RecordDescriptor = RecordDescriptor::state(RecordType::STAT_ROUND, (4, 5), 24);

roles! { StatConfig { data: number } }

roles! { Stat { id: own_event_id, cpu: number, thread: number, val: number, ena: number, run: number } }

roles! { StatRound { kind: number, time: elapsed } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &StatConfig { data: vec![StatConfigTerm { tag: StatConfigTag::SCALE, val: 1 }] },
            (),
            "0100000000000000 0200000000000000 0100000000000000",
            "0000000000000001 0000000000000002 0000000000000001",
        );
        both_orders(
            &Stat { id: 1, cpu: 2, thread: 3, val: 4, ena: 5, run: 6 },
            (),
            "0100000000000000 02000000 03000000 0400000000000000 0500000000000000 0600000000000000",
            "0000000000000001 00000002 00000003 0000000000000004 0000000000000005 0000000000000006",
        );
        both_orders(
            &StatRound { kind: StatRoundType::FINAL, time: 0x3344 },
            (),
            "0100000000000000 4433000000000000",
            "0000000000000001 0000000000003344",
        );
    }
}
