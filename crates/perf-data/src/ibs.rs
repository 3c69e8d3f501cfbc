//! Raw data of AMD Instruction-Based Sampling (IBS): the registers that describe a sampled fetch or operation.
//!
//! ```c
//! u32 capabilities;               // CPUID 0x8000001b, EAX
//! u64 registers[];                // of ibs_fetch: IbsFetchCtl, ...; of ibs_op: IbsOpCtl, ...
//! ```
//! Always little-endian. Names and layouts of the registers are those of AMD's Processor Programming Reference; fields that a CPU does not
//! have are 0. Where the kernel stores fewer registers, the last ones are missing.

use crate::abi;
use crate::abi::feature::FeatureId;
use crate::abi::feature::pmu_mappings::PmuMappings;
use crate::stream::event_name::event_name;
use crate::stream::events::{Event, EventIndex};
use crate::stream::meta::Meta;

/// A part of the hardware, each with an event of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IbsUnit {
    /// `ibs_fetch`: fetches of instructions.
    Fetch,
    /// `ibs_op`: operations.
    Op,
}

/// A register.
#[derive(Clone, Copy, Debug)]
pub struct IbsRegister {
    /// Name.
    pub name: &'static str,
    /// Its fields with their values; none if it is an address.
    pub fields: &'static [IbsField],
}

/// The name of a field of a register, and its value given that of the register.
pub type IbsField = (&'static str, fn(u64) -> u64);

/// Declares the fields of a register: name, and lowest bit and number of bits, or what the value is computed by.
macro_rules! fields {
    ($($name:literal at $($value:tt),+;)*) => { &[$(($name, value!($($value),+)),)*] };
}

macro_rules! value {
    ($low:literal, $count:literal) => {
        |word| bits(word, $low, $count)
    };
    ($value:tt) => {
        $value
    };
}

const fn bits(word: u64, low: u32, count: u32) -> u64 {
    word >> low & ((1 << count) - 1)
}

const fn register(name: &'static str, fields: &'static [IbsField]) -> IbsRegister {
    IbsRegister { name, fields }
}

/// The registers of a fetch. Counts are in units of 16.
const FETCH: [IbsRegister; 4] = [
    register(
        "IbsFetchCtl",
        fields! {
            "IbsFetchMaxCnt" at (|word| bits(word, 0, 16) << 4);
            "IbsFetchCnt" at (|word| bits(word, 16, 16) << 4);
            "IbsFetchLat" at 32, 16;
            "IbsFetchEn" at 48, 1;
            "IbsFetchVal" at 49, 1;
            "IbsFetchComp" at 50, 1;
            "IbsIcMiss" at 51, 1;
            "IbsPhyAddrValid" at 52, 1;
            "IbsL1TlbPgSz" at (|word| page_size(bits(word, 53, 2)));
            "IbsL1TlbMiss" at 55, 1;
            "IbsL2TlbMiss" at 56, 1;
            "IbsRandEn" at 57, 1;
            "IbsFetchL2Miss" at 58, 1;
            "IbsFetchL3MissOnly" at 59, 1;
            "IbsFetchOcMiss" at 60, 1;
            "IbsFetchL3Miss" at 61, 1;
        },
    ),
    register("IbsFetchLinAd", &[]),
    register("IbsFetchPhysAd", &[]),
    register("IbsFetchCtlExtd", fields! { "IbsItlbRefillLat" at 0, 16; }),
];

/// The registers of an operation that all CPUs have.
const OP: [IbsRegister; 7] = [
    register(
        "IbsOpCtl",
        fields! {
            "IbsOpMaxCnt" at (|word| bits(word, 0, 16) << 4 | bits(word, 20, 7) << 20);
            "IbsOpL3MissOnly" at 16, 1;
            "IbsOpEn" at 17, 1;
            "IbsOpVal" at 18, 1;
            "IbsOpCntCtl" at 19, 1;
            "IbsOpCurCnt" at 32, 27;
        },
    ),
    register("IbsOpRip", &[]),
    register(
        "IbsOpData",
        fields! {
            "IbsCompToRetCtr" at 0, 16;
            "IbsTagToRetCtr" at 16, 16;
            "IbsOpReturn" at 34, 1;
            "IbsOpBrnTaken" at 35, 1;
            "IbsOpBrnMisp" at 36, 1;
            "IbsOpBrnRet" at 37, 1;
            "IbsRipInvalid" at 38, 1;
            "IbsOpBrnFuse" at 39, 1;
            "IbsOpMicrocode" at 40, 1;
        },
    ),
    register(
        "IbsOpData2",
        fields! {
            "DataSrc" at (|word| bits(word, 0, 3) | bits(word, 6, 2) << 3);
            "RmtNode" at 4, 1;
            "CacheHitSt" at 5, 1;
        },
    ),
    register(
        "IbsOpData3",
        fields! {
            "IbsLdOp" at 0, 1;
            "IbsStOp" at 1, 1;
            "IbsDcL1TlbMiss" at 2, 1;
            "IbsDcL2TlbMiss" at 3, 1;
            "IbsDcL1TlbHit2M" at 4, 1;
            "IbsDcL1TlbHit1G" at 5, 1;
            "IbsDcL2TlbHit2M" at 6, 1;
            "IbsDcMiss" at 7, 1;
            "IbsDcMisAcc" at 8, 1;
            "IbsDcWcMemAcc" at 13, 1;
            "IbsDcUcMemAcc" at 14, 1;
            "IbsDcLockedOp" at 15, 1;
            "DcMissNoMabAlloc" at 16, 1;
            "IbsDcLinAddrValid" at 17, 1;
            "IbsDcPhyAddrValid" at 18, 1;
            "IbsDcL2TlbHit1G" at 19, 1;
            "L2Miss" at 20, 1;
            "SwPf" at 21, 1;
            // The number of bytes as a power of two, plus 1; 0 without an access.
            "IbsOpMemWidth" at (|word| 1 << bits(word, 22, 4) >> 1);
            "IbsOpDcMissOpenMemReqs" at 26, 6;
            "IbsDcMissLat" at 32, 16;
            "IbsTlbRefillLat" at 48, 16;
        },
    ),
    register("IbsDcLinAd", &[]),
    register("IbsDcPhysAd", &[]),
];

/// The target of a branch.
const BRANCH_TARGET: IbsRegister = register("IbsBrTarget", &[]);

/// Further data of an operation.
const OP_DATA4: IbsRegister = register("IbsOpData4", fields! { "IbsOpLdResync" at 0, 1; });

/// The capability of [`BRANCH_TARGET`].
const HAS_BRANCH_TARGET: u32 = 1 << 5;

/// The capability of [`OP_DATA4`].
const HAS_OP_DATA4: u32 = 1 << 10;

/// The size of pages of the level 1 TLB, in bytes; 0 if it is reserved.
const fn page_size(number: u64) -> u64 {
    match number {
        0 => 4 << 10,
        1 => 2 << 20,
        2 => 1 << 30,
        _ => 0,
    }
}

/// A sample.
#[derive(Clone, Copy, Debug)]
pub struct IbsSample<'a> {
    unit: IbsUnit,
    /// The capabilities of the CPU.
    pub capabilities: u32,
    words: &'a [[u8; 8]],
}

