//! Recordings whose stack dumps were replaced by call chains (`rewrite --unwind`), as perfconv, perf and other readers see them.

use super::consumers::READERS;
use super::files::{corpus, has_corpus};
use super::program::{for_each, perfconv, run, run_other, with_time_limit};
use super::stack_readers::{Key, LinuxPerfData, hotspot};
use super::unwind_perf::{Frames, frames};
use perf_data::abi::Endian;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::branch::{BranchEntry, BranchFlags, BranchStack};
use perf_data::abi::callchain::Context;
use perf_data::abi::record::{Body, CpuMode};
use perf_data::abi::regs::{Regs, RegsAbi};
use perf_data::abi::sample::{Callchain, Sample, StackUser};
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::abi::weight::Weight;
use perfconv::Recording;
use perfconv::recording::SymbolOptions;
use perfconv::synth::{Event, Map};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A recording with stack dumps, and the files of its machine.
struct Input {
    name: String,
    path: PathBuf,
    symfs: PathBuf,
}

/// What a recording became.
struct Rewritten {
    samples: usize,
    frames: usize,
    /// Size before and after.
    bytes: [u64; 2],
    /// Samples found by other readers, and why some could not read the recording.
    readers: BTreeMap<&'static str, Result<u64, String>>,
    /// Stacks that perf prints with the same addresses; `None` without perf.
    perf: Option<usize>,
    /// Stacks of other readers that have the frames that perf prints.
    same_stacks: BTreeMap<&'static str, usize>,
}

#[test]
fn rewritten_recordings_have_the_same_stacks() {
    if !has_corpus("rewrite --unwind") {
        return;
    }
    let empty = tempfile::tempdir().unwrap();
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/symbols");
    let mut inputs: Vec<_> = fs::read_dir(symbols.join("rec"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), path))
        .filter(|(name, _)| name.starts_with("d-dw"))
        .map(|(name, path)| Input { name, path, symfs: symbols.join("symfs") })
        .collect();
    inputs.sort_by(|a, b| a.name.cmp(&b.name));
    let with_programs = inputs.len();
    // Recordings of other machines, containers and versions of perf, without their programs.
    let others = corpus().into_iter().filter(|recording| recording.name.ends_with("dwarf.data"));
    inputs.extend(others.map(|other| Input { name: other.name, path: other.path, symfs: empty.path().to_owned() }));
    let outcomes = for_each(&inputs, rewritten);
    let mut out = io::stderr().lock();
    let (mut failures, mut readers, mut of_perf) = (Vec::new(), BTreeMap::new(), 0);
    let mut of_readers: BTreeMap<_, [usize; 2]> = BTreeMap::new();
    for (number, (input, outcome)) in inputs.iter().zip(outcomes).enumerate() {
        let Rewritten { samples, frames, bytes: [before, after], readers: found, perf, same_stacks } = match outcome {
            Ok(rewritten) => rewritten,
            Err(what) => {
                failures.push(format!("{}: {what}", input.name));
                continue;
            }
        };
        let ratio = before as f64 / after as f64;
        writeln!(out, "{}: {samples} samples, {frames} frames, {before} to {after} bytes, 1/{ratio:.0}", input.name)
            .unwrap();
        if number < with_programs && !(20.0..=100.0).contains(&ratio) {
            failures.push(format!("{}: {before} to {after} bytes", input.name));
        }
        of_perf += perf.unwrap_or(0);
        for (name, stacks) in same_stacks {
            let [recordings, sum] = of_readers.entry(name).or_default();
            (*recordings, *sum) = (*recordings + 1, *sum + stacks);
        }
        for (name, found) in found {
            match found {
                Ok(count) if count == samples as u64 => *readers.entry(name).or_insert(0) += 1,
                found => failures.push(format!("{name} with {}: {found:?}, {samples} samples", input.name)),
            }
        }
    }
    writeln!(out, "{} recordings; perf prints the same {of_perf} stacks; read by {readers:?}", inputs.len()).unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    for (name, [recordings, stacks]) in &of_readers {
        writeln!(out, "{name} finds the {stacks} stacks of {recordings} recordings that perf prints").unwrap();
        assert!(*recordings >= 35 && *stacks > 3500, "{name}: compared too few");
    }
    assert!(of_perf == 0 || of_readers.contains_key("linux-perf-data"), "{of_readers:?}");
    assert!(inputs.len() >= 35 && with_programs > 20, "{} recordings", inputs.len());
    assert!(readers.get("linux-perf-data").is_some_and(|&count| count >= 30), "{readers:?}");
}

