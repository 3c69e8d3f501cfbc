//! The header of a jitdump file.

use crate::abi::Endian;
use binrw::binrw;

/// File header.
///
/// ```c
/// u32 magic, version, total_size, elf_mach, pad1, pid;
/// u64 timestamp, flags;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JitDumpHeader {
    /// [`JitDumpHeader::MAGIC`].
    pub magic: u32,
    /// 1.
    pub version: u32,
    /// Size of the header in bytes; newer versions may be larger.
    pub total_size: u32,
    /// ELF machine.
    pub elf_mach: u32,
    /// Unused.
    pub pad1: u32,
    /// Process ID in its own namespace; in a container it differs from the recorded one.
    pub pid: u32,
    /// Time of creation.
    pub timestamp: u64,
    /// [`JitDumpHeader::ARCH_TIMESTAMP`] and unknown bits.
    pub flags: u64,
}

impl JitDumpHeader {
    /// `JiTD` in the byte order of the writer.
    pub const MAGIC: u32 = 0x4a69_5444;
    /// Supported version.
    pub const VERSION: u32 = 1;
    /// Size in bytes.
    pub const SIZE: usize = 40;
    /// Flag: timestamps are ticks of a hardware clock instead of nanoseconds of `CLOCK_MONOTONIC`.
    pub const ARCH_TIMESTAMP: u64 = 1;

    /// Byte order of a file; `None` if it is not a jitdump.
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
        let (magic, version, elf_mach, pid) = (JitDumpHeader::MAGIC, 1, 62, 0x99);
        both_orders(
            &JitDumpHeader { magic, version, total_size: 40, elf_mach, pad1: 7, pid, timestamp: 0x1234, flags: 1 },
            (),
            "4454694a 01000000 28000000 3e000000 07000000 99000000 3412000000000000 0100000000000000",
            "4a695444 00000001 00000028 0000003e 00000007 00000099 0000000000001234 0000000000000001",
        );
        assert_eq!(JitDumpHeader::endian(&hex("4454694a00")), Some(Endian::Little));
        assert_eq!(JitDumpHeader::endian(&hex("4a695444")), Some(Endian::Big));
        assert_eq!((JitDumpHeader::endian(b"JiT"), JitDumpHeader::endian(b"\x7fELF")), (None, None));
    }
}
