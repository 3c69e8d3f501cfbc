//! `perfconv repair`: perf prints all samples and the header of interrupted, truncated and corrupt recordings.

use crate::suite::files::{fixture, has_corpus, recordings};
use crate::suite::program::{for_each, perfconv, run, run_other, with_time_limit};
use perf_data::abi::record::RecordType;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::io::{self, Write};
use std::path::Path;

struct Nothing;

impl Sink for Nothing {
    fn record(&mut self, _: &Meta, _: &Raw<'_>) -> perfconv::Result<()> {
        Ok(())
    }
}

fn read(path: &Path) -> perfconv::Result<(Meta, Ledger)> {
    Source::open(Input::Path(path.to_owned()), ReadOptions::default())?.run(&mut Nothing)
}

fn perf(arguments: &[&str], path: &Path) -> String {
    let mut perf = with_time_limit("perf");
    perf.args(arguments).arg("-i").arg(path).env("LC_ALL", "C");
    String::from_utf8_lossy(&run_other(&mut perf).stdout).into_owned()
}

fn for_perf_6_1(input: &Path, output: &Path) -> Result<(), String> {
    let run = run(perfconv().arg("rewrite").arg(input).args(["-q", "--perf-version", "6.1", "-o"]).arg(output));
    if run.status == 0 { Ok(()) } else { Err(run.stderr) }
}

struct RepairResult {
    samples: u64,
    /// The number of samples that perf prints.
    printed: u64,
    failure: Option<String>,
}

/// Repairs a recording; `None` if it is intact.
fn repair(input: &Path) -> Option<RepairResult> {
    let (_, before) = read(input).ok()?;
    if before.messages().is_empty() {
        return None;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = dir.path().join("repaired.data");
    let run = run(perfconv().arg("repair").arg(input).args(["-q", "--container", "file", "-o"]).arg(&output));
    let samples = before.of(RecordType::SAMPLE).read;
    let fail = |what: String| Some(RepairResult { samples, printed: 0, failure: Some(what) });
    if run.status != 0 {
        return fail(run.stderr);
    }
    let after = match read(&output) {
        Ok((_, after)) => after,
        Err(error) => return fail(error.to_string()),
    };
    if let Some(damage) = after.messages().first() {
        return fail(format!("still corrupt: {damage}"));
    }
    if after.of(RecordType::SAMPLE).read != samples {
        return fail("samples differ".to_owned());
    }
    // perf 6.1 accepts no attrs larger than its own.
    let for_perf = dir.path().join("for-6.1.data");
    if let Err(error) = for_perf_6_1(&output, &for_perf) {
        return fail(error);
    }
    let printed = perf(&["script", "--force", "--no-itrace", "-F", "tid,time"], &for_perf);
    let printed = printed.lines().filter(|line| line.trim_end().ends_with(':')).count() as u64;
    Some(RepairResult { samples, printed, failure: None })
}

#[test]
fn repaired_recordings_are_intact_and_keep_all_samples() {
    let has_perf = run_other(with_time_limit("perf").arg("--version")).status != 127;
    let all = recordings();
    let (mut count, mut printed, mut samples, mut failures, mut others) = (0, 0, 0, Vec::new(), Vec::new());
    for (recording, result) in all.iter().zip(for_each(&all, |recording| repair(&recording.path))) {
        let Some(result) = result else { continue };
        count += 1;
        samples += result.samples;
        if result.samples == 0 {
            others.push(recording.name.as_str());
        } else if result.printed == result.samples || !has_perf {
            printed += 1;
        } else {
            failures.push(format!("{}: perf prints {} of {}", recording.name, result.printed, result.samples));
        }
        failures.extend(result.failure.map(|what| format!("{}: {what}", recording.name)));
    }
    // Not with the print macros, whose output the test harness captures.
    let line = format!(
        "repaired {count} corrupt recordings with {samples} samples; perf ({}) prints all of {printed}; without samples: {others:?}",
        if has_perf { "6.1" } else { "not installed" }
    );
    writeln!(io::stderr(), "{line}").unwrap();
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
    let enough = if has_corpus("repairs") { 24 } else { 2 };
    assert!(printed >= enough, "only {line}");
}

#[test]
fn perf_reads_repaired_interrupted_recordings() {
    let killed: Vec<_> = recordings().into_iter().filter(|recording| recording.name.contains("killed")).collect();
    let mut compared = 0;
    for recording in &killed {
        let Some(result) = repair(&recording.path) else { continue };
        let is_foreign = recording.name.contains("s390x");
        if result.printed == 0 && run_other(with_time_limit("perf").arg("--version")).status == 127 {
            return;
        }
        // perf 6.1 misreads the IDs that distinguish events in foreign byte orders.
        if !is_foreign {
            assert_eq!(result.printed, result.samples, "{}", recording.name);
        }
        compared += 1;
    }
    writeln!(io::stderr(), "repaired {compared} of {} interrupted recordings", killed.len()).unwrap();
    assert!(compared >= if has_corpus("interrupted recordings") { 8 } else { 1 }, "only {compared}");
}

#[test]
fn restores_features_from_records() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("repaired.data");
    let run = run(perfconv().arg("repair").arg(fixture("killed.data")).arg("-o").arg(&output));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let warnings = run.warnings();
    let reconstructed = "perfconv: reconstructed from records: EVENT_DESC";
    assert!(run.stderr.lines().any(|line| line.starts_with(reconstructed)), "{}", run.stderr);
    assert!(warnings.iter().any(|line| line.contains(": offset 0x")), "{warnings:?}");
    let (meta, ledger) = read(&output).unwrap();
    assert!(ledger.messages().is_empty() && meta.events.list().iter().all(|event| event.name.is_some()));
    let header = perf(&["report", "--header-only", "-I"], &output);
    if !header.is_empty() {
        for line in ["# event : name = cpu-clock", "# time of first sample", "# nrcpus online"] {
            assert!(header.lines().any(|found| found.starts_with(line)), "{line}:\n{header}");
        }
    }
}
