//! Filters: what they leave is what perf's own filters show of the whole, in a recording that is as sound as it was.

use crate::suite::files::{Recording, corpus, enough, fixture, has_corpus, recordings, share};
use crate::suite::program::{for_each, perfconv, profile, run, run_other, with_time_limit};
use perfconv::abi::feature::FeatureId;
use perfconv::abi::feature::sample_time::SampleTime;
use perfconv::abi::read_format::ReadFormat;
use perfconv::abi::record::RecordType;
use perfconv::abi::sample_type::SampleType;
use perfconv::container::read::{ReadOptions, input::Input};
use perfconv::inspect::check::{Severity, check};
use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Arguments;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// What `perf script` prints of a sample.
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
    /// `comm pid/tid [cpu] time: event: ip (dso)`, blanks collapsed.
    fn parse(text: &str) -> Option<Self> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (head, rest) = text.split_once(": ")?;
        let (event, place) = rest.rsplit_once(": ")?;
        let (head, time) = head.rsplit_once(' ')?;
        let (head, cpu) = match head.strip_suffix(']').and_then(|head| head.rsplit_once(" [")) {
            Some((head, cpu)) => (head, Some(cpu.to_owned())),
            None => (head, None),
        };
        let (comm, task) = head.rsplit_once(' ')?;
        let (pid, tid) = task.split_once('/')?;
        let dso = place.split_once(" (")?.1.strip_suffix(')')?;
        let [comm, pid, tid, time, event, dso] = [comm, pid, tid, time, event, dso].map(str::to_owned);
        Some(Self { comm, pid, tid, cpu, time, event, dso, text: text.clone() })
    }
}

/// The samples that `perf script` shows; `None` where it shows none, or not that.
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

fn rewritten(input: &Path, output: &Path, args: &[&str]) -> Result<(), String> {
    let run = run(perfconv().arg("rewrite").arg(input).args(["-f", "-q", "-o"]).arg(output).args(args));
    if run.status == 0 { Ok(()) } else { Err(run.stderr) }
}

/// What is wrong with a recording, by the rules that it breaks.
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

/// A filter: what it is called here, our option and perf's.
type Both = (&'static str, [String; 2], [String; 2]);

/// What is filtered, so that something stays.
fn filters(lines: &[Line]) -> Vec<Both> {
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
        // perf makes up a file for the code that a process says it compiled.
        all.remove(3);
    }
    if let Some(cpu) = &one.cpu {
        let cpu = cpu.trim_start_matches('0');
        all.push(both("--cpu", "--cpu", "--cpu", if cpu.is_empty() { "0" } else { cpu }));
    }
    all
}

/// How a comparison went, and of which filter.
enum Outcome {
    Same(&'static str, usize),
    Skipped(String),
    Differs(String),
}

fn compare_filters(recording: &Recording, turn: usize) -> Vec<Outcome> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (output, older) = (folder.path().join("filtered"), folder.path().join("older"));
    let (lines, whole, version) = match script(&recording.path, &[]) {
        Some(lines) => (lines, recording.path.clone(), &[][..]),
        None => {
            // perf 6.1 does not read newer ones, but what is written for it; the filter comes behind that then.
            let version = &["--perf-version", "6.1"][..];
            let lines = rewritten(&recording.path, &older, version).ok().and_then(|()| script(&older, &[]));
            let Some(lines) = lines else {
                return vec![Outcome::Skipped("perf script does not show samples with task, time and file".to_owned())];
            };
            (lines, older, version)
        }
    };
    let (meta, _) = records(&whole).expect("perf reads it, and so do we");
    if is_read_in_groups(&meta) {
        return vec![Outcome::Skipped("of :S groups perf shows what was added since the sample before".to_owned())];
    }
    let before = broken_rules(&whole);
    let all = filters(&lines);
    // Each recording takes some of them: all are too many.
    let turns = if version.is_empty() { &[0, 3][..] } else { &[0] };
    let compare = |(name, ours, theirs): &Both| {
        let [ours, theirs] = [ours, theirs].map(|args| args.iter().map(String::as_str).collect::<Vec<_>>());
        let Some(theirs) = script(&whole, &theirs) else {
            return Outcome::Skipped(format!("{name}: perf shows nothing, or refuses"));
        };
        if let Err(error) = rewritten(&recording.path, &output, &[version, &ours].concat()) {
            return Outcome::Differs(format!("{} {ours:?}: {error}", recording.name));
        }
        let after = script(&output, &[]).unwrap_or_default();
        if text(&after) != text(&theirs) {
            let what = format!("{} {ours:?}: {} lines, not {}", recording.name, after.len(), theirs.len());
            return Outcome::Differs(what);
        }
        let new: Vec<_> = broken_rules(&output).difference(&before).cloned().collect();
        let removed = if output.is_dir() { fs::remove_dir_all(&output) } else { fs::remove_file(&output) };
        removed.expect("the output can be removed");
        match new.is_empty() {
            true => Outcome::Same(name, theirs.len()),
            false => Outcome::Differs(format!("{} {ours:?}: check complains: {new:?}", recording.name)),
        }
    };
    turns.iter().map(|&more| compare(&all[(turn + more) % all.len()])).collect()
}

