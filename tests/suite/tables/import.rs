//! Recordings that are converted back from datasets.

use crate::common::files::{self, fixture};
use crate::common::program::{for_each, perfconv, run, succeed, try_run};
use crate::common::tables::convert;
use crate::common::totals;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folded stacks of a recording with their samples.
fn folded(recording: &Path, args: &[&str]) -> Result<Vec<String>, String> {
    // Without the build ID cache of the user, which may have objects of this machine.
    let mut command = perfconv();
    command.arg(recording).args(["-t", "folded", "--weight", "samples", "-q", "-o", "-"]).args(args);
    let run = try_run(command.env("HOME", "/nonexistent"))?;
    let mut lines: Vec<_> = String::from_utf8_lossy(&run.stdout).lines().map(str::to_owned).collect();
    lines.sort();
    Ok(lines)
}

#[test]
fn a_dataset_is_converted_back_with_samples_and_stacks() {
    let recordings = files::share(4);
    let enough = files::enough("tables to perf.data", 4, 500, 20);
    totals::compare("tables to perf.data", &recordings, enough, |recording, expected| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (dataset, back) = (directory.path().join("dataset"), directory.path().join("back.data"));
        convert(&recording.path, &dataset, &["--symbols", "no"])?;
        try_run(perfconv().arg(&dataset).arg("-o").arg(&back))?;
        totals::check_equal(&totals::of_recording(&back)?, expected)
    });
}

#[test]
fn functions_inlined_ones_and_lines_are_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = root.join("roundtrip/symbols/files").display().to_string();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut compared = 0;
    for name in ["words.data", "cxx.data"] {
        let recording = root.join("roundtrip/symbols").join(name);
        let dataset = directory.path().join(name);
        convert(&recording, &dataset, &["--symfs", &files]).unwrap();
        let expected = folded(&recording, &["--symfs", &files, "--annotate", "inlined"]).unwrap();
        assert_eq!(folded(&dataset, &["--symbols", "no", "--annotate", "inlined"]).unwrap(), expected, "{name}");
        compared += expected.len();
    }
    note!("tables to folded: {compared} stacks equal those of the recordings");
}

#[test]
fn one_of_several_recordings_is_chosen_and_what_is_lost_is_reported() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (dataset, back) = (directory.path().join("dataset"), directory.path().join("back.data"));
    convert(&fixture("weight.data"), &dataset, &["--symbols", "no"]).unwrap();
    let one = succeed(perfconv().arg(&dataset).arg("-o").arg(&back));
    let warnings = one.warnings().join("\n");
    assert!(
        warnings.contains("columns of samples that are not imported") && warnings.contains("data_src of 353"),
        "{warnings}"
    );
    convert(&fixture("callgraph.data"), &dataset, &["--symbols", "no", "--append"]).unwrap();
    let several = run(perfconv().arg(&dataset).args(["-f", "-o"]).arg(&back));
    let message = several.failure().unwrap();
    assert!(message.contains("has 2 recordings; name one, such as"), "{message}");
    let mut counts = Vec::new();
    for entry in fs::read_dir(dataset.join("recordings")).unwrap() {
        let chosen = run(perfconv().arg(entry.unwrap().path()).args(["-f", "-o"]).arg(&back));
        counts.push(chosen.ledger().unwrap().samples_out);
    }
    counts.sort_unstable();
    assert_eq!(counts, [353, 377]);
}

#[test]
fn damaged_datasets_are_errors_or_are_read() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let dataset = directory.path().join("dataset");
    convert(&fixture("callgraph.data"), &dataset, &["--symbols", "no"]).unwrap();
    let files: Vec<_> = files::files_in(&dataset).into_iter().filter(|(path, _)| path.ends_with(".parquet")).collect();
    let changes: Vec<_> = (0..files.len()).flat_map(|file| (0..24).map(move |at| (file, at))).collect();
    let statuses = for_each(&changes, |&(file, at)| {
        let copy: PathBuf = directory.path().join(format!("{file}-{at}"));
        for (number, (path, bytes)) in files.iter().enumerate() {
            let mut bytes = bytes.clone();
            if number == file {
                match at {
                    0 => bytes.clear(),
                    // The footer is at the end.
                    1..16 => {
                        let changed = bytes.len() - 1 - at * at * 7 % (bytes.len() - 1);
                        bytes[changed] ^= 0x55;
                    }
                    _ => bytes.truncate(bytes.len() * (at - 16) / 8),
                }
            }
            let target = copy.join(path);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::write(target, bytes).unwrap();
        }
        let run = run(perfconv().arg(&copy).args(["-q", "-o"]).arg(directory.path().join(format!("{file}-{at}.data"))));
        assert!([0, 1].contains(&run.status) && !run.stderr.contains("panicked"), "{}: {run:?}", files[file].0);
        run.status
    });
    let errors = statuses.iter().filter(|status| **status == 1).count();
    note!("tables to perf.data: of {} damaged datasets, {errors} give an error", statuses.len());
    assert!(errors > statuses.len() / 3);
}

/// The file of a table in a dataset with one recording.
fn table_file(dataset: &Path, table: &str) -> PathBuf {
    let partition = fs::read_dir(dataset.join(table)).unwrap().next().unwrap().unwrap();
    partition.path().join("part-0.parquet")
}

#[test]
fn damaged_tables_are_rejected_or_read_whatever_the_crates_do() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (dataset, back) = (directory.path().join("dataset"), directory.path().join("back.data"));
    convert(&fixture("callgraph.data"), &dataset, &["--symbols", "no"]).unwrap();
    let mut rejected = 0;
    for table in ["stacks", "frames"] {
        let path = table_file(&dataset, table);
        let original = fs::read(&path).unwrap();
        for at in (0..original.len()).step_by(original.len() / 60) {
            let mut damaged = original.clone();
            damaged[at] ^= 0x7f;
            fs::write(&path, damaged).unwrap();
            let run = run(perfconv().arg(&dataset).args(["-f", "-o"]).arg(&back));
            if run.status != 0 {
                let message = run.failure().unwrap_or_else(|error| panic!("{table}, byte {at}: {error}"));
                assert!(message.contains("dataset"), "{table}, byte {at}: {message}");
                rejected += 1;
            }
        }
        fs::write(&path, original).unwrap();
    }
    assert!(rejected > 30, "{rejected}");
}

#[test]
fn a_table_that_is_no_regular_file_is_rejected_at_once() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (dataset, back) = (directory.path().join("dataset"), directory.path().join("back.data"));
    convert(&fixture("callgraph.data"), &dataset, &["--symbols", "no"]).unwrap();
    let path = table_file(&dataset, "recordings");
    fs::remove_file(&path).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let rejected = run(perfconv().arg(&dataset).arg("-o").arg(&back));
    let message = rejected.failure().unwrap();
    assert!(message.ends_with("cannot open: is not a regular file"), "{message}");
}
