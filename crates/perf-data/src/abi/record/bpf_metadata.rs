//! `PERF_RECORD_BPF_METADATA`.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::abi::counted;
use crate::abi::text::FixedStr;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Variables of a BPF program with the name prefix `bpf_metadata_`. Since perf 6.17.
///
/// ```c
/// char prog_name[512]; u64 nr; struct { char key[64]; char value[256]; } entries[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BpfMetadata {
    /// Name of the program, as in its KSYMBOL.
    pub prog_name: FixedStr<512>,
    #[br(temp)]
    #[bw(calc = entries.len() as u64)]
    nr: u64,
    /// The variables.
    #[br(parse_with = counted::items, args(nr))]
    pub entries: Vec<BpfMetadataEntry>,
}

/// A variable of a BPF program.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BpfMetadataEntry {
    /// Name, without the prefix.
    pub key: FixedStr<64>,
    /// Value as text.
    pub value: FixedStr<256>,
}

/// Descriptor of BPF_METADATA.
pub const BPF_METADATA: RecordDescriptor = RecordDescriptor::state(RecordType::BPF_METADATA, (6, 17), 528)
    .with(RecordFlags::CONFIDENTIAL.union(RecordFlags::KERNEL_CODE));

roles! { BpfMetadata { prog_name: text(Symbol), entries: fields } }

roles! { BpfMetadataEntry { key: text(Any), value: text(Any) } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        let entry = BpfMetadataEntry { key: FixedStr::new(b"version"), value: FixedStr::new(b"3") };
        both_orders(
            &BpfMetadata { prog_name: FixedStr::new(b"prog"), entries: vec![entry] },
            (),
            "'prog' 00 *508 0100000000000000 'version' 00 *57 '3' 00 *255",
            "'prog' 00 *508 0000000000000001 'version' 00 *57 '3' 00 *255",
        );
    }
}