fn text(lines: &[Line]) -> Vec<&str> {
    lines.iter().map(|line| line.text.as_str()).collect()
}

#[test]
fn events_are_given_as_a_list() {
    let folder = tempfile::tempdir().expect("a directory");
    let kept = |options: &[&str]| {
        let output = folder.path().join("out.data");
        let run = run(perfconv().arg(fixture("tracepoints.data")).args(options).args(["-f", "-o"]).arg(&output));
        assert_eq!(run.status, 0, "{}", run.stderr);
        fs::read(output).expect("it was written")
    };
    let list = kept(&["--event", "sched:sched_switch, sched:sched_wakeup"]);
    assert_eq!(list, kept(&["--event", "sched:sched_switch", "--event", "sched:sched_wakeup"]));
    assert!(list != kept(&["--event", "sched:sched_switch"]) && list != kept(&[]));
    let refused = run(perfconv().arg(fixture("tracepoints.data")).args(["--event", "a,", "-o", "x.data"]));
    assert!(refused.status == 2 && refused.stderr.contains("an event has no name"), "{}", refused.stderr);
}

#[test]
fn what_a_filter_leaves_is_what_perf_shows_with_its_own() {
    let all: Vec<_> = share(3).into_iter().enumerate().collect();
    let (mut same, mut skipped, mut differing) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for outcome in for_each(&all, |(turn, recording)| compare_filters(recording, *turn)).into_iter().flatten() {
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
        say(format_args!(
            "{filter}: {count} filtered recordings are what perf 6.1 shows with its filter, {lines} lines"
        ));
    }
    skipped.iter().for_each(|(reason, count)| say(format_args!("skipped {count}: {reason}")));
    assert!(differing.is_empty(), "{}:\n{}", differing.len(), differing.join("\n"));
    let enough = enough("filters", 3, 60, 2);
    for filter in ["--pid", "--tid", "--comm", "--dso", "--time", "--time of shares", "--cpu"] {
        let compared = same.get(filter).map_or(0, |(count, _)| *count);
        let enough = if filter == "--cpu" { enough / 4 } else { enough };
        assert!(compared >= enough, "{filter}: only {compared} were compared");
    }
}

/// Whether counters of a group are read with samples.
fn is_read_in_groups(meta: &Meta) -> bool {
    let is_read = |layout: &perfconv::abi::sample_layout::SampleLayout| {
        layout.sample_type().contains(SampleType::READ) && layout.read_format().contains(ReadFormat::GROUP)
    };
    meta.events.list().iter().any(|event| is_read(&event.layout))
}

/// The bytes of all records, by type.
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

/// The names that `perf evlist` tells.
fn evlist(path: &Path) -> BTreeSet<String> {
    let run = run_other(with_time_limit("perf").args(["evlist", "--force", "-i"]).arg(path).env("LC_ALL", "C"));
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect()
}

