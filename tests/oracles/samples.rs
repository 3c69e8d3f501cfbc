//! Every recording is read, and has as many samples as perf prints.

use crate::common::files::{self, Recording};
use crate::common::oracle::has_program;
use crate::common::program;
use crate::common::samples::account_for_every_sample;
use std::process::Stdio;

/// The minimum numbers of recordings that perf counts: with the corpus, and of the fixtures alone.
const ENOUGH: (usize, usize) = (180, 14);

#[test]
fn perf_counts_the_same_samples() {
    if !has_program("perf") {
        return;
    }
    let compared = account_for_every_sample(Some(samples_by_perf));
    let enough = if files::has_corpus("samples") { ENOUGH.0 } else { ENOUGH.1 };
    assert!(compared >= enough, "perf counted only {compared} recordings, expected {enough}");
}

/// Counts the samples that `perf report -D` prints, or returns why it cannot read the file.
///
/// Counts lines rather than reading the totals at the end, which are missing if there are no samples.
fn samples_by_perf(recording: &Recording) -> Result<u64, String> {
    let mut perf = program::with_time_limit("perf");
    perf.args(["report", "-D", "--force", "-i"]).arg(&recording.path);
    // Otherwise perf would query debuginfod servers, and wait for them.
    perf.env_remove("DEBUGINFOD_URLS").env("LC_ALL", "C").stdin(Stdio::null());
    let output = perf.output().expect("timeout(1) should run");
    let stderr = String::from_utf8_lossy(&output.stderr);
    // perf exits with status 0 even if it stopped early.
    let problem = ["incompatible file format", "size field is 0", "failed to process", "unexpected end", "Failed to"]
        .into_iter()
        .find(|problem| stderr.contains(problem));
    match (problem, output.status.code()) {
        (Some(problem), _) => Err(problem.into()),
        (None, Some(0)) => {
            let lines = output.stdout.split(|byte| *byte == b'\n');
            let is_sample = |line: &&[u8]| line.windows(19).any(|window| window == b"PERF_RECORD_SAMPLE(");
            Ok(lines.filter(is_sample).count() as u64)
        }
        (None, Some(127)) => Err("not installed".into()),
        (None, Some(124)) => Err("hangs".into()),
        (None, Some(status)) => Err(format!("status {status}")),
        (None, None) => Err("crashes".into()),
    }
}
