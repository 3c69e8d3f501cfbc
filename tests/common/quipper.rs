//! PerfDataProto messages, as perfconv and quipper write them.

use crate::common::files::{Recording, corpus, fixtures, has_corpus};
use crate::common::program::{for_each, perfconv, run};
use perfconv::formats::quipper::proto::PerfDataProto;
use prost::Message;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The features that quipper keeps when it writes a recording.
pub(crate) const KEPT_FEATURES: u64 = 0x4003_fffe;

/// Outdated goldens of quipper's tests, which lack newer fields of its schema.
pub(crate) const STALE: [&str; 5] = [
    "perf.data.busy.0-3.4",
    "perf.data.busy.1-3.8",
    "perf.data.systemwide.1-3.8",
    "perf.data.piped.target-3.4",
    "perf.data.piped.target.throttled-3.4",
];

/// The path of a temporary file of these tests.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("quipper");
    fs::create_dir_all(&dir).expect("a directory for the outputs");
    dir.join(name.replace('/', "_"))
}

pub(crate) fn strict(input: &Path, output: &Path) -> Result<Vec<u8>, String> {
    let args = ["-t", "quipper", "--quipper", "strict", "-f", "-q", "-o"];
    let run = run(perfconv().arg(input).args(args).arg(output));
    match run.status {
        0 => Ok(fs::read(output).expect("the file should have been written")),
        _ => Err(run.stderr),
    }
}

/// Reads a golden of the corpus; `None` if there is none.
pub(crate) fn golden(recording: &Recording, kind: &str) -> Option<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let path = root.join("golden-peer").join(format!("{}.{kind}.pb.zst", recording.name));
    let packed = fs::read(path).ok()?;
    Some(zstd::decode_all(&packed[..]).expect("a golden should be zstd"))
}

pub(crate) fn masked(bytes: &[u8]) -> PerfDataProto {
    let mut message = PerfDataProto::decode(bytes).expect("a PerfDataProto");
    message.metadata_mask.iter_mut().for_each(|mask| *mask &= KEPT_FEATURES);
    message
}

/// Imports messages of fixtures and of the corpus, and exports them again. `rejects` is what another program does not read of the
/// imported recording, but of the original one.
pub(crate) fn import_messages(rejects: fn(imported: &Path, original: &Path) -> Vec<&'static [&'static str]>) {
    let messages: Vec<(String, Vec<u8>, PathBuf)> = fixtures()
        .into_iter()
        .filter(|recording| !recording.name.contains("trunc") && !recording.name.contains("killed"))
        .filter_map(|recording| {
            let message = strict(&recording.path, &scratch(&format!("{}.of", recording.name))).ok()?;
            Some((recording.name, message, recording.path))
        })
        .chain(corpus().into_iter().filter_map(|recording| {
            let message = golden(&recording, "strict")?;
            Some((recording.name, message, recording.path))
        }))
        .collect();
    let big_endian = AtomicUsize::new(0);
    let failures = for_each(&messages, |(name, message, original)| {
        let fields = PerfDataProto::decode(&message[..]).expect("a PerfDataProto");
        if fields.file_attrs.is_empty() {
            return None;
        }
        // Recordings of perf stat need the CPU_MAP record, which the schema lacks.
        let is_stat = fields.events.iter().any(|event| event.stat_config_event.is_some());
        let (message_path, data) = (scratch(&format!("{name}.message.pb_data")), scratch(&format!("{name}.data")));
        fs::write(&message_path, message).expect("the file should be writable");
        let imported = run(perfconv().arg(&message_path).args(["-q", "-f", "-o"]).arg(&data));
        if imported.status != 0 {
            return Some(format!("{name}: {}", imported.stderr));
        }
        let exported = strict(&data, &scratch(&format!("{name}.exported"))).unwrap_or_default();
        if masked(&exported) != masked(message) {
            return Some(format!("{name}: messages differ"));
        }
        let big = scratch(&format!("{name}.big.data"));
        let imported = run(perfconv().arg(&message_path).args(["-q", "-f", "--endian", "big", "-o"]).arg(&big));
        if imported.status == 0 {
            let exported = strict(&big, &scratch(&format!("{name}.big.exported"))).unwrap_or_default();
            if masked(&exported) != masked(message) {
                return Some(format!("{name}: messages of the big-endian recording differ"));
            }
            big_endian.fetch_add(1, Ordering::Relaxed);
        } else if !imported.stderr.contains("byte order of these contents is unknown") {
            return Some(format!("{name}: big-endian: {}", imported.stderr));
        }
        let rejected = if is_stat { Vec::new() } else { rejects(&data, original) };
        (!rejected.is_empty()).then(|| format!("{name}: {rejected:?} rejects it"))
    });
    let failures: Vec<_> = failures.into_iter().flatten().collect();
    note!(
        "{} messages imported and exported again; failures {failures:?}; {big_endian:?} also as big-endian \
         recordings, the others have recorder-defined bytes",
        messages.len()
    );
    // A file stores build IDs of records and of a feature in another order.
    let accepted = ["own/p72/inj-f2p.data: messages differ"];
    let failures: Vec<_> = failures
        .iter()
        .filter(|failure| !accepted.contains(&&failure[..]) && !failure.contains("numatop-old"))
        .collect();
    assert!(failures.is_empty(), "{failures:?}");
    let (enough, enough_big) = if has_corpus("messages of quipper") { (340, 200) } else { (10, 5) };
    assert!(messages.len() >= enough, "only {} messages", messages.len());
    assert!(big_endian.into_inner() >= enough_big, "too few big-endian recordings");
}
