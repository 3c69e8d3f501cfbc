//! `perfconv info` prints what perf prints: `perf report --header-only -I`, `perf evlist -v` and `-g`, `perf buildid-list`.
//! `perfconv` without a command prints a summary.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use perf_data::abi::Endian;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::stream::events::Event;
use perf_data::stream::meta::Meta;
use perf_data::stream::source::Source;
use perfconv::inspect::info::header::file_header;
use perfconv::inspect::info::{Info, Parts, read_info};
use tempfile::tempdir;

use super::files::{self, Recording, fixture};
use super::program::{self, perfconv, run};

/// A perf command, and the options of info that print the same.
struct View {
    perf: &'static [&'static str],
    info: &'static [&'static str],
    /// Selects and normalizes the lines to compare, of either output.
    lines: fn(&Meta, &str) -> Vec<String>,
    /// The reason why perf 6.1 prints something else for an equivalent recording, if any.
    known_difference: fn(&Info) -> Option<&'static str>,
    /// The minimum number of compared recordings: with the corpus, and with the fixtures alone. Close to the actual number, so
    /// that reasons to skip do not silently apply to more recordings.
    enough: (usize, usize),
}

const VIEWS: &[View] = &[
    View {
        perf: &["report", "--header-only", "-I"],
        info: &[],
        lines: header,
        known_difference: header_difference,
        enough: (222, 10),
    },
    View {
        perf: &["evlist", "-v"],
        info: &["--events"],
        lines: events,
        known_difference: |info| {
            let is_small = info.meta.events.list().iter().any(|event| event.attr.size < PERF_6_1_ATTR);
            (is_small && is_pipe(info)).then_some("perf reads IDs in pipes as fields of small attrs")
        },
        enough: (245, 12),
    },
    View {
        perf: &["evlist", "-g"],
        info: &["--events"],
        lines: groups,
        known_difference: |info| (!has_names(&info.meta)).then_some("perf reads event names only from files"),
        enough: (165, 8),
    },
    View {
        perf: &["buildid-list"],
        info: &["--build-ids"],
        lines: build_ids,
        known_difference: |_| None,
        enough: (208, 10),
    },
];

/// One in `SHARE` recordings of the corpus is compared: there are several of every kind.
const SHARE: usize = 2;

#[test]
fn info_matches_perf() {
    let recordings = files::share(SHARE);
    let results = program::for_each(&recordings, compare_views);
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
    // Not with the print macros, whose output the test harness captures.
    let mut out = io::stderr().lock();
    writeln!(out, "info of {} recordings, compared with perf:", recordings.len()).unwrap();
    compared.iter().for_each(|(view, count)| writeln!(out, "{count:6} equal: perf {view}").unwrap());
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} skipped: {reason}").unwrap());
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
    let has_perf = program::run_other(&mut program::with_time_limit("perf")).status != 127;
    for view in VIEWS {
        let enough = files::enough("info", SHARE, view.enough.0, view.enough.1);
        let compared = compared.get(&view.perf.join(" ")).copied().unwrap_or(0);
        assert!(
            !has_perf || compared >= enough,
            "perf {:?}: compared only {compared} recordings, expected {enough}",
            view.perf
        );
    }
}

enum Verdict {
    Same,
    Skipped(&'static str),
    Differs(String),
}

fn compare_views(recording: &Recording) -> Vec<(&'static View, Verdict)> {
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
        return Verdict::Skipped("perf prints nothing");
    }
    if let Some(reason) = (view.known_difference)(info) {
        return Verdict::Skipped(reason);
    }
    let info_run = run(perfconv().arg("info").arg(path).args(view.info));
    // info prints the header even if it fails as there are no records.
    if info_run.status != 0 && info_run.stdout.is_empty() {
        return Verdict::Differs(info_run.stderr);
    }
    let (mut theirs, mut ours) =
        ((view.lines)(meta, &text), (view.lines)(meta, &String::from_utf8_lossy(&info_run.stdout)));
    // perf rejects core IDs beyond the number of CPUs.
    if theirs.iter().any(|line| line == "# Core ID and Socket ID information is not available") {
        theirs.retain(|line| !line.contains("Core ID"));
        ours.retain(|line| !line.contains("Core ID"));
    }
    // Without a build ID table, perf lists only files with samples, and info all files with a build ID.
    let is_part = view.perf == ["buildid-list"] && !meta.features.contains_key(&FeatureId::BUILD_ID);
    if theirs == ours || is_part && theirs.iter().all(|line| ours.contains(line)) {
        return Verdict::Same;
    }
    let only = |lines: &[String], others: &[String]| -> Vec<String> {
        lines.iter().filter(|line| !others.contains(line)).take(3).cloned().collect()
    };
    Verdict::Differs(format!("{:#?} instead of {:#?}", only(&ours, &theirs), only(&theirs, &ours)))
}

