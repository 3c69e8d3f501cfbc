//! What differs between recordings is told, and what does not is not.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use perfconv::abi::Endian;
use perfconv::container::read::ReadOptions;
use perfconv::container::read::input::Input;
use perfconv::formats::json::write_lines;
use perfconv::inspect::diff::{DiffOptions, Difference, Side, Subject, Summary, diff};
use perfconv::stream::source::Source;
use serde_json::Value;

use super::files::{self, fixture};
use super::program::{Run, perfconv, run};

/// More than there are differences between a recording and one of its forms.
const MOST: usize = 1000;

/// Nothing where a recording cannot be read.
fn differences(a: &Path, b: &Path, options: &DiffOptions) -> Option<(Summary, Vec<Difference>)> {
    let mut found = Vec::new();
    let open = |path: &Path| Source::open(Input::Path(path.to_owned()), ReadOptions::default()).ok();
    let told = diff([open(a)?, open(b)?], options, write_lines, &mut |difference| {
        found.extend((found.len() < MOST).then(|| difference.clone()));
        Ok(())
    });
    Some((told.ok()?.0, found))
}

fn ignoring(what: &[&str]) -> DiffOptions {
    let mut options = DiffOptions::default();
    what.iter().for_each(|name| options.ignore.add(name));
    options
}

/// A recording rewritten; nothing where that is refused.
fn rewritten(input: &Path, folder: &Path, arguments: &[&str]) -> Option<PathBuf> {
    let output = folder.join("rewritten.data");
    let _ = fs::remove_file(&output);
    let run =
        run(perfconv().arg("rewrite").arg(input).args(arguments).args(["--container", "file", "-o"]).arg(&output));
    (run.status == 0).then_some(output)
}

/// Of so many recordings one is written in other forms.
const SHARE: usize = 3;

#[test]
fn a_recording_is_the_same_as_itself_and_as_its_other_forms() {
    let folder = tempfile::tempdir().unwrap();
    let (mut recordings, mut forms, mut refused) = (0, 0, 0);
    let mut wrong = Vec::new();
    for (number, recording) in files::recordings().into_iter().enumerate() {
        let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default());
        let Ok(is_little) = source.map(|source| source.meta().endian == Endian::Little) else { continue };
        let Some((summary, found)) = differences(&recording.path, &recording.path, &DiffOptions::default()) else {
            continue;
        };
        if !summary.is_same() || !found.is_empty() {
            wrong.push(format!("{}: {found:?}", recording.name));
        }
        recordings += 1;
        // All of them take long, and are the same.
        if number % SHARE != 0 {
            continue;
        }
        let other = if is_little { "big" } else { "little" };
        for form in [&["--compress"][..], &["--endian", other, "--allow-mixed"]] {
            let output = rewritten(&recording.path, folder.path(), form);
            let Some(output) = output else {
                refused += 1;
                continue;
            };
            let found = differences(&recording.path, &output, &ignoring(&["form", "offsets"]));
            let found = found.map(|(_, found)| but_for_damage(found));
            if found.as_ref().is_none_or(|found| !found.is_empty()) {
                wrong.push(format!("{} {form:?}: {found:?}", recording.name));
            }
            forms += 1;
        }
    }
    writeln!(
        io::stderr(),
        "diff: {recordings} recordings are the same as themselves, {forms} forms as what they are of; {refused} are refused"
    )
    .unwrap();
    let enough = if files::has_corpus("diff") { (550, 360) } else { (22, 14) };
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(recordings >= enough.0 && forms >= enough.1, "{recordings} recordings, {forms} forms");
}

