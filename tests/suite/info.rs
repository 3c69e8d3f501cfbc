//! `perfconv info` tells what the real perf tells of a recording: `perf report --header-only -I`, `perf evlist -v` and
//! `-g`, `perf buildid-list`. And `perfconv` alone tells in short what there is.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use perfconv::abi::Endian;
use perfconv::abi::feature::FeatureId;
use perfconv::abi::sample_type::SampleType;
use perfconv::container::read::input::Input;
use perfconv::container::read::{Container, ReadOptions};
use perfconv::inspect::info::header::file_header;
use perfconv::inspect::info::{Info, Parts, read_info};
use perfconv::stream::events::Event;
use perfconv::stream::meta::Meta;
use perfconv::stream::source::Source;
use tempfile::tempdir;

use super::files::{self, Recording, fixture};
use super::program::{self, perfconv, run};

/// What perf shows and what is told here.
struct View {
    perf: &'static [&'static str],
    info: &'static [&'static str],
    /// The lines to be compared, of what perf shows and of what is told.
    lines: fn(&Meta, &str) -> Vec<String>,
    /// Why perf 6.1 shows something else though it is the same.
    shown_otherwise: fn(&Info) -> Option<&'static str>,
    /// As many recordings are to be compared: with the corpus, and of the fixtures alone. Little less than there are, so that
    /// reasons to skip some do not come to hold for more of them unseen.
    enough: (usize, usize),
}

const VIEWS: &[View] = &[
    View {
        perf: &["report", "--header-only", "-I"],
        info: &[],
        lines: header,
        shown_otherwise: header_otherwise,
        enough: (222, 10),
    },
    View {
        perf: &["evlist", "-v"],
        info: &["--events"],
        lines: events,
        shown_otherwise: |info| {
            let is_small = info.meta.events.list().iter().any(|event| event.attr.size < PERF_6_1_ATTR);
            (is_small && is_pipe(info)).then_some("perf takes ids of pipes for fields of small attrs")
        },
        enough: (245, 12),
    },
    View {
        perf: &["evlist", "-g"],
        info: &["--events"],
        lines: groups,
        shown_otherwise: |info| (!has_names(&info.meta)).then_some("perf takes the names of events from files alone"),
        enough: (165, 8),
    },
    View {
        perf: &["buildid-list"],
        info: &["--build-ids"],
        lines: build_ids,
        shown_otherwise: |_| None,
        enough: (208, 10),
    },
];

/// One recording of so many of the corpus is enough: there are several of every kind.
const SHARE: usize = 2;

#[test]
fn the_words_are_those_of_perf() {
    let recordings = files::share(SHARE);
    let results = program::for_each(&recordings, judge);
    let (mut compared, mut skipped): (BTreeMap<String, usize>, BTreeMap<&str, usize>) = Default::default();
    let mut failures = Vec::new();
    for (recording, (view, verdict)) in
        recordings.iter().zip(results).flat_map(|(recording, list)| list.into_iter().map(move |of| (recording, of)))
    {
        match verdict {
            Verdict::Same => *compared.entry(view.perf.join(" ")).or_default() += 1,
            Verdict::Skipped(reason) => *skipped.entry(reason).or_default() += 1,
            Verdict::Differs(what) => {
                failures.push(format!("{}: perf {}: {what}", recording.name, view.perf.join(" ")))
            }
        }
    }
    // Not through the macros, whose output the test harness hides when the test passes.
    let mut out = io::stderr().lock();
    writeln!(out, "info of {} recordings, beside what perf shows:", recordings.len()).unwrap();
    compared.iter().for_each(|(view, count)| writeln!(out, "{count:6} the same: perf {view}").unwrap());
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} skipped: {reason}").unwrap());
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
    let has_perf = program::run_other(&mut program::with_time_limit("perf")).status != 127;
    for view in VIEWS {
        let enough = files::enough("info", SHARE, view.enough.0, view.enough.1);
        let compared = compared.get(&view.perf.join(" ")).copied().unwrap_or(0);
        assert!(!has_perf || compared >= enough, "perf {:?}: only {compared} of {enough} were compared", view.perf);
    }
}

