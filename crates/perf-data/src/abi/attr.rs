//! `perf_event_attr`: the parameters of an event.

use super::Endian;
use super::attr_flags::{AttrFlags, AuxAction};
use super::counted;
use super::read_format::ReadFormat;
use super::sample_type::{BranchSampleType, SampleType};
use super::stored_size::StoredSize;
use crate::abi::open_enum::open_enum;
use crate::abi::serde::readable;
use binrw::{BinRead, binrw};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io::Cursor;

open_enum! {
    /// `perf_event_attr.type`: the PMU of an event. Values from 6 on are assigned by the recording machine (feature
    /// PMU_MAPPINGS).
    AttrType: u32 {
        /// Generic hardware event, `config` as in `PERF_COUNT_HW_*`.
        HARDWARE = 0,
        /// Software event, `config` as in [`SoftwareEvent`].
        SOFTWARE = 1,
        /// Tracepoint, `config` is its ID.
        TRACEPOINT = 2,
        /// Cache event: cache, operation and result packed in `config`.
        HW_CACHE = 3,
        /// Raw event, `config` is CPU-specific.
        RAW = 4,
        /// Hardware breakpoint.
        BREAKPOINT = 5,
    }
}

open_enum! {
    /// `PERF_COUNT_SW_*`: `config` of a software event.
    SoftwareEvent: u64 {
        /// CPU clock, in nanoseconds.
        CPU_CLOCK = 0,
        /// Clock of the running task, in nanoseconds.
        TASK_CLOCK = 1,
        /// Page faults.
        PAGE_FAULTS = 2,
        /// Context switches.
        CONTEXT_SWITCHES = 3,
        /// Migrations to another CPU.
        CPU_MIGRATIONS = 4,
        /// Page faults without I/O.
        PAGE_FAULTS_MIN = 5,
        /// Page faults with I/O.
        PAGE_FAULTS_MAJ = 6,
        /// Alignment faults.
        ALIGNMENT_FAULTS = 7,
        /// Emulated instructions.
        EMULATION_FAULTS = 8,
        /// Counts nothing; used for side-band records such as MMAP and COMM.
        DUMMY = 9,
        /// Output of a BPF program.
        BPF_OUTPUT = 10,
        /// Switches to another cgroup.
        CGROUP_SWITCHES = 11,
    }
}

open_enum! {
    /// `PERF_COUNT_HW_*`: `config` of a generic hardware event.
    HardwareEvent: u64 {
        /// Cycles.
        CPU_CYCLES = 0,
        /// Instructions.
        INSTRUCTIONS = 1,
        /// Cache references.
        CACHE_REFERENCES = 2,
        /// Cache misses.
        CACHE_MISSES = 3,
        /// Branches.
        BRANCH_INSTRUCTIONS = 4,
        /// Mispredicted branches.
        BRANCH_MISSES = 5,
        /// Bus cycles.
        BUS_CYCLES = 6,
        /// Stalled cycles in the frontend.
        STALLED_CYCLES_FRONTEND = 7,
        /// Stalled cycles in the backend.
        STALLED_CYCLES_BACKEND = 8,
        /// Cycles at a constant frequency.
        REF_CPU_CYCLES = 9,
    }
}

