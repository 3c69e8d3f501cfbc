//! PerfDataProto: compared with quipper and perf_converter, and exchanged with them.

use crate::suite::files::{Recording, corpus, fixture, fixtures, has_corpus};
use crate::suite::program::{Run, convert, for_each, perfconv, run, run_other};
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::abi::regs::{Regs, RegsAbi};
use perf_data::abi::sample::{Sample, StackUser};
use perf_data::abi::sample_type::SampleType;
use perfconv::formats::quipper::proto::PerfDataProto;
use perfconv::formats::quipper::proto::perf_data_proto::Original;
use perfconv::formats::quipper::proto::perf_data_proto::string_metadata::StringAndMd5sumPrefix;
use perfconv::synth;
use prost::Message;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The features that quipper keeps when it writes a recording.
const KEPT_FEATURES: u64 = 0x4003_fffe;

/// Outdated goldens of quipper's tests, which lack newer fields of its schema.
pub(super) const STALE: [&str; 5] = [
    "perf.data.busy.0-3.4",
    "perf.data.busy.1-3.8",
    "perf.data.systemwide.1-3.8",
    "perf.data.piped.target-3.4",
    "perf.data.piped.target.throttled-3.4",
];

/// The path of a temporary file of these tests.
pub(super) fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("quipper");
    fs::create_dir_all(&dir).expect("a directory for the outputs");
    dir.join(name.replace('/', "_"))
}

pub(super) fn strict(input: &Path, output: &Path) -> Result<Vec<u8>, String> {
    let args = ["-t", "quipper", "--quipper", "strict", "-f", "-q", "-o"];
    let run = run(perfconv().arg(input).args(args).arg(output));
    match run.status {
        0 => Ok(fs::read(output).expect("the file should have been written")),
        _ => Err(run.stderr),
    }
}

/// Reads a golden of the corpus; `None` if there is none.
pub(super) fn golden(recording: &Recording, kind: &str) -> Option<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let path = root.join("golden-peer").join(format!("{}.{kind}.pb.zst", recording.name));
    let packed = fs::read(path).ok()?;
    Some(zstd::decode_all(&packed[..]).expect("a golden should be zstd"))
}

pub(super) fn masked(bytes: &[u8]) -> PerfDataProto {
    let mut message = PerfDataProto::decode(bytes).expect("a PerfDataProto");
    message.metadata_mask.iter_mut().for_each(|mask| *mask &= KEPT_FEATURES);
    message
}

#[test]
fn strict_form_matches_quipper() {
    if !has_corpus("goldens of quipper's reader") {
        return;
    }
    let mut with_golden: Vec<_> =
        corpus().into_iter().filter_map(|recording| Some((golden(&recording, "strict")?, recording))).collect();
    with_golden.dedup_by(|(_, a), (_, b)| a.path == b.path);
    let failures = for_each(&with_golden, |(golden, recording)| {
        let ours = strict(&recording.path, &scratch(&format!("{}.strict", recording.name)));
        match ours {
            Ok(ours) if ours == *golden => None,
            Ok(ours) => Some(format!("{}: {} bytes, expected {}", recording.name, ours.len(), golden.len())),
            Err(e) => Some(format!("{}: {e}", recording.name)),
        }
    });
    let failures: Vec<_> = failures.into_iter().flatten().collect();
    println!("{} recordings compared with quipper's reader; failures {failures:?}", with_golden.len());
    assert!(failures.is_empty(), "{failures:?}");
    assert!(with_golden.len() >= 340, "only {} recordings have a golden", with_golden.len());
}

#[test]
fn strict_form_matches_goldens_of_quipper() {
    if !has_corpus("goldens of quipper's tests") {
        return;
    }
    let (mut compared, mut stale) = (0, 0);
    for recording in corpus() {
        let golden = PathBuf::from(format!("{}.io.out.pb_data.zst", recording.path.display()));
        let Ok(packed) = fs::read(&golden) else { continue };
        if STALE.iter().any(|name| recording.path.ends_with(name)) {
            stale += 1;
            continue;
        }
        let ours = strict(&recording.path, &scratch(&format!("{}.io", recording.name))).expect("it should be readable");
        let golden = zstd::decode_all(&packed[..]).expect("a golden should be zstd");
        assert!(masked(&ours) == masked(&golden), "{}", recording.name);
        compared += 1;
    }
    println!(
        "{compared} recordings equal goldens .io.out.pb_data; {stale} goldens skipped: they lack fields of the schema"
    );
    assert!(compared >= 15, "compared only {compared} recordings");
}

