//! Filters: the filtered recording has the samples that perf prints with its own filters, and is as valid as the original.

use crate::suite::files::{Recording, corpus, enough, fixture, has_corpus, recordings, share};
use crate::suite::program::{for_each, perfconv, profile, run, run_other, with_time_limit};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::sample_time::SampleTime;
use perf_data::abi::read_format::ReadFormat;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perfconv::inspect::check::{Severity, check};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Arguments;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// A sample as `perf script` prints it.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    comm: String,
    pid: String,
    tid: String,
    cpu: Option<String>,
    time: String,
    event: String,
    dso: String,
    text: String,
}

impl Line {
    /// Parses `comm pid/tid [cpu] time: event: ip (dso)`, with whitespace collapsed.
    fn parse(text: &str) -> Option<Self> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (head, rest) = text.split_once(": ")?;
        let (event, location) = rest.rsplit_once(": ")?;
        let (head, time) = head.rsplit_once(' ')?;
        let (head, cpu) = match head.strip_suffix(']').and_then(|head| head.rsplit_once(" [")) {
            Some((head, cpu)) => (head, Some(cpu.to_owned())),
            None => (head, None),
        };
        let (comm, task) = head.rsplit_once(' ')?;
        let (pid, tid) = task.split_once('/')?;
        let dso = location.split_once(" (")?.1.strip_suffix(')')?;
        let [comm, pid, tid, time, event, dso] = [comm, pid, tid, time, event, dso].map(str::to_owned);
        Some(Self { comm, pid, tid, cpu, time, event, dso, text: text.clone() })
    }
}

/// The samples that `perf script` prints; `None` if it prints none, or lacks fields.
fn script(path: &Path, filter: &[&str]) -> Option<Vec<Line>> {
    script_of("comm,pid,tid,cpu,time,event,ip,dso", path, filter).or_else(|| script_without_cpu(path, filter))
}

fn script_without_cpu(path: &Path, filter: &[&str]) -> Option<Vec<Line>> {
    script_of("comm,pid,tid,time,event,ip,dso", path, filter)
}

fn script_of(fields: &str, path: &Path, filter: &[&str]) -> Option<Vec<Line>> {
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "--ns", "-G", "--no-itrace", "-F", fields, "-i"]).arg(path).args(filter);
    let run = run_other(perf.env("LC_ALL", "C"));
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let lines = text.lines().filter(|line| !line.trim().is_empty()).map(Line::parse);
    lines.collect::<Option<Vec<_>>>().filter(|lines| run.status == 0 && !lines.is_empty())
}

fn rewrite(input: &Path, output: &Path, args: &[&str]) -> Result<(), String> {
    let run = run(perfconv().arg("rewrite").arg(input).args(["-f", "-q", "-o"]).arg(output).args(args));
    if run.status == 0 { Ok(()) } else { Err(run.stderr) }
}

/// The rules that a recording breaks.
fn broken_rules(path: &Path) -> BTreeSet<String> {
    let mut rules = BTreeSet::new();
    let input = Input::Path(path.to_owned());
    let checked = check(input, ReadOptions::default(), &mut |finding| {
        if finding.rule.severity() != Severity::Note {
            rules.insert(format!("{:?}", finding.rule));
        }
    });
    if let Err(error) = checked {
        rules.insert(error.to_string());
    }
    rules
}