enum Verdict {
    Same,
    Skipped(&'static str),
    Differs(String),
}

fn judge(recording: &Recording) -> Vec<(&'static View, Verdict)> {
    let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default());
    let Ok(info) = source.and_then(|source| read_info(source, Parts { header: true, ..Parts::default() })) else {
        return Vec::new();
    };
    VIEWS.iter().map(|view| (view, compare(view, &recording.path, &info))).collect()
}

fn compare(view: &View, path: &Path, info: &Info) -> Verdict {
    let meta = &info.meta;
    let mut perf = program::with_time_limit("perf");
    perf.args(view.perf).args(["--force", "-i"]).arg(path).envs([("LC_ALL", "C"), ("TZ", "UTC")]);
    let shown = program::run_other(perf.env_remove("DEBUGINFOD_URLS").stdin(Stdio::null()));
    let text = String::from_utf8_lossy(&shown.stdout);
    if shown.status != 0 || text.trim().is_empty() {
        return Verdict::Skipped("perf shows nothing");
    }
    if let Some(reason) = (view.shown_otherwise)(info) {
        return Verdict::Skipped(reason);
    }
    let told = run(perfconv().arg("info").arg(path).args(view.info));
    // Where there are no records to be counted, the header is told nonetheless.
    if told.status != 0 && told.stdout.is_empty() {
        return Verdict::Differs(told.stderr);
    }
    let (mut theirs, mut ours) =
        ((view.lines)(meta, &text), (view.lines)(meta, &String::from_utf8_lossy(&told.stdout)));
    // perf takes numbers of cores beyond the number of CPUs for errors.
    if theirs.iter().any(|line| line == "# Core ID and Socket ID information is not available") {
        theirs.retain(|line| !line.contains("Core ID"));
        ours.retain(|line| !line.contains("Core ID"));
    }
    // Without a table perf lists files that have samples, and here all are listed that were mapped: what the recording tells
    // is told, whether or not it is used.
    let is_part = view.perf == ["buildid-list"] && !meta.features.contains_key(&FeatureId::BUILD_ID);
    if theirs == ours || is_part && theirs.iter().all(|line| ours.contains(line)) {
        return Verdict::Same;
    }
    let only = |lines: &[String], others: &[String]| -> Vec<String> {
        lines.iter().filter(|line| !others.contains(line)).take(3).cloned().collect()
    };
    Verdict::Differs(format!("{:#?} instead of {:#?}", only(&ours, &theirs), only(&theirs, &ours)))
}

/// Size of the attr that perf 6.1 knows.
const PERF_6_1_ATTR: u32 = 128;

fn is_pipe(info: &Info) -> bool {
    info.meta.container == Container::Pipe
}

/// The newest feature that perf 6.1 knows.
const NEWEST: FeatureId = FeatureId::PMU_CAPS;

fn header(meta: &Meta, text: &str) -> Vec<String> {
    let newer = ["# e_", "# cacheline", "# schedstat", "# Maximum sched", "# cpu :", "# nr_domains", "# Domain"];
    // perf does not read these of another byte order.
    let unread = ["# bpf_prog_info", "# btf info"];
    let begins = |line: &str, starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
    let is_left_out = |line: &str| {
        line.trim_matches(['#', ' ', '=']).is_empty()
            || begins(line, &newer)
            || meta.endian == Endian::Big && begins(line, &unread)
    };
    let known = |word: &&str| !FeatureId::NAMED.iter().any(|(id, name)| *id > NEWEST && name == word);
    let header = text.lines().take_while(|line| !line.is_empty() || text.starts_with("# ===="));
    let line = |line: &str| {
        if line.starts_with("# missing features:") {
            return line.split(' ').filter(known).collect::<Vec<_>>().join(" ").trim_end().to_owned();
        }
        attr_fields(meta, line).replace('\t', "    ")
    };
    header.filter(|line| !is_left_out(line)).map(line).collect()
}

