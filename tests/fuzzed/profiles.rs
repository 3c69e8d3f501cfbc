//! Profiles that become recordings.

use perfconv::container::read::ReadOptions;
use perfconv::formats::import::{Import, ImportOptions, Values};
use perfconv::formats::{folded, perf_script, pprof};
use perfconv::inspect::check::{Severity, check};

const VALUES: [Values; 3] = [Values::Counted, Values::Spread, Values::Carry];

/// Any bytes as a pprof.
pub fn pprof(bytes: &[u8]) {
    import(bytes, pprof::import);
}

/// Any bytes as folded stacks.
pub fn folded(bytes: &[u8]) {
    import(bytes, folded::import);
}

/// Any bytes as text of `perf script`.
pub fn perf_script(bytes: &[u8]) {
    import(bytes, perf_script::import);
}

/// A byte that says what becomes of values, and any bytes as a profile: it is refused, or becomes a recording in which nothing
/// is wrong.
fn import(bytes: &[u8], reader: Import) {
    let Some((&how, mut bytes)) = bytes.split_first() else { return };
    let values = VALUES[usize::from(how) % VALUES.len()];
    let options = ImportOptions { values, most_samples: 10_000, ..ImportOptions::default() };
    let Ok(made) = reader(&mut bytes, "fuzzed", &options) else { return };
    let mut wrong = Vec::new();
    let mut found = |finding: perfconv::inspect::check::Finding| {
        if finding.rule.severity() != Severity::Note {
            wrong.push(finding.to_string());
        }
    };
    check(made.input(), ReadOptions::default(), &mut found).expect("what was made is a recording");
    assert!(wrong.is_empty(), "{wrong:?}");
}
