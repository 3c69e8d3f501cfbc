//! Data sources of records in the terms of the kernel.

use super::packet::SpeEvents;
use super::record::SpeRecord;
use crate::abi::sample::data_src::{DataSrc, mem};

/// CPUs whose data sources have the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    /// Arm Neoverse and Cortex, and NVIDIA Olympus.
    Neoverse,
    /// AmpereOne.
    Ampere,
    /// HiSilicon HIP12.
    HisiliconHip12,
}

/// Implementer and part number of `MIDR_EL1` of the CPUs of each model.
const MODELS: [(u64, u64, Model); 19] = [
    (0x41, 0xd0c, Model::Neoverse), // Neoverse N1
    (0x41, 0xd49, Model::Neoverse), // Neoverse N2
    (0x41, 0xd40, Model::Neoverse), // Neoverse V1
    (0x41, 0xd4f, Model::Neoverse), // Neoverse V2
    (0x41, 0xd84, Model::Neoverse), // Neoverse V3
    (0x41, 0xd83, Model::Neoverse), // Neoverse V3AE
    (0x41, 0xd4b, Model::Neoverse), // Cortex-A78C
    (0x41, 0xd4d, Model::Neoverse), // Cortex-A715
    (0x41, 0xd81, Model::Neoverse), // Cortex-A720
    (0x41, 0xd89, Model::Neoverse), // Cortex-A720AE
    (0x41, 0xd87, Model::Neoverse), // Cortex-A725
    (0x41, 0xd44, Model::Neoverse), // Cortex-X1
    (0x41, 0xd4c, Model::Neoverse), // Cortex-X1C
    (0x41, 0xd4e, Model::Neoverse), // Cortex-X3
    (0x41, 0xd82, Model::Neoverse), // Cortex-X4
    (0x41, 0xd85, Model::Neoverse), // Cortex-X925
    (0x4e, 0x010, Model::Neoverse), // Olympus
    (0xc0, 0xac4, Model::Ampere),   // AmpereOne
    (0x48, 0xd06, Model::HisiliconHip12),
];

/// The numbers of AmpereOne, with those of Neoverse.
const AMPERE: [(u16, u16); 6] = [(0, 9), (3, 0xb), (5, 0xd), (7, 0xe), (8, 0), (9, 8)];

/// How the data of an access was found.
#[derive(Clone, Copy, Debug)]
struct Found {
    level: u64,
    number: u64,
    is_remote: bool,
    snoop: u64,
    snoopx: u64,
}

/// Nothing is known about it.
const UNKNOWN: Found = Found { level: mem::NA, number: mem::NUM_NA, is_remote: false, snoop: mem::NA, snoopx: 0 };

/// The data source of a record of a CPU with this `MIDR_EL1`; 0 if it accesses no memory.
pub fn data_source(record: &SpeRecord, midr: Option<u64>) -> DataSrc {
    let Some(operation) = record.operation.filter(|operation| operation.is_memory_access()) else { return DataSrc(0) };
    let is_store = operation.is_store();
    let model = midr.and_then(model);
    let known = model.zip(record.data_source).and_then(|(model, source)| by_model(model, source));
    let has = |event| record.events.contains(event);
    let found = match (is_store, known) {
        (false, Some(found)) => found,
        (false, None) => with_snoop(load_level(record.events), record.events),
        // These models have no data source of stores.
        (true, _) if model.is_some() => UNKNOWN,
        (true, _) => with_snoop(store_level(record.events), record.events),
    };
    let is_remote = found.is_remote || has(SpeEvents::REMOTE);
    let translation = if has(SpeEvents::TLB_WALK) {
        mem::TLB_WALKER | mem::TLB_MISS
    } else if has(SpeEvents::TLB_ACCESS) {
        mem::TLB_WALKER | mem::TLB_HIT
    } else {
        0
    };
    DataSrc(0)
        .with(DataSrc::MEM_OP, if is_store { mem::OP_STORE } else { mem::OP_LOAD })
        .with(DataSrc::MEM_LVL, found.level)
        .with(DataSrc::MEM_LVL_NUM, found.number)
        .with(DataSrc::MEM_SNOOP, found.snoop)
        .with(DataSrc::MEM_SNOOPX, found.snoopx)
        .with(DataSrc::MEM_REMOTE, is_remote.into())
        .with(DataSrc::MEM_DTLB, translation)
}

fn model(midr: u64) -> Option<Model> {
    let (implementer, part) = (midr >> 24 & 0xff, midr >> 4 & 0xfff);
    MODELS.iter().find(|(own, number, _)| (*own, *number) == (implementer, part)).map(|(.., model)| *model)
}