/// A filter: its name, perfconv's option and perf's.
type FilterOptions = (&'static str, [String; 2], [String; 2]);

/// Filters that keep some of these samples.
fn filters(lines: &[Line]) -> Vec<FilterOptions> {
    let one = &lines[lines.len() / 2];
    let both = |name, ours: &str, theirs: &str, value: &str| {
        let [ours, theirs] = [ours, theirs].map(|option| [option.to_owned(), value.to_owned()]);
        (name, ours, theirs)
    };
    let mut times = [&lines[lines.len() / 4].time, &lines[3 * lines.len() / 4].time];
    times.sort_by_key(|time| (time.len(), (*time).clone()));
    let mut all = vec![
        both("--pid", "--pid", "--pid", &one.pid),
        both("--tid", "--tid", "--tid", &one.tid),
        both("--comm", "--comm", "--comms", &one.comm),
        both("--dso", "--dso", "--dsos", &one.dso),
        both("--time", "--time", "--time", &format!("{},{}", times[0], times[1])),
        both("--time of shares", "--time", "--time", "10%/2,10%/5,10%/9"),
        both("--time of shares", "--time", "--time", "20%-70%"),
    ];
    if one.dso.starts_with("/tmp/perf-") {
        // perf invents a file for JIT code.
        all.remove(3);
    }
    if let Some(cpu) = &one.cpu {
        let cpu = cpu.trim_start_matches('0');
        all.push(both("--cpu", "--cpu", "--cpu", if cpu.is_empty() { "0" } else { cpu }));
    }
    all
}

/// The result of comparing a filter, or a recording.
enum Outcome {
    Same(&'static str, usize),
    Skipped(String),
    Differs(String),
}

fn compare_filters(recording: &Recording, index: usize) -> Vec<Outcome> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (output, older) = (dir.path().join("filtered"), dir.path().join("older"));
    let (lines, original, version) = match script(&recording.path, &[]) {
        Some(lines) => (lines, recording.path.clone(), &[][..]),
        None => {
            // Convert recordings of newer perf versions for perf 6.1; the filter applies after that.
            let version = &["--perf-version", "6.1"][..];
            let lines = rewrite(&recording.path, &older, version).ok().and_then(|()| script(&older, &[]));
            let Some(lines) = lines else {
                return vec![Outcome::Skipped(
                    "perf script does not print samples with task, time and file".to_owned(),
                )];
            };
            (lines, older, version)
        }
    };
    let (meta, _) = records(&original).expect("a file that perf reads should be readable");
    if is_read_in_groups(&meta) {
        return vec![Outcome::Skipped("perf prints differences between samples for :S groups".to_owned())];
    }
    let before = broken_rules(&original);
    let all = filters(&lines);
    // Running all filters on each recording would take too long.
    let offsets = if version.is_empty() { &[0, 3][..] } else { &[0] };
    let compare = |(name, ours, theirs): &FilterOptions| {
        let [ours, theirs] = [ours, theirs].map(|args| args.iter().map(String::as_str).collect::<Vec<_>>());
        let Some(theirs) = script(&original, &theirs) else {
            return Outcome::Skipped(format!("{name}: perf prints nothing, or rejects the filter"));
        };
        if let Err(error) = rewrite(&recording.path, &output, &[version, &ours].concat()) {
            return Outcome::Differs(format!("{} {ours:?}: {error}", recording.name));
        }
        let after = script(&output, &[]).unwrap_or_default();
        if text(&after) != text(&theirs) {
            let what = format!("{} {ours:?}: {} lines, expected {}", recording.name, after.len(), theirs.len());
            return Outcome::Differs(what);
        }
        let new: Vec<_> = broken_rules(&output).difference(&before).cloned().collect();
        let removed = if output.is_dir() { fs::remove_dir_all(&output) } else { fs::remove_file(&output) };
        removed.expect("the output should be removable");
        match new.is_empty() {
            true => Outcome::Same(name, theirs.len()),
            false => Outcome::Differs(format!("{} {ours:?}: check finds {new:?}", recording.name)),
        }
    };
    offsets.iter().map(|&offset| compare(&all[(index + offset) % all.len()])).collect()
}

fn text(lines: &[Line]) -> Vec<&str> {
    lines.iter().map(|line| line.text.as_str()).collect()
}

#[test]
fn events_are_given_as_a_list() {
    let dir = tempfile::tempdir().expect("a directory");
    let filter_events = |options: &[&str]| {
        let output = dir.path().join("out.data");
        let run = run(perfconv().arg(fixture("tracepoints.data")).args(options).args(["-f", "-o"]).arg(&output));
        assert_eq!(run.status, 0, "{}", run.stderr);
        fs::read(output).expect("the file should have been written")
    };
    let list = filter_events(&["--event", "sched:sched_switch, sched:sched_wakeup"]);
    assert_eq!(list, filter_events(&["--event", "sched:sched_switch", "--event", "sched:sched_wakeup"]));
    assert!(list != filter_events(&["--event", "sched:sched_switch"]) && list != filter_events(&[]));
    let rejected = run(perfconv().arg(fixture("tracepoints.data")).args(["--event", "a,", "-o", "x.data"]));
    assert!(rejected.status == 2 && rejected.stderr.contains("empty event name"), "{}", rejected.stderr);
}

#[test]
fn filtered_recordings_match_filters_of_perf_script() {
    let all: Vec<_> = share(3).into_iter().enumerate().collect();
    let (mut same, mut skipped, mut differing) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for outcome in for_each(&all, |(index, recording)| compare_filters(recording, *index)).into_iter().flatten() {
        match outcome {
            Outcome::Same(filter, lines) => {
                let (count, all) = same.entry(filter).or_insert((0, 0));
                (*count, *all) = (*count + 1, *all + lines);
            }
            Outcome::Skipped(reason) => *skipped.entry(reason).or_insert(0) += 1,
            Outcome::Differs(what) => differing.push(what),
        }
    }
    for (filter, (count, lines)) in &same {
        print_note(format_args!("{filter}: {count} filtered recordings match perf 6.1 with its filter, {lines} lines"));
    }
    skipped.iter().for_each(|(reason, count)| print_note(format_args!("skipped {count}: {reason}")));
    assert!(differing.is_empty(), "{}:\n{}", differing.len(), differing.join("\n"));
    let enough = enough("filters", 3, 60, 2);
    for filter in ["--pid", "--tid", "--comm", "--dso", "--time", "--time of shares", "--cpu"] {
        let compared = same.get(filter).map_or(0, |(count, _)| *count);
        let enough = if filter == "--cpu" { enough / 4 } else { enough };
        assert!(compared >= enough, "{filter}: compared only {compared} recordings");
    }
}

/// Whether samples contain counter values of a group.
fn is_read_in_groups(meta: &Meta) -> bool {
    let is_read = |layout: &perf_data::abi::sample_layout::SampleLayout| {
        layout.sample_type().contains(SampleType::READ) && layout.read_format().contains(ReadFormat::GROUP)
    };
    meta.events.list().iter().any(|event| is_read(&event.layout))
}

/// The types and bytes of all records.
type Records = Vec<(RecordType, Vec<u8>)>;

struct All(Records);

impl Sink for All {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        if !matches!(raw.header().kind, RecordType::COMPRESSED | RecordType::COMPRESSED2) {
            self.0.push((raw.header().kind, [raw.bytes(), raw.payload()].concat()));
        }
        Ok(())
    }
}

