//! PerfDataProto: what the peer makes of recordings, and what other programs make of ours.

use crate::suite::files::{Recording, corpus, fixture, fixtures, has_corpus};
use crate::suite::program::{Run, convert, for_each, perfconv, run, run_other};
use perfconv::abi::feature::{Feature, FeatureId};
use perfconv::abi::regs::{Regs, RegsAbi};
use perfconv::abi::sample::{Sample, StackUser};
use perfconv::abi::sample_type::SampleType;
use perfconv::formats::quipper::proto::PerfDataProto;
use perfconv::formats::quipper::proto::perf_data_proto::Original;
use perfconv::formats::quipper::proto::perf_data_proto::string_metadata::StringAndMd5sumPrefix;
use perfconv::synth;
use prost::Message;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The features that the peer keeps when it writes a recording.
const KEPT_FEATURES: u64 = 0x4003_fffe;

/// Goldens of the peer's own tests that are older than its schema, and lack its newer fields.
pub const STALE: [&str; 5] = [
    "perf.data.busy.0-3.4",
    "perf.data.busy.1-3.8",
    "perf.data.systemwide.1-3.8",
    "perf.data.piped.target-3.4",
    "perf.data.piped.target.throttled-3.4",
];

/// A file of this test's own.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("quipper");
    fs::create_dir_all(&folder).expect("a folder for what is written");
    folder.join(name.replace('/', "_"))
}

pub fn strict(input: &Path, output: &Path) -> Result<Vec<u8>, String> {
    let args = ["-t", "quipper", "--quipper", "strict", "-f", "-q", "-o"];
    let run = run(perfconv().arg(input).args(args).arg(output));
    match run.status {
        0 => Ok(fs::read(output).expect("it was written")),
        _ => Err(run.stderr),
    }
}

/// What a golden beside the corpus holds; `None` where there is none.
pub fn golden(recording: &Recording, kind: &str) -> Option<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let path = root.join("golden-peer").join(format!("{}.{kind}.pb.zst", recording.name));
    let packed = fs::read(path).ok()?;
    Some(zstd::decode_all(&packed[..]).expect("a golden is zstd"))
}

pub fn masked(bytes: &[u8]) -> PerfDataProto {
    let mut message = PerfDataProto::decode(bytes).expect("a PerfDataProto");
    message.metadata_mask.iter_mut().for_each(|mask| *mask &= KEPT_FEATURES);
    message
}

#[test]
fn the_strict_form_is_what_the_peers_reader_makes() {
    if !has_corpus("what the peer's reader makes") {
        return;
    }
    let mut with_golden: Vec<_> =
        corpus().into_iter().filter_map(|recording| Some((golden(&recording, "strict")?, recording))).collect();
    with_golden.dedup_by(|(_, a), (_, b)| a.path == b.path);
    let wrong = for_each(&with_golden, |(golden, recording)| {
        let ours = strict(&recording.path, &scratch(&format!("{}.strict", recording.name)));
        match ours {
            Ok(ours) if ours == *golden => None,
            Ok(ours) => Some(format!("{}: {} bytes, not {}", recording.name, ours.len(), golden.len())),
            Err(e) => Some(format!("{}: {e}", recording.name)),
        }
    });
    let wrong: Vec<_> = wrong.into_iter().flatten().collect();
    println!("{} recordings, oracle: the peer's reader; the same bytes but for {wrong:?}", with_golden.len());
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(with_golden.len() >= 340, "only {} recordings have a golden", with_golden.len());
}

#[test]
fn the_strict_form_equals_the_goldens_of_the_peers_tests() {
    if !has_corpus("the goldens of the peer's tests") {
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
        let ours = strict(&recording.path, &scratch(&format!("{}.io", recording.name))).expect("it is readable");
        let golden = zstd::decode_all(&packed[..]).expect("a golden is zstd");
        assert!(masked(&ours) == masked(&golden), "{}", recording.name);
        compared += 1;
    }
    println!("{compared} recordings equal the goldens .io.out.pb_data; {stale} goldens lack fields of the schema");
    assert!(compared >= 15, "only {compared} recordings were compared");
}

