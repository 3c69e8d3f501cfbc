//! Recordings whose stack dumps were replaced by call chains (`rewrite --unwind`).

use crate::common::program::{perfconv, run, succeed};
use perf_data::abi::Endian;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::record::{Body, CpuMode};
use perf_data::abi::sample::branch::{BranchEntry, BranchFlags, BranchStack};
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample::regs::{Regs, RegsAbi};
use perf_data::abi::sample::weight::Weight;
use perf_data::abi::sample::{Callchain, Sample, StackUser};
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perfconv::Recording;
use perfconv::recording::SymbolOptions;
use perfconv::synth::{Event, Map};
use std::fs;
use std::path::Path;

/// A program without files, whose functions keep frame pointers: three frames, the leaf first.
const FRAMES: [u64; 3] = [0x40_1010, 0x40_1030, 0x40_1050];

/// A stack dump with these frames, in a process with the registers BP, SP and IP.
fn dumped(endian: Endian) -> Sample {
    let word = |word: u64| if endian == Endian::Big { word.to_be_bytes() } else { word.to_le_bytes() };
    let words = [0, 0x7fff_0020, FRAMES[1], 0, 0x7fff_0040, FRAMES[2], 0, 0, 0, 0];
    Sample {
        ip: Some(FRAMES[0]),
        task: Some((7, 7)),
        regs_user: Some(Regs { abi: RegsAbi::ABI_64, regs: vec![0x7fff_0008, 0x7fff_0000, FRAMES[0]] }),
        stack_user: Some(StackUser { data: words.iter().flat_map(|&value| word(value)).collect(), dyn_size: 80 }),
        ..Sample::default()
    }
}

/// A recording of two events with dumps, of which one has call chains, and one without dumps.
fn several_events(endian: Endian) -> Vec<u8> {
    let mut recording = Recording::builder();
    recording.metadata.endian = endian;
    "x86_64".clone_into(&mut recording.metadata.machine.as_mut().unwrap().arch);
    let fields = SampleType::IDENTIFIER | SampleType::IP | SampleType::TID | SampleType::TIME;
    let with_dumps = |event: Event| {
        let mut event = event.user_stack(1 << 6 | 1 << 7 | 1 << 8, 80);
        event.attr.flags.insert(AttrFlags::EXCLUDE_CALLCHAIN_USER);
        event
    };
    let named = |name: &str| Event::named(name).unwrap().with(fields);
    let plain = recording.event(with_dumps(named("cycles")));
    let chained = recording.event(with_dumps(named("instructions").with(SampleType::CALLCHAIN)));
    let other = recording.event(named("branches").with(SampleType::CALLCHAIN | SampleType::WEIGHT));
    recording.process(7, "app").map(7, Map::new("//anon", 0x40_0000, 0x2000));
    let kernel = |sample: Sample| Sample { ip: Some(0xffff_ffff_8100_0010), ..sample };
    let chain = |ips: &[u64]| Some(Callchain { ips: ips.to_vec() });
    let samples = [
        (plain, dumped(endian), CpuMode::USER),
        (plain, kernel(dumped(endian)), CpuMode::KERNEL),
        (chained, Sample { callchain: chain(&[]), ..dumped(endian) }, CpuMode::USER),
        (
            chained,
            Sample { callchain: chain(&[Context::KERNEL.0, 0xffff_ffff_8100_0010]), ..kernel(dumped(endian)) },
            CpuMode::KERNEL,
        ),
        (
            other,
            Sample {
                callchain: chain(&[Context::USER.0, FRAMES[0], 5]),
                weight: Some(Weight(7)),
                regs_user: None,
                stack_user: None,
                ..dumped(endian)
            },
            CpuMode::USER,
        ),
    ];
    for ((event, sample, misc), time) in samples.into_iter().zip(1..) {
        let sample = Sample { time: Some(time), ..sample };
        recording.sample_in(misc, event, sample);
    }
    recording.to_bytes().unwrap()
}

#[test]
fn branch_call_stacks_are_replaced_as_well() {
    let mut recording = Recording::builder();
    "x86_64".clone_into(&mut recording.metadata.machine.as_mut().unwrap().arch);
    let mut event =
        Event::named("cycles").unwrap().with(SampleType::IP | SampleType::BRANCH_STACK | SampleType::WEIGHT);
    event = event.user_stack(1 << 6 | 1 << 7 | 1 << 8, 80);
    event.attr.branch_sample_type = BranchSampleType::USER | BranchSampleType::CALL_STACK;
    let event = recording.event(event);
    recording.process(7, "app").map(7, Map::new("//anon", 0x40_0000, 0x2000));
    // The last call only.
    let last = BranchEntry { from: FRAMES[1] - 5, to: FRAMES[0] - 16, flags: BranchFlags::default() };
    let branch_stack = Some(BranchStack { hw_idx: None, entries: vec![last], counters: Vec::new() });
    let weight = Some(Weight(7));
    let sample = Sample { time: Some(1), branch_stack, weight, ..dumped(Endian::Little) };
    recording.sample_in(CpuMode::USER, event, sample);
    let dir = tempfile::tempdir().unwrap();
    let [original, unwound] = ["original", "unwound"].map(|name| dir.path().join(name));
    fs::write(&original, recording.to_bytes().unwrap()).unwrap();
    let options = SymbolOptions::default();
    let recording = Recording::open(&original).unwrap().with_symbols(options.clone());
    recording.rewrite().unwind_user_stacks().write(&unwound).unwrap();
    let expected = [[FRAMES[0], FRAMES[1] - 1, FRAMES[2] - 1]];
    for path in [&original, &unwound] {
        let recording = Recording::open(path).unwrap().with_symbols(options.clone());
        assert_eq!(contents(&recording).0, expected, "{}", path.display());
    }
    let recording = Recording::open(&unwound).unwrap();
    let attr = recording.features().unwrap().events().remove(0).attr;
    assert!(!attr.sample_type.contains(SampleType::BRANCH_STACK) && attr.branch_sample_type.is_empty());
    let mut records = recording.records().unwrap();
    while let Some(record) = records.next().unwrap() {
        if let Body::Sample(sample) = record.decode().body {
            assert_eq!((sample.weight, sample.branch_stack), (weight, None));
        }
    }
}

