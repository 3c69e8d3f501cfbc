//! Sources of symbols: kallsyms, perf maps, jitdumps, object files, kernel modules.

use perfconv::abi::jitdump::header::Header;
use perfconv::symbol::find::{Policy, SearchOptions};
use perfconv::symbol::{Addresses, ObjectKey, Options, Request, Symbolizer};
use std::fs;
use std::num::NonZeroUsize;

/// Number of addresses of each kind.
const ADDRESSES: usize = 64;

/// Any bytes as each source of symbols: they are read or rejected, and each address has the same functions whether it is looked up
/// alone or with others.
pub fn symbols(bytes: &[u8]) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).expect("a temporary file");
        path
    };
    let dump = if bytes.starts_with(&Header::MAGIC.to_le_bytes()) {
        bytes.to_vec()
    } else {
        [&b"DTiJ\x01\0\0\0\x28\0\0\0\x3e\0\0\0\0\0\0\0\x01\0\0\0"[..], &[0; 16], bytes].concat()
    };
    write("jit-1.dump", &dump);
    write("perf-2.map", bytes);
    let object = write("object", bytes);
    let mut search = SearchOptions::default();
    search.policy = Policy::Force;
    search.perf_map_dirs = vec![directory.path().to_owned()];
    search.kallsyms = Some(write("kallsyms", bytes));
    let keys = [
        ObjectKey { path: "[kernel.kallsyms]_text".into(), ..ObjectKey::default() },
        ObjectKey { path: "//anon".into(), pid: Some(1), ..ObjectKey::default() },
        ObjectKey { path: "//anon".into(), pid: Some(2), ..ObjectKey::default() },
        ObjectKey { path: object.clone(), ..ObjectKey::default() },
        ObjectKey { path: object, load_address: Some(0x1000), ..ObjectKey::default() },
    ];
    let addresses = addresses(bytes);
    let names = |search: &SearchOptions, lists: &[Addresses]| {
        let mut options = Options::default();
        options.threads = NonZeroUsize::new(1);
        let requests: Vec<_> = (keys.iter())
            .flat_map(|key| lists.iter().map(|list| Request { key: key.clone(), addresses: list.clone() }))
            .collect();
        let resolved = Symbolizer::new(options, search.clone()).resolve(&requests);
        let report = resolved.objects.iter().map(|object| (object.addresses, object.with_function, object.with_line));
        for (addresses, with_function, with_line) in report {
            assert!(with_function <= addresses && with_line <= addresses);
        }
        let name = |request, place| -> Vec<(Vec<u8>, u32)> {
            let frames = resolved.symbols.frames(request, place).iter().map(|frame| {
                let function = frame.function.and_then(|id| resolved.symbols.function(id));
                let name = function.map_or(&[][..], |function| resolved.symbols.name(function.name));
                (name.to_vec(), frame.line)
            });
            frames.collect()
        };
        (0..requests.len()).map(|request| (0..addresses.len()).map(|place| name(request, place)).collect()).collect()
    };
    let lists = [Addresses::Virtual(addresses.clone()), Addresses::Offsets(addresses.clone())];
    let together: Vec<Vec<_>> = names(&search, &lists);
    let reversed: Vec<u64> = addresses.iter().rev().copied().collect();
    let lists = [Addresses::Virtual(reversed.clone()), Addresses::Offsets(reversed)];
    let mut other: Vec<Vec<_>> = names(&search, &lists);
    other.iter_mut().for_each(|list| list.reverse());
    assert_eq!(together, other, "the functions of an address should not depend on the order of addresses");
}

/// Addresses to look up: numbers in the bytes, and in their text.
fn addresses(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    let mut found: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let text = bytes.split(|byte| !byte.is_ascii_hexdigit()).filter_map(|word| str::from_utf8(word).ok());
    found.extend(text.filter_map(|word| u64::from_str_radix(word, 16).ok()));
    let step = (found.len() / ADDRESSES).max(1);
    let mut found: Vec<u64> = found.into_iter().step_by(step).collect();
    found.extend([0, 0x10, 0x1000, 0x1008, 1 << 30, u64::MAX]);
    found
}
