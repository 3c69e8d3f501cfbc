//! `PERF_RECORD_TEXT_POKE`.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::abi::counted;
use crate::abi::serde::readable;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Modification of kernel code. Since Linux 5.9. Padded with zeros to a multiple of 8.
///
/// ```c
/// u64 addr; u16 old_len, new_len; u8 bytes[old_len + new_len];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextPoke {
    /// Address of the code.
    #[serde(serialize_with = "readable::hex")]
    pub addr: u64,
    #[br(temp)]
    #[bw(calc = old.len() as u16)]
    old_len: u16,
    #[br(temp)]
    #[bw(calc = new.len() as u16)]
    new_len: u16,
    /// Old bytes; empty if the code is new.
    #[br(parse_with = counted::bytes, args(old_len.into()))]
    #[serde(with = "crate::abi::serde::byte_string")]
    pub old: Vec<u8>,
    /// New bytes; empty if the code was removed.
    #[br(parse_with = counted::bytes, args(new_len.into()))]
    #[serde(with = "crate::abi::serde::byte_string")]
    pub new: Vec<u8>,
}

/// Descriptor of TEXT_POKE.
pub const TEXT_POKE: RecordDescriptor = RecordDescriptor::state(RecordType::TEXT_POKE, (5, 9), 20)
    .with(RecordFlags::CONFIDENTIAL.union(RecordFlags::KERNEL_CODE));

roles! { TextPoke { addr: address(KERNEL), old: opaque, new: opaque } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &TextPoke { addr: 0x1000, old: vec![0x90], new: vec![0xcc, 0xc3] },
            (),
            "0010000000000000 0100 0200 90 ccc3",
            "0000000000001000 0001 0002 90 ccc3",
        );
    }
}