/// An event's name without its modifiers; of a tracepoint the colon is no modifier's.
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
    if !meta.events.list().iter().any(|event| event.name.as_deref().is_some_and(|told| plain(told) == name)) {
        // Android's recordings name events otherwise than perf does.
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("filtered");
    if let Err(error) = rewritten(&recording.path, &output, &["--event", &name]) {
        return Some(Err(error));
    }
    let left = evlist(&output);
    if left.is_empty() || left.iter().any(|left| plain(left) != name) {
        return Some(Err(format!("perf evlist shows {left:?} after --event {name}")));
    }
    let theirs: Vec<_> = lines.into_iter().filter(|line| plain(&line.event) == name).collect();
    if text(&script_without_cpu(&output, &[]).unwrap_or_default()) != text(&theirs) {
        return Some(Err(format!("perf script shows other samples of {name}")));
    }
    let new: Vec<_> = broken_rules(&output).difference(&broken_rules(&recording.path)).cloned().collect();
    if !new.is_empty() {
        return Some(Err(format!("check complains: {new:?}")));
    }
    // With the attrs of the others perf shows the same samples.
    if let Err(error) = rewritten(&recording.path, &output, &["--event", &name, "--keep-attrs"]) {
        return Some(Err(error));
    }
    if evlist(&output) != names || text(&script_without_cpu(&output, &[]).unwrap_or_default()) != text(&theirs) {
        return Some(Err(format!("--keep-attrs: other samples of {name}, or other events")));
    }
    Some(Ok(theirs.len()))
}

#[test]
fn of_an_event_there_are_its_samples_and_no_other_event() {
    let all = recordings();
    let (mut compared, mut count, mut differing) = (0, 0, Vec::new());
    for (recording, outcome) in all.iter().zip(for_each(&all, compare_event)) {
        match outcome {
            Some(Ok(lines)) => (compared, count) = (compared + 1, count + lines),
            Some(Err(what)) => differing.push(format!("{}: {what}", recording.name)),
            None => {}
        }
    }
    say(format_args!(
        "{compared} recordings of several events, {count} samples of one: perf script and perf evlist show these; {} of one event, of :S groups, or not shown by perf",
        all.len() - compared
    ));
    assert!(differing.is_empty(), "{}:\n{}", differing.len(), differing.join("\n"));
    let enough = if has_corpus("events") { 40 } else { 1 };
    assert!(compared >= enough, "only {compared} were compared");
}

#[test]
fn a_group_that_is_read_together_stays_together() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.data");
    rewritten(&fixture("group-read.data"), &output, &["--event", "page-faults"]).unwrap();
    let (before, after) = (records(&fixture("group-read.data")).unwrap(), records(&output).unwrap());
    assert_eq!(of_type(&before.1, RecordType::SAMPLE), of_type(&after.1, RecordType::SAMPLE));
    assert_eq!(evlist(&output), evlist(&fixture("group-read.data")));
}

#[test]
fn the_same_stays_in_every_container_and_format() {
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
        let folder = tempfile::tempdir().unwrap();
        let samples = |how: &str, ending: &str, args: &[&str]| {
            let output = folder.path().join(format!("{how}{ending}"));
            let args = [&[option, value, "-o"][..], args].concat();
            let told = run(perfconv().arg(fixture(name)).args(args).arg(&output));
            // What comes after -o in args is told first.
            assert_eq!(told.status, 0, "{name} {how}: {}", told.stderr);
            let again = folder.path().join(format!("{how}.again.data"));
            rewritten(&output, &again, &["--decompress"]).unwrap_or_else(|e| panic!("{name} {how}: {e}"));
            let (_, all) = records(&again).unwrap_or_else(|e| panic!("{name} {how}: {e}"));
            of_type(&all, RecordType::SAMPLE).into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let here = samples("here", ".data", &[]);
        let (_, before) = records(&fixture(name)).unwrap();
        let before = of_type(&before, RecordType::SAMPLE).len();
        assert!(!here.is_empty() && here.len() < before, "{name}: {} of {before} samples", here.len());
        for ending in [".pb_data", ".jsonl", ".json"] {
            assert!(samples("format", ending, &[]) == here, "{name}{ending}: other samples");
        }
    }
    say(format_args!(
        "{} filters of fixtures, by perf.data, PerfDataProto, JSON Lines and JSON: the same samples",
        cases.len()
    ));
}

