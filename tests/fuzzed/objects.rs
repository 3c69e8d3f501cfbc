//! Object files through the whole symbolizer.

use super::memory::assert_within_budget;
use super::object_file::{Program, program};
use super::symbols::{same_in_any_order, symbolizer};
use allocation_counter::measure;
use arbitrary::Unstructured;
use perf_symbols::symbol::find::{Policy, SearchOptions};
use perf_symbols::symbol::{ObjectKey, Symbolizer};
use std::fs;

/// Addresses that belong to no code, or to the end of all.
const OTHER_ADDRESSES: [u64; 6] = [0, 0x1000, 1 << 20, 1 << 32, u64::MAX >> 1, u64::MAX];

/// Symbolizes a program with hostile parts that is made from the bytes. The functions of an address do not depend on the order of
/// lookups. The memory is at most 64 MB and 20 times the bytes read, including what they inflate to.
pub fn object(bytes: &[u8]) {
    let Ok(Program { object, split, addresses, inflated }) = program(&mut Unstructured::new(bytes)) else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("program");
    fs::write(&path, &object).expect("a temporary file");
    if let Some(split) = &split {
        fs::write(directory.path().join("program.dwp"), split).expect("a temporary file");
    }
    let mut search = SearchOptions::default();
    search.policy = Policy::Force;
    let keys = [ObjectKey { path, ..ObjectKey::default() }];
    let addresses: Vec<u64> = addresses.into_iter().chain(OTHER_ADDRESSES).collect();
    let used = measure(|| {
        same_in_any_order(&symbolizer(|options| Symbolizer::new(options, search)), &keys, &addresses);
    });
    let read = object.len() + split.map_or(0, |split| split.len()) + inflated;
    assert_within_budget(used, read);
}
