//! `PERF_RECORD_BPF_EVENT`.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::abi::open_enum::open_enum;
use crate::abi::serde::readable;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

open_enum! {
    /// What happened to a BPF program.
    BpfEventType: u16 {
        /// Not recorded.
        UNKNOWN = 0,
        /// Loaded.
        PROG_LOAD = 1,
        /// Unloaded.
        PROG_UNLOAD = 2,
    }
}

/// A BPF program was loaded or unloaded. Since Linux 5.1.
///
/// ```c
/// u16 type, flags; u32 id; u8 tag[8];
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BpfEvent {
    /// Type of the event.
    pub kind: BpfEventType,
    /// Unused.
    pub flags: u16,
    /// Program ID.
    pub id: u32,
    /// Tag: hash of the instructions.
    #[serde(with = "readable::hex_bytes")]
    pub tag: [u8; 8],
}

/// Descriptor of BPF_EVENT.
pub const BPF_EVENT: RecordDescriptor =
    RecordDescriptor::state(RecordType::BPF_EVENT, (5, 1), 24).with(RecordFlags::KERNEL_CODE);

roles! { BpfEvent { kind: number, flags: number, id: number, tag: bpf_tag } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &BpfEvent { kind: BpfEventType::PROG_UNLOAD, flags: 3, id: 0x1234, tag: *b"12345678" },
            (),
            "0200 0300 34120000 '12345678'",
            "0002 0003 00001234 '12345678'",
        );
    }
}
