//! What `perf script` shows, sample by sample, for tests of what rewrites, merges and splits recordings.

use crate::suite::program::{run_other, with_time_limit};
use std::path::Path;

/// A sample as `perf script` shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shown {
    /// Nanoseconds.
    pub time: u64,
    /// The whole line, blanks collapsed: columns are as wide as the longest name of an event, with samples or without.
    pub line: String,
}

/// The samples that perf shows with these fields, among which is the time; `None` where it shows none, or lines without a time.
pub fn script(path: &Path, fields: &str) -> Option<Vec<Shown>> {
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "--ns", "-G", "--no-itrace", "--no-inline", "-F", fields, "-i"]).arg(path);
    let run = run_other(perf.env("LC_ALL", "C"));
    assert!(!run.stderr.contains("out of order"), "{}: {}", path.display(), run.stderr);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let shown = text.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let time = words.iter().find_map(|word| {
            let (seconds, nanoseconds) = word.strip_suffix(':')?.split_once('.')?;
            (nanoseconds.len() == 9).then(|| format!("{seconds}{nanoseconds}").parse().ok()).flatten()
        })?;
        Some(Shown { time, line: words.join(" ") })
    });
    shown.collect::<Option<Vec<_>>>().filter(|shown| run.status == 0 && !shown.is_empty())
}
