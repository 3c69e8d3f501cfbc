//! The extensible binary form: a table of sections, and their contents. Numbers are unsigned LEB128 unless stated otherwise.

use crate::branches::source_profile::{FunctionCounts, SourcePosition, SourceProfile};
use md5::{Digest, Md5};
use std::collections::BTreeMap;

/// "SPROF42" and the number of the form.
const MAGIC: u64 = 0x5350_524f_4634_3204;

/// Version of the form since LLVM 12.
const VERSION: u64 = 103;

/// Sums over this share of all counts, in millionths, are in the summary.
const CUTOFFS: [u64; 16] = [
    10_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000, 950_000, 990_000, 999_000,
    999_900, 999_990, 999_999,
];

/// How functions are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// By their names.
    Text,
    /// By the first 8 bytes of the MD5 digests of their names.
    Hashes,
}

/// A kind of section.
mod section {
    pub(super) const SUMMARY: u64 = 1;
    pub(super) const NAMES: u64 = 2;
    pub(super) const SYMBOLS: u64 = 3;
    pub(super) const OFFSETS: u64 = 4;
    pub(super) const METADATA: u64 = 5;
    pub(super) const CONTEXTS: u64 = 6;
    pub(super) const PROFILE: u64 = 32;

    /// The order of sections in the table.
    pub(super) const TABLE: [u64; 7] = [SUMMARY, NAMES, CONTEXTS, OFFSETS, PROFILE, SYMBOLS, METADATA];
    /// The order of their contents.
    pub(super) const CONTENTS: [u64; 7] = [SUMMARY, NAMES, CONTEXTS, PROFILE, SYMBOLS, OFFSETS, METADATA];
}

/// Flags of sections: those of one kind are in the upper half.
mod flags {
    pub(super) const SUMMARY_FLOW_SENSITIVE: u64 = 4 << 32;
    pub(super) const NAMES_HASHES: u64 = 1 << 32;
    pub(super) const NAMES_FIXED_LENGTH: u64 = 2 << 32;
    pub(super) const NAMES_UNIQUE_SUFFIX: u64 = 4 << 32;
    pub(super) const METADATA_PROBES: u64 = 1 << 32;
}

/// The suffix of names that clang makes unique to their units.
const UNIQUE_SUFFIX: &[u8] = b".__uniq.";

/// Encodes a profile whose names are sorted.
pub(super) fn encode(profile: &SourceProfile, names: Names) -> Vec<u8> {
    let functions = profile.by_total();
    let (mut bodies, mut offsets, mut metadata) = (Vec::new(), Vec::new(), Vec::new());
    leb(&mut offsets, functions.len() as u64);
    let has_probes = functions.iter().any(|(_, counts)| counts.checksum.is_some());
    for &(name, counts) in &functions {
        leb(&mut offsets, name.into());
        leb(&mut offsets, bodies.len() as u64);
        leb(&mut bodies, counts.head);
        body(name, counts, &mut bodies);
        if has_probes {
            checksums(name, counts, &mut metadata);
        }
    }
    let (name_flags, name_table) = name_table(profile, names);
    let mut contents: BTreeMap<u64, (u64, Vec<u8>)> = BTreeMap::from([
        (
            section::SUMMARY,
            (if profile.is_flow_sensitive { flags::SUMMARY_FLOW_SENSITIVE } else { 0 }, summary(&functions)),
        ),
        (section::NAMES, (name_flags, name_table)),
        // No contexts.
        (section::CONTEXTS, (0, vec![0])),
        (section::PROFILE, (0, bodies)),
        (section::SYMBOLS, (0, Vec::new())),
        (section::OFFSETS, (0, offsets)),
        (section::METADATA, (if has_probes { flags::METADATA_PROBES } else { 0 }, metadata)),
    ]);
    let mut out = Vec::new();
    leb(&mut out, MAGIC);
    leb(&mut out, VERSION);
    let word = |out: &mut Vec<u8>, word: u64| out.extend_from_slice(&word.to_le_bytes());
    word(&mut out, section::TABLE.len() as u64);
    const ENTRY: usize = 4 * size_of::<u64>();
    let mut at = out.len() + section::TABLE.len() * ENTRY;
    let mut places = BTreeMap::new();
    for kind in section::CONTENTS {
        let len = contents.get(&kind).map_or(0, |(_, bytes)| bytes.len());
        places.insert(kind, (at as u64, len as u64));
        at += len;
    }
    for kind in section::TABLE {
        let (offset, len) = places.get(&kind).copied().unwrap_or_default();
        let flags = contents.get(&kind).map_or(0, |(flags, _)| *flags);
        [kind, flags, offset, len].into_iter().for_each(|value| word(&mut out, value));
    }
    section::CONTENTS.iter().filter_map(|kind| contents.remove(kind)).for_each(|(_, bytes)| out.extend(bytes));
    out
}