impl<'a> IbsSample<'a> {
    /// Decodes raw data; `None` if it is too short.
    pub fn decode(unit: IbsUnit, raw: &'a [u8]) -> Option<Self> {
        let (capabilities, rest) = raw.split_first_chunk()?;
        let (words, _) = rest.as_chunks();
        (!words.is_empty()).then_some(Self { unit, capabilities: u32::from_le_bytes(*capabilities), words })
    }

    /// The registers with their values.
    pub fn registers(&self) -> impl Iterator<Item = (&'static IbsRegister, u64)> + use<'a> {
        let has = |capability| self.capabilities & capability != 0;
        let list: &[IbsRegister] = match self.unit {
            IbsUnit::Fetch => const { &FETCH },
            IbsUnit::Op => const { &OP },
        };
        let optional = [
            (&BRANCH_TARGET, self.unit == IbsUnit::Op && has(HAS_BRANCH_TARGET)),
            (&OP_DATA4, self.unit == IbsUnit::Op && has(HAS_OP_DATA4)),
        ];
        let optional = optional.into_iter().filter(|(_, is_present)| *is_present).map(|(register, _)| register);
        list.iter().chain(optional).zip(self.words.iter().map(|word| u64::from_le_bytes(*word)))
    }
}

/// The units of events.
#[derive(Clone, Debug, Default)]
pub struct IbsUnits {
    /// By event.
    units: Vec<Option<IbsUnit>>,
}

impl IbsUnits {
    /// The unit of an event; `None` if it is another event.
    pub fn unit(&mut self, meta: &Meta, index: EventIndex) -> Option<IbsUnit> {
        let list = meta.events.list();
        // In a pipe, events are added while records are read.
        if self.units.len() < list.len() {
            let pmus = pmus(meta);
            self.units.extend(list[self.units.len()..].iter().map(|event| unit(event, &pmus)));
        }
        self.units.get(index as usize).copied().flatten()
    }
}

/// The PMUs of the recorded machine: type and name.
fn pmus(meta: &Meta) -> Vec<(u32, Vec<u8>)> {
    let section = meta.features.get(&FeatureId::PMU_MAPPINGS);
    let mappings = section.and_then(|section| abi::parse::<PmuMappings>(section, meta.endian, ()).ok());
    let pmus = mappings.into_iter().flat_map(|(mappings, _)| mappings.pmus);
    pmus.map(|pmu| (pmu.kind, pmu.name.text().to_vec())).collect()
}

/// The unit of an event: by its PMU, or by its name if the recording has no list of PMUs, as a pipe that has not sent it yet.
fn unit(event: &Event, pmus: &[(u32, Vec<u8>)]) -> Option<IbsUnit> {
    let pmu = pmus.iter().find(|(kind, _)| *kind == event.attr.kind.0).map(|(_, name)| &**name);
    let name = event_name(event);
    let pmu = if pmus.is_empty() { name.split('/').next().map(str::as_bytes) } else { pmu };
    match pmu? {
        b"ibs_fetch" => Some(IbsUnit::Fetch),
        b"ibs_op" => Some(IbsUnit::Op),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(unit: IbsUnit, capabilities: u32, words: &[u64]) -> Vec<(&'static str, u64)> {
        let words = words.iter().flat_map(|word| word.to_le_bytes());
        let raw: Vec<u8> = capabilities.to_le_bytes().into_iter().chain(words).collect();
        let sample = IbsSample::decode(unit, &raw).expect("a sample");
        let fields = |(register, word): (&'static IbsRegister, u64)| match register.fields {
            [] => vec![(register.name, word)],
            fields => fields.iter().map(|(name, value)| (*name, value(word))).filter(|(_, value)| *value > 0).collect(),
        };
        sample.registers().flat_map(fields).collect()
    }

    #[test]
    fn fields_have_their_bits() {
        let fetch = values(IbsUnit::Fetch, 0, &[0x003b_0123_0002_07d0, 0x40_0200, 0x1_2345_6200, 9]);
        let expected = [
            ("IbsFetchMaxCnt", 32000),
            ("IbsFetchCnt", 32),
            ("IbsFetchLat", 0x123),
            ("IbsFetchEn", 1),
            ("IbsFetchVal", 1),
            ("IbsIcMiss", 1),
            ("IbsPhyAddrValid", 1),
            ("IbsL1TlbPgSz", 2 << 20),
            ("IbsFetchLinAd", 0x40_0200),
            ("IbsFetchPhysAd", 0x1_2345_6200),
            ("IbsItlbRefillLat", 9),
        ];
        assert_eq!(fetch, expected);
        let data3 = 7 << 48 | 85 << 32 | 2 << 26 | 4 << 22 | 1 << 20 | 1 << 7 | 1;
        let words = [0x5_0016_09c4, 0x40_0300, 0x28_0008_0012, 0x53, data3, 0x7fff_0000_1000, 0x1000, 0x40_0800, 1];
        let op = values(IbsUnit::Op, 1 << 5 | 1 << 10, &words);
        let expected = [
            ("IbsOpMaxCnt", 0x9c4 << 4 | 1 << 20),
            ("IbsOpEn", 1),
            ("IbsOpVal", 1),
            ("IbsOpCurCnt", 5),
            ("IbsOpRip", 0x40_0300),
            ("IbsCompToRetCtr", 18),
            ("IbsTagToRetCtr", 8),
            ("IbsOpBrnTaken", 1),
            ("IbsOpBrnRet", 1),
            ("DataSrc", 0b01011),
            ("RmtNode", 1),
            ("IbsLdOp", 1),
            ("IbsDcMiss", 1),
            ("L2Miss", 1),
            ("IbsOpMemWidth", 8),
            ("IbsOpDcMissOpenMemReqs", 2),
            ("IbsDcMissLat", 85),
            ("IbsTlbRefillLat", 7),
            ("IbsDcLinAd", 0x7fff_0000_1000),
            ("IbsDcPhysAd", 0x1000),
            ("IbsBrTarget", 0x40_0800),
            ("IbsOpLdResync", 1),
        ];
        assert_eq!(op, expected);
    }

    #[test]
    fn optional_registers_are_those_of_the_capabilities() {
        let last = |capabilities| values(IbsUnit::Op, capabilities, &[0, 0, 0, 0, 0, 0, 0, 1, 1]).last().copied();
        assert_eq!(last(0), Some(("IbsDcPhysAd", 0)));
        assert_eq!(last(HAS_OP_DATA4), Some(("IbsOpLdResync", 1)));
        assert_eq!(last(HAS_BRANCH_TARGET), Some(("IbsBrTarget", 1)));
        assert_eq!(values(IbsUnit::Op, u32::MAX, &[0, 7]), [("IbsOpRip", 7)]);
        for raw in [&[][..], &[0; 4], &[0; 11]] {
            assert!(IbsSample::decode(IbsUnit::Op, raw).is_none());
        }
    }
}