fn records(path: &Path) -> Result<(Meta, Records), String> {
    let mut all = All(Vec::new());
    let source = Source::open(Input::Path(path.to_owned()), ReadOptions::default()).map_err(|e| e.to_string())?;
    let (meta, _) = source.run(&mut all).map_err(|e| e.to_string())?;
    Ok((meta, all.0))
}

fn of_type(records: &Records, wanted: RecordType) -> Vec<&[u8]> {
    records.iter().filter(|(kind, _)| *kind == wanted).map(|(_, bytes)| &bytes[..]).collect()
}

/// The event names that `perf evlist` prints.
fn evlist(path: &Path) -> BTreeSet<String> {
    let run = run_other(with_time_limit("perf").args(["evlist", "--force", "-i"]).arg(path).env("LC_ALL", "C"));
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect()
}

/// Removes the modifiers of an event's name. The colon of a tracepoint's name precedes no modifiers.
fn plain(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((plain, modifiers)) if modifiers.bytes().all(|byte| b"ukhGHpPSDWe".contains(&byte)) => plain,
        _ => name,
    }
}

fn compare_event(recording: &Recording) -> Option<Result<usize, String>> {
    let (meta, _) = records(&recording.path).ok()?;
    let names = evlist(&recording.path);
    if meta.events.list().len() < 2 || names.len() < 2 || is_read_in_groups(&meta) {
        return None;
    }
    let lines = script_without_cpu(&recording.path, &[])?;
    let name = plain(lines[lines.len() / 2].event.as_str()).to_owned();
    if !meta.events.list().iter().any(|event| event.name.as_deref().is_some_and(|recorded| plain(recorded) == name)) {
        // Recordings of Android name events differently from perf.
        return None;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = dir.path().join("filtered");
    if let Err(error) = rewrite(&recording.path, &output, &["--event", &name]) {
        return Some(Err(error));
    }
    let remaining = evlist(&output);
    if remaining.is_empty() || remaining.iter().any(|other| plain(other) != name) {
        return Some(Err(format!("perf evlist prints {remaining:?} after --event {name}")));
    }
    let theirs: Vec<_> = lines.into_iter().filter(|line| plain(&line.event) == name).collect();
    if text(&script_without_cpu(&output, &[]).unwrap_or_default()) != text(&theirs) {
        return Some(Err(format!("perf script prints other samples of {name}")));
    }
    let new: Vec<_> = broken_rules(&output).difference(&broken_rules(&recording.path)).cloned().collect();
    if !new.is_empty() {
        return Some(Err(format!("check finds {new:?}")));
    }
    // With --keep-attrs, perf prints the same samples.
    if let Err(error) = rewrite(&recording.path, &output, &["--event", &name, "--keep-attrs"]) {
        return Some(Err(error));
    }
    if evlist(&output) != names || text(&script_without_cpu(&output, &[]).unwrap_or_default()) != text(&theirs) {
        return Some(Err(format!("--keep-attrs: other samples of {name}, or other events")));
    }
    Some(Ok(theirs.len()))
}

#[test]
fn event_filter_keeps_one_event_and_its_samples() {
    let all = recordings();
    let (mut compared, mut count, mut differing) = (0, 0, Vec::new());
    for (recording, outcome) in all.iter().zip(for_each(&all, compare_event)) {
        match outcome {
            Some(Ok(lines)) => (compared, count) = (compared + 1, count + lines),
            Some(Err(what)) => differing.push(format!("{}: {what}", recording.name)),
            None => {}
        }
    }
    print_note(format_args!(
        "{compared} recordings of several events, filtered to {count} samples of one, match perf script and perf evlist; skipped {} with one event, with :S groups, or that perf cannot print",
        all.len() - compared
    ));
    assert!(differing.is_empty(), "{}:\n{}", differing.len(), differing.join("\n"));
    let enough = if has_corpus("events") { 40 } else { 1 };
    assert!(compared >= enough, "compared only {compared} recordings");
}

#[test]
fn event_filter_keeps_groups_with_counter_values() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    rewrite(&fixture("group-read.data"), &output, &["--event", "page-faults"]).unwrap();
    let (before, after) = (records(&fixture("group-read.data")).unwrap(), records(&output).unwrap());
    assert_eq!(of_type(&before.1, RecordType::SAMPLE), of_type(&after.1, RecordType::SAMPLE));
    assert_eq!(evlist(&output), evlist(&fixture("group-read.data")));
}