fn header_otherwise(info: &Info) -> Option<&'static str> {
    let (meta, is_pipe) = (&info.meta, is_pipe(info));
    let is_killed = file_header(meta).is_some_and(|header| header.data.size == 0);
    let is_told_by_records = !is_pipe && !meta.features.contains_key(&FeatureId::HOSTNAME);
    let reasons = [
        (is_pipe && !info.ledger.messages().is_empty(), "perf stops in damaged pipes"),
        (is_killed, "the recorder was killed: perf takes records for features"),
        (is_pipe && meta.endian == Endian::Big, "perf does not know features of foreign pipes"),
        (is_told_by_records, "without HOSTNAME perf looks for other features in vain"),
        (is_pipe && meta.features.contains_key(&FeatureId::STAT), "perf does not see that a pipe is of perf stat"),
    ];
    reasons.into_iter().find(|(applies, _)| *applies).map(|(_, reason)| reason)
}

/// A line in which there may be fields of an attr, without those that perf 6.1 misreads.
fn attr_fields(meta: &Meta, line: &str) -> String {
    let misread = |field: &str| ["clockid", "sample_regs_intr"].iter().any(|name| field.starts_with(name));
    let is_read = |field: &&str| meta.endian == Endian::Little || !misread(field);
    line.split(", ").filter(is_read).map(sorted_bits).collect::<Vec<_>>().join(", ").trim_end().to_owned()
}

/// A field with its bits in the order of their names.
pub fn sorted_bits(field: &str) -> String {
    for is in [" = ", ": "] {
        if let Some((name, bits)) = field.rsplit_once(is).filter(|(_, bits)| bits.contains('|')) {
            let mut bits: Vec<&str> = bits.split('|').collect();
            bits.sort_unstable();
            return format!("{name}{is}{}", bits.join("|"));
        }
    }
    field.into()
}

/// Whether perf knows how the events are called.
fn has_names(meta: &Meta) -> bool {
    meta.container != Container::Pipe && meta.features.contains_key(&FeatureId::EVENT_DESC)
}

fn events(meta: &Meta, text: &str) -> Vec<String> {
    let lines = text.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("# Tip"));
    let fields = |line: &str| {
        let start = [": type:", ": size:"].iter().find_map(|start| line.find(start));
        line[start.filter(|_| !has_names(meta)).unwrap_or(0)..].to_owned()
    };
    lines.map(|line| attr_fields(meta, &fields(line))).collect()
}

fn groups(_: &Meta, text: &str) -> Vec<String> {
    let is_ours = text.contains(": type:") || text.contains(": size:");
    let lines = match text.split_once("\n\n") {
        Some((_, groups)) if is_ours => groups.lines(),
        _ => text.lines(),
    };
    let name = |line: &str| line.find(": type:").or(line.find(": size:")).map_or(line, |at| &line[..at]).to_owned();
    lines.filter(|line| !line.starts_with("# Tip")).map(name).collect()
}

