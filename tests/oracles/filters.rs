//! Filters: the filtered recording has the samples that perf prints with its own filters, and is as valid as the original.

use crate::common::files::{Recording, corpus, enough, fixture, has_corpus, recordings, share};
use crate::common::filters::{Records, broken_rules, of_type, records};
use crate::common::program::rewrite;
use crate::common::program::{for_each, run_other, with_time_limit};
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
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
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
        note!("{filter}: {count} filtered recordings match perf 6.1 with its filter, {lines} lines");
    }
    skipped.iter().for_each(|(reason, count)| note!("skipped {count}: {reason}"));
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
    let is_read = |layout: &perf_data::abi::sample::layout::SampleLayout| {
        layout.sample_type().contains(SampleType::READ) && layout.read_format().contains(ReadFormat::GROUP)
    };
    meta.events.list().iter().any(|event| is_read(&event.layout))
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
    note!(
        "{compared} recordings of several events, filtered to {count} samples of one, match perf script and perf evlist; skipped {} with one event, with :S groups, or that perf cannot print",
        all.len() - compared
    );
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
    note!(
        "{compared} recordings stripped of user stacks and registers, saving {saved} bytes of samples; perf script prints the same for {printed}"
    );
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
        let view = perf_data::abi::sample::view::SampleView::read(&record[8..], &layout, meta.endian)
            .expect("reading should succeed");
        let raw = view.raw.expect("a tracepoint should have raw data");
        let at = record.windows(raw.len()).rposition(|bytes| bytes == raw).expect("the record should contain it");
        let mut masked = record.to_vec();
        masked[at..at + 4].fill(0);
        masked
    };
    let [ours, theirs] =
        [&ours, &theirs].map(|all| of_type(all, RecordType::SAMPLE).into_iter().map(masked).collect::<Vec<_>>());
    note!("{} samples and {kinds} other records, oracle: perf inject -s of perf 6.1", ours.len());
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
