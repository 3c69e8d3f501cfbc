//! The extensible binary form: a table of sections, and their contents, which may be compressed. Numbers are unsigned LEB128 unless
//! stated otherwise.

use crate::branches::source_profile::{FunctionCounts, SourcePosition, SourceProfile, guid};
use crate::branches::summary::{ProfileSummary, SummaryEntry};
use flate2::Compression;
use flate2::bufread::ZlibEncoder;
use std::collections::BTreeMap;
use std::io::Read;

/// "SPROF42" and the number of the form.
const MAGIC: u64 = 0x5350_524f_4634_3204;

/// Version of the form since LLVM 12.
const VERSION: u64 = 103;

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
    pub(super) const COMPRESSED: u64 = 1;
    pub(super) const SUMMARY_FLOW_SENSITIVE: u64 = 4 << 32;
    pub(super) const NAMES_HASHES: u64 = 1 << 32;
    pub(super) const NAMES_FIXED_LENGTH: u64 = 2 << 32;
    pub(super) const NAMES_UNIQUE_SUFFIX: u64 = 4 << 32;
    pub(super) const SUMMARY_PREINLINED: u64 = 16 << 32;
    pub(super) const METADATA_PROBES: u64 = 1 << 32;
    pub(super) const METADATA_ATTRIBUTES: u64 = 2 << 32;
}

/// The suffix of names that clang makes unique to their units.
const UNIQUE_SUFFIX: &[u8] = b".__uniq.";

/// Encodes a profile whose names are sorted.
pub(super) fn encode(profile: &SourceProfile, names: Names, is_compressed: bool) -> Vec<u8> {
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
            about(name, counts, profile.is_preinlined, &mut metadata);
        }
    }
    let (name_flags, name_table) = name_table(profile, names);
    let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
    let summary_flags = flag(profile.is_flow_sensitive, flags::SUMMARY_FLOW_SENSITIVE)
        | flag(profile.is_preinlined, flags::SUMMARY_PREINLINED);
    let metadata_flags =
        flag(has_probes, flags::METADATA_PROBES) | flag(profile.is_preinlined, flags::METADATA_ATTRIBUTES);
    let mut contents: BTreeMap<u64, (u64, Vec<u8>)> = BTreeMap::from([
        (section::SUMMARY, (summary_flags, summary(&functions))),
        (section::NAMES, (name_flags, name_table)),
        // No contexts.
        (section::CONTEXTS, (0, vec![0])),
        (section::PROFILE, (0, bodies)),
        (section::SYMBOLS, (0, Vec::new())),
        (section::OFFSETS, (0, offsets)),
        (section::METADATA, (metadata_flags, metadata)),
    ]);
    if is_compressed {
        for (flags, bytes) in contents.values_mut() {
            *flags |= flags::COMPRESSED;
            *bytes = compressed(bytes);
        }
    }
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

/// A section with its two sizes before its compressed contents; an empty one stays empty.
fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    if bytes.is_empty() {
        return out;
    }
    let mut encoder = ZlibEncoder::new(bytes, Compression::best());
    let mut contents = Vec::new();
    // Reading a slice cannot fail.
    let _ = encoder.read_to_end(&mut contents);
    leb(&mut out, bytes.len() as u64);
    leb(&mut out, contents.len() as u64);
    out.extend(contents);
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
            profile.names().iter().for_each(|name| table.extend_from_slice(&guid(name).to_le_bytes()));
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

/// Appends the checksum and the attributes of a function with probes, and of those inlined into it.
fn about(name: u32, counts: &FunctionCounts, has_attributes: bool, out: &mut Vec<u8>) {
    leb(out, name.into());
    leb(out, counts.checksum.unwrap_or_default());
    if has_attributes {
        leb(out, counts.attributes.into());
    }
    leb(out, counts.each_inlined().count() as u64);
    for (at, name, inlined) in counts.each_inlined() {
        position(at, out);
        about(name, inlined, has_attributes, out);
    }
}

fn position(at: SourcePosition, out: &mut Vec<u8>) {
    leb(out, at.line.into());
    leb(out, at.discriminator.into());
}

/// Totals, and the smallest count and the number of counts that have a share of all together.
fn summary(functions: &[(u32, &FunctionCounts)]) -> Vec<u8> {
    let ProfileSummary { total, largest, head, counts, functions, entries } =
        ProfileSummary::new(functions.iter().map(|(_, function)| *function));
    let mut out = Vec::new();
    [total, largest, head, counts, functions, entries.len() as u64].into_iter().for_each(|value| leb(&mut out, value));
    for SummaryEntry { cutoff, smallest, counts } in entries {
        [cutoff, smallest, counts].into_iter().for_each(|value| leb(&mut out, value));
    }
    out
}