fn build_ids(_: &Meta, text: &str) -> Vec<String> {
    // Files of which it knows no id are listed by perf, if they have samples; here ids are listed, of which these have none.
    let mut lines: Vec<String> = text.lines().filter(|line| !line.starts_with(' ')).map(str::to_owned).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// The program in a folder.
fn in_folder(folder: &Path, arguments: &[&str]) -> program::Run {
    run(perfconv().current_dir(folder).args(arguments))
}

fn stdout(run: &program::Run) -> String {
    assert_eq!(run.status, 0, "{}", run.stderr);
    String::from_utf8(run.stdout.clone()).expect("what is told is UTF-8")
}

#[test]
fn without_a_command_it_tells_what_there_is_and_what_to_do_next() {
    let folder = tempdir().unwrap();
    let nothing = in_folder(folder.path(), &[]);
    assert_eq!((nothing.status, &nothing.stdout[..]), (2, &b""[..]));
    assert_eq!(nothing.stderr.lines().count(), 1, "{}", nothing.stderr);
    assert!(nothing.stderr.contains("perf record"), "{}", nothing.stderr);
    for name in ["callgraph.data", "pipe-compressed.data", "system-wide.data", "lost.data", "two-events.data"] {
        fs::copy(fixture(name), folder.path().join("perf.data")).unwrap();
        let told = stdout(&in_folder(folder.path(), &[]));
        assert!(told.lines().count() <= 20, "{told}");
        let samples = files::fixtures().into_iter().find(|recording| recording.name == name).unwrap().listed_samples;
        for part in ["perfconv -o out.pb.gz", "perfconv info", "perfconv dump", "perfconv check perf.data"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let told_samples: u64 = told.lines().find_map(|line| line.trim().strip_prefix("samples ")).map_or(0, |list| {
            list.split(',').filter_map(|part| part.trim().split(' ').next()?.parse::<u64>().ok()).sum()
        });
        assert_eq!(Some(told_samples), samples, "{name}: {told}");
    }
    let named = stdout(&in_folder(folder.path(), &[fixture("plain.data").to_str().unwrap()]));
    assert!(named.contains(&format!("perfconv {} -o out.pb.gz", fixture("plain.data").display())), "{named}");
    assert_eq!(in_folder(folder.path(), &["-t", "pprof"]).status, 2);
}

/// What it says to do next can be done, whatever the recording is called and whatever carries it.
#[test]
fn what_to_do_next_can_be_done() {
    let folder = tempdir().unwrap();
    let json = run(perfconv().arg(fixture("plain.data")).args(["-t", "jsonl", "-q", "-o", "-"])).stdout;
    for (name, from, bytes) in [
        ("it's a $name.data", None, fs::read(fixture("plain.data")).unwrap()),
        ("-x.data", None, fs::read(fixture("plain.data")).unwrap()),
        ("told", Some("jsonl"), json.clone()),
    ] {
        fs::write(folder.path().join(name), bytes).unwrap();
        let named = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
        let arguments: Vec<&str> = [&*named].into_iter().chain(from.map(|_| "--from")).chain(from).collect();
        let told = stdout(&in_folder(folder.path(), &arguments));
        let (_, next) = told.split_once("What next:\n").expect("it tells what to do next");
        let commands: Vec<&str> = next.lines().map(|line| line.trim().split("  ").next().unwrap_or_default()).collect();
        assert_eq!(commands.len(), 4, "{next}");
        for command in commands {
            let program = Path::new(env!("CARGO_BIN_EXE_perfconv")).parent().unwrap();
            let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
            let done = run(Command::new("sh").args(["-c", command]).current_dir(&folder).env("PATH", path));
            assert_eq!(done.status, 0, "{command}: {}", done.stderr);
        }
        fs::remove_file(folder.path().join("out.pb.gz")).unwrap();
    }
    // What came on standard input does not come again.
    let mut program = perfconv().arg("-").stdin(fs::File::open(fixture("pipe.data")).unwrap()).output().unwrap();
    program.stdout.retain(|byte| *byte != 0);
    let told = String::from_utf8(program.stdout).unwrap();
    assert!(told.contains("samples") && !told.contains("What next"), "{told}");
    fs::write(folder.path().join("in.jsonl"), &json).unwrap();
    for command in ["info", "dump", "check"] {
        let json = fs::File::open(folder.path().join("in.jsonl")).unwrap();
        let done = run(perfconv().args([command, "-", "--from", "jsonl"]).stdin(json));
        assert!(done.status == 0 && !done.stdout.is_empty(), "{command}: {}", done.stderr);
    }
}

#[test]
fn a_header_without_records_is_told() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("header.data");
    fs::write(&path, b"PERFILE2\x10\0\0\0\0\0\0\0").unwrap();
    let told = run(perfconv().arg("info").arg(&path));
    assert_eq!(told.status, 1, "{}", told.stderr);
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(text.contains("# header version : 1\n# data offset    : 0\n"), "{text}");
    assert!(told.stderr.contains("cut before its first record"), "{}", told.stderr);
}

#[test]
fn what_is_lost_of_a_cut_recording_is_not_told_as_nothing() {
    let told = stdout(&in_folder(Path::new("."), &[fixture("truncated.data").to_str().unwrap()]));
    let lost = told.lines().find(|line| line.trim().starts_with("lost")).expect("it tells what is lost");
    assert!(lost.contains("what could not be read is lost too"), "{told}");
    let first = told.lines().next().unwrap();
    assert!(first.contains("last changed 20") && !first.contains("written,"), "{first}");
}

#[test]
fn records_and_samples_are_counted() {
    for recording in files::recordings() {
        let run = run(perfconv().arg("info").arg(&recording.path).args(["--stats", "--json"]));
        let (Some(samples), 0) = (recording.listed_samples, run.status) else { continue };
        let told: serde_json::Value = serde_json::from_slice(&run.stdout).expect("it is JSON");
        let stats = &told["stats"];
        let counted = stats["records"]["SAMPLE"]["records"].as_u64().unwrap_or(0);
        let by_event = stats["samples"].as_array().unwrap().iter().map(|of| of["samples"].as_u64().unwrap());
        let told_by_event = by_event.sum::<u64>() + stats["samples_of_unknown_event"].as_u64().unwrap();
        // A sample of counter values is one of several events, or of none.
        let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default()).unwrap();
        let meta = read_info(source, Parts { stats: true, ..Parts::default() }).unwrap().meta;
        let has_values = |event: &Event| event.attr.sample_type.contains(SampleType::READ);
        assert!(told_by_event == counted || meta.events.list().iter().any(has_values), "{}", recording.name);
        // What is in frames is not listed.
        let has_frames = ["COMPRESSED", "COMPRESSED2"].iter().any(|kind| !stats["records"][*kind].is_null());
        assert!(counted == samples || has_frames && counted >= samples, "{}: {counted} {samples}", recording.name);
    }
}

