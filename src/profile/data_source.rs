//! Data sources of memory accesses, in the terms of perf_data_converter.

use perf_data::abi::sample::data_src::{DataSrc, mem};

/// Memory of another socket or node, at any distance.
const REMOTE_RAM: u64 = mem::LVL_REM_RAM1 | mem::LVL_REM_RAM2;

/// The level of the memory hierarchy.
pub(crate) fn level(word: u64) -> &'static str {
    let source = DataSrc(word);
    let bits = source.get(DataSrc::MEM_LVL);
    let levels = [
        (mem::LVL_L1, "L1"),
        (mem::LVL_LFB, "LFB"),
        (mem::LVL_L2, "L2"),
        (mem::LVL_L3, "Local L3"),
        (mem::LVL_LOC_RAM, "Local DRAM"),
        (REMOTE_RAM, "Remote DRAM"),
        (mem::LVL_REM_CCE1, "Near L3"),
        (mem::LVL_REM_CCE2, "Far L3"),
        (mem::LVL_IO, "IO Memory"),
        (mem::LVL_UNC, "Uncached Memory"),
    ];
    let by_bit = levels.iter().find(|(bit, _)| bits & bit != 0).map(|(_, name)| *name);
    by_bit.or_else(|| by_number(source)).unwrap_or("Unknown Level")
}

/// The level from its number, which some processors report instead.
fn by_number(source: DataSrc) -> Option<&'static str> {
    let is_remote = source.get(DataSrc::MEM_REMOTE) == 1;
    Some(match source.get(DataSrc::MEM_LVL_NUM) {
        1 => "L1",
        2 => "L2",
        3 | 4 if is_remote => "Far L3",
        3 | 4 => "Local L3",
        0xa => "IO Memory",
        0xc => "LFB",
        8 => "Uncached Memory",
        0xd if is_remote => "Remote DRAM",
        0xd => "Local DRAM",
        _ => return None,
    })
}

/// The operation; `None` if unavailable.
pub(crate) fn operation(word: u64) -> Option<&'static str> {
    let bits = DataSrc(word).get(DataSrc::MEM_OP);
    let operations = [(0x02, "load"), (0x04, "store"), (0x08, "prefetch"), (0x10, "exec")];
    operations.iter().find(|(bit, _)| bits & bit != 0).map(|(_, name)| *name)
}

/// Whether the TLB had the address; `None` if unavailable.
pub(crate) fn tlb(word: u64) -> Option<&'static str> {
    match DataSrc(word).get(DataSrc::MEM_DTLB) {
        bits if bits & 0x02 != 0 => Some("hit"),
        bits if bits & 0x04 != 0 => Some("miss"),
        _ => None,
    }
}

/// Whether the data was on another socket or node; `None` if there was no access.
pub(crate) fn remote(word: u64) -> Option<&'static str> {
    let source = DataSrc(word);
    let is_remote = source.get(DataSrc::MEM_REMOTE) == 1 || source.get(DataSrc::MEM_LVL) & REMOTE_RAM != 0;
    operation(word).map(|_| if is_remote { "yes" } else { "no" })
}

/// The result of snooping other caches; `None` if unavailable.
pub(crate) fn snoop(word: u64) -> Option<&'static str> {
    let bits = DataSrc(word).get(DataSrc::MEM_SNOOP);
    // Several bits may be set; the first match takes precedence.
    let statuses = [(0x10, "HitM"), (0x04, "Hit"), (0x08, "Miss"), (0x02, "None")];
    statuses.iter().find(|(bit, _)| bits & bit != 0).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_levels_by_bit_and_by_number() {
        let by_bit = |bit: u64| level(DataSrc(0).with(DataSrc::MEM_LVL, bit | 2).0);
        assert_eq!(
            [by_bit(0x08), by_bit(0x200), by_bit(0x1000), by_bit(0)],
            ["L1", "Remote DRAM", "IO Memory", "Unknown Level"]
        );
        let number = |number: u64, remote: u64| {
            level(DataSrc(0).with(DataSrc::MEM_LVL_NUM, number).with(DataSrc::MEM_REMOTE, remote).0)
        };
        assert_eq!(
            [number(2, 0), number(3, 1), number(0xd, 1), number(0xf, 0)],
            ["L2", "Far L3", "Remote DRAM", "Unknown Level"]
        );
    }

    #[test]
    fn only_accesses_are_translated_and_remote() {
        let word = |op, dtlb, remote| {
            let source = DataSrc(0).with(DataSrc::MEM_OP, op).with(DataSrc::MEM_DTLB, dtlb);
            source.with(DataSrc::MEM_REMOTE, remote).0
        };
        let texts = |word| (operation(word), tlb(word), remote(word));
        assert_eq!(texts(word(2, 0x22, 0)), (Some("load"), Some("hit"), Some("no")));
        assert_eq!(texts(word(4, 0x24, 1)), (Some("store"), Some("miss"), Some("yes")));
        assert_eq!(texts(0), (None, None, None));
    }

    #[test]
    fn hitm_takes_precedence() {
        let by_bit = |bits| snoop(DataSrc(0).with(DataSrc::MEM_SNOOP, bits).0);
        assert_eq!(
            [by_bit(1), by_bit(2), by_bit(4), by_bit(8), by_bit(0x10)],
            [None, Some("None"), Some("Hit"), Some("Miss"), Some("HitM")]
        );
    }
}
