//! The account is exact: of every type of record, what was read is out, used, not applicable or dropped.

use super::files::recordings;
use super::program::{for_each, perfconv, run};

#[test]
fn of_every_type_all_records_are_accounted_for() {
    let recordings = recordings();
    let rows = for_each(&recordings, |recording| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let output = folder.path().join("out.pb");
        let told = run(perfconv().arg(&recording.path).arg("-v").arg("-o").arg(&output)).stderr;
        let table = told.lines().skip_while(|line| !line.starts_with("record ")).skip(1);
        let rows = table.take_while(|line| !line.starts_with("perfconv: ")).filter_map(|line| {
            let counts: Vec<u64> = line.split_whitespace().skip(1).map_while(|count| count.parse().ok()).collect();
            let &[read, ref parts @ ..] = &counts[..] else { return None };
            Some((format!("{}: {line}", recording.name), parts.len() == 4 && read == parts.iter().sum::<u64>()))
        });
        rows.collect::<Vec<_>>()
    });
    let rows: Vec<_> = rows.into_iter().flatten().collect();
    let wrong: Vec<_> = rows.iter().filter(|(_, adds_up)| !adds_up).map(|(row, _)| row.as_str()).collect();
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    assert!(rows.len() >= 8 * recordings.len(), "only {} rows of {} recordings", rows.len(), recordings.len());
}