/// The size of the attr in perf 6.1.
const PERF_6_1_ATTR: u32 = 128;

fn is_pipe(info: &Info) -> bool {
    info.meta.container == Container::Pipe
}

/// The newest feature that perf 6.1 knows.
const NEWEST: FeatureId = FeatureId::PMU_CAPS;

fn header(meta: &Meta, text: &str) -> Vec<String> {
    let newer = ["# e_", "# cacheline", "# schedstat", "# Maximum sched", "# cpu :", "# nr_domains", "# Domain"];
    // perf does not read these in another byte order.
    let unread = ["# bpf_prog_info", "# btf info"];
    let begins = |line: &str, starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
    let is_skipped = |line: &str| {
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
    header.filter(|line| !is_skipped(line)).map(line).collect()
}

fn header_difference(info: &Info) -> Option<&'static str> {
    let (meta, is_pipe) = (&info.meta, is_pipe(info));
    let is_interrupted = file_header(meta).is_some_and(|header| header.data.size == 0);
    let has_no_hostname = !is_pipe && !meta.features.contains_key(&FeatureId::HOSTNAME);
    let reasons = [
        (is_pipe && !info.ledger.messages().is_empty(), "perf stops in corrupt pipes"),
        (is_interrupted, "interrupted recording: perf reads records as features"),
        (is_pipe && meta.endian == Endian::Big, "perf does not read features of pipes in another byte order"),
        (has_no_hostname, "without HOSTNAME, perf misreads the feature bits"),
        (is_pipe && meta.features.contains_key(&FeatureId::STAT), "perf does not recognize pipes of perf stat"),
    ];
    reasons.into_iter().find(|(applies, _)| *applies).map(|(_, reason)| reason)
}

/// Normalizes a line that may have fields of an attr, and drops those that perf 6.1 misreads.
fn attr_fields(meta: &Meta, line: &str) -> String {
    let misread = |field: &str| ["clockid", "sample_regs_intr"].iter().any(|name| field.starts_with(name));
    let is_read = |field: &&str| meta.endian == Endian::Little || !misread(field);
    line.split(", ").filter(is_read).map(sorted_bits).collect::<Vec<_>>().join(", ").trim_end().to_owned()
}

/// Sorts the names of a field's bits.
pub(super) fn sorted_bits(field: &str) -> String {
    for separator in [" = ", ": "] {
        if let Some((name, bits)) = field.rsplit_once(separator).filter(|(_, bits)| bits.contains('|')) {
            let mut bits: Vec<&str> = bits.split('|').collect();
            bits.sort_unstable();
            return format!("{name}{separator}{}", bits.join("|"));
        }
    }
    field.into()
}

/// Whether perf reads names of the events.
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
    // perf also lists files with samples but without a known build ID; info lists only those with one.
    let mut lines: Vec<String> = text.lines().filter(|line| !line.starts_with(' ')).map(str::to_owned).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Runs the program in a directory.
fn run_in(dir: &Path, arguments: &[&str]) -> program::Run {
    run(perfconv().current_dir(dir).args(arguments))
}

fn stdout(run: &program::Run) -> String {
    assert_eq!(run.status, 0, "{}", run.stderr);
    String::from_utf8(run.stdout.clone()).expect("messages should be UTF-8")
}

