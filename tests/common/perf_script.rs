//! Samples as `perf script` prints them, for tests of rewriting, merging and splitting.

use super::program::{perfconv, run, run_other, with_time_limit};
use std::path::Path;

/// A sample as `perf script` prints it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ScriptSample {
    /// Nanoseconds.
    pub(crate) time: u64,
    /// The line with whitespace collapsed: columns are as wide as the longest name of an event.
    pub(crate) line: String,
}

/// Prints samples with these fields, which must include the time; `None` if there are none, or lines without a time.
pub(crate) type Script = fn(&Path, &str) -> Option<Vec<ScriptSample>>;

/// The samples that perf prints.
pub(crate) fn script_by_perf(path: &Path, fields: &str) -> Option<Vec<ScriptSample>> {
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "--ns", "-G", "--no-itrace", "--no-inline", "-F", fields, "-i"]).arg(path);
    let run = run_other(perf.env("LC_ALL", "C"));
    assert!(!run.stderr.contains("out of order"), "{}: {}", path.display(), run.stderr);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    samples(text.lines().filter(|line| !line.trim().is_empty())).filter(|_| run.status == 0)
}

/// The samples that perfconv prints, whose text equals that of perf (the oracle `perf_script_text`).
pub(crate) fn script_by_perfconv(path: &Path, fields: &str) -> Option<Vec<ScriptSample>> {
    let mut command = perfconv();
    command.arg(path).args([
        "-t",
        "perf-script",
        "--ns",
        "--symbols",
        "no",
        "--no-unwind",
        "-q",
        "-o",
        "-",
        "-F",
        fields,
    ]);
    let run = run(&mut command);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    // Without callers, as by `perf script -G`: the first frame is in the line of the sample.
    let mut lines: Vec<String> = Vec::new();
    let mut has_frame = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match (line.starts_with('\t'), lines.last_mut()) {
            (true, Some(sample)) if !has_frame => {
                sample.push_str(line);
                has_frame = true;
            }
            (true, _) => {}
            (false, _) => {
                lines.push(line.to_owned());
                has_frame = false;
            }
        }
    }
    samples(lines.iter().map(String::as_str)).filter(|_| run.status == 0)
}

fn samples<'a>(lines: impl Iterator<Item = &'a str>) -> Option<Vec<ScriptSample>> {
    let samples = lines.map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let time = words.iter().find_map(|word| {
            let (seconds, nanoseconds) = word.strip_suffix(':')?.split_once('.')?;
            (nanoseconds.len() == 9).then(|| format!("{seconds}{nanoseconds}").parse().ok()).flatten()
        })?;
        Some(ScriptSample { time, line: words.join(" ") })
    });
    samples.collect::<Option<Vec<_>>>().filter(|samples| !samples.is_empty())
}