#[test]
fn a_message_of_the_peers_becomes_a_recording_that_perf_reads_and_the_same_message() {
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
    let wrong = for_each(&messages, |(name, message, original)| {
        let fields = PerfDataProto::decode(&message[..]).expect("a PerfDataProto");
        if fields.file_attrs.is_empty() {
            return None;
        }
        // perf stat's need the CPU_MAP record, which the schema does not model.
        let is_stat = fields.events.iter().any(|event| event.stat_config_event.is_some());
        let (told, data) = (scratch(&format!("{name}.told.pb_data")), scratch(&format!("{name}.data")));
        fs::write(&told, message).expect("a file can be written");
        let made = run(perfconv().arg(&told).args(["-q", "-f", "-o"]).arg(&data));
        if made.status != 0 {
            return Some(format!("{name}: {}", made.stderr));
        }
        let again = strict(&data, &scratch(&format!("{name}.again"))).unwrap_or_default();
        if masked(&again) != masked(message) {
            return Some(format!("{name}: another message"));
        }
        let big = scratch(&format!("{name}.big.data"));
        let made = run(perfconv().arg(&told).args(["-q", "-f", "--endian", "big", "-o"]).arg(&big));
        if made.status == 0 {
            let again = strict(&big, &scratch(&format!("{name}.big.again"))).unwrap_or_default();
            if masked(&again) != masked(message) {
                return Some(format!("{name}: another message of the big-endian recording"));
            }
            big_endian.fetch_add(1, Ordering::Relaxed);
        } else if !made.stderr.contains("only the recorder knows") {
            return Some(format!("{name}: big-endian: {}", made.stderr));
        }
        let perf = |path: &Path, args: &[&str]| run_other(Command::new("perf").args(args).arg("-i").arg(path)).status;
        let reads = [&["script", "-f", "-F", "comm,tid,time,event"][..], &["report", "-f", "--header-only"]];
        // Some recordings perf does not read as they were either.
        let is_refused = |args: &&[&str]| perf(&data, args) != 0 && perf(original, args) == 0;
        let is_asked = has_perf && !is_stat;
        let refused: Vec<_> = reads.into_iter().filter(|args| is_asked && is_refused(args)).collect();
        (!refused.is_empty()).then(|| format!("{name}: perf {refused:?} refuses it"))
    });
    let wrong: Vec<_> = wrong.into_iter().flatten().collect();
    println!(
        "{} messages became recordings and the same messages; read by perf: {has_perf}; not {wrong:?}; big-endian ones too of \
         {big_endian:?}, the others hold bytes of the recorder's own",
        messages.len()
    );
    // What records and a feature tell of build ids stands in another order in a file.
    let known = ["own/p72/inj-f2p.data: another message"];
    let wrong: Vec<_> =
        wrong.iter().filter(|wrong| !known.contains(&&wrong[..]) && !wrong.contains("numatop-old")).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let (enough, enough_big) = if has_corpus("messages of the peer's") { (340, 200) } else { (10, 5) };
    assert!(messages.len() >= enough, "only {} messages", messages.len());
    assert!(big_endian.into_inner() >= enough_big, "too few became big-endian");
}

#[test]
fn an_empty_string_feature_is_the_empty_string() {
    let ids = [
        FeatureId::HOSTNAME,
        FeatureId::OSRELEASE,
        FeatureId::VERSION,
        FeatureId::ARCH,
        FeatureId::CPUDESC,
        FeatureId::CPUID,
    ];
    let mut recording = synth::RecordingBuilder::new();
    recording.event(synth::Event::named("cycles").expect("an event of perf's"));
    ids.into_iter().for_each(|id| recording.about.set(id, Feature::Opaque(Vec::new())));
    let (data, message) = (scratch("empty-strings.data"), scratch("empty-strings.pb_data"));
    let bytes = recording.to_bytes().expect("a recording");
    fs::write(&data, &bytes).expect("a file can be written");
    // MD5 of nothing.
    let empty = StringAndMd5sumPrefix { value: Some(vec![]), value_md5_prefix: Some(15_284_527_576_400_310_788) };
    for form in ["strict", "perf-converter", "lossless"] {
        let args = ["--quipper", form, "-f", "-q", "-o"];
        assert_eq!(run(perfconv().arg(&data).args(args).arg(&message)).status, 0);
        let fields = PerfDataProto::decode(&fs::read(&message).expect("it was written")[..]).expect("a PerfDataProto");
        let texts = fields.string_metadata.expect("strings");
        let found = [
            texts.hostname,
            texts.kernel_version,
            texts.perf_version,
            texts.architecture,
            texts.cpu_description,
            texts.cpu_id,
        ];
        assert!(found.iter().all(|text| text.as_ref() == Some(&empty)), "{form}: {found:?}");
    }
    let back = scratch("empty-strings.back.data");
    assert_eq!(run(perfconv().arg(&message).args(["-f", "-q", "-o"]).arg(&back)).status, 0);
    assert!(fs::read(&back).expect("it was written") == bytes);
}

