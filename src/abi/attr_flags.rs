//! The bit-fields of `perf_event_attr`.

use super::Endian;
use binrw::{BinRead, BinResult, BinWrite};
use std::io::{Read, Seek, Write};

bitflags::bitflags! {
    /// The flags of an event, numbered as on a little-endian machine whatever machine recorded them.
    ///
    /// C compilers allot bit-fields from the lowest bit on little-endian machines and from the highest on big-endian
    /// ones; reading and writing here translates, the two-bit field `precise_ip` included.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct AttrFlags: u64 {
        /// Off by default.
        const DISABLED = 1 << 0;
        /// Children inherit it.
        const INHERIT = 1 << 1;
        /// Must always be on the PMU.
        const PINNED = 1 << 2;
        /// Only group on the PMU.
        const EXCLUSIVE = 1 << 3;
        /// Does not count user space.
        const EXCLUDE_USER = 1 << 4;
        /// Does not count the kernel.
        const EXCLUDE_KERNEL = 1 << 5;
        /// Does not count the hypervisor.
        const EXCLUDE_HV = 1 << 6;
        /// Does not count while idle.
        const EXCLUDE_IDLE = 1 << 7;
        /// MMAP records of executable mappings.
        const MMAP = 1 << 8;
        /// COMM records.
        const COMM = 1 << 9;
        /// `sample_period` is a frequency.
        const FREQ = 1 << 10;
        /// Counts for each task.
        const INHERIT_STAT = 1 << 11;
        /// The next exec enables it.
        const ENABLE_ON_EXEC = 1 << 12;
        /// FORK and EXIT records.
        const TASK = 1 << 13;
        /// `wakeup_events` is a number of bytes.
        const WATERMARK = 1 << 14;
        /// Lower bit of `precise_ip`.
        const PRECISE_IP_0 = 1 << 15;
        /// Upper bit of `precise_ip`.
        const PRECISE_IP_1 = 1 << 16;
        /// MMAP records of other mappings too.
        const MMAP_DATA = 1 << 17;
        /// Records other than SAMPLE end with a `sample_id`.
        const SAMPLE_ID_ALL = 1 << 18;
        /// Does not count the host.
        const EXCLUDE_HOST = 1 << 19;
        /// Does not count guests.
        const EXCLUDE_GUEST = 1 << 20;
        /// No kernel frames in call chains.
        const EXCLUDE_CALLCHAIN_KERNEL = 1 << 21;
        /// No user frames in call chains.
        const EXCLUDE_CALLCHAIN_USER = 1 << 22;
        /// MMAP2 instead of MMAP.
        const MMAP2 = 1 << 23;
        /// COMM records of an exec are marked.
        const COMM_EXEC = 1 << 24;
        /// Times are of `clockid`.
        const USE_CLOCKID = 1 << 25;
        /// SWITCH records.
        const CONTEXT_SWITCH = 1 << 26;
        /// The ring buffer is written from its end to its beginning.
        const WRITE_BACKWARD = 1 << 27;
        /// NAMESPACES records.
        const NAMESPACES = 1 << 28;
        /// KSYMBOL records.
        const KSYMBOL = 1 << 29;
        /// BPF_EVENT records.
        const BPF_EVENT = 1 << 30;
        /// Writes to the AUX area of the group's leader.
        const AUX_OUTPUT = 1 << 31;
        /// CGROUP records.
        const CGROUP = 1 << 32;
        /// TEXT_POKE records.
        const TEXT_POKE = 1 << 33;
        /// Build ids in MMAP2 records.
        const BUILD_ID = 1 << 34;
        /// Only threads inherit it.
        const INHERIT_THREAD = 1 << 35;
        /// An exec removes it.
        const REMOVE_ON_EXEC = 1 << 36;
        /// An overflow raises SIGTRAP.
        const SIGTRAP = 1 << 37;
        /// User call chains may come later. Since Linux 6.19.
        const DEFER_CALLCHAIN = 1 << 38;
        /// CALLCHAIN_DEFERRED records are written here. Since Linux 6.19.
        const DEFER_OUTPUT = 1 << 39;
        const _ = !0;
    }
}

const PRECISE_IP_SHIFT: u32 = 15;

impl AttrFlags {
    /// How little skid was asked for: 0 any, 1 constant, 2 none asked for, 3 none.
    pub fn precise_ip(self) -> u8 {
        (self.bits() >> PRECISE_IP_SHIFT & 3) as u8
    }
}

