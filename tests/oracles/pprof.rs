//! Profiles in pprof format: accepted by pprof.

use crate::common::files;
use crate::common::pprof::{Outcome, check_outputs, find_pprof, report_by};
use crate::common::profiles::LABELS_BY_FIXTURE;
use crate::common::program;
use std::fs;

/// The minimum number of outputs with samples that pprof accepts, with the corpus and of the fixtures alone.
const ENOUGH: (usize, usize) = (450, 14);

#[test]
fn every_output_is_accepted_by_pprof() {
    let Some(pprof) = find_pprof() else { return };
    let outcomes = check_outputs(Some(&pprof));
    let accepted = outcomes.iter().filter(|outcome| **outcome == Outcome::Accepted).count();
    note!("pprof accepts {accepted} outputs with samples");
    let enough = if files::has_corpus("pprof") { ENOUGH.0 } else { ENOUGH.1 };
    assert!(accepted >= enough, "pprof accepts only {accepted} outputs, expected {enough}");
}

#[test]
fn pprof_prints_values_of_folded_stacks() {
    let Some(pprof) = find_pprof() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("s.folded"), dir.path().join("s.pb.gz"));
    fs::write(&input, "main;a 70\nmain;b 30\nmain;b;sys_read_[k] 719\n").unwrap();
    let run = program::convert(&input, &output);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let top = report_by(&pprof, "-top", &output).unwrap();
    assert!(top.contains("719 87.79% 87.79%        719 87.79%  sys_read"), "{top}");
}

#[test]
fn pprof_prints_every_label() {
    let Some(pprof) = find_pprof() else { return };
    let mut compared = 0;
    for (input, labels) in LABELS_BY_FIXTURE {
        for label in *labels {
            let dir = tempfile::tempdir().unwrap();
            let output = dir.path().join("out.pb.gz");
            let run = program::run(
                program::perfconv().arg(files::fixture(input)).args(["--labels", label, "-o"]).arg(&output),
            );
            assert_eq!(run.status, 0, "{label}: {}", run.stderr);
            let tags = report_by(&pprof, "-tags", &output).unwrap();
            assert!(tags.contains(&format!("{label}:")), "{label} of {input}: {tags}");
            for (view, expected) in
                [("-top", "flat%"), ("-traces", "-----+----"), ("-raw", "Locations"), ("-proto", "")]
            {
                let text = report_by(&pprof, view, &output).unwrap();
                assert!(text.contains(expected), "{label} of {input}: pprof {view}: {text}");
            }
            compared += 1;
        }
    }
    note!("pprof prints {compared} labels in 4 reports");
    assert!(compared >= 14, "compared only {compared} labels");
}
