//! `perf_event_header`: the 8-byte header of every record.

use super::RecordType;
use crate::abi::Endian;
use crate::abi::bit_set::bit_set;
use crate::abi::bytes::{ByteReader, Integer};
use crate::abi::open_enum::open_enum;
use binrw::binrw;
use std::mem;

impl RecordType {
    /// The first type of perf rather than the kernel.
    pub const USER_START: Self = Self(64);

    /// Whether records of this type end with a `sample_id` if `sample_id_all` is set.
    #[inline]
    pub fn has_sample_id(self) -> bool {
        self < Self::USER_START && self != Self::SAMPLE
    }
}

bit_set! {
    /// `perf_event_header.misc`. Bits 0 to 2 are the [`CpuMode`]; the meaning of the upper bits depends on the type.
    Misc: u16 {
        /// perf stopped reading the mappings of the process (MMAP, MMAP2).
        PROC_MAP_PARSE_TIMEOUT = 1 << 12,
        /// Bit 13, MMAP and MMAP2: the mapping is not executable.
        MMAP_DATA = 1 << 13,
        /// Bit 13, COMM: the name was set by an exec.
        COMM_EXEC = 1 << 13,
        /// Bit 13, FORK: an exec follows. Internal to perf.
        FORK_EXEC = 1 << 13,
        /// Bit 13, SWITCH: switched out.
        SWITCH_OUT = 1 << 13,
        /// Bit 14, SAMPLE: the address is exact.
        EXACT_IP = 1 << 14,
        /// Bit 14, SWITCH: preempted.
        SWITCH_OUT_PREEMPT = 1 << 14,
        /// Bit 14, MMAP2: a build ID takes the place of the inode.
        MMAP_BUILD_ID = 1 << 14,
        /// Bit 15, HEADER_BUILD_ID: the size of the build ID is recorded.
        BUILD_ID_SIZE = 1 << 15,
        /// Bit 15, LOST_SAMPLES: lost by a BPF filter.
        LOST_SAMPLES_BPF = 1 << 15,
    }
}

impl Misc {
    /// CPU mode.
    #[inline]
    pub fn cpu_mode(self) -> CpuMode {
        CpuMode(self.bits() & 7)
    }
}

open_enum! {
    /// `PERF_RECORD_MISC_CPUMODE_*`: the address space of a record.
    CpuMode: u16 {
        /// Not recorded.
        UNKNOWN = 0,
        /// Kernel of the host.
        KERNEL = 1,
        /// User space of the host.
        USER = 2,
        /// Hypervisor.
        HYPERVISOR = 3,
        /// Kernel of a guest.
        GUEST_KERNEL = 4,
        /// User space of a guest.
        GUEST_USER = 5,
    }
}

impl From<CpuMode> for Misc {
    fn from(mode: CpuMode) -> Self {
        Self::from_bits_retain(mode.0)
    }
}

/// `struct perf_event_header`.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// `type`.
    pub kind: RecordType,
    /// Type-specific flags and the CPU mode.
    pub misc: Misc,
    /// Lower half of the record size; see [`len`](Self::len).
    pub size: u16,
}

impl RecordHeader {
    /// Size of the header, and of the smallest record.
    pub const SIZE: usize = 8;

    /// The first type of simpleperf (Android). Its headers have the upper half of a 32-bit size in place of `misc`.
    const SIMPLEPERF_START: RecordType = RecordType(32768);

    /// Size of the record in bytes, header included.
    #[inline]
    pub fn len(&self) -> usize {
        if self.kind >= Self::SIMPLEPERF_START {
            usize::from(self.misc.bits()) << 16 | usize::from(self.size)
        } else {
            self.size.into()
        }
    }

    /// The header of a record of `len` bytes; `None` if it cannot represent the size.
    pub fn with_len(self, len: usize) -> Option<Self> {
        if self.kind >= Self::SIMPLEPERF_START {
            let len = u32::try_from(len).ok()?;
            Some(Self { misc: Misc::from_bits_retain((len >> 16) as u16), size: len as u16, ..self })
        } else {
            Some(Self { size: len.try_into().ok()?, ..self })
        }
    }

    /// The bytes: `u32 type; u16 misc; u16 size`.
    #[inline]
    pub fn to_bytes(self, endian: Endian) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..4].copy_from_slice(&self.kind.0.to_bytes(endian));
        bytes[4..6].copy_from_slice(&self.misc.bits().to_bytes(endian));
        bytes[6..].copy_from_slice(&self.size.to_bytes(endian));
        bytes
    }

    /// Completes the record that begins at `start` of a buffer, with space for its header: pads it to a multiple of 8 bytes, and
    /// writes this header with the resulting size. `None` if that is more than the maximum of a record.
    #[inline]
    pub fn finish(self, record: &mut Vec<u8>, start: usize, endian: Endian) -> Option<()> {
        let len = (record.len() - start).next_multiple_of(8);
        record.resize(start + len, 0);
        let header = self.with_len(len)?;
        record[start..start + Self::SIZE].copy_from_slice(&header.to_bytes(endian));
        Some(())
    }

    /// Whether the size is 0, a sign of corruption.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Decodes the header at the front of `bytes`; `None` if there are fewer than 8.
    #[inline]
    pub fn peek(bytes: &[u8], endian: Endian) -> Option<Self> {
        let mut reader = ByteReader::new(bytes, endian);
        let kind = RecordType(reader.u32()?);
        let misc = Misc::from_bits_retain(reader.u16()?);
        Some(Self { kind, misc, size: reader.u16()? })
    }

    /// Swaps the byte order of an encoded header.
    #[inline]
    pub fn swap([a, b, c, d, e, f, g, h]: &mut [u8; Self::SIZE]) {
        // `type`, `misc`, `size`.
        mem::swap(a, d);
        mem::swap(b, c);
        mem::swap(e, f);
        mem::swap(g, h);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi;

    #[test]
    fn the_hand_written_header_agrees_with_its_definition() {
        for endian in [Endian::Little, Endian::Big] {
            let bytes = [0, 1, 2, 3, 4, 5, 6, 7];
            let (defined, used): (RecordHeader, usize) = abi::parse(&bytes, endian, ()).unwrap();
            assert_eq!((RecordHeader::peek(&bytes, endian), used), (Some(defined), RecordHeader::SIZE));
            let mut swapped = bytes;
            RecordHeader::swap(&mut swapped);
            let other = if endian == Endian::Little { Endian::Big } else { Endian::Little };
            assert_eq!(RecordHeader::peek(&swapped, other), RecordHeader::peek(&bytes, endian));
        }
        assert_eq!(RecordHeader::peek(&[0; 7], Endian::Little), None);
    }

    #[test]
    fn the_cpu_mode_is_three_bits_of_misc() {
        assert_eq!(Misc::from_bits_retain(0x4005).cpu_mode(), CpuMode::GUEST_USER);
        assert_eq!(Misc::from_bits_retain(7).cpu_mode().to_string(), "7");
    }

    #[test]
    fn sizes_have_32_bits_from_the_first_type_of_simpleperf_on() {
        let stored_len = |kind| {
            let header = RecordHeader { kind: RecordType(kind), misc: Misc::empty(), size: 0 };
            header.with_len(0x12345).map(|header| header.len())
        };
        assert_eq!([32767, 32768, 32769].map(stored_len), [None, Some(0x12345), Some(0x12345)]);
    }
}