#[test]
fn an_aux_area_stays_where_its_index_says_or_goes_with_its_event() {
    if !has_corpus("AUX areas") {
        return;
    }
    let trace = corpus().into_iter().find(|recording| recording.name.ends_with("perf.data.intel_pt-4.14"));
    let trace = trace.expect("it is listed").path;
    let folder = tempfile::tempdir().unwrap();
    let again = folder.path().join("again.data");
    for (args, pieces) in [(["--event", "intel_pt"], 2), (["--event", "cycles"], 0), (["--head", "3"], 2)] {
        for ending in [".data", ".pb_data", ".jsonl"] {
            let output = folder.path().join(format!("out{ending}"));
            let run = run(perfconv().arg(&trace).args(["-f", "-q", "-o"]).arg(&output).args(args));
            assert_eq!(run.status, 0, "{}", run.stderr);
            rewritten(&output, &again, &[]).unwrap();
            let (meta, records) = records(&again).unwrap();
            assert_eq!(of_type(&records, RecordType::AUXTRACE).len(), pieces, "{args:?} {ending}");
            assert_eq!(meta.features.contains_key(&FeatureId::AUXTRACE), pieces > 0, "{args:?} {ending}");
            assert_eq!(broken_rules(&again), BTreeSet::new(), "{args:?} {ending}");
        }
    }
}

#[test]
fn a_profile_of_what_stays_is_that_of_the_filtered_recording() {
    let folder = tempfile::tempdir().unwrap();
    let (data, through, of_filtered) =
        (folder.path().join("x.data"), folder.path().join("a.pb.gz"), folder.path().join("b.pb.gz"));
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
        rewritten(&fixture(name), &data, &args[..2]).unwrap();
        let ours = to_profile(&fixture(name), &through, args);
        let theirs = to_profile(&data, &of_filtered, &args[2..]);
        assert!(!ours.sample.is_empty(), "{name}");
        assert!(ours == theirs, "{name}: another profile");
    }
    // Each filter sees what those before it leave, a choice of events too.
    for (args, out) in [
        (&["--event", "task-clock", "--head", "4"][..], " in, 4 out, 0 dropped"),
        (&["--head", "4", "--event", "task-clock"], " in, 2 out, 0 dropped"),
    ] {
        let run = run(perfconv().arg(fixture("two-events.data")).args(["-f", "-o"]).arg(&through).args(args));
        assert!(run.stderr.contains(out), "{args:?}: {}", run.stderr);
    }
    for args in [&["--type", "SAMPLE"][..], &["--event", "cpu-clock", "--keep-attrs"], &["--sort"]] {
        let run = run(perfconv().arg(fixture("callgraph.data")).args(["-f", "-o"]).arg(&through).args(args));
        assert_eq!((run.status, run.stderr.contains("is not for pprof")), (2, true), "{}", run.stderr);
    }
}