/// quipper rejects a recording whose samples have registers or stacks, and keeps the bits of an event without samples. Of
/// what it rejects, a message that it reads has neither the fields nor their bits.
#[test]
fn compressed_samples_with_user_stacks_are_described_like_plain_ones() {
    let mut recording = synth::RecordingBuilder::new();
    let event = |name| synth::Event::named(name).expect("an event of perf's").user_stack(1 << 8, 16);
    let cycles = recording.event(event("cycles"));
    recording.event(event("instructions"));
    let stack = StackUser { data: vec![7; 16], dyn_size: 16 };
    for time in 1..100 {
        let sample = Sample { ip: Some(0x1010), task: Some((7, 7)), time: Some(time), ..Sample::default() };
        let regs = Some(Regs { abi: RegsAbi::ABI_64, regs: vec![1] });
        recording.sample(cycles, Sample { regs_user: regs, stack_user: Some(stack.clone()), ..sample });
    }
    let [plain, compressed] = ["stacks.data", "stacks.zstd.data"].map(scratch);
    fs::write(&plain, recording.to_bytes().expect("a recording")).expect("a file can be written");
    let args = ["--compress", "-f", "-q", "-o"];
    assert_eq!(run(perfconv().arg("rewrite").arg(&plain).args(args).arg(&compressed)).status, 0);
    for form in ["strict", "perf-converter"] {
        let [plain, compressed] = [&plain, &compressed].map(|input| {
            let output = scratch("stacks.pb_data");
            let args = ["--quipper", form, "-f", "-q", "-o"];
            assert_eq!(run(perfconv().arg(input).args(args).arg(&output)).status, 0);
            let bytes = fs::read(output).expect("it was written");
            // The feature COMPRESSED is in the header of one of them only.
            masked(&bytes)
        });
        assert!(compressed == plain, "{form}");
        let bits = SampleType::REGS_USER | SampleType::STACK_USER;
        let attrs = plain.file_attrs.iter().filter_map(|event| event.attr.as_ref());
        let kept: Vec<_> = attrs.map(|attr| attr.sample_type() & bits.bits()).collect();
        assert_eq!(kept, [0, bits.bits()], "{form}");
    }
}

#[test]
fn protoc_reads_it_by_our_description() {
    let installed =
        run_other(Command::new("sh").args(["-c", "command -v protoc || apt-get install -y protobuf-compiler"]));
    if installed.status != 0 {
        println!("skipped: there is no protoc, and it cannot be installed");
        return;
    }
    for name in ["callgraph.data", "weight.data", "pipe.data", "compressed.data"] {
        let output = scratch(&format!("{name}.protoc.pb_data"));
        assert_eq!(run(perfconv().arg(fixture(name)).args(["-q", "-f", "-o"]).arg(&output)).status, 0);
        let decoded = protoc_decodes(&output);
        let text = String::from_utf8_lossy(&decoded.stdout);
        let message = PerfDataProto::decode(&fs::read(&output).expect("it was written")[..]).expect("a message");
        assert_eq!(decoded.status, 0, "{name}: {}", decoded.stderr);
        assert_eq!(text.lines().filter(|line| *line == "events {").count(), message.events.len(), "{name}");
        assert!(!has_nameless(&text), "{name}: a field without a name");
    }
    if !has_corpus("messages of the peer's") {
        return;
    }
    let mut read = 0;
    for recording in corpus().into_iter().step_by(10) {
        let Some(golden) = golden(&recording, "strict") else { continue };
        let told = scratch(&format!("{}.peer", recording.name));
        fs::write(&told, golden).expect("a file can be written");
        let decoded = protoc_decodes(&told);
        assert_eq!(decoded.status, 0, "{}: {}", recording.name, decoded.stderr);
        assert!(!has_nameless(&String::from_utf8_lossy(&decoded.stdout)), "{}", recording.name);
        read += 1;
    }
    println!("protoc reads {read} messages of the peer's by our description, and knows every field");
    assert!(read >= 20, "only {read} messages of the peer's");
}

fn protoc_decodes(message: &Path) -> Run {
    run_other(
        Command::new("protoc")
            .args(["-Iproto", "--decode=quipper.PerfDataProto", "proto/perf_data.proto"])
            .stdin(fs::File::open(message).expect("it was written")),
    )
}

/// Whether there is a field that the description does not name.
fn has_nameless(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()))
}

#[test]
fn what_is_no_message_is_told_and_nothing_is_written() {
    let good = scratch("good.pb_data");
    assert_eq!(run(perfconv().arg(fixture("callgraph.data")).args(["-q", "-f", "-o"]).arg(&good)).status, 0);
    let good = fs::read(good).expect("it was written");
    let message = PerfDataProto::decode(&good[..]).expect("it was written as one");
    let events_alone = PerfDataProto { events: message.events.clone(), ..PerfDataProto::default() }.encode_to_vec();
    let mut large = message.clone();
    large.file_attrs[0].original = Some(Original { size: Some(u32::MAX), splice: None });
    let cases: [(&str, &[u8], &str); 7] = [
        ("empty", b"", "neither events nor records"),
        ("text", b"hello, this is no message at all", "not a PerfDataProto"),
        ("cut", &good[..good.len() / 2], "cut here, behind events "),
        ("zeros", &[0; 64], "not a PerfDataProto"),
        ("attr", &[0x0a, 0x02, 0x10, 0x00], "file_attrs 0"),
        ("large attr", &large.encode_to_vec(), "file_attrs 0: this cannot be an event"),
        ("no attrs", &events_alone, "no file_attrs"),
    ];
    for (name, bytes, what) in cases {
        let (input, output) = (scratch(&format!("bad-{name}.pb_data")), scratch(&format!("bad-{name}.data")));
        fs::write(&input, bytes).expect("a file can be written");
        let run = convert(&input, &output);
        let told = run.failure().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(told.contains(what), "{name}: {told}");
        assert!(!output.exists(), "{name}");
    }
}

