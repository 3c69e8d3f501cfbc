//! Feature BPF_BTF.

use super::FeatureId;
use super::btf::Btf;
use super::descriptor::FeatureDescriptor;
use crate::abi::counted;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// BTF of BPF programs. Since perf 5.1.
///
/// ```c
/// u32 nr; struct { u32 id, data_size; u8 data[data_size]; } entries[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BpfBtf {
    #[br(temp)]
    #[bw(calc = entries.len() as u32)]
    nr: u32,
    /// One entry for each BTF object.
    #[br(parse_with = counted::items, args(nr.into()))]
    pub entries: Vec<BtfEntry>,
}

/// A BTF object.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BtfEntry {
    /// ID, which programs refer to.
    pub id: u32,
    #[br(temp)]
    #[bw(calc = data.len() as u32)]
    data_size: u32,
    /// Encoded types, in the byte order of the recording machine.
    #[br(parse_with = counted::bytes, args(data_size.into()))]
    #[serde(with = "crate::abi::serde::byte_string")]
    pub data: Vec<u8>,
}

impl BtfEntry {
    /// Decodes the types.
    pub fn btf(&self) -> Option<Btf> {
        Btf::read(&self.data)
    }
}

/// Descriptor of BPF_BTF.
pub const BPF_BTF: FeatureDescriptor = FeatureDescriptor::code(FeatureId::BPF_BTF, (5, 1));

roles! { BpfBtf { entries: fields } }

roles! { BtfEntry { id: number, data: opaque } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &BpfBtf { entries: vec![BtfEntry { id: 5, data: vec![1, 2, 3] }] },
            (),
            "01000000 05000000 03000000 010203",
            "00000001 00000005 00000003 010203",
        );
    }
}