#[test]
fn messages_of_quipper_import_as_recordings_that_perf_reads() {
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
    let has_perf = run_other(Command::new("sh").args(["-c", "command -v perf"])).status == 0;
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
        let perf = |path: &Path, args: &[&str]| run_other(Command::new("perf").args(args).arg("-i").arg(path)).status;
        let reads = [&["script", "-f", "-F", "comm,tid,time,event"][..], &["report", "-f", "--header-only"]];
        // Ignore recordings that perf cannot read in their original form either.
        let is_rejected = |args: &&[&str]| perf(&data, args) != 0 && perf(original, args) == 0;
        let is_checked = has_perf && !is_stat;
        let rejected: Vec<_> = reads.into_iter().filter(|args| is_checked && is_rejected(args)).collect();
        (!rejected.is_empty()).then(|| format!("{name}: perf {rejected:?} rejects it"))
    });
    let failures: Vec<_> = failures.into_iter().flatten().collect();
    println!(
        "{} messages imported and exported again; read by perf: {has_perf}; failures {failures:?}; {big_endian:?} also as big-endian \
         recordings, the others have recorder-defined bytes",
        messages.len()
    );
    // A file stores build IDs of records and of a feature in another order.
    let known = ["own/p72/inj-f2p.data: messages differ"];
    let failures: Vec<_> =
        failures.iter().filter(|failure| !known.contains(&&failure[..]) && !failure.contains("numatop-old")).collect();
    assert!(failures.is_empty(), "{failures:?}");
    let (enough, enough_big) = if has_corpus("messages of quipper") { (340, 200) } else { (10, 5) };
    assert!(messages.len() >= enough, "only {} messages", messages.len());
    assert!(big_endian.into_inner() >= enough_big, "too few big-endian recordings");
}

#[test]
fn empty_string_features_export_as_empty_strings() {
    let ids = [
        FeatureId::HOSTNAME,
        FeatureId::OSRELEASE,
        FeatureId::VERSION,
        FeatureId::ARCH,
        FeatureId::CPUDESC,
        FeatureId::CPUID,
    ];
    let mut recording = synth::RecordingBuilder::new();
    recording.event(synth::Event::named("cycles").expect("an event that perf knows"));
    ids.into_iter().for_each(|id| recording.metadata.set(id, Feature::Opaque(Vec::new())));
    let (data, message) = (scratch("empty-strings.data"), scratch("empty-strings.pb_data"));
    let bytes = recording.to_bytes().expect("a recording");
    fs::write(&data, &bytes).expect("the file should be writable");
    // The MD5 prefix of an empty string.
    let empty = StringAndMd5sumPrefix { value: Some(vec![]), value_md5_prefix: Some(15_284_527_576_400_310_788) };
    for fidelity in ["strict", "perf-converter", "lossless"] {
        let args = ["--quipper", fidelity, "-f", "-q", "-o"];
        assert_eq!(run(perfconv().arg(&data).args(args).arg(&message)).status, 0);
        let fields = PerfDataProto::decode(&fs::read(&message).expect("the file should have been written")[..])
            .expect("a PerfDataProto");
        let texts = fields.string_metadata.expect("strings");
        let found = [
            texts.hostname,
            texts.kernel_version,
            texts.perf_version,
            texts.architecture,
            texts.cpu_description,
            texts.cpu_id,
        ];
        assert!(found.iter().all(|text| text.as_ref() == Some(&empty)), "{fidelity}: {found:?}");
    }
    let back = scratch("empty-strings.back.data");
    assert_eq!(run(perfconv().arg(&message).args(["-f", "-q", "-o"]).arg(&back)).status, 0);
    assert!(fs::read(&back).expect("the file should have been written") == bytes);
}