/// Found at a level without asking other caches.
fn hit(level: u64, number: u64) -> Found {
    Found { level: level | mem::LVL_HIT, number, snoop: mem::SNOOP_NONE, ..UNKNOWN }
}

/// Found in the cache of another CPU.
fn peer(level: u64, number: u64) -> Found {
    Found { level: level | mem::LVL_HIT, number, snoopx: mem::SNOOPX_PEER, ..UNKNOWN }
}

fn by_model(model: Model, source: u16) -> Option<Found> {
    match model {
        Model::Neoverse => neoverse(source),
        Model::Ampere => {
            let (_, same) = AMPERE.iter().find(|(own, _)| *own == source)?;
            neoverse(*same)
        }
        Model::HisiliconHip12 => hip12(source),
    }
}

fn neoverse(source: u16) -> Option<Found> {
    Some(match source {
        0x0 => hit(mem::LVL_L1, mem::NUM_L1),
        0x8 => hit(mem::LVL_L2, mem::NUM_L2),
        0x9 => peer(mem::LVL_L2, mem::NUM_L2),
        0xa | 0xc => peer(mem::LVL_L3, mem::NUM_L3),
        0xb => Found { snoop: mem::SNOOP_HIT, ..hit(mem::LVL_L3, mem::NUM_L3) },
        0xd => Found { is_remote: true, snoopx: mem::SNOOPX_PEER, ..UNKNOWN },
        0xe => hit(mem::LVL_LOC_RAM, mem::NUM_RAM),
        _ => return None,
    })
}

fn hip12(source: u16) -> Option<Found> {
    // Odd numbers are those of modified data.
    let modified = |found: Found| Found { snoop: mem::SNOOP_HITM, ..found };
    let remote = |found: Found| Found { is_remote: true, ..found };
    Some(match source {
        0 => peer(mem::LVL_L2, mem::NUM_L2),
        1 => modified(peer(mem::LVL_L2, mem::NUM_L2)),
        2 => Found { snoop: mem::SNOOP_HIT, ..hit(mem::LVL_L3, mem::NUM_L3) },
        3 => modified(hit(mem::LVL_L3, mem::NUM_L3)),
        4 => peer(mem::LVL_REM_CCE1, mem::NUM_L3),
        5 => modified(peer(mem::LVL_REM_CCE1, mem::NUM_L3)),
        6 => remote(peer(mem::LVL_REM_CCE2, mem::NUM_L3)),
        7 => remote(modified(peer(mem::LVL_REM_CCE2, mem::NUM_L3))),
        8 => hit(mem::LVL_LOC_RAM, mem::NUM_RAM),
        9 => remote(Found { snoop: mem::NA, ..hit(mem::LVL_REM_RAM1, mem::NUM_RAM) }),
        13 => hit(mem::LVL_IO, mem::NUM_IO),
        16 => hit(mem::LVL_L2, mem::NUM_L2),
        17 => modified(hit(mem::LVL_L2, mem::NUM_L2)),
        18 => hit(mem::LVL_L1, mem::NUM_L1),
        _ => return None,
    })
}

/// Levels with the events of an access and of a miss, the nearest first.
const LEVELS: [(SpeEvents, SpeEvents, u64, u64); 3] = [
    (SpeEvents::L1D_ACCESS, SpeEvents::L1D_REFILL, mem::LVL_L1, mem::NUM_L1),
    (SpeEvents::L2_ACCESS, SpeEvents::L2_MISS, mem::LVL_L2, mem::NUM_L2),
    (SpeEvents::LLC_ACCESS, SpeEvents::LLC_MISS, mem::LVL_L3, mem::NUM_L3),
];

/// The level of a load by its events: the first cache that hit, or else the farthest that missed.
fn load_level(events: SpeEvents) -> Found {
    let (nearest, others) = (&LEVELS[..1], &LEVELS[1..]);
    let hits = |levels: &[(SpeEvents, SpeEvents, u64, u64)]| {
        let mut levels = levels.iter();
        levels.find(|(access, miss, ..)| events.contains(*access) && !events.contains(*miss)).copied()
    };
    let at = |level, number| Found { level: level | mem::LVL_HIT, number, ..UNKNOWN };
    if let Some((.., level, number)) = hits(nearest) {
        return at(level, number);
    }
    if events.contains(SpeEvents::RECENTLY_FETCHED) {
        return at(mem::LVL_LFB, mem::NUM_LFB);
    }
    if let Some((.., level, number)) = hits(others) {
        return at(level, number);
    }
    match LEVELS.iter().rev().find(|(_, miss, ..)| events.contains(*miss)) {
        Some(&(.., level, number)) => Found { level: level | mem::LVL_MISS, number, ..UNKNOWN },
        None => UNKNOWN,
    }
}