#[test]
fn what_has_nothing_to_do_with_a_process_goes() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.data");
    let lines = script(&fixture("system-wide.data"), &[]).expect("perf shows it");
    let wanted = lines.iter().find(|line| line.pid != "0" && line.pid != "-1").expect("a process");
    rewritten(&fixture("system-wide.data"), &output, &["--pid", &wanted.pid]).unwrap();
    let (before, after) = (records(&fixture("system-wide.data")).unwrap().1, records(&output).unwrap().1);
    let pid_of = |record: &&[u8]| u32::from_le_bytes(record[8..12].try_into().unwrap());
    let comms = |records: &Records| of_type(records, RecordType::COMM).iter().map(pid_of).collect::<BTreeSet<_>>();
    let (all, left) = (comms(&before), comms(&after));
    assert!(left.len() < all.len() && left.contains(&wanted.pid.parse().unwrap()), "{left:?} of {all:?}");
    let kernel_maps = |records: &Records| of_type(records, RecordType::MMAP).len();
    assert_eq!(kernel_maps(&before), kernel_maps(&after), "the kernel's maps stay");
    let (before, after) =
        (fs::metadata(fixture("system-wide.data")).unwrap().len(), fs::metadata(&output).unwrap().len());
    assert!(after < before * 3 / 4, "{after} bytes of {before}");
}

#[test]
fn sample_time_tells_of_the_samples_that_stay() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.data");
    for args in [&["--head", "20"][..], &["--time", "30%-50%"], &["--dso", "[kernel]"], &["--sample-every", "9"]] {
        rewritten(&fixture("callgraph.data"), &output, args).unwrap();
        let lines = script(&output, &[]).expect("perf shows it");
        let (meta, _) = records(&output).unwrap();
        let section = &meta.features[&FeatureId::SAMPLE_TIME];
        let (told, _) = perfconv::abi::parse::<SampleTime>(section, meta.endian, ()).unwrap();
        let seconds = |time: u64| format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000);
        let times: Vec<_> = lines.iter().map(|line| line.time.clone()).collect();
        let shown = (times.iter().min().unwrap().clone(), times.iter().max().unwrap().clone());
        assert_eq!((seconds(told.first_sample_time), seconds(told.last_sample_time)), shown, "{args:?}");
    }
}

#[test]
fn records_of_a_type_are_those_and_what_is_needed_to_read_them() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.data");
    rewritten(&fixture("lost.data"), &output, &["--type", "SAMPLE", "--type", "LOST"]).unwrap();
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
fn what_is_not_there_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.data");
    for (name, args, says) in [
        ("callgraph.data", &["--pid", "1"][..], "--pid: no sample is of the process 1; all are of "),
        ("pipe.data", &["--tid", "1"], "--tid: no sample is of the thread 1; "),
        ("callgraph.data", &["--comm", "nobody"], "--comm: no sample is of the name nobody; all are of loop-pie"),
        ("system-wide.data", &["--cpu", "900"], "--cpu: no sample is of the CPU 900; "),
        ("callgraph.data", &["--cpu", "0"], "--cpu: 377 samples do not tell their CPU"),
        (
            "callgraph.data",
            &["--dso", "nothing.so"],
            "--dso: no sample is of the file nothing.so; there are samples of 3 files",
        ),
        (
            "two-events.data",
            &["--event", "cycles"],
            "--event: there is no event cycles; the recording has 2: cpu-clock, task-clock",
        ),
        ("callgraph.data", &["--type", "LOST"], "--type: there is no record LOST; there are MMAP, COMM"),
        ("callgraph.data", &["--strip-user-stack"], "no event has user stacks"),
        ("callgraph.data", &["--sched-stat"], "there is no sched:sched_switch; the events are cpu-clock"),
        (
            "forks.data",
            &["--head", "1", "--sample-every", "2", "--tid", "1"],
            "--tid: no sample is of the thread 1; all are of ",
        ),
    ] {
        let run = run(perfconv().arg(fixture(name)).arg("-o").arg(&output).args(args));
        assert_eq!((run.status, run.stderr.contains(says)), (1, true), "{args:?}: {}", run.stderr);
        assert!(!output.exists(), "{args:?}: something was written");
    }
    for (args, says) in [
        (&["--time", "2,1"][..], "ends before it begins"),
        (&["--time", "1"], "1 is not START,STOP"),
        (&["--time", "90%-110%"], "not between 0% and 100%"),
        (&["--time", "1,2", "--time", "3,4"], "cannot be used multiple times"),
        (&["--cpu", "3-1"], "3 is behind 1"),
        (&["--pid", "x"], "x is no process or thread"),
        (&["--sample-every", "0"], "is no number from 1 on"),
        (&["--head", "0"], "is no number from 1 on"),
        (&["--keep-attrs"], "--event"),
        (&["--type", "SAMPEL"], "there is no such type"),
    ] {
        let run = run(perfconv().arg(fixture("callgraph.data")).arg("-o").arg(&output).args(args));
        assert_eq!((run.status, run.stderr.contains(says)), (2, true), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn values_of_an_option_that_is_said_twice_are_taken_together() {
    let folder = tempfile::tempdir().unwrap();
    let [once, twice] = ["once.data", "twice.data"].map(|name| folder.path().join(name));
    let lines = script(&fixture("system-wide.data"), &[]).expect("perf shows it");
    let tids: BTreeSet<_> = lines.iter().map(|line| line.tid.as_str()).collect();
    let [first, second] = [0, 1].map(|nth| *tids.iter().nth(nth).expect("two threads"));
    rewritten(&fixture("system-wide.data"), &once, &["--tid", &format!("{first},{second}")]).unwrap();
    rewritten(&fixture("system-wide.data"), &twice, &["--tid", first, "--tid", second]).unwrap();
    assert!(fs::read(once).unwrap() == fs::read(twice).unwrap());
}

/// What `perf script` prints of samples, without call chains, for which it unwinds user stacks.
fn without_stacks(path: &Path) -> Option<String> {
    let fields = "comm,pid,tid,time,event,period,addr,data_src";
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "--ns", "-G", "--no-itrace", "-F", fields, "-i"]).arg(path).env("LC_ALL", "C");
    let run = run_other(&mut perf);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    (run.status == 0 && !text.trim().is_empty()).then_some(text)
}

