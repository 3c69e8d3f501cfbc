//! The bit-fields of `perf_event_attr`.

use super::Endian;
use binrw::{BinRead, BinResult, BinWrite};
use std::io::{Read, Seek, Write};

bitflags::bitflags! {
    /// The flags of an event, numbered as on little-endian machines regardless of the recording machine.
    ///
    /// C compilers allocate bit-fields from the lowest bit on little-endian machines and from the highest on big-endian ones;
    /// decoding and encoding translate, including the two-bit field `precise_ip`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct AttrFlags: u64 {
        /// Off by default.
        const DISABLED = 1 << 0;
        /// Inherited by children.
        const INHERIT = 1 << 1;
        /// Always on the PMU.
        const PINNED = 1 << 2;
        /// Exclusive use of the PMU by the group.
        const EXCLUSIVE = 1 << 3;
        /// Does not count user space.
        const EXCLUDE_USER = 1 << 4;
        /// Does not count the kernel.
        const EXCLUDE_KERNEL = 1 << 5;
        /// Does not count the hypervisor.
        const EXCLUDE_HV = 1 << 6;
        /// Does not count while idle.
        const EXCLUDE_IDLE = 1 << 7;
        /// Record MMAP for executable mappings.
        const MMAP = 1 << 8;
        /// Record COMM.
        const COMM = 1 << 9;
        /// `sample_period` is a frequency.
        const FREQ = 1 << 10;
        /// Counts per task.
        const INHERIT_STAT = 1 << 11;
        /// Enabled by the next exec.
        const ENABLE_ON_EXEC = 1 << 12;
        /// Record FORK and EXIT.
        const TASK = 1 << 13;
        /// `wakeup_events` is a number of bytes.
        const WATERMARK = 1 << 14;
        /// Lower bit of `precise_ip`.
        const PRECISE_IP_0 = 1 << 15;
        /// Upper bit of `precise_ip`.
        const PRECISE_IP_1 = 1 << 16;
        /// Record MMAP for non-executable mappings, too.
        const MMAP_DATA = 1 << 17;
        /// Append `sample_id` to records other than SAMPLE.
        const SAMPLE_ID_ALL = 1 << 18;
        /// Does not count the host.
        const EXCLUDE_HOST = 1 << 19;
        /// Does not count guests.
        const EXCLUDE_GUEST = 1 << 20;
        /// Exclude kernel frames from call chains.
        const EXCLUDE_CALLCHAIN_KERNEL = 1 << 21;
        /// Exclude user frames from call chains.
        const EXCLUDE_CALLCHAIN_USER = 1 << 22;
        /// Record MMAP2 instead of MMAP.
        const MMAP2 = 1 << 23;
        /// Mark COMM records caused by an exec.
        const COMM_EXEC = 1 << 24;
        /// Timestamps use `clockid`.
        const USE_CLOCKID = 1 << 25;
        /// Record SWITCH.
        const CONTEXT_SWITCH = 1 << 26;
        /// Write the ring buffer backward.
        const WRITE_BACKWARD = 1 << 27;
        /// Record NAMESPACES.
        const NAMESPACES = 1 << 28;
        /// Record KSYMBOL.
        const KSYMBOL = 1 << 29;
        /// Record BPF_EVENT.
        const BPF_EVENT = 1 << 30;
        /// Write to the AUX area of the group leader.
        const AUX_OUTPUT = 1 << 31;
        /// Record CGROUP.
        const CGROUP = 1 << 32;
        /// Record TEXT_POKE.
        const TEXT_POKE = 1 << 33;
        /// Record build IDs in MMAP2.
        const BUILD_ID = 1 << 34;
        /// Inherited by threads only.
        const INHERIT_THREAD = 1 << 35;
        /// Removed on exec.
        const REMOVE_ON_EXEC = 1 << 36;
        /// An overflow sends SIGTRAP.
        const SIGTRAP = 1 << 37;
        /// User call chains may be deferred. Since Linux 6.19.
        const DEFER_CALLCHAIN = 1 << 38;
        /// CALLCHAIN_DEFERRED records go to this event. Since Linux 6.19.
        const DEFER_OUTPUT = 1 << 39;
        const _ = !0;
    }
}

const PRECISE_IP_SHIFT: u32 = 15;

impl AttrFlags {
    /// Requested limit on skid: 0 arbitrary, 1 constant, 2 requested to be 0, 3 must be 0.
    pub fn precise_ip(self) -> u8 {
        (self.bits() >> PRECISE_IP_SHIFT & 3) as u8
    }
}

/// Swaps the two bits of `precise_ip` in little-endian numbering.
fn swap_precise_ip(word: u64) -> u64 {
    let (low, high) = (word >> PRECISE_IP_SHIFT & 1, word >> (PRECISE_IP_SHIFT + 1) & 1);
    word & !(3 << PRECISE_IP_SHIFT) | high << PRECISE_IP_SHIFT | low << (PRECISE_IP_SHIFT + 1)
}

impl serde::Serialize for AttrFlags {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        crate::abi::serde::readable::serialize_flags(self, serializer)
    }
}

impl<'de> serde::Deserialize<'de> for AttrFlags {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::abi::serde::readable::deserialize_flags(deserializer)
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
    /// `perf_event_attr.aux_action`, numbered as on little-endian machines regardless of the recording machine.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct AuxAction: u32 {
        /// The event that writes the AUX area starts paused.
        const AUX_START_PAUSED = 1 << 0;
        /// An overflow pauses tracing.
        const AUX_PAUSE = 1 << 1;
        /// An overflow resumes tracing.
        const AUX_RESUME = 1 << 2;
        const _ = !0;
    }
}

impl serde::Serialize for AuxAction {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        crate::abi::serde::readable::serialize_flags(self, serializer)
    }
}

impl<'de> serde::Deserialize<'de> for AuxAction {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::abi::serde::readable::deserialize_flags(deserializer)
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
    fn big_endian_bits_are_allocated_from_the_top() {
        let expected = AttrFlags::DISABLED | AttrFlags::SAMPLE_ID_ALL | AttrFlags::PRECISE_IP_0;
        let flags = read([0x80, 0x00, 0xa0, 0, 0, 0, 0, 0], Endian::Big);
        assert_eq!(flags, expected);
        assert_eq!(flags.precise_ip(), 1);
        assert_eq!(read([1, 0x80, 0x04, 0, 0, 0, 0, 0], Endian::Little), expected);
    }

    #[test]
    fn aux_action_is_in_the_lowest_or_highest_bits() {
        both_orders(&AuxAction::AUX_START_PAUSED, (), "01000000", "80000000");
        both_orders(&AuxAction::AUX_RESUME, (), "04000000", "20000000");
    }

    #[test]
    fn encoding_reproduces_the_bytes() {
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
