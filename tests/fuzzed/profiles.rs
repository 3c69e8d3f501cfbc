//! Profiles imported as recordings.

use perf_data::container::read::ReadOptions;
use perfconv::formats::import::{Import, ImportOptions, ImportedRecording, Values};
use perfconv::formats::{firefox, folded, otlp, perf_script, pprof, speedscope};
use perfconv::inspect::check::{Severity, check};

const VALUES: [Values; 3] = [Values::Counted, Values::Spread, Values::Single];

/// Any bytes as a pprof profile.
pub fn pprof(bytes: &[u8]) {
    import(bytes, pprof::import);
}

/// Any bytes as folded stacks.
pub fn folded(bytes: &[u8]) {
    import(bytes, folded::import);
}

/// Any bytes as a profile of the Firefox Profiler.
pub fn firefox(bytes: &[u8]) {
    import(bytes, firefox::import);
}

/// Any bytes as a file of speedscope.
pub fn speedscope(bytes: &[u8]) {
    import(bytes, speedscope::import);
}

/// Any bytes as profiles of OpenTelemetry, in protobuf and in JSON.
pub fn otlp(bytes: &[u8]) {
    import(bytes, otlp::import);
    import(bytes, otlp::import_json);
}

/// Any bytes as `perf script` text.
pub fn perf_script(bytes: &[u8]) {
    import(bytes, perf_script::import);
}

/// Imports a profile, which is rejected, or becomes a recording without findings. The first byte selects how values expand into
/// samples.
fn import(bytes: &[u8], reader: Import) {
    let Some((&choice, mut bytes)) = bytes.split_first() else { return };
    let values = VALUES[usize::from(choice) % VALUES.len()];
    let options = ImportOptions { values, most_samples: 10_000, ..ImportOptions::default() };
    if let Ok(imported) = reader(&mut bytes, "fuzzed", &options) {
        assert_intact(&imported);
    }
}

/// An imported recording has no findings.
pub fn assert_intact(imported: &ImportedRecording) {
    let mut findings = Vec::new();
    let mut on_finding = |finding: perfconv::inspect::check::Finding| {
        if finding.rule.severity() != Severity::Note {
            findings.push(finding.to_string());
        }
    };
    check(imported.input(), ReadOptions::default(), &mut on_finding).expect("the generated file should be a recording");
    assert!(findings.is_empty(), "{findings:?}");
}