#[test]
fn filters_work_in_every_container_and_format() {
    let cases = [
        ("callgraph.data", "--time", "10%/2"),
        ("pipe.data", "--time", "0%-50%"),
        ("compressed.data", "--time", "20%-40%"),
        ("pipe-compressed.data", "--head", "7"),
        ("big-endian.data", "--head", "3"),
        ("big-endian.data", "--sample-every", "2"),
        ("threads.dir", "--sample-every", "3"),
        ("threads-compressed.dir", "--head", "9"),
        ("two-events.data", "--event", "task-clock"),
        ("system-wide.data", "--cpu", "0"),
        ("pipe-tracepoints.data", "--sample-every", "5"),
        ("forks.data", "--head", "4"),
        ("killed.data", "--head", "5"),
    ];
    for (name, option, value) in cases {
        let dir = tempfile::tempdir().unwrap();
        let samples = |label: &str, ending: &str, args: &[&str]| {
            let output = dir.path().join(format!("{label}{ending}"));
            let args = [&[option, value, "-o"][..], args].concat();
            let converted = run(perfconv().arg(fixture(name)).args(args).arg(&output));
            // The last -o of the arguments takes effect.
            assert_eq!(converted.status, 0, "{name} {label}: {}", converted.stderr);
            let restored = dir.path().join(format!("{label}.restored.data"));
            rewrite(&output, &restored, &["--decompress"]).unwrap_or_else(|e| panic!("{name} {label}: {e}"));
            let (_, all) = records(&restored).unwrap_or_else(|e| panic!("{name} {label}: {e}"));
            of_type(&all, RecordType::SAMPLE).into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let filtered = samples("here", ".data", &[]);
        let (_, before) = records(&fixture(name)).unwrap();
        let before = of_type(&before, RecordType::SAMPLE).len();
        assert!(!filtered.is_empty() && filtered.len() < before, "{name}: {} of {before} samples", filtered.len());
        for ending in [".pb_data", ".jsonl", ".json"] {
            assert!(samples("format", ending, &[]) == filtered, "{name}{ending}: other samples");
        }
    }
    print_note(format_args!(
        "{} filters of fixtures give the same samples as perf.data, PerfDataProto, JSON Lines and JSON",
        cases.len()
    ));
}

#[test]
fn aux_areas_are_kept_with_a_valid_index_or_dropped_with_their_event() {
    if !has_corpus("AUX areas") {
        return;
    }
    let trace = corpus().into_iter().find(|recording| recording.name.ends_with("perf.data.intel_pt-4.14"));
    let trace = trace.expect("it should be listed").path;
    let dir = tempfile::tempdir().unwrap();
    let restored = dir.path().join("restored.data");
    for (args, pieces) in [(["--event", "intel_pt"], 2), (["--event", "cycles"], 0), (["--head", "3"], 2)] {
        for ending in [".data", ".pb_data", ".jsonl"] {
            let output = dir.path().join(format!("out{ending}"));
            let run = run(perfconv().arg(&trace).args(["-f", "-q", "-o"]).arg(&output).args(args));
            assert_eq!(run.status, 0, "{}", run.stderr);
            rewrite(&output, &restored, &[]).unwrap();
            let (meta, records) = records(&restored).unwrap();
            assert_eq!(of_type(&records, RecordType::AUXTRACE).len(), pieces, "{args:?} {ending}");
            assert_eq!(meta.features.contains_key(&FeatureId::AUXTRACE), pieces > 0, "{args:?} {ending}");
            assert_eq!(broken_rules(&restored), BTreeSet::new(), "{args:?} {ending}");
        }
    }
}

#[test]
fn profile_with_filters_equals_profile_of_filtered_recording() {
    let dir = tempfile::tempdir().unwrap();
    let (data, through, of_filtered) =
        (dir.path().join("x.data"), dir.path().join("a.pb.gz"), dir.path().join("b.pb.gz"));
    for (name, args) in [
        ("callgraph.data", &["--time", "10%/2"][..]),
        ("forks.data", &["--sample-every", "2"]),
        ("pipe.data", &["--head", "5"]),
        ("callgraph.data", &["--head", "50", "--labels", "timestamp_ns"]),
    ] {
        let to_profile = |input: &Path, output: &Path, args: &[&str]| {
            let run = run(perfconv().arg(input).args(["-f", "-q", "-o"]).arg(output).args(args));
            assert_eq!(run.status, 0, "{name}: {}", run.stderr);
            profile(output)
        };
        rewrite(&fixture(name), &data, &args[..2]).unwrap();
        let ours = to_profile(&fixture(name), &through, args);
        let theirs = to_profile(&data, &of_filtered, &args[2..]);
        assert!(!ours.sample.is_empty(), "{name}");
        assert!(ours == theirs, "{name}: profiles differ");
    }
    // Each filter sees the output of those before it, including event filters.
    for (args, out) in [
        (&["--event", "task-clock", "--head", "4"][..], " in, 4 out, 0 dropped"),
        (&["--head", "4", "--event", "task-clock"], " in, 2 out, 0 dropped"),
    ] {
        let run = run(perfconv().arg(fixture("two-events.data")).args(["-f", "-o"]).arg(&through).args(args));
        assert!(run.stderr.contains(out), "{args:?}: {}", run.stderr);
    }
    for args in [&["--type", "SAMPLE"][..], &["--event", "cpu-clock", "--keep-attrs"], &["--sort"]] {
        let run = run(perfconv().arg(fixture("callgraph.data")).args(["-f", "-o"]).arg(&through).args(args));
        assert_eq!((run.status, run.stderr.contains("cannot be used with format pprof")), (2, true), "{}", run.stderr);
    }
}

#[test]
fn pid_filter_drops_records_of_other_processes() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    let lines = script(&fixture("system-wide.data"), &[]).expect("perf should print it");
    let wanted = lines.iter().find(|line| line.pid != "0" && line.pid != "-1").expect("a process");
    rewrite(&fixture("system-wide.data"), &output, &["--pid", &wanted.pid]).unwrap();
    let (before, after) = (records(&fixture("system-wide.data")).unwrap().1, records(&output).unwrap().1);
    let pid_of = |record: &&[u8]| u32::from_le_bytes(record[8..12].try_into().unwrap());
    let comms = |records: &Records| of_type(records, RecordType::COMM).iter().map(pid_of).collect::<BTreeSet<_>>();
    let (all, filter_events) = (comms(&before), comms(&after));
    assert!(
        filter_events.len() < all.len() && filter_events.contains(&wanted.pid.parse().unwrap()),
        "{filter_events:?} of {all:?}"
    );
    let kernel_maps = |records: &Records| of_type(records, RecordType::MMAP).len();
    assert_eq!(kernel_maps(&before), kernel_maps(&after), "kernel mappings should be kept");
    let (before, after) =
        (fs::metadata(fixture("system-wide.data")).unwrap().len(), fs::metadata(&output).unwrap().len());
    assert!(after < before * 3 / 4, "{after} bytes of {before}");
}

