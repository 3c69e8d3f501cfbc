//! PerfDataProto: round trips, and messages of quipper as inputs.

use crate::common::files::fixture;
use crate::common::program::{convert, for_each, perfconv, run, succeed};
use crate::common::quipper::{import_messages, masked, scratch};
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::abi::sample::regs::{Regs, RegsAbi};
use perf_data::abi::sample::{Sample, StackUser};
use perf_data::abi::sample_type::SampleType;
use perfconv::formats::quipper::proto::PerfDataProto;
use perfconv::formats::quipper::proto::perf_data_proto::Original;
use perfconv::formats::quipper::proto::perf_data_proto::string_metadata::StringAndMd5sumPrefix;
use perfconv::synth;
use prost::Message;
use std::fs;

#[test]
fn messages_of_quipper_import_as_recordings() {
    import_messages(|_, _| Vec::new());
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
        succeed(perfconv().arg(&data).args(args).arg(&message));
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
    succeed(perfconv().arg(&message).args(["-f", "-q", "-o"]).arg(&back));
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
    succeed(perfconv().arg("rewrite").arg(&plain).args(args).arg(&compressed));
    for fidelity in ["strict", "perf-converter"] {
        let [plain, compressed] = [&plain, &compressed].map(|input| {
            let output = scratch("stacks.pb_data");
            let args = ["--quipper", fidelity, "-f", "-q", "-o"];
            succeed(perfconv().arg(input).args(args).arg(&output));
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
fn rejects_invalid_messages_without_writing() {
    let good = scratch("good.pb_data");
    succeed(perfconv().arg(fixture("callgraph.data")).args(["-q", "-f", "-o"]).arg(&good));
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
    succeed(perfconv().arg(fixture("two-events.data")).args(["-q", "-f", "-o"]).arg(&good));
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
    let statuses = for_each(&corrupted, |bytes| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let [input, output] = ["in.pb_data", "out.data"].map(|name| directory.path().join(name));
        fs::write(&input, bytes).expect("the file should be writable");
        let run = run(perfconv().arg(&input).arg("-o").arg(&output));
        (run.status, run.stderr)
    });
    let read = statuses.iter().filter(|(status, _)| *status == 0).count();
    note!("{} corrupted messages, {read} of them readable", statuses.len());
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
        succeed(perfconv().arg(&message_path).args(["-q", "-f", "-o"]).arg(&back));
        assert!(fs::read(&back).expect("the file should have been written") == plain, "{ending}");
    }
}

#[cfg(feature = "quipper-text")]
#[test]
fn text_form_round_trips() {
    for name in ["callgraph.data", "pipe-tracepoints.data", "group-read.data", "big-endian.data"] {
        let (message_path, back) = (scratch(&format!("{name}.pb_text")), scratch(&format!("{name}.of-text")));
        let to_perf = ["-t", "perf.data", "-q", "-f", "-o"];
        succeed(perfconv().arg(fixture(name)).args(["-q", "-f", "-o"]).arg(&message_path));
        succeed(perfconv().arg(&message_path).args(to_perf).arg(&back));
        assert!(
            fs::read(&back).expect("the file should have been written") == fs::read(fixture(name)).expect("a fixture"),
            "{name}"
        );
    }
    let (bad, output) = (scratch("bad.pb_text"), scratch("bad-text.data"));
    fs::write(&bad, "timestamp_sec: 0\nevents {\n  no_such_field: 1\n}\n").expect("the file should be writable");
    let run = convert(&bad, &output);
    assert!(run.failure().expect("a failure").contains("line 2"), "{}", run.stderr);
    assert!(!output.exists());
}