#[test]
fn without_user_stacks_samples_are_the_same_otherwise() {
    if !has_corpus("user stacks") {
        return;
    }
    let has_stacks = |recording: &Recording| {
        let has = SampleType::STACK_USER | SampleType::REGS_USER;
        records(&recording.path).is_ok_and(|(meta, records)| {
            let mut events = meta.events.list().iter();
            !of_type(&records, RecordType::SAMPLE).is_empty()
                && events.any(|event| event.layout.sample_type().intersects(has))
        })
    };
    let all: Vec<_> = corpus().into_iter().filter(has_stacks).collect();
    let (mut compared, mut shown, mut saved) = (0, 0, 0);
    for (recording, outcome) in all.iter().zip(for_each(&all, |recording| stripped(&recording.path))) {
        match outcome {
            Ok(Stripped { is_shown, bytes }) => {
                (compared, shown, saved) = (compared + 1, shown + usize::from(is_shown), saved + bytes);
            }
            Err(what) => panic!("{}: {what}", recording.name),
        }
    }
    say(format_args!(
        "{compared} recordings without user stacks and registers, {saved} bytes of samples less; of {shown} perf script shows the same"
    ));
    assert!(compared >= 60 && shown >= 12, "only {compared} were compared, {shown} by perf script");
}

struct Stripped {
    is_shown: bool,
    bytes: usize,
}