#[test]
fn sample_time_covers_the_remaining_samples() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    for args in [&["--head", "20"][..], &["--time", "30%-50%"], &["--dso", "[kernel]"], &["--sample-every", "9"]] {
        rewrite(&fixture("callgraph.data"), &output, args).unwrap();
        let lines = script(&output, &[]).expect("perf should print it");
        let (meta, _) = records(&output).unwrap();
        let section = &meta.features[&FeatureId::SAMPLE_TIME];
        let (range, _) = perf_data::abi::parse::<SampleTime>(section, meta.endian, ()).unwrap();
        let seconds = |time: u64| format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000);
        let times: Vec<_> = lines.iter().map(|line| line.time.clone()).collect();
        let expected = (times.iter().min().unwrap().clone(), times.iter().max().unwrap().clone());
        assert_eq!((seconds(range.first_sample_time), seconds(range.last_sample_time)), expected, "{args:?}");
    }
}

#[test]
fn type_filter_keeps_those_types_and_metadata() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    rewrite(&fixture("lost.data"), &output, &["--type", "SAMPLE", "--type", "LOST"]).unwrap();
    let (before, after) = (records(&fixture("lost.data")).unwrap().1, records(&output).unwrap().1);
    for kind in [RecordType::SAMPLE, RecordType::LOST, RecordType::FINISHED_ROUND] {
        assert!(!of_type(&after, kind).is_empty(), "{kind}");
        assert_eq!(of_type(&before, kind), of_type(&after, kind), "{kind}");
    }
    for kind in [RecordType::MMAP, RecordType::MMAP2, RecordType::COMM] {
        assert!(of_type(&after, kind).is_empty(), "{kind}");
    }
}

