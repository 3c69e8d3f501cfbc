//! `PERF_RECORD_ID_INDEX`.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::abi::counted;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// CPU and thread of each event ID. Since perf 3.19.
///
/// ```c
/// u64 nr;
/// struct { u64 id, idx, cpu, tid; } entries[nr];
/// struct { u64 machine_pid, vcpu; } guests[nr];  // since perf 6.0, where there are guests
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdIndex {
    #[br(temp)]
    #[bw(calc = entries.len() as u64)]
    nr: u64,
    /// One entry for each ID.
    #[br(parse_with = counted::items, args(nr))]
    pub entries: Vec<IdIndexEntry>,
    /// Guests of the entries, in the same order, or empty.
    #[br(try, parse_with = counted::items, args(nr))]
    pub guests: Vec<IdIndexGuest>,
}

/// Properties of an ID.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdIndexEntry {
    /// Event ID.
    pub id: u64,
    /// Index of the ring buffer.
    pub idx: u64,
    /// CPU number, -1 for any.
    pub cpu: i64,
    /// Thread ID, -1 for any.
    pub tid: i64,
}

/// Guest of an ID.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdIndexGuest {
    /// Process ID of the virtual machine on the host; 0 for the host itself.
    pub machine_pid: u64,
    /// Virtual CPU.
    pub vcpu: u64,
}

/// Descriptor of ID_INDEX.
pub const ID_INDEX: RecordDescriptor =
    RecordDescriptor::state(RecordType::ID_INDEX, (3, 19), 16).with(RecordFlags::NEEDED);

roles! { IdIndex { entries: fields, guests: fields } }

roles! { IdIndexEntry { id: event_id, idx: number, cpu: number, tid: task } }

roles! { IdIndexGuest { machine_pid: guest, vcpu: number } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        let entries = vec![IdIndexEntry { id: 10, idx: 1, cpu: 2, tid: -1 }];
        let (little, big) = (
            "0100000000000000 0a00000000000000 0100000000000000 0200000000000000 ffffffffffffffff",
            "0000000000000001 000000000000000a 0000000000000001 0000000000000002 ffffffffffffffff",
        );
        both_orders(&IdIndex { entries: entries.clone(), guests: Vec::new() }, (), little, big);
        both_orders(
            &IdIndex { entries, guests: vec![IdIndexGuest { machine_pid: 99, vcpu: 3 }] },
            (),
            &format!("{little} 6300000000000000 0300000000000000"),
            &format!("{big} 0000000000000063 0000000000000003"),
        );
    }
}