/// Exchanges the two bits of `precise_ip`, in the numbering of a little-endian machine.
fn swap_precise_ip(word: u64) -> u64 {
    let (low, high) = (word >> PRECISE_IP_SHIFT & 1, word >> (PRECISE_IP_SHIFT + 1) & 1);
    word & !(3 << PRECISE_IP_SHIFT) | high << PRECISE_IP_SHIFT | low << (PRECISE_IP_SHIFT + 1)
}

impl serde::Serialize for AttrFlags {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        super::readable::serialize_flags(self, serializer)
    }
}

impl<'de> serde::Deserialize<'de> for AttrFlags {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::readable::deserialize_flags(deserializer)
    }
}

impl BinRead for AttrFlags {
    type Args<'a> = ();

    fn read_options<R: Read + Seek>(reader: &mut R, endian: Endian, (): ()) -> BinResult<Self> {
        let word = u64::read_options(reader, endian, ())?;
        Ok(Self::from_bits_retain(match endian {
            Endian::Little => word,
            Endian::Big => swap_precise_ip(word.reverse_bits()),
        }))
    }
}

impl BinWrite for AttrFlags {
    type Args<'a> = ();

    fn write_options<W: Write + Seek>(&self, writer: &mut W, endian: Endian, (): ()) -> BinResult<()> {
        let word = match endian {
            Endian::Little => self.bits(),
            Endian::Big => swap_precise_ip(self.bits()).reverse_bits(),
        };
        word.write_options(writer, endian, ())
    }
}

bitflags::bitflags! {
    /// `perf_event_attr.aux_action`, numbered as on a little-endian machine whatever machine recorded them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct AuxAction: u32 {
        /// The event that writes to the AUX area starts paused.
        const AUX_START_PAUSED = 1 << 0;
        /// An overflow pauses it.
        const AUX_PAUSE = 1 << 1;
        /// An overflow resumes it.
        const AUX_RESUME = 1 << 2;
        const _ = !0;
    }
}

impl serde::Serialize for AuxAction {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        super::readable::serialize_flags(self, serializer)
    }
}

impl<'de> serde::Deserialize<'de> for AuxAction {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::readable::deserialize_flags(deserializer)
    }
}

impl BinRead for AuxAction {
    type Args<'a> = ();

    fn read_options<R: Read + Seek>(reader: &mut R, endian: Endian, (): ()) -> BinResult<Self> {
        let word = u32::read_options(reader, endian, ())?;
        Ok(Self::from_bits_retain(match endian {
            Endian::Little => word,
            Endian::Big => word.reverse_bits(),
        }))
    }
}

impl BinWrite for AuxAction {
    type Args<'a> = ();

    fn write_options<W: Write + Seek>(&self, writer: &mut W, endian: Endian, (): ()) -> BinResult<()> {
        let word = match endian {
            Endian::Little => self.bits(),
            Endian::Big => self.bits().reverse_bits(),
        };
        word.write_options(writer, endian, ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;
    use std::io::Cursor;

    fn read(bytes: [u8; 8], endian: Endian) -> AttrFlags {
        AttrFlags::read_options(&mut Cursor::new(bytes), endian, ()).unwrap()
    }

    #[test]
    fn a_big_endian_recorder_allots_bits_from_the_top() {
        let expected = AttrFlags::DISABLED | AttrFlags::SAMPLE_ID_ALL | AttrFlags::PRECISE_IP_0;
        let flags = read([0x80, 0x00, 0xa0, 0, 0, 0, 0, 0], Endian::Big);
        assert_eq!(flags, expected);
        assert_eq!(flags.precise_ip(), 1);
        assert_eq!(read([1, 0x80, 0x04, 0, 0, 0, 0, 0], Endian::Little), expected);
    }

    #[test]
    fn an_aux_action_is_in_the_lowest_or_the_highest_bits() {
        both_orders(&AuxAction::AUX_START_PAUSED, (), "01000000", "80000000");
        both_orders(&AuxAction::AUX_RESUME, (), "04000000", "20000000");
    }

    #[test]
    fn writing_gives_the_bytes_that_were_read() {
        for endian in [Endian::Little, Endian::Big] {
            for precise in [0x01_u8, 0x80, 0x81] {
                let bytes = [precise, precise, precise, 0xff, 0x40, 0x02, 0x01, 0x80];
                let mut out = Cursor::new(Vec::new());
                read(bytes, endian).write_options(&mut out, endian, ()).unwrap();
                assert_eq!(out.into_inner(), bytes);
            }
        }
    }
}