/// Addresses of each sample's frames, and whether each event has call chains and dumps.
fn contents(recording: &Recording) -> (Vec<Vec<u64>>, Vec<[bool; 3]>) {
    let (mut samples, mut stacks) = (recording.samples().unwrap(), Vec::new());
    while let Some(sample) = samples.next().unwrap() {
        stacks.push(sample.frames().map(|frame| frame.address()).collect());
    }
    let fields = [SampleType::CALLCHAIN, SampleType::REGS_USER, SampleType::STACK_USER];
    let features = recording.features().unwrap();
    let events = features.events().into_iter().map(|event| fields.map(|field| event.attr.sample_type.contains(field)));
    (stacks, events.collect())
}

#[test]
fn events_with_other_fields_and_containers_of_both_byte_orders() {
    let kernel = 0xffff_ffff_8100_0010;
    let unwound = [FRAMES[0], FRAMES[1] - 1, FRAMES[2] - 1];
    let of_kernel = [&[kernel][..], &unwound].concat();
    let expected = [&unwound[..], &of_kernel, &unwound, &of_kernel, &[FRAMES[0], 4]].map(<[u64]>::to_vec);
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    for endian in [Endian::Little, Endian::Big] {
        fs::write(path("file"), several_events(endian)).unwrap();
        let original = Recording::open(path("file")).unwrap().with_symbols(SymbolOptions::default());
        assert_eq!(contents(&original).0, expected);
        let rewrite = |input: &str, output: &str, args: &[&str]| {
            let mut command = perfconv();
            command.arg("rewrite").arg(path(input)).args(["-f", "-o"]).arg(path(output)).args(args);
            succeed(command.env("HOME", "/nonexistent"));
        };
        rewrite("file", "pipe", &["--container", "pipe"]);
        rewrite("file", "dir", &["--container", "dir"]);
        rewrite("file", "compressed", &["--compress"]);
        for input in ["file", "pipe", "dir", "compressed"] {
            for (option, has_dumps) in [(None, false), (Some("--keep-user-stack"), true)] {
                rewrite(input, "unwound", &[&["--unwind"], option.as_slice()].concat());
                let output = Recording::open(path("unwound")).unwrap();
                let (stacks, events) = contents(&output);
                assert_eq!(stacks, expected, "{input} {option:?} {endian:?}");
                assert_eq!(events, [[true, has_dumps, has_dumps], [true, has_dumps, has_dumps], [true, false, false]]);
                fs::remove_file(path("unwound")).or_else(|_| fs::remove_dir_all(path("unwound"))).unwrap();
            }
        }
    }
}

#[test]
fn dumps_without_room_for_their_chain_are_omitted() {
    let mut recording = Recording::builder();
    let event = Event::named("cycles").unwrap().user_stack(1 << 6 | 1 << 7 | 1 << 8, 65_400);
    let event = recording.event(event);
    recording.process(7, "app").map(7, Map::new("//anon", 0x40_0000, 0x2000));
    let mut sample = dumped(Endian::Little);
    if let Some(stack) = &mut sample.stack_user {
        stack.data.resize(65_400, 0);
    }
    recording.sample(event, Sample { time: Some(1), ..sample });
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in.data"), dir.path().join("out.data"));
    fs::write(&input, recording.to_bytes().unwrap()).unwrap();
    let run = run(perfconv().args(["rewrite", "--unwind", "--keep-user-stack"]).arg(&input).arg("-o").arg(&output));
    assert!(run.status == 0 && run.stderr.contains("1 samples cannot hold both"), "{}", run.stderr);
    let (stacks, _) = contents(&Recording::open(&output).unwrap());
    assert_eq!(stacks, [[FRAMES[0], FRAMES[1] - 1, FRAMES[2] - 1]]);
}

#[test]
fn options_of_unwinding_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.data");
    fs::write(&input, several_events(Endian::Little)).unwrap();
    let dwarf = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/fixtures/callgraph.data");
    for (input, args, status, what) in [
        (&input, &["--max-stack", "3"][..], 2, "--max-stack does not apply to perf.data"),
        (&input, &["--keep-user-stack"], 2, "--keep-user-stack requires --unwind"),
        (&input, &["--unwind", "--symbols", "no"], 2, "--unwind reads object files; remove --symbols no"),
        (&dwarf, &["--unwind"], 1, "no event samples user registers and stacks"),
        (&input, &["--unwind", "--max-stack", "2"], 0, "longer than the limit: 4"),
    ] {
        let run = run(perfconv().arg("rewrite").arg(input).arg("-o").arg(dir.path().join("out.data")).args(args));
        assert!(run.status == status && run.stderr.contains(what), "{args:?}: {} {}", run.status, run.stderr);
    }
    let (stacks, _) = contents(&Recording::open(dir.path().join("out.data")).unwrap());
    assert_eq!(stacks[0], [FRAMES[0], FRAMES[1] - 1]);
}