/// Damage has no place in what is written anew; but formats of tracepoints that perf left among the records have.
fn but_for_damage(mut found: Vec<Difference>) -> Vec<Difference> {
    let is_gap = |found: &Difference| matches!(found, Difference::Only(Side::A, Subject::Gap(_), _));
    let had_gaps = found.iter().any(is_gap);
    let is_found = |found: &Difference| {
        let Difference::Only(Side::B, Subject::Feature(name), _) = found else { return false };
        had_gaps && name == "TRACING_DATA"
    };
    found.retain(|found| !is_gap(found) && !is_found(found));
    found
}

fn diff_of(a: &Path, b: &Path, arguments: &[&str]) -> Run {
    run(perfconv().arg("diff").arg(a).arg(b).args(arguments))
}

#[test]
fn what_was_changed_is_told_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let input = fixture("callgraph.data");
    let changed = rewritten(&input, folder.path(), &["--set", "hostname=elsewhere"]).expect("it is written");
    let run = diff_of(&input, &changed, &["--ignore", "offsets"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let text = String::from_utf8(run.stdout).unwrap();
    let told: Vec<_> = text.lines().take_while(|line| !line.contains("only first")).collect();
    assert_eq!(told.len(), 2, "{text}");
    assert_eq!(told[0], "! feature HOSTNAME");
    assert!(told[1].ends_with(r#"-> "elsewhere""#), "{text}");
}

#[test]
fn records_left_out_are_told_as_such_and_those_behind_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let input = fixture("callgraph.data");
    let all = files::fixtures()
        .into_iter()
        .find(|recording| recording.name == "callgraph.data")
        .unwrap()
        .listed_samples
        .unwrap();
    let half = rewritten(&input, folder.path(), &["--sample-every", "2"]).expect("it is written");
    let run = diff_of(&input, &half, &["--json", "--ignore", "ids"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let lines: Vec<Value> =
        String::from_utf8(run.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (summary, found) = lines.split_last().unwrap();
    let samples = &summary["records"]["SAMPLE"];
    assert_eq!((&samples["changed"], &samples["only_in_second"]), (&Value::from(0), &Value::from(0)), "{summary}");
    assert_eq!(samples["same"].as_u64().unwrap() + samples["only_in_first"].as_u64().unwrap(), all, "{summary}");
    let only = found.iter().filter(|line| line["difference"] == "only in first" && line["type"] == "SAMPLE").count();
    assert_eq!(Some(only as u64), samples["only_in_first"].as_u64());
    assert!(only as u64 >= all / 2 - 1 && only as u64 <= all / 2 + 1, "{only} of {all}");
}

#[test]
fn what_does_not_count_is_not_told() {
    let folder = tempfile::tempdir().unwrap();
    let input = fixture("callgraph.data");
    let text = folder.path().join("a.jsonl");
    let run_of = run(perfconv().arg(&input).args(["-t", "jsonl", "-o"]).arg(&text));
    assert_eq!(run_of.status, 0, "{}", run_of.stderr);
    // Another second, in every sample.
    let shifted = fs::read_to_string(&text).unwrap().replace("\"time\":", "\"time\":1");
    let other = folder.path().join("b.jsonl");
    fs::write(&other, shifted).unwrap();
    assert_eq!(diff_of(&text, &other, &["--stats"]).status, 1);
    let run = diff_of(&text, &other, &["--ignore", "times"]);
    assert_eq!(run.status, 0, "{}{}", run.stderr, String::from_utf8_lossy(&run.stdout));
    assert!(String::from_utf8_lossy(&run.stdout).starts_with("the same: "));
    assert_eq!(diff_of(&text, &other, &["--ignore", "time"]).status, 0, "a field by its name");
}

#[test]
fn trouble_is_no_difference() {
    let input = fixture("callgraph.data");
    for (a, b) in [(input.as_path(), Path::new("/nonexistent")), (Path::new("-"), Path::new("-"))] {
        let run = diff_of(a, b, &[]);
        assert_eq!(run.status, 2, "{}", run.stderr);
        assert!(run.stderr.starts_with("perfconv: ") && run.stdout.is_empty(), "{}", run.stderr);
    }
}