/// quipper rejects recordings whose samples have registers or stacks, unless the event has no samples. A message for it must have
/// neither these fields nor their bits in sample_type.
#[test]
fn compressed_samples_with_user_stacks_export_like_uncompressed_ones() {
    let mut recording = synth::RecordingBuilder::new();
    let event = |name| synth::Event::named(name).expect("an event that perf knows").user_stack(1 << 8, 16);
    let cycles = recording.event(event("cycles"));
    recording.event(event("instructions"));
    let stack = StackUser { data: vec![7; 16], dyn_size: 16 };
    for time in 1..100 {
        let sample = Sample { ip: Some(0x1010), task: Some((7, 7)), time: Some(time), ..Sample::default() };
        let regs = Some(Regs { abi: RegsAbi::ABI_64, regs: vec![1] });
        recording.sample(cycles, Sample { regs_user: regs, stack_user: Some(stack.clone()), ..sample });
    }
    let [plain, compressed] = ["stacks.data", "stacks.zstd.data"].map(scratch);
    fs::write(&plain, recording.to_bytes().expect("a recording")).expect("the file should be writable");
    let args = ["--compress", "-f", "-q", "-o"];
    assert_eq!(run(perfconv().arg("rewrite").arg(&plain).args(args).arg(&compressed)).status, 0);
    for fidelity in ["strict", "perf-converter"] {
        let [plain, compressed] = [&plain, &compressed].map(|input| {
            let output = scratch("stacks.pb_data");
            let args = ["--quipper", fidelity, "-f", "-q", "-o"];
            assert_eq!(run(perfconv().arg(input).args(args).arg(&output)).status, 0);
            let bytes = fs::read(output).expect("the file should have been written");
            // Only one of them has the feature COMPRESSED.
            masked(&bytes)
        });
        assert!(compressed == plain, "{fidelity}");
        let bits = SampleType::REGS_USER | SampleType::STACK_USER;
        let attrs = plain.file_attrs.iter().filter_map(|event| event.attr.as_ref());
        let kept: Vec<_> = attrs.map(|attr| attr.sample_type() & bits.bits()).collect();
        assert_eq!(kept, [0, bits.bits()], "{fidelity}");
    }
}

#[test]
fn protoc_decodes_messages_with_our_schema() {
    let installed =
        run_other(Command::new("sh").args(["-c", "command -v protoc || apt-get install -y protobuf-compiler"]));
    if installed.status != 0 {
        println!("skipped: no protoc, and it cannot be installed");
        return;
    }
    for name in ["callgraph.data", "weight.data", "pipe.data", "compressed.data"] {
        let output = scratch(&format!("{name}.protoc.pb_data"));
        assert_eq!(run(perfconv().arg(fixture(name)).args(["-q", "-f", "-o"]).arg(&output)).status, 0);
        let decoded = protoc_decodes(&output);
        let text = String::from_utf8_lossy(&decoded.stdout);
        let message = PerfDataProto::decode(&fs::read(&output).expect("the file should have been written")[..])
            .expect("a message");
        assert_eq!(decoded.status, 0, "{name}: {}", decoded.stderr);
        assert_eq!(text.lines().filter(|line| *line == "events {").count(), message.events.len(), "{name}");
        assert!(!has_unknown_field(&text), "{name}: a field is missing in the schema");
    }
    if !has_corpus("messages of quipper") {
        return;
    }
    let mut read = 0;
    for recording in corpus().into_iter().step_by(10) {
        let Some(golden) = golden(&recording, "strict") else { continue };
        let message_path = scratch(&format!("{}.peer", recording.name));
        fs::write(&message_path, golden).expect("the file should be writable");
        let decoded = protoc_decodes(&message_path);
        assert_eq!(decoded.status, 0, "{}: {}", recording.name, decoded.stderr);
        assert!(!has_unknown_field(&String::from_utf8_lossy(&decoded.stdout)), "{}", recording.name);
        read += 1;
    }
    println!("protoc decodes {read} messages of quipper with our schema, all fields included");
    assert!(read >= 20, "only {read} messages of quipper");
}

fn protoc_decodes(message: &Path) -> Run {
    run_other(
        Command::new("protoc")
            .args(["-Iproto", "--decode=quipper.PerfDataProto", "proto/perf_data.proto"])
            .stdin(fs::File::open(message).expect("the file should have been written")),
    )
}

/// Whether a field is missing in the schema.
fn has_unknown_field(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()))
}

#[test]
fn rejects_invalid_messages_without_writing() {
    let good = scratch("good.pb_data");
    assert_eq!(run(perfconv().arg(fixture("callgraph.data")).args(["-q", "-f", "-o"]).arg(&good)).status, 0);
    let good = fs::read(good).expect("the file should have been written");
    let message = PerfDataProto::decode(&good[..]).expect("a PerfDataProto");
    let events_only = PerfDataProto { events: message.events.clone(), ..PerfDataProto::default() }.encode_to_vec();
    let mut large = message.clone();
    large.file_attrs[0].original = Some(Original { size: Some(u32::MAX), splice: None });
    let cases: [(&str, &[u8], &str); 7] = [
        ("empty", b"", "neither file_attrs nor events"),
        ("text", b"hello, this is no message at all", "not a PerfDataProto"),
        ("truncated", &good[..good.len() / 2], "truncated, after events "),
        ("zeros", &[0; 64], "not a PerfDataProto"),
        ("attr", &[0x0a, 0x02, 0x10, 0x00], "file_attrs 0"),
        ("large attr", &large.encode_to_vec(), "file_attrs 0: not a valid event"),
        ("no attrs", &events_only, "no file_attrs"),
    ];
    for (name, bytes, what) in cases {
        let (input, output) = (scratch(&format!("bad-{name}.pb_data")), scratch(&format!("bad-{name}.data")));
        fs::write(&input, bytes).expect("the file should be writable");
        let run = convert(&input, &output);
        let message = run.failure().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(message.contains(what), "{name}: {message}");
        assert!(!output.exists(), "{name}");
    }
}

