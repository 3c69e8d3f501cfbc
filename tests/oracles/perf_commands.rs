//! Answers to perf's commands, compared byte for byte with those of perf 6.1, and perf's list of options with ours.

use super::perf_programs::installed;
use crate::common::files::{Recording, enough, share, uses_all};
use crate::common::program::{for_each, perfconv, run, run_other, with_time_limit};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Commands to compare, with the number of recordings of the fixtures whose output must be equal. Symbols are compared elsewhere,
/// in recordings whose files there are.
const COMMANDS: [(&[&str], usize); 18] = [
    (&["script", "--header-only"], 15),
    (&["script", "--header-only", "-I"], 15),
    (&["script", "-F", "comm,tid,time,event", "--header"], 15),
    (&["script", "-F", "comm,tid,time,event,ip,dso", "-G"], 15),
    (&["script", "-F", "comm,tid,time,event,ip,dso", "--ns"], 12),
    (&["script", "-F", "comm,tid,time,event,ip,dso", "--max-stack", "3"], 12),
    (&["script", "-F", "comm,tid,time,event,ip,dso", "--comms", "loop-pie,forky", "--show-mmap-events"], 12),
    (&["script", "-F", "comm,tid,time,event,ip,dso", "--pid", "21998,4611", "--show-task-events"], 14),
    (&["script", "-F", "comm,tid,time,event", "--tid", "5493,7763"], 15),
    (&["script", "-F", "comm,tid,time,event", "--time", "10%-30%"], 8),
    (&["script", "-F", "comm,tid,time,event", "--time", "1806.63,1806.7"], 15),
    (&["script", "-F", "comm,tid,time,event", "--reltime", "--show-task-events"], 15),
    (&["script", "-F", "comm,tid,time,event", "--deltatime"], 15),
    (&["evlist"], 13),
    (&["evlist", "-g"], 13),
    (&["buildid-list"], 13),
    (&["buildid-list", "-H"], 13),
    (&["report", "--stdio", "--stats"], 12),
];

/// Options of `perf report` to compare, with the numbers of recordings up to [`MAX_REPORTED`] whose text must be equal: of the whole
/// corpus and of the fixtures. The files of recorded machines are missing here; inlined functions are omitted, since perf 6.1 finds few
/// of them.
const REPORTS: [(&[&str], usize, usize); 9] = [
    (&["-g", "none"], 175, 13),
    (&[], 171, 13),
    (&["-g", "caller", "--no-children"], 114, 9),
    (&["--no-children"], 177, 13),
    (&["-g", "none", "--no-children", "--sort", "comm,dso,sym"], 206, 14),
    (&["-g", "none", "--no-children", "--sort", "dso,symbol"], 207, 14),
    (&["-g", "none", "-n", "--show-total-period", "--sort", "dso,pid,cpu"], 208, 15),
    (&["-g", "folded", "--sort", "dso,sym", "--percent-limit", "2"], 123, 11),
    (&["-q", "-g", "none", "-t", ";", "-F", "overhead,sample,sym"], 189, 15),
];

/// One of so many recordings of the corpus has its report compared.
const ONE_REPORTED_OF: usize = 6;

/// Share of the reports that may differ, in percent; docs/perf.md has the reasons.
const MAX_DIFFERENT_REPORTS: usize = 25;

/// Size of the largest recording whose report is compared.
const MAX_REPORTED: u64 = 1_500_000;

/// One of so many recordings of the corpus is compared.
const ONE_OF: usize = 24;

/// Share of the comparisons that may differ, in percent. The reasons are those of the text of perf script in general: perf ignores
/// fields in a pipe, does not know the recorded name of an event, or does not swap a field of the other byte order.
const MAX_DIFFERENT: usize = 35;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Answer {
    Equal,
    Different,
    Refused,
    /// perf cannot read it.
    OnlyOurs,
}

#[test]
fn answers_equal_those_of_perf() {
    if !has_perf() {
        return;
    }
    let recordings = share(ONE_OF);
    for (args, enough) in COMMANDS {
        let mut counts: BTreeMap<Answer, usize> = BTreeMap::new();
        let results = for_each(&recordings, |recording| compare(args, recording));
        let results: Vec<_> = results.into_iter().zip(recordings.iter().map(|recording| &recording.name)).collect();
        results.iter().for_each(|(result, _)| *counts.entry(*result).or_default() += 1);
        println!("perf {}: {counts:?}", args.join(" "));
        let named = |wanted| results.iter().filter(move |(result, _)| *result == wanted).map(|(_, name)| name);
        println!("    different: {:?}", named(Answer::Different).collect::<Vec<_>>());
        println!("    refused: {:?}", named(Answer::Refused).collect::<Vec<_>>());
        let count = |result| counts.get(&result).copied().unwrap_or(0);
        let (equal, different) = (count(Answer::Equal), count(Answer::Different));
        assert!(equal >= enough, "perf {}: {equal} equal, at least {enough} expected", args.join(" "));
        let is_limited = uses_all() || different * 100 <= (equal + different) * MAX_DIFFERENT;
        assert!(is_limited, "perf {}: {different} of {} differ", args.join(" "), equal + different);
    }
}