/// The level of a store by its events: the farthest one that was accessed.
fn store_level(events: SpeEvents) -> Found {
    match LEVELS.iter().rev().find(|(access, ..)| events.contains(*access)) {
        Some(&(_, miss, level, number)) => {
            let outcome = if events.contains(miss) { mem::LVL_MISS } else { mem::LVL_HIT };
            Found { level: level | outcome, number, ..UNKNOWN }
        }
        None => UNKNOWN,
    }
}

/// What events say about other caches.
fn with_snoop(found: Found, events: SpeEvents) -> Found {
    match (events.contains(SpeEvents::SNOOPED), events.contains(SpeEvents::MODIFIED)) {
        (true, true) => Found { snoop: mem::SNOOP_HITM, ..found },
        (true, false) => Found { snoop: mem::SNOOP_HIT, ..found },
        _ => found,
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::SpeOperation;
    use super::*;

    fn word(midr: u64, subclass: u8, source: Option<u16>, events: u64) -> u64 {
        let record = SpeRecord {
            operation: Some(SpeOperation { class: 1, subclass }),
            data_source: source,
            events: SpeEvents::from_bits_retain(events),
            ..SpeRecord::default()
        };
        data_source(&record, Some(midr)).0
    }

    /// Words of perf 7.2.
    #[test]
    fn words_are_those_of_perf() {
        const N1: u64 = 0x413f_d0c1;
        const HIP12: u64 = 0x480f_d061;
        const AMPERE: u64 = 0xc00f_ac41;
        let cases = [
            (N1, 0, Some(0), 0x14, 0x2_8810_0142),
            (N1, 0, Some(0), 0x34, 0x2_9010_0142),
            (N1, 0, Some(8), 0x1c, 0x4_8810_0442),
            (N1, 0, Some(9), 0x1c, 0x84_8808_0442),
            (N1, 4, Some(0xb), 0x11c, 0x6_8820_0842),
            (N1, 0x16, Some(0xd), 0x41c, 0xbe_8808_0022),
            (N1, 0, Some(0xe), 0x31c, 0x1a_8810_1042),
            (N1, 1, None, 0x14, 0x1e_8808_0024),
            (HIP12, 0, Some(0), 0x14, 0x84_8808_0442),
            (HIP12, 0, Some(8), 0x1c, 0x1a_8810_1042),
            (HIP12, 0, Some(9), 0x1c, 0x3a_8808_2042),
            (HIP12, 0, Some(13), 0x41c, 0x34_8812_0042),
            (HIP12, 0, Some(11), 0x11c, 0x6_8808_0842),
            (HIP12, 0, Some(14), 0x31c, 0x6_8808_0882),
            (HIP12, 1, None, 0x3c, 0x1e_9008_0024),
            (AMPERE, 0, Some(0), 0x14, 0x84_8808_0442),
            (AMPERE, 0, Some(8), 0x1c, 0x2_8810_0142),
            (AMPERE, 0, Some(9), 0x1c, 0x4_8810_0442),
            (AMPERE, 0, Some(13), 0x41c, 0x22_8808_0182),
        ];
        for (midr, subclass, source, events, expected) in cases {
            let word = word(midr, subclass, source, events);
            assert_eq!(word, expected, "{midr:#x} {subclass} {source:?} {events:#x}: {word:#x}");
        }
    }

    #[test]
    fn unknown_models_are_described_by_events() {
        assert_eq!(word(0, 0, Some(9), 0x4), word(0x413f_d0c1, 0, Some(99), 0x4));
        let store = DataSrc(word(0, 1, None, 1 << 2 | 1 << 3));
        assert_eq!(store.get(DataSrc::MEM_LVL), mem::LVL_L1 | mem::LVL_MISS);
        let snooped = DataSrc(word(0, 0, None, 1 << 8 | 1 << 21 | 1 << 23));
        assert_eq!((snooped.get(DataSrc::MEM_LVL_NUM), snooped.get(DataSrc::MEM_SNOOP)), (3, mem::SNOOP_HITM));
        assert_eq!(data_source(&SpeRecord::default(), None), DataSrc(0));
    }
}
