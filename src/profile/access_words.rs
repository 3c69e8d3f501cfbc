//! Data sources of memory accesses, in the words of perf.

use perf_data::abi::sample::data_src::DataSrc;

/// The version of perf whose words are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessWords {
    /// perf 6.1.
    Perf61,
    /// perf 6.12 and 7.
    Perf612,
}

/// Names of bits, lowest first.
type Names = &'static [&'static str];

const OPERATIONS: Names = &["N/A", "LOAD", "STORE", "PFETCH", "EXEC"];
const LEVELS: Names = &[
    "N/A",
    "",
    "",
    "L1",
    "LFB/MAB",
    "L2",
    "L3",
    "Local RAM",
    "Remote RAM (1 hop)",
    "Remote RAM (2 hops)",
    "Remote Cache (1 hop)",
    "Remote Cache (2 hops)",
    "I/O",
    "Uncached",
];
const SNOOPS: Names = &["N/A", "None", "Hit", "Miss", "HitM"];
const EXTENDED_SNOOPS: Names = &["Fwd", "Peer"];
const TRANSLATIONS: Names = &["N/A", "", "", "L1", "L2", "Walker", "Fault"];

fn names(bits: u64, names: Names) -> Vec<&'static str> {
    let set = names.iter().enumerate().filter(|(bit, name)| bits >> bit & 1 == 1 && !name.is_empty());
    set.map(|(_, name)| *name).collect()
}

fn or_unavailable(text: String) -> String {
    if text.is_empty() { "N/A".to_owned() } else { text }
}

/// ` hit` and ` miss`, by the second and third bit.
fn outcome(bits: u64) -> String {
    names(bits, &["", " hit", " miss"]).concat()
}

fn level_number(number: u64, words: AccessWords) -> String {
    match (number, words) {
        (8, AccessWords::Perf612) => "Uncached".to_owned(),
        (9, _) => "CXL".to_owned(),
        (10, _) => "I/O".to_owned(),
        (11, _) => "Any cache".to_owned(),
        (12, _) => "LFB/MAB".to_owned(),
        (13, _) => "RAM".to_owned(),
        (14, _) => "PMEM".to_owned(),
        (15, _) => "N/A".to_owned(),
        (5, AccessWords::Perf612) => "L2 MHB".to_owned(),
        (6, AccessWords::Perf612) => "Memory-side Cache".to_owned(),
        (7, AccessWords::Perf612) => "Unknown level 7".to_owned(),
        _ => format!("L{number}"),
    }
}

/// Distance of the node whose memory was accessed, with a space.
fn hops(source: DataSrc) -> String {
    const HOPS: [&str; 4] = ["core, same node", "node, same socket", "socket, same board", "board"];
    match source.get(DataSrc::MEM_HOPS) {
        0 => String::new(),
        hops => HOPS.get(hops as usize - 1).unwrap_or(&"(null)").to_string() + " ",
    }
}

/// The level of the memory hierarchy, and whether it had the data.
pub(crate) fn level(source: DataSrc, words: AccessWords) -> String {
    let (bits, number) = (source.get(DataSrc::MEM_LVL), source.get(DataSrc::MEM_LVL_NUM));
    let remote = if source.get(DataSrc::MEM_REMOTE) == 1 { "Remote " } else { "" };
    let (hops, outcome) = (hops(source), outcome(bits));
    if words == AccessWords::Perf61 {
        let mut levels = if hops.is_empty() { names(bits, LEVELS) } else { Vec::new() };
        let number = Some(number).filter(|&number| number != 0).map(|number| level_number(number, words));
        levels.extend(number.as_deref());
        return or_unavailable(format!("{remote}{hops}{}", levels.join(" or "))) + &outcome;
    }
    // A miss is not shown in addition to a hit, but a space for either.
    let outcome = if outcome.starts_with(" hit") { " hit" } else { outcome.as_str() };
    let outcome = if outcome.is_empty() { " " } else { outcome };
    match (number, names(bits & !1, LEVELS)) {
        (0 | 15, levels) if levels.is_empty() => "N/A".to_owned(),
        (0 | 15, levels) => levels.join(" or ") + outcome,
        _ => format!("{remote}{hops}{}{outcome}", level_number(number, words)),
    }
}

/// The operation.
pub(crate) fn operation(source: DataSrc) -> &'static str {
    names(source.get(DataSrc::MEM_OP), OPERATIONS).first().copied().unwrap_or("No")
}

/// The result of snooping other caches.
pub(crate) fn snoop(source: DataSrc) -> String {
    let mut snoop = names(source.get(DataSrc::MEM_SNOOP), SNOOPS);
    snoop.extend(names(source.get(DataSrc::MEM_SNOOPX), EXTENDED_SNOOPS));
    or_unavailable(snoop.join(" or "))
}

/// The translation of the address.
pub(crate) fn translation(source: DataSrc) -> String {
    let translation = source.get(DataSrc::MEM_DTLB);
    or_unavailable(names(translation, TRANSLATIONS).join(" or ")) + &outcome(translation)
}

/// Whether the access was locked.
pub(crate) fn lock(source: DataSrc) -> &'static str {
    match source.get(DataSrc::MEM_LOCK) {
        lock if lock & 1 == 1 => "N/A",
        lock if lock & 2 == 2 => "Yes",
        _ => "No",
    }
}

/// Why the access was blocked, with a space before each reason.
pub(crate) fn blocked(source: DataSrc) -> String {
    match source.get(DataSrc::MEM_BLK) {
        bits if bits & 1 == 1 || bits & 6 == 0 => " N/A".to_owned(),
        bits => [(2, " Data"), (4, " Addr")].iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect(),
    }
}