#[test]
fn without_a_command_it_prints_a_summary_and_next_commands() {
    let dir = tempdir().unwrap();
    let nothing = run_in(dir.path(), &[]);
    assert_eq!((nothing.status, &nothing.stdout[..]), (2, &b""[..]));
    assert_eq!(nothing.stderr.lines().count(), 1, "{}", nothing.stderr);
    assert!(nothing.stderr.contains("perf record"), "{}", nothing.stderr);
    for name in ["callgraph.data", "pipe-compressed.data", "system-wide.data", "lost.data", "two-events.data"] {
        fs::copy(fixture(name), dir.path().join("perf.data")).unwrap();
        let text = stdout(&run_in(dir.path(), &[]));
        assert!(text.lines().count() <= 32, "{text}");
        let samples = files::fixtures().into_iter().find(|recording| recording.name == name).unwrap().listed_samples;
        for part in
            ["perfconv report", "perfconv -o out.pb.gz", "perfconv info", "perfconv dump", "perfconv check perf.data"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let sample_count: u64 = text.lines().find_map(|line| line.trim().strip_prefix("samples ")).map_or(0, |list| {
            list.split(',').filter_map(|part| part.trim().split(' ').next()?.parse::<u64>().ok()).sum()
        });
        assert_eq!(Some(sample_count), samples, "{name}: {text}");
    }
    let named = stdout(&run_in(dir.path(), &[fixture("plain.data").to_str().unwrap()]));
    assert!(named.contains(&format!("perfconv {} -o out.pb.gz", fixture("plain.data").display())), "{named}");
    assert_eq!(run_in(dir.path(), &["-t", "pprof"]).status, 2);
}

/// The suggested commands work, whatever the name and the format of the recording.
#[test]
fn suggested_commands_succeed() {
    let dir = tempdir().unwrap();
    let json = run(perfconv().arg(fixture("plain.data")).args(["-t", "jsonl", "-q", "-o", "-"])).stdout;
    for (name, from, bytes) in [
        ("it's a $name.data", None, fs::read(fixture("plain.data")).unwrap()),
        ("-x.data", None, fs::read(fixture("plain.data")).unwrap()),
        ("told", Some("jsonl"), json.clone()),
    ] {
        fs::write(dir.path().join(name), bytes).unwrap();
        let named = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
        let arguments: Vec<&str> = [&*named].into_iter().chain(from.map(|_| "--from")).chain(from).collect();
        let text = stdout(&run_in(dir.path(), &arguments));
        let (_, next) = text.split_once("Next steps:\n").expect("the message should say what to do next");
        let commands: Vec<&str> = next.lines().map(|line| line.trim().split("  ").next().unwrap_or_default()).collect();
        assert_eq!(commands.len(), 5, "{next}");
        for command in commands {
            let program = Path::new(env!("CARGO_BIN_EXE_perfconv")).parent().unwrap();
            let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
            let done = run(Command::new("sh").args(["-c", command]).current_dir(&dir).env("PATH", path));
            assert_eq!(done.status, 0, "{command}: {}", done.stderr);
        }
        fs::remove_file(dir.path().join("out.pb.gz")).unwrap();
    }
    // Standard input can be read only once, so no commands are suggested.
    let mut program = perfconv().arg("-").stdin(fs::File::open(fixture("pipe.data")).unwrap()).output().unwrap();
    program.stdout.retain(|byte| *byte != 0);
    let text = String::from_utf8(program.stdout).unwrap();
    assert!(text.contains("samples") && !text.contains("Next steps"), "{text}");
    fs::write(dir.path().join("in.jsonl"), &json).unwrap();
    for command in ["info", "dump", "check"] {
        let json = fs::File::open(dir.path().join("in.jsonl")).unwrap();
        let done = run(perfconv().args([command, "-", "--from", "jsonl"]).stdin(json));
        assert!(done.status == 0 && !done.stdout.is_empty(), "{command}: {}", done.stderr);
    }
}

#[test]
fn prints_the_header_of_a_recording_without_records() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("header.data");
    fs::write(&path, b"PERFILE2\x10\0\0\0\0\0\0\0").unwrap();
    let info = run(perfconv().arg("info").arg(&path));
    assert_eq!(info.status, 1, "{}", info.stderr);
    let text = String::from_utf8_lossy(&info.stdout).into_owned();
    assert!(text.contains("# header version : 1\n# data offset    : 0\n"), "{text}");
    assert!(info.stderr.contains("truncated before the first record"), "{}", info.stderr);
}

