//! `report --tree`: calls as text and JSON.

use crate::common::files::fixture;
use crate::common::program::{perfconv, run, succeed};
use crate::common::reports::report;
use crate::common::scenarios::{scenario, synth};
use serde_json::Value;
use std::collections::BTreeMap;

/// All lines of the tree as JSON: the first function of each, its level, samples in total and in the last function.
fn lines(tree: &str) -> Vec<(String, u64, u64, u64)> {
    let text = report(&[tree, "--json", "--percent-limit", "0", "--limit", "1000000"]);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["events"][0]["omitted"]["calls"], 0, "{}", json["events"]);
    let line = |line: &Value| {
        let samples = |of: &str| line[of]["samples"].as_u64().expect("a number");
        let first = &line["calls"][0];
        let name = format!("{} {}", first["sym"], first["dso"]);
        (name, line["level"].as_u64().expect("a level"), samples("total"), samples("self"))
    };
    json["lines"].as_array().expect("lines").iter().map(line).collect()
}

/// The functions with samples in themselves, and their number.
fn own_samples() -> BTreeMap<String, u64> {
    let json: Value = serde_json::from_str(&report(&["--json", "--sort", "sym,dso"])).expect("JSON");
    let entries = json["entries"].as_array().expect("entries").iter();
    let counted = entries.map(|entry| (format!("{} {}", entry["sym"], entry["dso"]), &entry["self"]["samples"]));
    counted.filter_map(|(name, samples)| Some((name, samples.as_u64().filter(|samples| *samples > 0)?))).collect()
}

#[test]
fn trees_have_the_samples_of_the_functions() {
    let callees = lines("--tree");
    let sum = |lines: &[(String, u64, u64, u64)], level: u64| -> u64 {
        lines.iter().filter(|line| line.1 == level).map(|line| line.2).sum()
    };
    assert_eq!((sum(&callees, 0), callees.iter().map(|line| line.3).sum::<u64>()), (1309, 1309));
    let callers = lines("--tree=callers");
    let first: BTreeMap<_, _> = callers.into_iter().filter(|line| line.1 == 0).map(|line| (line.0, line.2)).collect();
    assert_eq!(first, own_samples());
}

#[test]
fn small_calls_are_omitted_and_counted() {
    let text = report(&["--tree", "--ascii", "--percent-limit", "4.7"]);
    let expected = "\
 22.84%    0.46%  [libstdc++.so.6.0.30]
 22.38%    0.00%  `- foundry::v2::smithy
 22.31%   22.31%     `- foundry::v2::(anonymous namespace)::Smith::strike
";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("\n  4.81%    4.81%     |  `- foundry::v2::Bronze<5u, ...>::temper\n"), "{text}");
    let last = text.lines().last().expect("a line");
    assert!(
        last.contains(" more calls below the limits, with ") && last.ends_with("--percent-limit and --limit"),
        "{last}"
    );
    let callers = report(&["--tree=callers", "--ascii"]);
    let expected =
        " 22.31%  foundry::v2::(anonymous namespace)::Smith::strike <- foundry::v2::smithy <- [libstdc++.so.6.0.30]\n";
    assert!(callers.contains(expected) && callers.is_ascii(), "{callers}");
}

#[test]
fn the_locale_and_the_option_choose_the_characters() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let recording = directory.path().join("in.data");
    let text = "about = 'calls'\nduration = '1s'\nevent = [{ name = 'cycles:u', rate = 100, fields = ['CALLCHAIN'] }]\n\
         program = [{ path = '/bin/app', functions = ['main', 'a', 'b'] }]\n[[process]]\npid = 100\ncomm = 'app'\n\
         programs = ['/bin/app']\n[[process.thread]]\n\
         stack = [{ percent = 75, frames = ['main', 'a'] }, { percent = 25, frames = ['main', 'b'] }]\n";
    let (scenario, images) = (directory.path().join("calls.toml"), directory.path().join("images"));
    std::fs::write(&scenario, text).expect("a scenario");
    synth(&scenario, &recording, &["--images", images.to_str().expect("a path")]);
    let tree = |locale: &[(&str, &str)], args: &[&str]| {
        let mut command = perfconv();
        command.arg("report").arg(&recording).arg("--symfs").arg(&images).args(["-q", "--tree"]).args(args);
        command.env_remove("LC_ALL").env_remove("LC_CTYPE").env_remove("LANG").envs(locale.iter().copied());
        let run = succeed(&mut command);
        String::from_utf8(run.stdout).expect("UTF-8")
    };
    let drawn = |last: &str| {
        format!(
            "cycles:u: 100 samples, 10000000 events\n  total     self  function\n\
             100.00%    0.00%  main\n 75.00%   75.00%  {} a\n 25.00%   25.00%  {last} b\n",
            if last == "`-" { "|-" } else { "├─" }
        )
    };
    let (ascii, unicode) = (drawn("`-"), drawn("└─"));
    for (locale, args, expected) in [
        (&[("LANG", "de_DE.UTF-8")][..], &[][..], &unicode),
        (&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "")], &[], &unicode),
        (&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")], &[], &ascii),
        (&[("LC_CTYPE", "C.utf8"), ("LANG", "C")], &[], &unicode),
        (&[("LANG", "de_DE.UTF-8")], &["--ascii"], &ascii),
        (&[], &[], &ascii),
    ] {
        assert_eq!(&tree(locale, args), expected, "{locale:?} {args:?}");
    }
}

#[test]
fn recursion_takes_few_lines() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (recording, images) = (directory.path().join("in.data"), directory.path().join("images"));
    synth(&scenario("deep-recursion.toml"), &recording, &["--images", images.to_str().expect("a path")]);
    let mut command = perfconv();
    command.arg("report").arg(&recording).arg("--symfs").arg(&images).args(["-q", "--tree", "--ascii"]);
    let text = String::from_utf8(succeed(&mut command).stdout).expect("UTF-8");
    assert!(text.lines().count() < 20 && text.contains(" x"), "{text}");
}

#[test]
fn a_tree_is_text_or_json() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let message = |args: &[&str]| {
        let mut command = perfconv();
        command.current_dir(&directory).arg("report").arg(fixture("callgraph.data"));
        let run = run(command.args(args));
        assert_eq!(run.status, 2, "{args:?}");
        run.stderr
    };
    for other in ["--csv", "--no-children", "--sort=dso", "--lines=main"] {
        assert!(message(&["--tree", other]).contains("cannot be used with"), "{other}");
    }
    assert!(message(&["--tree", "-o", "x.csv"]).contains("lines and trees are text or JSON, not .csv"));
    assert!(message(&["--tree=up"]).contains("callees, callers"));
}