fn stripped(path: &Path) -> Result<Stripped, String> {
    use perfconv::abi::record::{Body, Record};
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("stripped");
    rewritten(path, &output, &["--strip-user-stack"])?;
    let (plain_meta, before) = records(path)?;
    let (meta, after) = records(&output)?;
    let stays = |event: &perfconv::stream::events::Event| {
        let attr = &event.attr;
        let gone = SampleType::STACK_USER | SampleType::REGS_USER;
        attr.sample_type.intersects(gone) || attr.sample_regs_user != 0 || attr.sample_stack_user != 0
    };
    if meta.events.list().iter().any(stays) {
        return Err("an event still asks for them".to_owned());
    }
    // By the definitions, which the pass does not use.
    let read = |path: &Path, meta: &Meta| {
        let mut samples = Samples { meta: meta.clone(), list: Vec::new() };
        let source = Source::open(Input::Path(path.to_owned()), ReadOptions::default()).map_err(|e| e.to_string())?;
        source.run(&mut samples).map(|_| samples.list).map_err(|e| e.to_string())
    };
    struct Samples {
        meta: Meta,
        list: Vec<perfconv::abi::sample::Sample>,
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
    let (mut whole, left) = (read(path, &plain_meta)?, read(&output, &meta)?);
    for sample in &mut whole {
        (sample.regs_user, sample.stack_user) = (None, None);
    }
    if whole.is_empty() || whole != left {
        return Err(format!("{} samples, and {} others", whole.len(), left.len()));
    }
    let size =
        |records: &Records| of_type(records, RecordType::SAMPLE).iter().map(|record| record.len()).sum::<usize>();
    let bytes = size(&before).checked_sub(size(&after)).ok_or("they are larger")?;
    let new: Vec<_> = broken_rules(&output).difference(&broken_rules(path)).cloned().collect();
    if !new.is_empty() {
        return Err(format!("check complains: {new:?}"));
    }
    match (without_stacks(path), without_stacks(&output)) {
        (Some(before), Some(after)) if before != after => Err("perf script differs".to_owned()),
        (before, _) => Ok(Stripped { is_shown: before.is_some(), bytes }),
    }
}

#[test]
fn sched_stat_makes_the_samples_that_perf_inject_makes() {
    if !has_corpus("what perf inject -s makes") {
        return;
    }
    let find =
        |name: &str| corpus().into_iter().find(|recording| recording.name.ends_with(name)).expect("it is listed");
    let [source, golden] = ["inj-sched-src.data", "inj-sched.data"].map(|name| find(name).path);
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.data");
    rewritten(&source, &output, &["--sched-stat"]).unwrap();
    let ((meta, ours), (_, theirs)) = (records(&output).unwrap(), records(&golden).unwrap());
    let mut kinds = 0;
    for (kind, _) in ours.iter().chain(&theirs) {
        if *kind != RecordType::SAMPLE {
            assert_eq!(of_type(&ours, *kind), of_type(&theirs, *kind), "{kind}");
            kinds += 1;
        }
    }
    // perf inject writes 0 over the first 4 bytes of the raw data, which tell the tracepoint.
    let layout = meta.events.list()[0].layout;
    let masked = |record: &[u8]| {
        let view =
            perfconv::abi::sample_view::SampleView::read(&record[8..], &layout, meta.endian).expect("it is read");
        let raw = view.raw.expect("a tracepoint has raw data");
        let at = record.windows(raw.len()).rposition(|bytes| bytes == raw).expect("it is in the record");
        let mut masked = record.to_vec();
        masked[at..at + 4].fill(0);
        masked
    };
    let [ours, theirs] =
        [&ours, &theirs].map(|all| of_type(all, RecordType::SAMPLE).into_iter().map(masked).collect::<Vec<_>>());
    say(format_args!("{} samples and {kinds} other records, oracle: perf inject -s of perf 6.1", ours.len()));
    assert_eq!(ours, theirs);
    assert!(ours.len() >= 51 && kinds >= 100);
    let features = |path: &Path| {
        Source::open(Input::Path(path.to_owned()), ReadOptions::default()).unwrap().meta().features.clone()
    };
    assert_eq!(features(&source), features(&output), "perf inject loses some");
    // As a pipe it is the same.
    let (pipe, piped) = (folder.path().join("pipe.data"), folder.path().join("piped.data"));
    rewritten(&source, &pipe, &["--container", "pipe"]).unwrap();
    rewritten(&pipe, &piped, &["--sched-stat"]).unwrap();
    let (_, piped) = records(&piped).unwrap();
    assert_eq!(of_type(&piped, RecordType::SAMPLE).len(), ours.len());
}

/// Not through the macros, whose output the test harness hides when the test passes.
fn say(line: Arguments<'_>) {
    writeln!(io::stderr(), "{line}").expect("standard error can be written to");
}