#[test]
fn damaged_messages_never_end_the_program() {
    let good = scratch("to-damage.pb_data");
    assert_eq!(run(perfconv().arg(fixture("two-events.data")).args(["-q", "-f", "-o"]).arg(&good)).status, 0);
    let good = fs::read(good).expect("it was written");
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let damaged: Vec<Vec<u8>> = (0..200)
        .map(|_| {
            let mut bytes = good.clone();
            for _ in 0..1 + random() % 8 {
                let at = random() % bytes.len();
                bytes[at] = random() as u8;
            }
            bytes
        })
        .collect();
    let indexed: Vec<_> = damaged.iter().enumerate().collect();
    let statuses = for_each(&indexed, |(index, bytes)| {
        let (input, output) = (scratch(&format!("damaged-{index}.pb_data")), scratch(&format!("damaged-{index}.data")));
        fs::write(&input, bytes).expect("a file can be written");
        let run = run(perfconv().arg(&input).args(["-f", "-o"]).arg(&output));
        fs::remove_file(input).expect("it was there");
        (run.status, run.stderr)
    });
    let read = statuses.iter().filter(|(status, _)| *status == 0).count();
    println!("{} damaged messages, {read} of them could be read", statuses.len());
    for (status, stderr) in &statuses {
        assert!(matches!(status, 0 | 1) && !stderr.contains("panicked"), "{status}: {stderr}");
    }
}

#[test]
fn compressed_outputs_are_read_again() {
    let plain = fs::read(fixture("callgraph.data")).expect("a fixture");
    for ending in ["pb_data.gz", "quipper.zst"] {
        let (told, back) = (scratch(&format!("envelope.{ending}")), scratch("envelope.data"));
        assert_eq!(run(perfconv().arg(fixture("callgraph.data")).args(["-q", "-f", "-o"]).arg(&told)).status, 0);
        assert_eq!(run(perfconv().arg(&told).args(["-q", "-f", "-o"]).arg(&back)).status, 0);
        assert!(fs::read(&back).expect("it was written") == plain, "{ending}");
    }
}

#[cfg(feature = "quipper-text")]
#[test]
fn the_text_form_is_read_again_and_by_protoc() {
    let has_protoc = run_other(Command::new("sh").args(["-c", "command -v protoc"])).status == 0;
    for name in ["callgraph.data", "pipe-tracepoints.data", "group-read.data", "big-endian.data"] {
        let (told, back) = (scratch(&format!("{name}.pb_text")), scratch(&format!("{name}.of-text")));
        let to_perf = ["-t", "perf.data", "-q", "-f", "-o"];
        assert_eq!(run(perfconv().arg(fixture(name)).args(["-q", "-f", "-o"]).arg(&told)).status, 0);
        assert_eq!(run(perfconv().arg(&told).args(to_perf).arg(&back)).status, 0, "{name}");
        assert!(fs::read(&back).expect("it was written") == fs::read(fixture(name)).expect("a fixture"), "{name}");
        let strict = scratch(&format!("{name}.strict.pb_text"));
        let args = ["--quipper", "strict", "-q", "-f", "-o"];
        assert_eq!(run(perfconv().arg(fixture(name)).args(args).arg(&strict)).status, 0);
        if has_protoc {
            let encoded = run_other(
                Command::new("protoc")
                    .args(["-Iproto", "--encode=quipper.PerfDataProto", "proto/perf_data.proto"])
                    .stdin(fs::File::open(&strict).expect("it was written")),
            );
            let binary = self::strict(&fixture(name), &scratch(&format!("{name}.strict"))).expect("it is readable");
            assert!(encoded.stdout == binary, "{name}: {}", encoded.stderr);
        }
    }
    println!("read by protoc: {has_protoc}");
    let (bad, output) = (scratch("bad.pb_text"), scratch("bad-text.data"));
    fs::write(&bad, "timestamp_sec: 0\nevents {\n  no_such_field: 1\n}\n").expect("a file can be written");
    let run = convert(&bad, &output);
    assert!(run.failure().expect("a failure").contains("line 2"), "{}", run.stderr);
    assert!(!output.exists());
}