/// `struct perf_event_attr`.
///
/// The structure has grown from 64 bytes (Linux 2.6.31) to 144 (`config4`, 7.0). Fields beyond the stored size are 0 and are not
/// written; bytes beyond the known fields, or of a partial field, are in `tail`. Decoding takes the size as its argument.
#[binrw]
#[br(import_raw(size: usize), pre_assert(size >= Self::SIZE_VER0, "attr has {size} bytes; needs at least 64"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Attr {
    #[br(calc = StoredSize::new(size))]
    #[bw(ignore)]
    stored: StoredSize,
    /// `type`: the PMU.
    pub kind: AttrType,
    /// Size of the structure as stated by the recorder; 0 means 64.
    pub size: u32,
    /// The event of the PMU. For types 0 and 3, bits 32 to 63 may select a PMU.
    #[serde(serialize_with = "readable::hex")]
    pub config: u64,
    /// Period, or frequency with [`AttrFlags::FREQ`].
    pub sample_period: u64,
    /// Fields of samples.
    pub sample_type: SampleType,
    /// Layout of counter values.
    pub read_format: ReadFormat,
    /// The bit-fields.
    pub flags: AttrFlags,
    /// Number of events, or of bytes with [`AttrFlags::WATERMARK`], between wakeups.
    pub wakeup_events: u32,
    /// `HW_BREAKPOINT_*`: kind of breakpoint.
    pub bp_type: u32,
    /// Address of a breakpoint; also `config1`, `kprobe_func` or `uprobe_path`.
    #[serde(serialize_with = "readable::hex")]
    pub bp_addr: u64,
    /// Length of a breakpoint; also `config2`, `kprobe_addr` or `probe_offset`. Since Linux 2.6.33.
    #[brw(if(stored.reaches(72)))]
    pub bp_len: u64,
    /// Kinds of branches. Since Linux 3.4.
    #[brw(if(stored.reaches(80)))]
    pub branch_sample_type: BranchSampleType,
    /// Mask of sampled user registers. Since Linux 3.7.
    #[brw(if(stored.reaches(88)))]
    #[serde(serialize_with = "readable::hex")]
    pub sample_regs_user: u64,
    /// Bytes of user stack in samples.
    #[brw(if(stored.reaches(92)))]
    pub sample_stack_user: u32,
    /// Clock of the timestamps, with [`AttrFlags::USE_CLOCKID`].
    #[brw(if(stored.reaches(96)))]
    pub clockid: i32,
    /// Mask of sampled interrupt registers. Since Linux 3.19.
    #[brw(if(stored.reaches(104)))]
    #[serde(serialize_with = "readable::hex")]
    pub sample_regs_intr: u64,
    /// Bytes of AUX area between wakeups. Since Linux 4.1.
    #[brw(if(stored.reaches(108)))]
    pub aux_watermark: u32,
    /// Maximum depth of call chains.
    #[brw(if(stored.reaches(110)))]
    pub sample_max_stack: u16,
    /// Unused.
    #[brw(if(stored.reaches(112)))]
    pub reserved_2: u16,
    /// Bytes of AUX area in samples. Since Linux 5.5.
    #[brw(if(stored.reaches(116)))]
    pub aux_sample_size: u32,
    /// Effect of an overflow on the AUX area. Since Linux 6.13, reserved before.
    #[brw(if(stored.reaches(120)))]
    pub aux_action: AuxAction,
    /// Data passed with SIGTRAP. Since Linux 5.13.
    #[brw(if(stored.reaches(128)))]
    #[serde(serialize_with = "readable::hex")]
    pub sig_data: u64,
    /// Extension of `config`. Since Linux 6.3.
    #[brw(if(stored.reaches(136)))]
    #[serde(serialize_with = "readable::hex")]
    pub config3: u64,
    /// Extension of `config`. Since Linux 7.0.
    #[brw(if(stored.reaches(144)))]
    #[serde(serialize_with = "readable::hex")]
    pub config4: u64,
    /// Bytes beyond the known fields.
    #[br(parse_with = counted::bytes, args(stored.beyond(&Self::FIELD_ENDS)))]
    #[serde(with = "crate::abi::serde::byte_string", default, skip_serializing_if = "Vec::is_empty")]
    pub tail: Vec<u8>,
}

impl Serialize for Attr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

/// The stored size must equal the size of fields and tail.
impl<'de> Deserialize<'de> for Attr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let attr = Self::deserialize(deserializer)?;
        let (stored, tail) = (attr.stored.len(), attr.tail.len() as u64);
        if stored < Self::SIZE_VER0 || attr.stored.beyond(&Self::FIELD_ENDS) != tail {
            return Err(D::Error::custom(format_args!(
                "stored: size {stored} does not match the fields and a tail of {tail} bytes"
            )));
        }
        Ok(attr)
    }
}

impl Attr {
    /// Size of the first published structure (`PERF_ATTR_SIZE_VER0`), also meant by a `size` of 0.
    pub const SIZE_VER0: usize = 64;
    /// Size of the known fields.
    pub const SIZE_KNOWN: usize = 144;

    /// End offsets of the first version and of each later field.
    const FIELD_ENDS: [usize; 15] =
        [Self::SIZE_VER0, 72, 80, 88, 92, 96, 104, 108, 110, 112, 116, 120, 128, 136, Self::SIZE_KNOWN];

    /// Decodes a structure of any version from exactly its bytes.
    ///
    /// # Errors
    /// If there are fewer than 64 bytes.
    pub fn read(bytes: &[u8], endian: Endian) -> binrw::BinResult<Self> {
        Self::read_options(&mut Cursor::new(bytes), endian, bytes.len())
    }

    /// Encodes the structure with its stored size.
    ///
    /// # Errors
    /// None in practice: the bytes are written to memory.
    pub fn to_bytes(&self, endian: Endian) -> binrw::BinResult<Vec<u8>> {
        super::to_bytes(self, endian)
    }

    /// Size of the structure in the recording.
    pub fn stored_size(&self) -> usize {
        self.stored.len()
    }

    /// The structure resized to `len` bytes, at least [those of the first version](Self::SIZE_VER0): truncated, or padded with
    /// zeros. The field [`size`](Self::size) is unchanged.
    pub fn resized(&self, len: usize) -> Self {
        let mut bytes = self.to_bytes(Endian::Little).unwrap_or_default();
        bytes.resize(len.max(Self::SIZE_VER0), 0);
        Self::read(&bytes, Endian::Little).unwrap_or_else(|_| self.clone())
    }

