//! Samples as `perf script` prints them, for tests of rewriting, merging and splitting.

use crate::suite::program::{run_other, with_time_limit};
use std::path::Path;

/// A sample as `perf script` prints it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ScriptSample {
    /// Nanoseconds.
    pub time: u64,
    /// The line with whitespace collapsed: columns are as wide as the longest name of an event.
    pub line: String,
}

/// The samples that perf prints with these fields, which must include the time; `None` if there are none, or lines without a
/// time.
pub(super) fn script(path: &Path, fields: &str) -> Option<Vec<ScriptSample>> {
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "--ns", "-G", "--no-itrace", "--no-inline", "-F", fields, "-i"]).arg(path);
    let run = run_other(perf.env("LC_ALL", "C"));
    assert!(!run.stderr.contains("out of order"), "{}: {}", path.display(), run.stderr);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let samples = text.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let time = words.iter().find_map(|word| {
            let (seconds, nanoseconds) = word.strip_suffix(':')?.split_once('.')?;
            (nanoseconds.len() == 9).then(|| format!("{seconds}{nanoseconds}").parse().ok()).flatten()
        })?;
        Some(ScriptSample { time, line: words.join(" ") })
    });
    samples.collect::<Option<Vec<_>>>().filter(|samples| run.status == 0 && !samples.is_empty())
}
