//! `perfconv repair`: perf prints all samples of what was killed, cut or damaged, and tells its header.

use crate::suite::files::{fixture, has_corpus, recordings};
use crate::suite::program::{for_each, perfconv, run, run_other, with_time_limit};
use perfconv::abi::record::RecordType;
use perfconv::container::read::{ReadOptions, input::Input};
use perfconv::stream::Sink;
use perfconv::stream::ledger::Ledger;
use perfconv::stream::meta::Meta;
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;
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

struct Repaired {
    samples: u64,
    /// Lines that perf prints, one for each sample.
    printed: u64,
    wrong: Option<String>,
}

/// Repairs a recording that has damage; `None` where it has none.
fn repaired(input: &Path) -> Option<Repaired> {
    let (_, before) = read(input).ok()?;
    if before.messages().is_empty() {
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("repaired.data");
    let run = run(perfconv().arg("repair").arg(input).args(["-q", "--container", "file", "-o"]).arg(&output));
    let samples = before.of(RecordType::SAMPLE).read;
    let wrong = |what: String| Some(Repaired { samples, printed: 0, wrong: Some(what) });
    if run.status != 0 {
        return wrong(run.stderr);
    }
    let after = match read(&output) {
        Ok((_, after)) => after,
        Err(error) => return wrong(error.to_string()),
    };
    if let Some(damage) = after.messages().first() {
        return wrong(format!("it is damaged still: {damage}"));
    }
    if after.of(RecordType::SAMPLE).read != samples {
        return wrong("other samples".to_owned());
    }
    // perf 6.1 reads no larger attrs than its own.
    let for_perf = folder.path().join("for-6.1.data");
    if let Err(error) = for_perf_6_1(&output, &for_perf) {
        return wrong(error);
    }
    let printed = perf(&["script", "--force", "--no-itrace", "-F", "tid,time"], &for_perf);
    let printed = printed.lines().filter(|line| line.trim_end().ends_with(':')).count() as u64;
    Some(Repaired { samples, printed, wrong: None })
}

#[test]
fn what_is_damaged_is_not_any_more_and_has_all_samples() {
    let has_perf = run_other(with_time_limit("perf").arg("--version")).status != 127;
    let all = recordings();
    let (mut count, mut shown, mut samples, mut wrong, mut others) = (0, 0, 0, Vec::new(), Vec::new());
    for (recording, repaired) in all.iter().zip(for_each(&all, |recording| repaired(&recording.path))) {
        let Some(repaired) = repaired else { continue };
        count += 1;
        samples += repaired.samples;
        if repaired.samples == 0 {
            others.push(recording.name.as_str());
        } else if repaired.printed == repaired.samples || !has_perf {
            shown += 1;
        } else {
            wrong.push(format!("{}: perf prints {} of {}", recording.name, repaired.printed, repaired.samples));
        }
        wrong.extend(repaired.wrong.map(|what| format!("{}: {what}", recording.name)));
    }
    // Not through the macros, whose output the test harness hides when the test passes.
    let line = format!(
        "{count} damaged recordings repaired, with {samples} samples; perf ({}) prints all of {shown}; without a sample are: {others:?}",
        if has_perf { "6.1" } else { "which is not there" }
    );
    writeln!(io::stderr(), "{line}").unwrap();
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    let enough = if has_corpus("repairs") { 24 } else { 2 };
    assert!(shown >= enough, "only {line}");
}

#[test]
fn perf_reads_killed_recordings_when_they_are_repaired() {
    let killed: Vec<_> = recordings().into_iter().filter(|recording| recording.name.contains("killed")).collect();
    let mut compared = 0;
    for recording in &killed {
        let Some(repaired) = repaired(&recording.path) else { continue };
        let is_foreign = recording.name.contains("s390x");
        if repaired.printed == 0 && run_other(with_time_limit("perf").arg("--version")).status == 127 {
            return;
        }
        // Of foreign byte orders perf 6.1 misreads the ids that samples are told apart by.
        if !is_foreign {
            assert_eq!(repaired.printed, repaired.samples, "{}", recording.name);
        }
        compared += 1;
    }
    writeln!(io::stderr(), "{compared} killed recordings of {}", killed.len()).unwrap();
    assert!(compared >= if has_corpus("killed recordings") { 8 } else { 1 }, "only {compared}");
}

#[test]
fn features_that_records_tell_are_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("repaired.data");
    let run = run(perfconv().arg("repair").arg(fixture("killed.data")).arg("-o").arg(&output));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let warnings = run.warnings();
    assert!(
        warnings.iter().any(|line| line.contains("put back from what the records tell: EVENT_DESC")),
        "{warnings:?}"
    );
    assert!(warnings.iter().any(|line| line.contains("at offset")), "{warnings:?}");
    let (meta, ledger) = read(&output).unwrap();
    assert!(ledger.messages().is_empty() && meta.events.list().iter().all(|event| event.name.is_some()));
    let header = perf(&["report", "--header-only", "-I"], &output);
    if !header.is_empty() {
        for line in ["# event : name = cpu-clock", "# time of first sample", "# nrcpus online"] {
            assert!(header.lines().any(|found| found.starts_with(line)), "{line}:\n{header}");
        }
    }
}