fn rewritten(input: &Input) -> Result<Rewritten, String> {
    let dir = tempfile::tempdir().unwrap();
    let (plain, output) = (dir.path().join("plain.data"), dir.path().join("unwound.data"));
    let convert = |input: &Path, output: &Path, args: &[&str]| {
        let mut command = perfconv();
        command.arg("rewrite").arg(input).args(["-q", "-o"]).arg(output).args(args).env("HOME", "/nonexistent");
        let run = run(&mut command);
        if run.status == 0 { Ok(()) } else { Err(run.stderr) }
    };
    let symfs = input.symfs.to_str().unwrap();
    let text = |path: &Path| -> Result<Vec<Frames>, String> {
        let mut command = perfconv();
        command.arg(path).args(["-t", "perf-script", "--no-inline", "-q", "--symfs", symfs]);
        let run = run(command.env("HOME", "/nonexistent"));
        if run.status == 0 { Ok(frames(&String::from_utf8_lossy(&run.stdout))) } else { Err(run.stderr) }
    };
    // The same form, so that sizes can be compared.
    let form = ["--decompress", "--container", "file", "--perf-version", "6.1"];
    convert(&input.path, &plain, &form)?;
    convert(&input.path, &output, &[&["--unwind", "--symfs", symfs], &form[..]].concat())?;
    let (before, after) = (text(&input.path)?, text(&output)?);
    compare(&before, &after)?;
    let checked = run(perfconv().arg("check").arg(&output));
    let checked = String::from_utf8_lossy(&checked.stdout).into_owned();
    if !checked.contains(" 0 errors") {
        return Err(checked);
    }
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    let mut readers = BTreeMap::new();
    // perfparser rejects architectures that it cannot unwind.
    let reads_hotspot = !input.name.contains("guest-");
    for (name, read) in READERS.iter().filter(|(name, _)| *name != "perf") {
        if reads_hotspot {
            readers.extend(read(&output).map(|found| (*name, found)));
        }
    }
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "--no-inline", "--ns", "-F", "tid,time,ip,dso", "--symfs", symfs, "-i"]);
    let run = run_other(perf.arg(&output).env("LC_ALL", "C"));
    let (mut perf, mut same_stacks) = (None, BTreeMap::new());
    if run.status == 0 {
        let text = String::from_utf8_lossy(&run.stdout);
        let printed = frames(&text);
        perf = Some(compare_addresses(&after, &printed)?);
        let keys = text.lines().filter_map(key);
        same_stacks = compare_readers(&output, reads_hotspot.then_some(&*input.symfs), keys.zip(printed).collect())?;
    } else if run.status != 127 {
        return Err(run.stderr);
    }
    let frames = after.iter().map(Vec::len).sum();
    Ok(Rewritten { samples: after.len(), frames, bytes: [size(&plain), size(&output)], readers, perf, same_stacks })
}

/// Callers of unwound stacks are printed with the last byte of their call, those of recorded ones with their return address.
fn compare(before: &[Frames], after: &[Frames]) -> Result<(), String> {
    let is_same = |(before, after): (&Frames, &Frames)| {
        let same = |(a, b): (&(u64, String), &(u64, String))| a.1 == b.1 && (a.0 == b.0 || a.0 + 1 == b.0);
        before.len() == after.len() && before.iter().zip(after).all(same)
    };
    match before.iter().zip(after).position(|pair| !is_same(pair)) {
        None if before.len() == after.len() && !before.is_empty() => Ok(()),
        None => Err(format!("{} samples became {}", before.len(), after.len())),
        Some(at) => Err(format!("sample {at}: {:x?} became {:x?}", before[at], after[at])),
    }
}

