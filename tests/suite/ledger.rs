//! The ledger is balanced: for every record type, read = emitted + used + not applicable + dropped.

use super::files::recordings;
use super::program::{for_each, perfconv, run};

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