#[test]
fn rejects_unmatched_filters_before_writing() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    for (name, args, expected) in [
        (
            "callgraph.data",
            &["--pid", "1"][..],
            "callgraph.data: --pid: no samples of process 1; all samples are of process ",
        ),
        ("pipe.data", &["--tid", "1"], "--tid: no samples of thread 1; "),
        (
            "callgraph.data",
            &["--comm", "nobody"],
            "--comm: no samples of thread name 'nobody'; all samples are of thread name 'loop-pie",
        ),
        ("system-wide.data", &["--cpu", "900"], "--cpu: no samples of CPU 900; "),
        ("callgraph.data", &["--cpu", "0"], "callgraph.data: --cpu: 377 samples do not record a CPU"),
        (
            "callgraph.data",
            &["--dso", "nothing.so"],
            "--dso: no samples of file 'nothing.so'; there are samples of 3 files: '",
        ),
        (
            "two-events.data",
            &["--event", "cycles"],
            "--event: unknown event 'cycles'; expected one of: cpu-clock, task-clock",
        ),
        ("callgraph.data", &["--type", "LOST"], "--type: the recording has no LOST records; its types are: MMAP, COMM"),
        ("callgraph.data", &["--strip-user-stack"], "no event samples user stacks"),
        ("callgraph.data", &["--sched-stat"], "the recording has no sched:sched_switch; its events are: cpu-clock"),
        (
            "forks.data",
            &["--head", "1", "--sample-every", "2", "--tid", "1"],
            "--tid: no samples of thread 1; all samples are of thread ",
        ),
    ] {
        let run = run(perfconv().arg(fixture(name)).arg("-o").arg(&output).args(args));
        assert_eq!((run.status, run.stderr.contains(expected)), (1, true), "{args:?}: {}", run.stderr);
        assert!(!output.exists(), "{args:?}: an output was written");
    }
    let late = run(perfconv().arg(fixture("callgraph.data")).arg("-o").arg(&output).args(["--time", "1,2", "-f"]));
    let warning = "perfconv: warning: --time: no samples from 1 to 2; samples are from ";
    assert!(late.status == 0 && late.stderr.starts_with(warning), "{}", late.stderr);
    fs::remove_file(&output).unwrap();
    for (args, expected) in [
        (&["--time", "2,1"][..], "ends before it starts"),
        (&["--time", "1"], "'1' is not START,STOP"),
        (&["--time", "90%-110%"], "not between 0% and 100%"),
        (&["--time", "1,2", "--time", "3,4"], "cannot be used multiple times"),
        (&["--cpu", "3-1"], "3 is greater than 1"),
        (&["--pid", "x"], "'x' is not a process or thread ID"),
        (&["--sample-every", "0"], "expected a number of at least 1"),
        (&["--head", "0"], "expected a number of at least 1"),
        (&["--keep-attrs"], "--event"),
        (&["--type", "SAMPEL"], "unknown record type 'SAMPEL'; did you mean 'SAMPLE'? expected one of: "),
    ] {
        let run = run(perfconv().arg(fixture("callgraph.data")).arg("-o").arg(&output).args(args));
        assert_eq!((run.status, run.stderr.contains(expected)), (2, true), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn repeated_options_accumulate_values() {
    let dir = tempfile::tempdir().unwrap();
    let [once, twice] = ["once.data", "twice.data"].map(|name| dir.path().join(name));
    let lines = script(&fixture("system-wide.data"), &[]).expect("perf should print it");
    let tids: BTreeSet<_> = lines.iter().map(|line| line.tid.as_str()).collect();
    let [first, second] = [0, 1].map(|nth| *tids.iter().nth(nth).expect("two threads"));
    rewrite(&fixture("system-wide.data"), &once, &["--tid", &format!("{first},{second}")]).unwrap();
    rewrite(&fixture("system-wide.data"), &twice, &["--tid", first, "--tid", second]).unwrap();
    assert!(fs::read(once).unwrap() == fs::read(twice).unwrap());
}

/// The samples that `perf script` prints, without call chains, for which it would unwind user stacks.
fn without_stacks(path: &Path) -> Option<String> {
    let fields = "comm,pid,tid,time,event,period,addr,data_src";
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "--ns", "-G", "--no-itrace", "-F", fields, "-i"]).arg(path).env("LC_ALL", "C");
    let run = run_other(&mut perf);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    (run.status == 0 && !text.trim().is_empty()).then_some(text)
}

