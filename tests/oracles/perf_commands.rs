//! Answers to perf's commands, compared byte for byte with those of perf 6.1, and perf's list of options with ours.

use super::perf_programs::installed;
use crate::common::files::{Recording, share, uses_all};
use crate::common::program::{for_each, perfconv, run, run_other, with_time_limit};
use std::collections::{BTreeMap, BTreeSet};

/// Commands to compare, with the number of recordings of the fixtures whose output must be equal. Symbols are compared elsewhere,
/// in recordings whose files there are.
const COMMANDS: [(&[&str], usize); 17] = [
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
];

/// One of so many recordings of the corpus is compared.
const ONE_OF: usize = 24;

/// Share of the comparisons that may differ, in percent. The reasons are those of the text of perf script in general: perf ignores
/// fields in a pipe, does not know the recorded name of an event, or does not swap a field of the other byte order.
const MAX_DIFFERENT: usize = 35;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
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

fn has_perf() -> bool {
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
    for command in [&["script"][..], &["evlist"], &["buildid-list"], &["inject"], &["data", "convert"]] {
        let theirs = run_other(with_time_limit("perf").args(command).arg("-h"));
        let theirs = options(&theirs.stderr);
        let ours = run(perfconv().arg("perf").args(command).arg("-h"));
        let usage = String::from_utf8(ours.stdout).unwrap();
        let refused = usage.lines().filter(|line| line.contains(" refused: ")).count();
        let ours = options(&usage);
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
