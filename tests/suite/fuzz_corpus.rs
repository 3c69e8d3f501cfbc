//! The committed corpus of the fuzzer, given to the functions that are fuzzed.

use std::fs;
use std::path::Path;

#[path = "../fuzzed/lib.rs"]
mod fuzz;

type Target = fn(&[u8]);

const TARGETS: &[(&str, Target)] = &[
    ("open", fuzz::open),
    ("record", fuzz::record),
    ("pprof", fuzz::pprof),
    ("folded", fuzz::folded),
    ("perf_script", fuzz::perf_script),
    ("feature", fuzz::feature),
    ("sample", fuzz::sample),
    ("written", fuzz::written),
    ("scenario", fuzz::scenario),
    ("json", fuzz::json),
    ("quipper", fuzz::quipper),
    ("jitdump", fuzz::jitdump),
    ("archive", fuzz::archive),
    ("rewrite", fuzz::rewrite),
    ("streamed", fuzz::streamed),
    ("folder", fuzz::folder),
    ("quipper_text", fuzz::quipper_text),
    ("elf", fuzz::elf),
];

#[test]
fn every_input_keeps_the_promises() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzzed/corpus");
    let (mut files, mut bytes) = (0, 0);
    for &(name, target) in TARGETS {
        let inputs = fs::read_dir(corpus.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let before = files;
        for input in inputs {
            let path = input.expect("a folder can be listed").path();
            println!("{}", path.display());
            let input = fs::read(path).expect("an input can be read");
            target(&input);
            files += 1;
            bytes += input.len();
        }
        assert!(files > before, "{name} has no inputs");
    }
    assert!(files < 200 && bytes < 1 << 20, "{files} files of {bytes} bytes are many for a repository");
    assert_eq!(fs::read_dir(corpus).expect("it can be listed").count(), TARGETS.len(), "a folder is of no target");
}