#[test]
fn summary_mentions_lost_data_of_truncated_recordings() {
    let summary = stdout(&run_in(Path::new("."), &[fixture("truncated.data").to_str().unwrap()]));
    let lost =
        summary.lines().find(|line| line.trim().starts_with("lost")).expect("the message should say what is lost");
    assert!(lost.contains("see perfconv check"), "{summary}");
    let first = summary.lines().next().unwrap();
    assert!(first.contains("modified 20") && !first.contains("written,"), "{first}");
}

#[test]
fn counts_records_and_samples() {
    for recording in files::recordings() {
        let run = run(perfconv().arg("info").arg(&recording.path).args(["--stats", "--json"]));
        let (Some(samples), 0) = (recording.listed_samples, run.status) else { continue };
        let json: serde_json::Value = serde_json::from_slice(&run.stdout).expect("valid JSON");
        let stats = &json["stats"];
        let counted = stats["records"]["SAMPLE"]["records"].as_u64().unwrap_or(0);
        let by_event = stats["samples"].as_array().unwrap().iter().map(|of| of["samples"].as_u64().unwrap());
        let sum_by_event = by_event.sum::<u64>() + stats["samples_of_unknown_event"].as_u64().unwrap();
        // A sample with counter values counts for several events, or for none.
        let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default()).unwrap();
        let meta = read_info(source, Parts { stats: true, ..Parts::default() }).unwrap().meta;
        let has_values = |event: &Event| event.attr.sample_type.contains(SampleType::READ);
        assert!(sum_by_event == counted || meta.events.list().iter().any(has_values), "{}", recording.name);
        // The README does not count samples inside frames.
        let has_frames = ["COMPRESSED", "COMPRESSED2"].iter().any(|kind| !stats["records"][*kind].is_null());
        assert!(counted == samples || has_frames && counted >= samples, "{}: {counted} {samples}", recording.name);
    }
}

#[test]
fn reports_a_corrupt_feature_and_prints_the_others() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("bad.data");
    let mut bytes = fs::read(fixture("callgraph.data")).unwrap();
    // The number of arguments in CMDLINE.
    let at = bytes.windows(8).position(|part| part == b"\x09\0\0\0\x40\0\0\0").expect("there should be a command line");
    bytes[at..at + 4].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let text = stdout(&run(perfconv().arg("info").arg(&path)));
    assert!(text.contains("# CMDLINE: its "), "{text}");
    assert!(text.contains("# hostname : vm\n") && text.contains("\n# event : name = cpu-clock"), "{text}");
}

#[test]
fn prints_the_header_of_a_recording_with_corrupt_records() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("bad.data");
    let mut bytes = fs::read(fixture("callgraph.data")).unwrap();
    bytes[256..37144].fill(0);
    fs::write(&path, bytes).unwrap();
    let run = run(perfconv().arg("info").arg(&path));
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(String::from_utf8_lossy(&run.stdout).contains("# hostname : vm\n"));
    assert!(run.stderr.contains("no readable records"), "{}", run.stderr);
}

#[test]
fn prints_json() {
    let run = run(perfconv().arg("info").arg(fixture("group-read.data")).arg("--json"));
    let json: serde_json::Value = serde_json::from_slice(&run.stdout).expect("valid JSON");
    assert_eq!(json["header"]["data_offset"], 584);
    assert_eq!(json["features"]["HOSTNAME"], "guest");
    assert_eq!(json["events"][1]["name"], "task-clock");
    assert_eq!(json["groups"][0], "{cpu-clock,task-clock,page-faults}");
    assert_eq!(json["build_ids"][1]["filename"], "/w/loop");
    assert_eq!(json["stats"]["processes"], 1);
}

#[test]
fn escapes_control_characters() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("named.data");
    let mut bytes = fs::read(fixture("callgraph.data")).unwrap();
    let at = bytes.windows(8).position(|part| part == b"AMD EPYC").expect("there should be a CPU");
    bytes[at..at + 4].copy_from_slice(b"\x1b[2J");
    fs::write(&path, bytes).unwrap();
    let mut commands = [perfconv(), perfconv()];
    commands[0].arg("info").arg(&path);
    commands[1].arg(&path);
    for command in &mut commands {
        let run = run(Command::arg(command, "--spool-dir").arg(dir.path()));
        assert!(!run.stdout.contains(&0x1b), "{}", String::from_utf8_lossy(&run.stdout));
    }
}