/// Appends a number.
fn leb(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Flags and contents of the table of names.
fn name_table(profile: &SourceProfile, names: Names) -> (u64, Vec<u8>) {
    let mut table = Vec::new();
    leb(&mut table, profile.names().len() as u64);
    match names {
        Names::Hashes => {
            // All have 8 bytes.
            profile.names().iter().for_each(|name| table.extend_from_slice(&Md5::digest(name)[..8]));
            (flags::NAMES_HASHES | flags::NAMES_FIXED_LENGTH, table)
        }
        Names::Text => {
            for name in profile.names() {
                table.extend_from_slice(name);
                table.push(0);
            }
            let is_unique = |name: &[u8]| memchr::memmem::find(name, UNIQUE_SUFFIX).is_some();
            let has_unique = profile.names().iter().any(|name| is_unique(name));
            (if has_unique { flags::NAMES_UNIQUE_SUFFIX } else { 0 }, table)
        }
    }
}

/// Appends a function: its name, its positions, and the functions that are inlined at them.
fn body(name: u32, counts: &FunctionCounts, out: &mut Vec<u8>) {
    leb(out, name.into());
    leb(out, counts.total);
    leb(out, counts.body.len() as u64);
    for (at, count) in &counts.body {
        position(*at, out);
        leb(out, count.count);
        leb(out, count.targets.len() as u64);
        for (target, count) in FunctionCounts::sorted_targets(count) {
            leb(out, target.into());
            leb(out, count);
        }
    }
    leb(out, counts.each_inlined().count() as u64);
    for (at, name, inlined) in counts.each_inlined() {
        position(at, out);
        body(name, inlined, out);
    }
}

/// Appends the checksums of a function with probes, and of those inlined into it.
fn checksums(name: u32, counts: &FunctionCounts, out: &mut Vec<u8>) {
    leb(out, name.into());
    leb(out, counts.checksum.unwrap_or_default());
    leb(out, counts.each_inlined().count() as u64);
    for (at, name, inlined) in counts.each_inlined() {
        position(at, out);
        checksums(name, inlined, out);
    }
}

fn position(at: SourcePosition, out: &mut Vec<u8>) {
    leb(out, at.line.into());
    leb(out, at.discriminator.into());
}

/// Totals, and for each cutoff the smallest count and the number of counts that have this share of all together.
fn summary(functions: &[(u32, &FunctionCounts)]) -> Vec<u8> {
    let mut counts = Vec::new();
    functions.iter().for_each(|(_, function)| each_count(function, &mut |count| counts.push(count)));
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let total = counts.iter().fold(0, |sum: u64, &count| sum.saturating_add(count));
    let head = functions.iter().map(|(_, function)| function.head).max().unwrap_or(0);
    let mut out = Vec::new();
    let largest = counts.first().copied().unwrap_or(0);
    [total, largest, head, counts.len() as u64, functions.len() as u64, CUTOFFS.len() as u64]
        .into_iter()
        .for_each(|value| leb(&mut out, value));
    let (mut sum, mut smallest, mut seen) = (0_u64, 0, 0);
    for cutoff in CUTOFFS {
        let wanted = (u128::from(total) * u128::from(cutoff) / 1_000_000) as u64;
        while sum < wanted && seen < counts.len() {
            // All counts of one size are taken together.
            smallest = counts[seen];
            let equal = counts[seen..].iter().take_while(|&&count| count == smallest).count();
            sum = sum.saturating_add(smallest.saturating_mul(equal as u64));
            seen += equal;
        }
        [cutoff, smallest, seen as u64].into_iter().for_each(|value| leb(&mut out, value));
    }
    out
}

/// Calls `on_count` with the counts of a function and of those inlined into it.
fn each_count(function: &FunctionCounts, on_count: &mut dyn FnMut(u64)) {
    function.body.values().for_each(|position| on_count(position.count));
    function.each_inlined().for_each(|(_, _, inlined)| each_count(inlined, on_count));
}
