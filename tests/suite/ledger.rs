//! The ledger is balanced: for every record type, read = emitted + used + not applicable + dropped.

use crate::common::files::recordings;
use crate::common::program::{for_each, perfconv, run, succeed};

#[test]
fn ledger_is_balanced_for_every_record_type() {
    let recordings = recordings();
    let rows = for_each(&recordings, |recording| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let output = dir.path().join("out.pb");
        let stderr = run(perfconv().arg(&recording.path).arg("-v").arg("-o").arg(&output)).stderr;
        let table = stderr.lines().skip_while(|line| !line.starts_with("record ")).skip(1);
        let rows = table.take_while(|line| !line.starts_with("perfconv: ")).filter_map(|line| {
            let counts: Vec<u64> = line.split_whitespace().skip(1).map_while(|count| count.parse().ok()).collect();
            let &[read, ref parts @ ..] = &counts[..] else { return None };
            Some((format!("{}: {line}", recording.name), parts.len() == 4 && read == parts.iter().sum::<u64>()))
        });
        rows.collect::<Vec<_>>()
    });
    let rows: Vec<_> = rows.into_iter().flatten().collect();
    let unbalanced: Vec<_> = rows.iter().filter(|(_, is_balanced)| !is_balanced).map(|(row, _)| row.as_str()).collect();
    assert!(unbalanced.is_empty(), "{} of {} rows:\n{}", unbalanced.len(), rows.len(), unbalanced.join("\n"));
    assert!(rows.len() >= 8 * recordings.len(), "only {} rows of {} recordings", rows.len(), recordings.len());
}

/// A trace holds nearly everything that its recording is about, so an output without it is not complete.
#[test]
fn outputs_without_the_hardware_trace_are_incomplete() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let sources = [("intel-pt", "Intel PT"), ("intel-bts", "Intel BTS"), ("arm-spe", "Arm SPE")];
    for (scenario, source) in sources {
        let toml = format!("{}/scenarios/{scenario}.toml", env!("CARGO_MANIFEST_DIR"));
        let data = dir.path().join(scenario).with_extension("data");
        succeed(perfconv().args(["synth", &toml, "-o"]).arg(&data));
        let converted = |format: &str| {
            let output = dir.path().join(format!("{scenario}-{format}"));
            run(perfconv().arg(&data).args(["--strict", "--no-itrace", "-t", format, "-o"]).arg(output))
        };
        let decoded = ["pprof", "folded", "perf-script", "perf-json", "report", "html", "firefox", "perfetto", "csv"];
        for format in decoded {
            let run = converted(format);
            let message = format!("hardware trace ({source}): ");
            assert!(run.status == 3 && run.stderr.contains(&message), "{scenario}: {format}: {}", run.stderr);
        }
        for format in ["perf.data", "json", "quipper"] {
            let run = converted(format);
            assert_eq!((run.status, run.warnings()), (0, vec![]), "{scenario}: {format}");
        }
    }
}
