//! `perfconv diff` reports all differences between recordings, and only these.

use std::fs;
use std::path::{Path, PathBuf};

use perf_data::abi::Endian;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::stream::source::Source;
use perfconv::diff::{DiffOptions, Difference, Side, Subject, Summary, diff};
use perfconv::formats::json::write_lines;
use serde_json::Value;

use crate::common::files::{self, fixture};
use crate::common::program::{Run, perfconv, run, succeed};

/// Limit of collected differences, more than any test expects.
const MAX_DIFFERENCES: usize = 1000;

/// Compares two recordings; `None` if one cannot be read.
fn differences(a: &Path, b: &Path, options: &DiffOptions) -> Option<(Summary, Vec<Difference>)> {
    let mut found = Vec::new();
    let open = |path: &Path| Source::open(Input::Path(path.to_owned()), ReadOptions::default()).ok();
    let summary = diff([open(a)?, open(b)?], options, write_lines, &mut |difference| {
        found.extend((found.len() < MAX_DIFFERENCES).then(|| difference.clone()));
        Ok(())
    });
    Some((summary.ok()?.0, found))
}

fn ignoring(names: &[&str]) -> DiffOptions {
    let mut options = DiffOptions::default();
    names.iter().for_each(|name| options.ignore.add(name));
    options
}

/// Rewrites a recording; `None` if that is rejected.
fn rewrite(input: &Path, dir: &Path, arguments: &[&str]) -> Option<PathBuf> {
    let output = dir.join("rewrite.data");
    let _ = fs::remove_file(&output);
    let run =
        run(perfconv().arg("rewrite").arg(input).args(arguments).args(["--container", "file", "-o"]).arg(&output));
    (run.status == 0).then_some(output)
}

/// One in `SHARE` recordings is also compared with rewritten ones.
const SHARE: usize = 3;

#[test]
fn a_recording_equals_itself_and_its_other_encodings() {
    let dir = tempfile::tempdir().unwrap();
    let (mut recordings, mut encodings, mut rejected) = (0, 0, 0);
    let mut failures = Vec::new();
    for (number, recording) in files::recordings().into_iter().enumerate() {
        let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default());
        let Ok(is_little) = source.map(|source| source.meta().endian == Endian::Little) else { continue };
        let Some((summary, found)) = differences(&recording.path, &recording.path, &DiffOptions::default()) else {
            continue;
        };
        if !summary.is_same() || !found.is_empty() {
            failures.push(format!("{}: {found:?}", recording.name));
        }
        recordings += 1;
        // Rewriting all of them takes long.
        if number % SHARE != 0 {
            continue;
        }
        let other = if is_little { "big" } else { "little" };
        for encoding in [&["--compress"][..], &["--endian", other, "--allow-mixed"]] {
            let output = rewrite(&recording.path, dir.path(), encoding);
            let Some(output) = output else {
                rejected += 1;
                continue;
            };
            let found = differences(&recording.path, &output, &ignoring(&["form", "offsets"]));
            let found = found.map(|(_, found)| ignore_corruption(found));
            if found.as_ref().is_none_or(|found| !found.is_empty()) {
                failures.push(format!("{} {encoding:?}: {found:?}", recording.name));
            }
            encodings += 1;
        }
    }
    note!(
        "diff: {recordings} recordings equal themselves, {encodings} other encodings equal the original; {rejected} rejected"
    );
    let enough = if files::has_corpus("diff") { (550, 360) } else { (22, 14) };
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
    assert!(recordings >= enough.0 && encodings >= enough.1, "{recordings} recordings, {encodings} encodings");
}

/// Ignores gaps, which a rewrite drops, and tracepoint formats that perf left among the records, which it turns into a feature.
fn ignore_corruption(mut differences: Vec<Difference>) -> Vec<Difference> {
    let is_gap = |difference: &Difference| matches!(difference, Difference::Only(Side::A, Subject::Gap(_), _));
    let had_gaps = differences.iter().any(is_gap);
    let is_tracing_data = |difference: &Difference| {
        let Difference::Only(Side::B, Subject::Feature(name), _) = difference else { return false };
        had_gaps && name == "TRACING_DATA"
    };
    differences.retain(|difference| !is_gap(difference) && !is_tracing_data(difference));
    differences
}

fn diff_of(a: &Path, b: &Path, arguments: &[&str]) -> Run {
    run(perfconv().arg("diff").arg(a).arg(b).args(arguments))
}

#[test]
fn reports_only_what_was_changed() {
    let dir = tempfile::tempdir().unwrap();
    let input = fixture("callgraph.data");
    let changed = rewrite(&input, dir.path(), &["--set", "hostname=elsewhere"]).expect("writing should succeed");
    let run = diff_of(&input, &changed, &["--ignore", "offsets"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let text = String::from_utf8(run.stdout).unwrap();
    let changes: Vec<_> = text.lines().take_while(|line| !line.contains("first only")).collect();
    assert_eq!(changes.len(), 2, "{text}");
    assert_eq!(changes[0], "! feature HOSTNAME");
    assert!(changes[1].ends_with(r#"-> "elsewhere""#), "{text}");
}

#[test]
fn reports_dropped_records_and_matches_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let input = fixture("callgraph.data");
    let all = files::fixtures()
        .into_iter()
        .find(|recording| recording.name == "callgraph.data")
        .unwrap()
        .listed_samples
        .unwrap();
    let half = rewrite(&input, dir.path(), &["--sample-every", "2"]).expect("writing should succeed");
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
fn ignores_selected_fields() {
    let dir = tempfile::tempdir().unwrap();
    let input = fixture("callgraph.data");
    let text = dir.path().join("a.jsonl");
    succeed(perfconv().arg(&input).args(["-t", "jsonl", "-o"]).arg(&text));
    // Shift the time of every sample.
    let shifted = fs::read_to_string(&text).unwrap().replace("\"time\":", "\"time\":1");
    let other = dir.path().join("b.jsonl");
    fs::write(&other, shifted).unwrap();
    assert_eq!(diff_of(&text, &other, &["--stats"]).status, 1);
    let run = diff_of(&text, &other, &["--ignore", "times"]);
    assert_eq!(run.status, 0, "{}{}", run.stderr, String::from_utf8_lossy(&run.stdout));
    assert!(String::from_utf8_lossy(&run.stdout).starts_with("identical: "));
    assert_eq!(diff_of(&text, &other, &["--ignore", "time"]).status, 0, "a field by its name");
    let run = diff_of(&text, &text, &["--ignore", "tiem,ids,period"]);
    let warning = "perfconv: warning: --ignore: no field 'tiem' in either recording; expected ";
    assert!(run.status == 0 && run.stderr.starts_with(warning) && run.stderr.lines().count() == 1, "{}", run.stderr);
}

#[test]
fn errors_have_their_own_exit_status() {
    let input = fixture("callgraph.data");
    for (a, b) in [(input.as_path(), Path::new("/nonexistent")), (Path::new("-"), Path::new("-"))] {
        let run = diff_of(a, b, &[]);
        assert_eq!(run.status, 2, "{}", run.stderr);
        assert!(run.stderr.starts_with("perfconv: ") && run.stdout.is_empty(), "{}", run.stderr);
    }
}