    /// The value of the field `size` of an encoded structure, with 0 as 64.
    pub fn declared_size(bytes: &[u8], endian: Endian) -> Option<usize> {
        let mut reader = super::bytes::ByteReader::new(bytes, endian);
        reader.u32()?;
        reader.u32().map(Self::size_or_default)
    }

    /// Size of a structure from its field `size`.
    pub(crate) fn size_or_default(size: u32) -> usize {
        match size {
            0 => Self::SIZE_VER0,
            size => size as usize,
        }
    }

    /// Whether this is the given software event.
    pub fn is_software(&self, event: SoftwareEvent) -> bool {
        self.kind == AttrType::SOFTWARE && self.config == event.0
    }

    /// Whether this is one of the software events that count the time on the CPU.
    pub fn is_clock(&self) -> bool {
        self.is_software(SoftwareEvent::CPU_CLOCK) || self.is_software(SoftwareEvent::TASK_CLOCK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    fn numbered(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at as u8).wrapping_mul(7)).collect()
    }

    #[test]
    fn every_size_is_reproduced() {
        for endian in [Endian::Little, Endian::Big] {
            for len in [64, 72, 80, 96, 100, 104, 112, 120, 128, 136, 144, 152, 200] {
                let bytes = numbered(len);
                let attr = Attr::read(&bytes, endian).unwrap();
                let beyond = if len == 100 { 4 } else { len.saturating_sub(Attr::SIZE_KNOWN) };
                assert_eq!(attr.tail.len(), beyond, "{len} bytes");
                assert_eq!(attr.to_bytes(endian).unwrap(), bytes, "{len} bytes, {endian:?}");
            }
        }
    }

    #[test]
    fn resizing_preserves_the_common_part() {
        let attr = Attr::read(&numbered(120), Endian::Big).unwrap();
        let (shorter, longer) = (attr.resized(72), attr.resized(144));
        assert_eq!(shorter.to_bytes(Endian::Big).unwrap(), numbered(72));
        assert_eq!((shorter.stored_size(), shorter.sample_regs_user), (72, 0));
        assert_eq!(longer.to_bytes(Endian::Big).unwrap(), [numbered(120), vec![0; 24]].concat());
        assert_eq!((attr.resized(3).stored_size(), longer.resized(120) == attr), (64, true));
    }

    #[test]
    fn bytes_of_the_largest_version() {
        let attr = Attr {
            stored: StoredSize::new(Attr::SIZE_KNOWN),
            kind: AttrType::RAW,
            size: 144,
            config: 1,
            sample_period: 4000,
            sample_type: SampleType::IP | SampleType::TID,
            read_format: ReadFormat::LOST,
            flags: AttrFlags::MMAP2,
            wakeup_events: 2,
            bp_type: 3,
            bp_addr: 4,
            bp_len: 5,
            branch_sample_type: BranchSampleType::USER,
            sample_regs_user: 6,
            sample_stack_user: 7,
            clockid: -1,
            sample_regs_intr: 8,
            aux_watermark: 9,
            sample_max_stack: 127,
            reserved_2: 10,
            aux_sample_size: 11,
            aux_action: AuxAction::AUX_PAUSE,
            sig_data: 12,
            config3: 13,
            config4: 14,
            tail: Vec::new(),
        };
        both_orders(
            &attr,
            Attr::SIZE_KNOWN,
            "04000000 90000000 0100000000000000 a00f000000000000 0300000000000000 1000000000000000 0000800000000000 \
             02000000 03000000 0400000000000000 0500000000000000 0100000000000000 0600000000000000 07000000 ffffffff \
             0800000000000000 09000000 7f00 0a00 0b000000 02000000 0c00000000000000 0d00000000000000 0e00000000000000",
            "00000004 00000090 0000000000000001 0000000000000fa0 0000000000000003 0000000000000010 0000010000000000 \
             00000002 00000003 0000000000000004 0000000000000005 0000000000000001 0000000000000006 00000007 ffffffff \
             0000000000000008 00000009 007f 000a 0000000b 40000000 000000000000000c 000000000000000d 000000000000000e",
        );
    }

    #[test]
    fn rejects_less_than_the_first_version() {
        assert!(Attr::read(&[0; 63], Endian::Little).is_err());
        assert_eq!(Attr::declared_size(&[0; 8], Endian::Little), Some(64));
    }

    #[test]
    fn clocks_are_software_events() {
        let is_clock = |kind, config| {
            let mut attr = Attr::read(&[0; 64], Endian::Little).unwrap();
            (attr.kind, attr.config) = (kind, config);
            attr.is_clock()
        };
        let software = |event: SoftwareEvent| is_clock(AttrType::SOFTWARE, event.0);
        assert!(software(SoftwareEvent::CPU_CLOCK) && software(SoftwareEvent::TASK_CLOCK));
        assert!(!software(SoftwareEvent::PAGE_FAULTS));
        assert!(!is_clock(AttrType::HARDWARE, SoftwareEvent::TASK_CLOCK.0));
    }
}
