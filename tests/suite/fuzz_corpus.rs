//! Runs the fuzz targets on their committed corpus.

use std::fs;
use std::path::Path;

#[allow(unreachable_pub, reason = "the library of the fuzz targets")]
#[path = "../fuzzed/lib.rs"]
pub(super) mod fuzz;

type Target = fn(&[u8]);

const TARGETS: &[(&str, Target)] = &[
    ("open", fuzz::open),
    ("record", fuzz::record),
    ("pprof", fuzz::pprof),
    ("folded", fuzz::folded),
    ("firefox", fuzz::firefox),
    ("speedscope", fuzz::speedscope),
    ("otlp", fuzz::otlp),
    ("perf_script", fuzz::perf_script),
    ("feature", fuzz::feature),
    ("sample", fuzz::sample),
    ("encode_decode", fuzz::encode_decode),
    ("scenario", fuzz::scenario),
    ("json", fuzz::json),
    ("quipper", fuzz::quipper),
    ("jitdump", fuzz::jitdump),
    ("archive", fuzz::archive),
    ("rewrite", fuzz::rewrite),
    ("stream", fuzz::stream),
    ("directory", fuzz::directory),
    ("quipper_text", fuzz::quipper_text),
    ("elf", fuzz::elf),
    ("symbols", fuzz::symbols),
    ("recorded_symbols", fuzz::recorded_symbols),
    ("unwind", fuzz::unwind),
    ("tracepoint", fuzz::tracepoint),
    ("object", fuzz::object),
    ("page", fuzz::page),
    ("code", fuzz::code),
    ("completion", fuzz::completion),
    ("branches", fuzz::branches),
    ("trace", fuzz::trace),
    #[cfg(feature = "parquet")]
    ("dataset", fuzz::dataset),
];

/// Targets of features that this program does not have.
const MISSING: &[&str] = if cfg!(feature = "parquet") { &[] } else { &["dataset"] };

/// Number of inputs of a target, on average: more belong into a corpus outside of the repository.
const MAX_INPUTS: usize = 8;

#[test]
fn every_committed_input_passes_its_target() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzzed/corpus");
    let (mut files, mut bytes) = (0, 0);
    for &(name, target) in TARGETS {
        let inputs = fs::read_dir(corpus.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let before = files;
        for input in inputs {
            let path = input.expect("the directory should be listable").path();
            note!("{}", path.display());
            let input = fs::read(path).expect("an input should be readable");
            target(&input);
            files += 1;
            bytes += input.len();
        }
        assert!(files > before, "{name} has no inputs");
    }
    let most = MAX_INPUTS * TARGETS.len();
    assert!(files <= most && bytes < 1 << 20, "{files} files of {bytes} bytes are too many for a repository");
    assert_eq!(
        fs::read_dir(corpus).expect("the directory should be listable").count(),
        TARGETS.len() + MISSING.len(),
        "a corpus directory has no target"
    );
}