#[test]
fn strip_user_stack_changes_nothing_else() {
    if !has_corpus("user stacks") {
        return;
    }
    let has_stacks = |recording: &Recording| {
        let fields = SampleType::STACK_USER | SampleType::REGS_USER;
        records(&recording.path).is_ok_and(|(meta, records)| {
            let mut events = meta.events.list().iter();
            !of_type(&records, RecordType::SAMPLE).is_empty()
                && events.any(|event| event.layout.sample_type().intersects(fields))
        })
    };
    let all: Vec<_> = corpus().into_iter().filter(has_stacks).collect();
    let (mut compared, mut printed, mut saved) = (0, 0, 0);
    for (recording, outcome) in all.iter().zip(for_each(&all, |recording| strip(&recording.path))) {
        match outcome {
            Ok(StripResult { is_printed, bytes }) => {
                (compared, printed, saved) = (compared + 1, printed + usize::from(is_printed), saved + bytes);
            }
            Err(what) => panic!("{}: {what}", recording.name),
        }
    }
    print_note(format_args!(
        "{compared} recordings stripped of user stacks and registers, saving {saved} bytes of samples; perf script prints the same for {printed}"
    ));
    assert!(compared >= 60 && printed >= 12, "compared only {compared}, {printed} with perf script");
}

struct StripResult {
    is_printed: bool,
    bytes: usize,
}