#[test]
fn random_corruption_causes_no_panic() {
    let good = scratch("to-corrupt.pb_data");
    assert_eq!(run(perfconv().arg(fixture("two-events.data")).args(["-q", "-f", "-o"]).arg(&good)).status, 0);
    let good = fs::read(good).expect("the file should have been written");
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let corrupted: Vec<Vec<u8>> = (0..200)
        .map(|_| {
            let mut bytes = good.clone();
            for _ in 0..1 + random() % 8 {
                let at = random() % bytes.len();
                bytes[at] = random() as u8;
            }
            bytes
        })
        .collect();
    let indexed: Vec<_> = corrupted.iter().enumerate().collect();
    let statuses = for_each(&indexed, |(index, bytes)| {
        let (input, output) =
            (scratch(&format!("corrupted-{index}.pb_data")), scratch(&format!("corrupted-{index}.data")));
        fs::write(&input, bytes).expect("the file should be writable");
        let run = run(perfconv().arg(&input).args(["-f", "-o"]).arg(&output));
        fs::remove_file(input).expect("the input should exist");
        (run.status, run.stderr)
    });
    let read = statuses.iter().filter(|(status, _)| *status == 0).count();
    println!("{} corrupted messages, {read} of them readable", statuses.len());
    for (status, stderr) in &statuses {
        assert!(matches!(status, 0 | 1) && !stderr.contains("panicked"), "{status}: {stderr}");
    }
}

#[test]
fn compressed_messages_round_trip() {
    let plain = fs::read(fixture("callgraph.data")).expect("a fixture");
    for ending in ["pb_data.gz", "quipper.zst"] {
        let (message_path, back) = (scratch(&format!("envelope.{ending}")), scratch("envelope.data"));
        assert_eq!(
            run(perfconv().arg(fixture("callgraph.data")).args(["-q", "-f", "-o"]).arg(&message_path)).status,
            0
        );
        assert_eq!(run(perfconv().arg(&message_path).args(["-q", "-f", "-o"]).arg(&back)).status, 0);
        assert!(fs::read(&back).expect("the file should have been written") == plain, "{ending}");
    }
}

#[cfg(feature = "quipper-text")]
#[test]
fn text_form_round_trips_and_is_read_by_protoc() {
    let has_protoc = run_other(Command::new("sh").args(["-c", "command -v protoc"])).status == 0;
    for name in ["callgraph.data", "pipe-tracepoints.data", "group-read.data", "big-endian.data"] {
        let (message_path, back) = (scratch(&format!("{name}.pb_text")), scratch(&format!("{name}.of-text")));
        let to_perf = ["-t", "perf.data", "-q", "-f", "-o"];
        assert_eq!(run(perfconv().arg(fixture(name)).args(["-q", "-f", "-o"]).arg(&message_path)).status, 0);
        assert_eq!(run(perfconv().arg(&message_path).args(to_perf).arg(&back)).status, 0, "{name}");
        assert!(
            fs::read(&back).expect("the file should have been written") == fs::read(fixture(name)).expect("a fixture"),
            "{name}"
        );
        let strict = scratch(&format!("{name}.strict.pb_text"));
        let args = ["--quipper", "strict", "-q", "-f", "-o"];
        assert_eq!(run(perfconv().arg(fixture(name)).args(args).arg(&strict)).status, 0);
        if has_protoc {
            let encoded = run_other(
                Command::new("protoc")
                    .args(["-Iproto", "--encode=quipper.PerfDataProto", "proto/perf_data.proto"])
                    .stdin(fs::File::open(&strict).expect("the file should have been written")),
            );
            let binary =
                self::strict(&fixture(name), &scratch(&format!("{name}.strict"))).expect("it should be readable");
            assert!(encoded.stdout == binary, "{name}: {}", encoded.stderr);
        }
    }
    println!("read by protoc: {has_protoc}");
    let (bad, output) = (scratch("bad.pb_text"), scratch("bad-text.data"));
    fs::write(&bad, "timestamp_sec: 0\nevents {\n  no_such_field: 1\n}\n").expect("the file should be writable");
    let run = convert(&bad, &output);
    assert!(run.failure().expect("a failure").contains("line 2"), "{}", run.stderr);
    assert!(!output.exists());
}
