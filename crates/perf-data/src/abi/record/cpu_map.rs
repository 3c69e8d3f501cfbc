//! `PERF_RECORD_CPU_MAP`, and the set of CPUs that it shares with EVENT_UPDATE.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::abi::counted;
use crate::abi::fields::{FieldVisitor, VisitFields};
use crate::abi::open_enum::open_enum;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

open_enum! {
    /// `PERF_CPU_MAP__*`: encoding of a set of CPUs.
    CpuMapType: u16 {
        /// A list.
        CPUS = 0,
        /// A bit mask.
        MASK = 1,
        /// A range. Since perf 6.2.
        RANGE_CPUS = 2,
    }
}

/// The recorded CPUs. Since perf 4.5.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuMap {
    /// The CPUs.
    pub data: CpuMapData,
}

/// A set of CPUs. Zeros pad it to a multiple of 8.
///
/// ```c
/// u16 type;
/// union {
///     struct { u16 nr; u16 cpu[nr]; };                                // CPUS
///     struct { u16 nr; u16 long_size; u32 mask[nr]; };                // MASK, long_size 4
///     struct { u16 nr; u16 long_size; u8 pad[4]; u64 mask[nr]; };     // MASK, long_size 8
///     struct { u8 any_cpu; u8 pad; u16 start_cpu; u16 end_cpu; };     // RANGE_CPUS
/// } __attribute__((packed));
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuMapData {
    /// Encoding.
    pub kind: CpuMapType,
    /// The set; `None` if the encoding is unknown.
    #[br(try, args(kind))]
    pub cpus: Option<CpuSet>,
}

/// A set of CPUs in its encoding.
#[binrw]
#[br(import(kind: CpuMapType))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CpuSet {
    /// A list.
    #[br(pre_assert(kind == CpuMapType::CPUS))]
    Cpus {
        #[br(temp)]
        #[bw(calc = cpu.len() as u16)]
        nr: u16,
        /// CPU numbers; 0xffff for any.
        #[br(parse_with = counted::items, args(nr.into()))]
        cpu: Vec<u16>,
    },
    /// A mask of 4-byte words. Always used by perf on 32-bit machines, on others since 6.0.
    #[br(pre_assert(kind == CpuMapType::MASK))]
    Mask32 {
        #[br(temp)]
        #[bw(calc = mask.len() as u16)]
        nr: u16,
        #[br(temp, assert(long_size == 4))]
        #[bw(calc = 4)]
        long_size: u16,
        /// CPU n is bit n % 32 of word n / 32.
        #[br(parse_with = counted::items, args(nr.into()))]
        mask: Vec<u32>,
    },
    /// A mask of 8-byte words.
    #[br(pre_assert(kind == CpuMapType::MASK))]
    Mask64 {
        #[br(temp)]
        #[bw(calc = mask.len() as u16)]
        nr: u16,
        #[br(temp, assert(long_size == 8))]
        #[bw(calc = 8)]
        long_size: u16,
        /// Unused.
        pad: [u8; 4],
        /// CPU n is bit n % 64 of word n / 64.
        #[br(parse_with = counted::u64s, args(nr.into()))]
        mask: Vec<u64>,
    },
    /// A range.
    #[br(pre_assert(kind == CpuMapType::RANGE_CPUS))]
    Range {
        /// Not 0 if any CPU is included.
        any_cpu: u8,
        /// Unused.
        pad: u8,
        /// First CPU.
        start_cpu: u16,
        /// Last CPU.
        end_cpu: u16,
    },
}

impl CpuSet {
    /// The CPU numbers, without "any".
    pub fn numbers(&self) -> Vec<u32> {
        match self {
            Self::Cpus { cpu } => cpu.iter().filter(|&&cpu| cpu != u16::MAX).map(|&cpu| cpu.into()).collect(),
            Self::Mask32 { mask } => bits(mask.iter().map(|&word| word.into()), 32),
            Self::Mask64 { mask, .. } => bits(mask.iter().copied(), 64),
            Self::Range { start_cpu, end_cpu, .. } => (*start_cpu..=*end_cpu).map(u32::from).collect(),
        }
    }
}

fn bits(words: impl Iterator<Item = u64>, width: u32) -> Vec<u32> {
    let in_word =
        |(at, word): (u32, u64)| (0..width).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * width + bit);
    (0..).zip(words).flat_map(in_word).collect()
}

/// Descriptor of CPU_MAP.
pub const CPU_MAP: RecordDescriptor = RecordDescriptor::state(RecordType::CPU_MAP, (4, 5), 16).with(RecordFlags::ONCE);

roles! { CpuMap { data: fields } }

roles! { CpuMapData { kind: number, cpus: fields } }

impl VisitFields for CpuSet {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        match self {
            Self::Mask64 { pad, mask: _ } => visitor.opaque(pad),
            Self::Range { any_cpu: _, pad, start_cpu: _, end_cpu: _ } => visitor.opaque(pad),
            Self::Cpus { cpu: _ } | Self::Mask32 { mask: _ } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::{both_orders, hex};
    use crate::abi::{self, Endian};

    fn check(kind: CpuMapType, cpus: CpuSet, little: &str, big: &str) {
        both_orders(&CpuMap { data: CpuMapData { kind, cpus: Some(cpus) } }, (), little, big);
    }

    #[test]
    fn bytes_of_each_encoding() {
        check(CpuMapType::CPUS, CpuSet::Cpus { cpu: vec![1, 0xffff] }, "0000 0200 0100 ffff", "0000 0002 0001 ffff");
        check(
            CpuMapType::MASK,
            CpuSet::Mask32 { mask: vec![0x8000_0001, 2] },
            "0100 0200 0400 01000080 02000000",
            "0001 0002 0004 80000001 00000002",
        );
        check(
            CpuMapType::MASK,
            CpuSet::Mask64 { pad: [0; 4], mask: vec![5] },
            "0100 0100 0800 00000000 0500000000000000",
            "0001 0001 0008 00000000 0000000000000005",
        );
        check(
            CpuMapType::RANGE_CPUS,
            CpuSet::Range { any_cpu: 1, pad: 0, start_cpu: 2, end_cpu: 259 },
            "0200 01 00 0200 0301",
            "0002 01 00 0002 0103",
        );
    }

    #[test]
    fn each_encoding_gives_cpu_numbers() {
        assert_eq!(CpuSet::Cpus { cpu: vec![7, 0xffff] }.numbers(), [7]);
        assert_eq!(CpuSet::Mask32 { mask: vec![1 << 31, 1] }.numbers(), [31, 32]);
        assert_eq!(CpuSet::Mask64 { pad: [0; 4], mask: vec![0, 1 << 63] }.numbers(), [127]);
        assert_eq!(CpuSet::Range { any_cpu: 0, pad: 0, start_cpu: 2, end_cpu: 4 }.numbers(), [2, 3, 4]);
    }

    #[test]
    fn an_unknown_encoding_is_left_to_the_caller() {
        for bytes in ["0900 0100 0000", "0100 0100 0500 00000000", "0000 ffff 0100"] {
            let (map, used): (CpuMap, usize) = abi::parse(&hex(bytes), Endian::Little, ()).unwrap();
            assert_eq!((map.data.cpus, used), (None, 2), "{bytes}");
        }
    }
}