#[test]
fn reports_equal_those_of_perf() {
    if !has_perf() {
        return;
    }
    let directory = ReportDirectory::new();
    let recordings: Vec<_> =
        share(ONE_REPORTED_OF).into_iter().filter(|recording| size(&recording.path) <= MAX_REPORTED).collect();
    println!("{:5} {:9} {:7} {:7}  perf report --stdio --no-inline", "equal", "different", "refused", "no perf");
    let mut failures = Vec::new();
    for (args, all, fixtures) in REPORTS {
        let results = for_each(&recordings, |recording| directory.compare(args, recording).0);
        let count = |wanted| results.iter().filter(|result| **result == wanted).count();
        let (equal, different) = (count(Answer::Equal), count(Answer::Different));
        println!(
            "{equal:5} {different:9} {:7} {:7}  {}",
            count(Answer::Refused),
            count(Answer::OnlyOurs),
            args.join(" ")
        );
        let named = results.iter().zip(&recordings).filter(|(result, _)| **result == Answer::Different);
        println!("      different: {:?}", named.map(|(_, recording)| &recording.name).collect::<Vec<_>>());
        let enough = enough("perf report", ONE_REPORTED_OF, all, fixtures);
        if equal < enough || different * 100 > (equal + different) * MAX_DIFFERENT_REPORTS {
            failures.push(format!("{args:?}: {equal} equal, at least {enough} expected; {different} different"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Options of `perf diff` to compare.
const DIFFS: [&[&str]; 9] = [
    &[],
    &["-c", "delta"],
    &["-c", "ratio", "-p"],
    &["-b"],
    &["-q", "-t", ";"],
    &["-s", "comm,dso"],
    &["-s", "pid,sym"],
    &["-s", "cpu"],
    &["-p", "--time", "20%-70%"],
];

/// Share of the comparisons that may differ, in percent: perf divides by zero where an event has no samples before, and the reasons of
/// reports without call chains.
const MAX_DIFFERENT_DIFFS: usize = 10;

/// Each recording is compared with its first 60 %, and with the recording after it.
#[test]
fn comparisons_equal_those_of_perf() {
    if !has_perf() {
        return;
    }
    let directory = ReportDirectory::new();
    let recordings: Vec<_> =
        share(ONE_REPORTED_OF).into_iter().filter(|recording| size(&recording.path) <= MAX_REPORTED).collect();
    let starts = tempfile::tempdir().unwrap();
    let numbered: Vec<_> = recordings.iter().enumerate().collect();
    let pairs = for_each(&numbered, |(index, recording)| {
        let start = starts.path().join(format!("{index}.data"));
        let part = run(perfconv().arg("rewrite").arg(&recording.path).args(["--time", "0%-60%", "-o"]).arg(&start));
        let next = recordings[(index + 1) % recordings.len()].path.clone();
        let start = (part.status == 0).then(|| [start, recording.path.clone()]);
        start.into_iter().chain([[recording.path.clone(), next]]).collect::<Vec<_>>()
    });
    let pairs: Vec<_> = pairs.into_iter().flatten().collect();
    let mut all = [0; 2];
    for args in DIFFS {
        let results = for_each(&pairs, |pair| directory.compare_diff(args, pair));
        let count = |wanted| results.iter().filter(|result| **result == wanted).count();
        let (equal, different) = (count(Answer::Equal), count(Answer::Different));
        let (refused, only_ours) = (count(Answer::Refused), count(Answer::OnlyOurs));
        println!(
            "perf diff {}: {equal} equal, {different} different, {refused} refused, {only_ours} without perf",
            args.join(" ")
        );
        let named = results.iter().zip(&pairs).filter(|(result, _)| **result == Answer::Different);
        println!("      different: {:?}", named.map(|(_, pair)| pair).collect::<Vec<_>>());
        all = [all[0] + equal, all[1] + different];
    }
    let [equal, different] = all;
    let enough = enough("perf diff", ONE_REPORTED_OF, 2300, 140);
    assert!(equal >= enough, "{equal} comparisons are equal, at least {enough} expected");
    assert!(different * 100 <= (equal + different) * MAX_DIFFERENT_DIFFS, "{different} of {}", equal + different);
}

/// Size of a file, or of the files in a directory.
fn size(path: &Path) -> u64 {
    match fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| size(&entry.unwrap().path())).sum(),
        Err(_) => fs::metadata(path).unwrap().len(),
    }
}

/// What both programs find in the file system: no files of the recorded machine, and no build ID cache.
pub(super) struct ReportDirectory(TempDir);

impl ReportDirectory {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("symfs")).unwrap();
        Self(directory)
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Compares reports; also returns the number of lines of perf's.
    pub(super) fn compare(&self, args: &[&str], recording: &Recording) -> (Answer, usize) {
        let with_args = |mut command: Command, path: &Path| {
            command
                .env("HOME", self.path())
                .args(["report", "--stdio", "--no-inline", "--symfs"])
                .arg(self.path().join("symfs"));
            run_other(command.args(args).args(["--force", "-i"]).arg(path))
        };
        let theirs = with_args(with_time_limit("perf"), &recording.path);
        if theirs.status != 0 || UNREADABLE.iter().any(|problem| theirs.stderr.contains(problem)) {
            return (Answer::OnlyOurs, 0);
        }
        let mut ours = perfconv();
        ours.arg("perf");
        let ours = with_args(ours, &recording.path);
        let theirs = without_tip(&theirs.stdout);
        let answer = match ours.status {
            0 if without_tip(&ours.stdout) == theirs => Answer::Equal,
            0 => Answer::Different,
            _ => Answer::Refused,
        };
        (answer, theirs.len())
    }
}

impl ReportDirectory {
    fn compare_diff(&self, args: &[&str], recordings: &[PathBuf; 2]) -> Answer {
        let with_args = |mut command: Command| {
            command.env("HOME", self.path()).args(["diff", "--force", "--symfs"]).arg(self.path().join("symfs"));
            run_other(command.args(args).args(recordings))
        };
        let theirs = with_args(with_time_limit("perf"));
        if theirs.status != 0 || UNREADABLE.iter().any(|problem| theirs.stderr.contains(problem)) {
            return Answer::OnlyOurs;
        }
        let mut ours = perfconv();
        ours.arg("perf");
        let ours = with_args(ours);
        match ours.status {
            0 if ours.stdout == theirs.stdout => Answer::Equal,
            0 => Answer::Different,
            _ => Answer::Refused,
        }
    }
}

/// Messages of perf about recordings that it does not read to the end, with an exit status of 0.
pub(super) const UNREADABLE: [&str; 3] = ["failed to process type", "end of event", "Error:"];

/// A report without the tip at its end, which perf chooses at random.
fn without_tip(report: &[u8]) -> Vec<&[u8]> {
    report.split(|&byte| byte == b'\n').filter(|line| !line.starts_with(b"# (Tip: ")).collect()
}

pub(super) fn has_perf() -> bool {
    installed("perf commands").iter().any(|perf| perf.style == "6.1" && perf.program == "perf")
}

fn compare(args: &[&str], recording: &Recording) -> Answer {
    let theirs = run_other(with_time_limit("perf").args(args).args(["--force", "-i"]).arg(&recording.path));
    if theirs.status != 0 || theirs.stderr.contains("failed to process type") || theirs.stderr.contains("end of event")
    {
        return Answer::OnlyOurs;
    }
    let ours = run(perfconv().arg("perf").args(args).args(["--force", "-i"]).arg(&recording.path));
    match ours.status {
        0 if ours.stdout == theirs.stdout => Answer::Equal,
        0 => Answer::Different,
        _ => Answer::Refused,
    }
}

#[test]
fn every_option_of_perf_is_answered_or_refused() {
    if !has_perf() {
        return;
    }
    let commands =
        [&["script"][..], &["report"], &["diff"], &["evlist"], &["buildid-list"], &["inject"], &["data", "convert"]];
    for command in commands {
        let theirs = run_other(with_time_limit("perf").args(command).arg("-h"));
        let theirs = options(&theirs.stderr);
        let ours = run(perfconv().arg("perf").args(command).arg("-h"));
        let usage = String::from_utf8(ours.stdout).unwrap();
        let refused = usage.lines().filter(|line| line.contains(" not supported: ")).count();
        let mut ours = options(&usage);
        // The text of newer versions of perf is an option of ours.
        let has_style = ours.remove(" --perf-style");
        assert_eq!(has_style, command == ["script"]);
        println!("perf {}: {} options, {refused} refused", command.join(" "), theirs.len());
        assert!(theirs.len() > 3, "perf lists no options: {theirs:?}");
        assert_eq!(ours, theirs, "{command:?}");
    }
}

/// The options of a list, `-f, --force`, with their short names.
fn options(usage: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let line = line.strip_prefix("    ")?;
        let (short, long) = match line.split_once(", --") {
            Some((short, long)) if short.starts_with('-') => (short, long),
            _ => ("", line.trim_start().strip_prefix("--")?),
        };
        let end = long.find(|c: char| !c.is_alphanumeric() && c != '-').unwrap_or(long.len());
        Some(format!("{short} --{}", &long[..end]))
    };
    usage.lines().filter_map(name).collect()
}

/// Recordings that are made from scenarios of the repository, in a directory.
pub(super) fn scenario_recordings(scenarios: &[&str], directory: &Path) -> Vec<Recording> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let recording = |scenario: &&str| {
        let path = directory.join(scenario.replace('/', "-") + ".data");
        let output = run(perfconv().args(["synth", "-q"]).arg(root.join(scenario)).arg("-o").arg(&path));
        assert_eq!(output.status, 0, "{}", output.stderr);
        Recording { name: (*scenario).to_owned(), path, listed_samples: None }
    };
    scenarios.iter().map(recording).collect()
}
