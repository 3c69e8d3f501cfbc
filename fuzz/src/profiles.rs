//! Profiles that become recordings.

use perfconv::check::{Severity, check};
use perfconv::container::read::ReadOptions;
use perfconv::formats::import::{Import, ImportOptions, Values};
use perfconv::formats::{folded, perf_script, pprof};

const READERS: [Import; 3] = [pprof::import, folded::import, perf_script::import];

const VALUES: [Values; 3] = [Values::Counted, Values::Spread, Values::Carry];

/// A byte that says how the others are read, and any bytes as a profile: it is refused, or becomes a recording in which nothing
/// is wrong.
pub fn import(bytes: &[u8]) {
    let Some((&how, mut bytes)) = bytes.split_first() else { return };
    let how = usize::from(how);
    let reader = READERS[how % READERS.len()];
    let values = VALUES[how / READERS.len() % VALUES.len()];
    let options = ImportOptions { values, most_samples: 10_000, ..ImportOptions::default() };
    let Ok(made) = reader(&mut bytes, "fuzzed", &options) else { return };
    let mut wrong = Vec::new();
    let mut found = |finding: perfconv::check::Finding| {
        if finding.rule.severity() != Severity::Note {
            wrong.push(finding.to_string());
        }
    };
    check(made.input(), ReadOptions::default(), &mut found).expect("what was made is a recording");
    assert!(wrong.is_empty(), "{wrong:?}");
}