#[test]
fn a_bad_feature_is_told_and_the_others_go_on() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("bad.data");
    let mut bytes = fs::read(fixture("callgraph.data")).unwrap();
    // The count of the arguments in CMDLINE.
    let at = bytes.windows(8).position(|part| part == b"\x09\0\0\0\x40\0\0\0").expect("there is a command line");
    bytes[at..at + 4].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let told = stdout(&run(perfconv().arg("info").arg(&path)));
    assert!(told.contains("# CMDLINE: its "), "{told}");
    assert!(told.contains("# hostname : vm\n") && told.contains("\n# event : name = cpu-clock"), "{told}");
}

#[test]
fn a_recording_without_sound_records_still_tells_its_header() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("bad.data");
    let mut bytes = fs::read(fixture("callgraph.data")).unwrap();
    bytes[256..37144].fill(0);
    fs::write(&path, bytes).unwrap();
    let run = run(perfconv().arg("info").arg(&path));
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(String::from_utf8_lossy(&run.stdout).contains("# hostname : vm\n"));
    assert!(run.stderr.contains("not a single record can be read"), "{}", run.stderr);
}

#[test]
fn info_is_json_too() {
    let run = run(perfconv().arg("info").arg(fixture("group-read.data")).arg("--json"));
    let told: serde_json::Value = serde_json::from_slice(&run.stdout).expect("it is JSON");
    assert_eq!(told["header"]["data_offset"], 584);
    assert_eq!(told["features"]["HOSTNAME"], "guest");
    assert_eq!(told["events"][1]["name"], "task-clock");
    assert_eq!(told["groups"][0], "{cpu-clock,task-clock,page-faults}");
    assert_eq!(told["build_ids"][1]["filename"], "/w/loop");
    assert_eq!(told["stats"]["processes"], 1);
}

#[test]
fn names_of_a_recording_command_no_terminal() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("named.data");
    let mut bytes = fs::read(fixture("callgraph.data")).unwrap();
    let at = bytes.windows(8).position(|part| part == b"AMD EPYC").expect("there is a CPU");
    bytes[at..at + 4].copy_from_slice(b"\x1b[2J");
    fs::write(&path, bytes).unwrap();
    let mut commands = [perfconv(), perfconv()];
    commands[0].arg("info").arg(&path);
    commands[1].arg(&path);
    for command in &mut commands {
        let run = run(Command::arg(command, "--spool-dir").arg(folder.path()));
        assert!(!run.stdout.contains(&0x1b), "{}", String::from_utf8_lossy(&run.stdout));
    }
}
