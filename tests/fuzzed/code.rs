//! Code of any bytes, in programs of any kind, through the disassembler and the search for a function's code.

use super::object_file::{Program, program};
use arbitrary::{Arbitrary, Unstructured};
use perf_symbols::disassembly::Disassembler;
use perf_symbols::symbol::find::{Policy, SearchOptions};
use perf_symbols::symbol::{Addresses, ObjectKey, Options, Symbolizer};
use std::fs;

/// ELF machines and classes: x86-64, i386, AArch64, RV64, RV32.
const MACHINES: [(u16, bool); 5] = [(62, true), (3, false), (183, true), (243, true), (243, false)];

/// Decodes all instructions of bytes as code of each machine: each is as long as it says, with text and without.
fn decode(bytes: &[u8], address: u64) {
    for (machine, is_64) in MACHINES {
        let disassembler = Disassembler::new(machine, is_64).expect("a disassembler");
        let mut at = 0;
        while at < bytes.len() {
            let (rest, address) = (&bytes[at..], address.wrapping_add(at as u64));
            let mut text = String::new();
            let decoded = disassembler.decode_text(rest, address, &mut text);
            assert_eq!(decoded, disassembler.decode(rest, address));
            let len = decoded.map_or(disassembler.alignment(), |instruction| instruction.len);
            assert!(len > 0 && (decoded.is_none() || usize::from(len) <= rest.len() && !text.is_empty()));
            at += usize::from(len);
        }
    }
}

/// Decodes any bytes, and the functions of a program with hostile parts that is made from them.
pub fn code(bytes: &[u8]) {
    let mut from = Unstructured::new(bytes);
    let Ok(address) = u64::arbitrary(&mut from) else { return };
    decode(bytes, address);
    let Ok(Program { object, addresses, .. }) = program(&mut from) else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("program");
    fs::write(&path, &object).expect("a temporary file");
    let mut search = SearchOptions::default();
    search.policy = Policy::Force;
    let symbolizer = Symbolizer::new(Options::default(), search);
    let key = ObjectKey { path, ..ObjectKey::default() };
    for addresses in [Addresses::Virtual(addresses.clone()), Addresses::Offsets(addresses)] {
        let found = symbolizer.code(&key, &addresses);
        assert_eq!(found.addresses.len(), addresses.list().len());
        let size: usize = found.functions.iter().map(|function| function.bytes.len()).sum();
        assert!(found.functions.iter().all(|function| !function.bytes.is_empty()), "{size} bytes");
        for function in found.functions.iter().take(64) {
            let bytes = &function.bytes[..function.bytes.len().min(1 << 12)];
            decode(bytes, function.start);
        }
    }
}