/// Compares the addresses that perf prints.
fn compare_addresses(ours: &[Frames], perf: &[Frames]) -> Result<usize, String> {
    let addresses = |frames: &Frames| frames.iter().map(|frame| frame.0).collect::<Vec<_>>();
    match ours.iter().zip(perf).position(|(ours, perf)| addresses(ours) != addresses(perf)) {
        None if ours.len() == perf.len() => Ok(ours.len()),
        None => Err(format!("perf prints {} of {} samples", perf.len(), ours.len())),
        Some(at) => Err(format!("sample {at}: {:x?}, perf prints {:x?}", ours[at], perf[at])),
    }
}

/// Thread and time in the first line of a sample of perf script: `7  12.000000345:`.
fn key(line: &str) -> Option<Key> {
    let (tid, time) = line.trim().strip_suffix(':')?.split_once(' ')?;
    let (seconds, nanoseconds) = time.trim().split_once('.')?;
    let number = |digits: &str| digits.parse::<u64>().ok();
    Some((tid.parse().ok()?, number(seconds)? * 1_000_000_000 + number(nanoseconds)?))
}

/// Compares the stacks that other readers find with those that perf prints; returns their numbers. hotspot needs files of the
/// machine; `None` omits it.
fn compare_readers(
    recording: &Path,
    hotspot_symfs: Option<&Path>,
    mut perf: Vec<(Key, Frames)>,
) -> Result<BTreeMap<&'static str, usize>, String> {
    let mut found = LinuxPerfData::read(recording).map_err(|error| error.to_string())?;
    perf.sort_by_key(|(key, _)| *key);
    found.chains.sort_by_key(|(key, _)| *key);
    let is_same = |((perf_key, printed), (key, chain)): (&(Key, Frames), &(Key, Vec<u64>))| {
        let are_same = chain.iter().zip(printed).all(|(&address, printed)| found.is_printed(address, printed));
        perf_key == key && chain.len() == printed.len() && are_same
    };
    if perf.len() != found.chains.len() {
        return Err(format!("linux-perf-data finds {} of {} samples", found.chains.len(), perf.len()));
    }
    if let Some((perf, other)) = perf.iter().zip(&found.chains).find(|&pair| !is_same(pair)) {
        return Err(format!("linux-perf-data finds {other:x?}, perf prints {perf:x?}"));
    }
    let mut same = BTreeMap::from([("linux-perf-data", perf.len())]);
    if let Some(stacks) = hotspot_symfs.and_then(|symfs| hotspot(recording, symfs)) {
        let mut stacks = stacks?;
        for (key, printed) in &perf {
            let addresses = &mut stacks.get_mut(key).ok_or(format!("hotspot lacks {key:?}"))?.addresses;
            // It repeats the leaf between frames of the kernel and the user.
            let last_of_kernel = addresses.iter().rposition(|&address| address >> 63 == 1).filter(|&at| at > 0);
            if last_of_kernel.is_some_and(|at| addresses.remove(at) != addresses[0]) {
                return Err(format!("hotspot finds {addresses:x?}, perf prints {printed:x?}"));
            }
            let are_same = addresses.iter().zip(printed).all(|(&address, printed)| found.is_printed(address, printed));
            if addresses.len() != printed.len() || !are_same {
                return Err(format!("hotspot finds {addresses:x?}, perf prints {printed:x?}"));
            }
        }
        same.insert("hotspot", perf.len());
    }
    Ok(same)
}

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
            let run = run(command.env("HOME", "/nonexistent"));
            assert_eq!(run.status, 0, "{input} {args:?}: {}", run.stderr);
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
