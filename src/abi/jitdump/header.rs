//! The header of a jitdump.

use crate::abi::Endian;
use binrw::binrw;

/// What a jitdump begins with.
///
/// ```c
/// u32 magic, version, total_size, elf_mach, pad1, pid;
/// u64 timestamp, flags;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// [`Header::MAGIC`].
    pub magic: u32,
    /// 1.
    pub version: u32,
    /// Bytes of the header; newer versions may have more.
    pub total_size: u32,
    /// `e_machine` of ELF.
    pub elf_mach: u32,
    /// Unused.
    pub pad1: u32,
    /// Process, as it calls itself: in a container not as the recording has it.
    pub pid: u32,
    /// When the file was made.
    pub timestamp: u64,
    /// [`Header::ARCH_TIMESTAMP`] and bits that are not known yet.
    pub flags: u64,
}

impl Header {
    /// `JiTD` in the order of the writer.
    pub const MAGIC: u32 = 0x4a69_5444;
    /// The version that is described here.
    pub const VERSION: u32 = 1;
    /// Bytes.
    pub const SIZE: usize = 40;
    /// Timestamps are ticks of the hardware's clock, not nanoseconds of `CLOCK_MONOTONIC`.
    pub const ARCH_TIMESTAMP: u64 = 1;

    /// The byte order of a file that begins so; `None` where it is no jitdump.
    pub fn endian(bytes: &[u8]) -> Option<Endian> {
        let magic = bytes.first_chunk::<4>()?;
        let is = |value: u32| value == Self::MAGIC;
        if is(u32::from_le_bytes(*magic)) {
            Some(Endian::Little)
        } else {
            is(u32::from_be_bytes(*magic)).then_some(Endian::Big)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::{both_orders, hex};

    #[test]
    fn bytes() {
        let (magic, version, elf_mach, pid) = (Header::MAGIC, 1, 62, 0x99);
        both_orders(
            &Header { magic, version, total_size: 40, elf_mach, pad1: 7, pid, timestamp: 0x1234, flags: 1 },
            (),
            "4454694a 01000000 28000000 3e000000 07000000 99000000 3412000000000000 0100000000000000",
            "4a695444 00000001 00000028 0000003e 00000007 00000099 0000000000001234 0000000000000001",
        );
        assert_eq!(Header::endian(&hex("4454694a00")), Some(Endian::Little));
        assert_eq!(Header::endian(&hex("4a695444")), Some(Endian::Big));
        assert_eq!((Header::endian(b"JiT"), Header::endian(b"\x7fELF")), (None, None));
    }
}
