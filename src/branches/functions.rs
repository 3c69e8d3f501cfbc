//! The functions of an object by address, from its debug information, under the names that compilers know them by.

use super::binary::BinaryBranches;
use super::source_profile::{NameNumber, SourceProfile};
use perf_symbols::symbol::source_lookup::SourceLookup;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A function, by its name: all units with a function of that name share it.
pub(super) struct Function {
    pub name: NameNumber,
    pub parts: Vec<Range<u64>>,
}

/// A part of a function.
pub(super) struct FunctionPart {
    pub end: u64,
    /// Index of the function.
    pub function: usize,
    /// Whether the function begins here.
    is_entry: bool,
}

/// Functions, and their parts by address.
#[derive(Default)]
pub(super) struct Functions {
    pub list: Vec<Function>,
    /// By start.
    parts: BTreeMap<u64, FunctionPart>,
}

impl Functions {
    /// The functions in the units with addresses of `touched`, which is sorted, and those in other units with the names of the functions
    /// at `starts`. Names are numbered in `profile`.
    pub(super) fn read(
        binary: &BinaryBranches,
        source: &SourceLookup<'_, '_>,
        profile: &mut SourceProfile,
        touched: &[u64],
        starts: impl Iterator<Item = u64>,
    ) -> Self {
        let mut functions = Self::default();
        functions.add(binary, source, profile, touched);
        let sampled: BTreeSet<NameNumber> =
            starts.filter_map(|start| Some(functions.list[functions.part(start)?.1.function].name)).collect();
        let mut others = touched.to_vec();
        binary.files.each_symbol(&mut |address, name| {
            if sampled.contains(&profile.number(name)) {
                others.push(address);
            }
        });
        if others.len() > touched.len() {
            functions = Self::default();
            functions.add(binary, source, profile, &others);
        }
        let Self { list, parts } = &mut functions;
        binary.files.each_symbol(&mut |address, name| {
            let part = parts.range_mut(..=address).next_back().map(|(_, part)| part);
            if let Some(part) = part.filter(|part| address < part.end) {
                let function = &list[part.function];
                part.is_entry |= function.parts.len() == 1 || profile.name(function.name) == canonical(name);
            }
        });
        functions
    }

    fn add(
        &mut self,
        binary: &BinaryBranches,
        source: &SourceLookup<'_, '_>,
        profile: &mut SourceProfile,
        addresses: &[u64],
    ) {
        // Code that the linker discarded is at 0 or 1.
        let object = binary.files.object();
        let segments = object.into_iter().flat_map(|object| object.segments());
        let executable = segments.filter(|segment| segment.is_executable).map(|segment| segment.address & !0xfff);
        let lowest = executable.min().unwrap_or(0);
        let Self { list, parts } = self;
        let mut by_name = BTreeMap::new();
        source.each_function(addresses, &mut |name, range| {
            if name.is_empty() || range.start < lowest {
                return;
            }
            let name = profile.number(name);
            let function = *by_name.entry(name).or_insert_with(|| {
                list.push(Function { name, parts: Vec::new() });
                list.len() - 1
            });
            parts.entry(range.start).or_insert(FunctionPart { end: range.end, function, is_entry: false });
            list[function].parts.push(range);
        });
    }

    /// The part of a function that an address is in, with its start.
    pub(super) fn part(&self, address: u64) -> Option<(u64, &FunctionPart)> {
        let (&start, part) = self.parts.range(..=address).next_back()?;
        Some((start, part)).filter(|(_, part)| address < part.end)
    }

    /// Whether a part of a function begins at an address.
    pub(super) fn is_start(&self, address: u64) -> bool {
        self.parts.contains_key(&address)
    }

    /// The name of the function that is entered at an address, as compilers know it.
    pub(super) fn entered(&self, address: u64, profile: &mut SourceProfile) -> Option<NameNumber> {
        let part = self.parts.get(&address).filter(|part| part.is_entry)?;
        let name = canonical(profile.name(self.list[part.function].name)).to_vec();
        Some(profile.number(&name))
    }
}

/// The name that compilers know a function by: without the suffixes of copies in other units and of parts.
pub(super) fn canonical(name: &[u8]) -> &[u8] {
    let mut canonical = name;
    for suffix in [&b".llvm."[..], b".part."] {
        // What follows the suffix has no dot.
        let Some(dot) = memchr::memrchr(b'.', canonical) else { break };
        canonical = canonical[..=dot].strip_suffix(suffix).unwrap_or(canonical);
    }
    canonical
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_of_copies_and_parts_are_no_part_of_the_name() {
        let canonical = |name: &str| String::from_utf8_lossy(canonical(name.as_bytes())).into_owned();
        assert_eq!(canonical("f.llvm.123"), "f");
        assert_eq!(canonical("f.part.0"), "f");
        assert_eq!(canonical("f.part.0.llvm.7"), "f");
        for kept in ["f.__uniq.123", "f.constprop.0", "f.llvm.7.cold", "f"] {
            assert_eq!(canonical(kept), kept);
        }
    }
}