fn strip(path: &Path) -> Result<StripResult, String> {
    use perf_data::abi::record::{Body, Record};
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = dir.path().join("stripped");
    rewrite(path, &output, &["--strip-user-stack"])?;
    let (plain_meta, before) = records(path)?;
    let (meta, after) = records(&output)?;
    let has_user_fields = |event: &perf_data::stream::events::Event| {
        let attr = &event.attr;
        let user_fields = SampleType::STACK_USER | SampleType::REGS_USER;
        attr.sample_type.intersects(user_fields) || attr.sample_regs_user != 0 || attr.sample_stack_user != 0
    };
    if meta.events.list().iter().any(has_user_fields) {
        return Err("an event still has user stacks or registers".to_owned());
    }
    // Decode with the owned definitions, which the pass does not use.
    let read = |path: &Path, meta: &Meta| {
        let mut samples = Samples { meta: meta.clone(), list: Vec::new() };
        let source = Source::open(Input::Path(path.to_owned()), ReadOptions::default()).map_err(|e| e.to_string())?;
        source.run(&mut samples).map(|_| samples.list).map_err(|e| e.to_string())
    };
    struct Samples {
        meta: Meta,
        list: Vec<perf_data::abi::sample::Sample>,
    }
    impl Sink for Samples {
        fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
            if raw.header().kind == RecordType::SAMPLE
                && let Some(Record { body: Body::Sample(sample), .. }) =
                    Record::read(raw.bytes(), &self.meta.context(raw))
            {
                self.list.push(*sample);
            }
            Ok(())
        }
    }
    let (mut expected, left) = (read(path, &plain_meta)?, read(&output, &meta)?);
    for sample in &mut expected {
        (sample.regs_user, sample.stack_user) = (None, None);
    }
    if expected.is_empty() || expected != left {
        return Err(format!("{} samples before, {} after", expected.len(), left.len()));
    }
    let size =
        |records: &Records| of_type(records, RecordType::SAMPLE).iter().map(|record| record.len()).sum::<usize>();
    let bytes = size(&before).checked_sub(size(&after)).ok_or("the samples are larger")?;
    let new: Vec<_> = broken_rules(&output).difference(&broken_rules(path)).cloned().collect();
    if !new.is_empty() {
        return Err(format!("check finds {new:?}"));
    }
    match (without_stacks(path), without_stacks(&output)) {
        (Some(before), Some(after)) if before != after => Err("perf script differs".to_owned()),
        (before, _) => Ok(StripResult { is_printed: before.is_some(), bytes }),
    }
}

#[test]
fn sched_stat_matches_perf_inject() {
    if !has_corpus("output of perf inject -s") {
        return;
    }
    let find = |name: &str| {
        corpus().into_iter().find(|recording| recording.name.ends_with(name)).expect("it should be listed")
    };
    let [source, golden] = ["inj-sched-src.data", "inj-sched.data"].map(|name| find(name).path);
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    rewrite(&source, &output, &["--sched-stat"]).unwrap();
    let ((meta, ours), (_, theirs)) = (records(&output).unwrap(), records(&golden).unwrap());
    let mut kinds = 0;
    for (kind, _) in ours.iter().chain(&theirs) {
        if *kind != RecordType::SAMPLE {
            assert_eq!(of_type(&ours, *kind), of_type(&theirs, *kind), "{kind}");
            kinds += 1;
        }
    }
    // perf inject overwrites the first 4 bytes of the raw data, which identify the tracepoint, with 0.
    let layout = meta.events.list()[0].layout;
    let masked = |record: &[u8]| {
        let view = perf_data::abi::sample_view::SampleView::read(&record[8..], &layout, meta.endian)
            .expect("reading should succeed");
        let raw = view.raw.expect("a tracepoint should have raw data");
        let at = record.windows(raw.len()).rposition(|bytes| bytes == raw).expect("the record should contain it");
        let mut masked = record.to_vec();
        masked[at..at + 4].fill(0);
        masked
    };
    let [ours, theirs] =
        [&ours, &theirs].map(|all| of_type(all, RecordType::SAMPLE).into_iter().map(masked).collect::<Vec<_>>());
    print_note(format_args!("{} samples and {kinds} other records, oracle: perf inject -s of perf 6.1", ours.len()));
    assert_eq!(ours, theirs);
    assert!(ours.len() >= 51 && kinds >= 100);
    let features = |path: &Path| {
        Source::open(Input::Path(path.to_owned()), ReadOptions::default()).unwrap().meta().features.clone()
    };
    assert_eq!(features(&source), features(&output), "all features should be kept");
    // Same, from a pipe.
    let (pipe, piped) = (dir.path().join("pipe.data"), dir.path().join("piped.data"));
    rewrite(&source, &pipe, &["--container", "pipe"]).unwrap();
    rewrite(&pipe, &piped, &["--sched-stat"]).unwrap();
    let (_, piped) = records(&piped).unwrap();
    assert_eq!(of_type(&piped, RecordType::SAMPLE).len(), ours.len());
}

/// Prints a line to standard error, not with the print macros, whose output the test harness captures.
fn print_note(line: Arguments<'_>) {
    writeln!(io::stderr(), "{line}").expect("standard error should be writable");
}
