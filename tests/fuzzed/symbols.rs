//! Sources of symbols: kallsyms, perf maps, jitdumps, object files, kernel modules, features of recordings.

use perf_data::abi::feature::bpf_btf::BpfBtf;
use perf_data::abi::feature::bpf_prog_info::{BpfFunction, BpfProgInfos};
use perf_data::abi::hex::to_hex;
use perf_data::abi::jitdump::header::JitDumpHeader;
use perf_data::abi::{self, Endian};
use perf_symbols::symbol::bpf::BpfSource;
use perf_symbols::symbol::find::{Policy, SearchOptions};
use perf_symbols::symbol::hiperf::FILES_SYMBOL;
use perf_symbols::symbol::simpleperf::SimpleperfSource;
use perf_symbols::symbol::stored_lines::StoredLinesSource;
use perf_symbols::symbol::{Addresses, ObjectKey, Options, Request, Symbolizer};
use std::fs;
use std::num::NonZeroUsize;
use std::sync::Arc;

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
    let dump = if bytes.starts_with(&JitDumpHeader::MAGIC.to_le_bytes()) {
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
    same_in_any_order(&symbolizer(|options| Symbolizer::new(options, search)), &keys, &addresses(bytes));
}

/// A symbolizer with one thread.
pub fn symbolizer(create: impl FnOnce(Options) -> Symbolizer) -> Symbolizer {
    let mut options = Options::default();
    options.threads = NonZeroUsize::new(1);
    create(options)
}

/// The functions of addresses do not depend on their order.
pub fn same_in_any_order(symbolizer: &Symbolizer, keys: &[ObjectKey], addresses: &[u64]) {
    let names = |lists: &[Addresses]| {
        let requests: Vec<_> =
            (keys.iter()).flat_map(|key| lists.iter().map(|list| Request::new(key.clone(), list.clone()))).collect();
        let resolved = symbolizer.resolve(&requests);
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
    let together: Vec<Vec<_>> = names(&[Addresses::Virtual(addresses.into()), Addresses::Offsets(addresses.into())]);
    let reversed: Vec<u64> = addresses.iter().rev().copied().collect();
    let mut other: Vec<Vec<_>> = names(&[Addresses::Virtual(reversed.clone()), Addresses::Offsets(reversed)]);
    other.iter_mut().for_each(|list| list.reverse());
    assert_eq!(together, other, "the functions of an address should not depend on the order of addresses");
}

/// Any bytes as the features of a recording that contain symbols: BPF programs with their types, the objects of simpleperf and
/// hiperf, and lines. The size of the first part precedes them.
pub fn recorded_symbols(bytes: &[u8]) {
    let Some((size, bytes)) = bytes.split_first_chunk() else { return };
    let (first, second) = bytes.split_at(bytes.len().min(u32::from_le_bytes(*size) as usize));
    let addresses = addresses(bytes);
    for endian in [Endian::Little, Endian::Big] {
        let programs: Option<BpfProgInfos> = abi::parse(first, endian, ()).ok().map(|(programs, _)| programs);
        let types: Option<BpfBtf> = abi::parse(second, endian, ()).ok().map(|(types, _)| types);
        let Some((programs, types)) = programs.zip(types) else { continue };
        let functions = programs.programs.iter().flat_map(|program| program.functions(endian));
        let key = |function: BpfFunction<'_>| ObjectKey {
            path: format!("bpf_prog_{}_f", to_hex(function.tag)).into(),
            load_address: Some(function.address),
            ..ObjectKey::default()
        };
        let keys: Vec<_> = functions.take(MAX_KEYS).map(key).collect();
        let source = Arc::new(BpfSource::new(&programs, &types, endian));
        same_in_any_order(&symbolizer(|options| Symbolizer::with_sources(options, vec![source])), &keys, &addresses);
    }
    let source = Arc::new(SimpleperfSource::new(Some(first), Some(second)));
    // Their length may precede paths as a printable character.
    let texts = bytes.split(|byte| byte.is_ascii_control()).filter_map(|text| str::from_utf8(text).ok());
    let paths = texts.flat_map(|text| [Some(text), text.get(1..)]).flatten().filter(|path| !path.is_empty());
    let keys: Vec<_> =
        paths.take(MAX_KEYS).map(|path| ObjectKey { path: path.into(), ..ObjectKey::default() }).collect();
    same_in_any_order(&symbolizer(|options| Symbolizer::with_sources(options, vec![source])), &keys, &addresses);
    let source = Arc::new(SimpleperfSource::from_sections([(FILES_SYMBOL, second)].into_iter()));
    same_in_any_order(&symbolizer(|options| Symbolizer::with_sources(options, vec![source])), &keys, &addresses);
    let source = Arc::new(StoredLinesSource::new(second));
    same_in_any_order(&symbolizer(|options| Symbolizer::with_sources(options, vec![source])), &keys, &addresses);
}

/// Maximum number of objects that are looked up.
const MAX_KEYS: usize = 16;

/// Addresses to look up: numbers in the bytes, and in their text.
fn addresses(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    let mut candidates: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let text = bytes.split(|byte| !byte.is_ascii_hexdigit()).filter_map(|word| str::from_utf8(word).ok());
    candidates.extend(text.filter_map(|word| u64::from_str_radix(word, 16).ok()));
    let step = (candidates.len() / ADDRESSES).max(1);
    let mut candidates: Vec<u64> = candidates.into_iter().step_by(step).collect();
    candidates.extend([0, 0x10, 0x1000, 0x1008, 1 << 30, u64::MAX]);
    candidates
}
