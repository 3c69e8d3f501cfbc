//! Conversion of several recordings with `--out-dir`, and equal outputs with any number of threads.

use crate::common::files::{Files, files_in, fixture, fixtures};
use crate::common::oracle::is_on_path;
use crate::common::program::{Run, perfconv, run, succeed};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::available_parallelism;
use tempfile::tempdir;

/// All files in a directory, recursively, by relative path.
fn outputs(dir: &Path) -> Files {
    files_in(dir).into_iter().filter(|(path, _)| !path.ends_with('/')).collect()
}

fn convert_all(dir: &Path, options: &[&str]) -> Run {
    let inputs = fixtures().into_iter().map(|fixture| fixture.path);
    run(perfconv().args(inputs).arg("--out-dir").arg(dir).args(options))
}

#[test]
fn each_output_equals_a_single_conversion_with_any_number_of_threads() {
    let work = tempdir().expect("a directory");
    let mut by_format = BTreeMap::new();
    let formats =
        [("pprof", ".pb.gz"), ("jsonl", ".jsonl"), ("perf.data", ".data"), ("quipper", ".pb_data"), ("csv", ".csv")];
    for (to, ending) in formats {
        for jobs in ["1", "7"] {
            let dir = work.path().join(format!("{to}{jobs}"));
            let run = convert_all(&dir, &["-t", to, "-J", jobs]);
            assert_eq!(run.status, 0, "{}", run.stderr);
            let stderr = run.stderr.replace(&*dir.to_string_lossy(), "");
            let (first_stderr, first) = by_format.entry(to).or_insert_with(|| (stderr.clone(), outputs(&dir)));
            assert_eq!(*first_stderr, stderr, "messages should be in the order of the inputs");
            assert!(*first == outputs(&dir), "-J {jobs} gives another output");
        }
        let (_, all) = &by_format[to];
        let mut compared = 0;
        for fixture in fixtures() {
            let stem = fixture.name.trim_end_matches(".data");
            let single = work.path().join(format!("{stem} single{ending}"));
            succeed(perfconv().arg(&fixture.path).args(["-f", "-t", to, "-o"]).arg(&single));
            let name = format!("{stem}{ending}");
            let single = if single.is_dir() {
                outputs(&single).into_iter().map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)).collect()
            } else {
                BTreeMap::from([(name, fs::read(&single).expect("a file"))])
            };
            assert!(single.iter().all(|(name, bytes)| all.get(name) == Some(bytes)), "{to}: {stem}");
            compared += single.len();
        }
        assert_eq!(all.len(), compared, "{to}");
    }
}

#[test]
fn an_unreadable_recording_does_not_stop_the_others() {
    let work = tempdir().expect("a directory");
    let (empty, profiles) = (work.path().join("empty.data"), work.path().join("a/profiles"));
    fs::write(&empty, b"").expect("writing should succeed");
    let inputs = [&fixture("plain.data"), &empty, &fixture("pipe.data")];
    let run_all = |options: &[&str]| run(perfconv().args(inputs).arg("--out-dir").arg(&profiles).args(options));
    let run = run_all(&["--strict"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.ends_with("perfconv: 1 of 3 recordings could not be converted\n"), "{}", run.stderr);
    assert_eq!(outputs(&profiles).into_keys().collect::<Vec<_>>(), ["pipe.pb.gz", "plain.pb.gz"]);
    let repeated = run_all(&[]);
    assert_eq!(repeated.status, 1);
    assert_eq!(repeated.stderr.matches("already exists; use -f to replace it").count(), 2, "{}", repeated.stderr);
    let incomplete = crate::common::program::run(
        perfconv()
            .arg(fixture("truncated.data"))
            .arg(fixture("plain.data"))
            .args(["--strict", "--out-dir"])
            .arg(work.path()),
    );
    assert_eq!(incomplete.status, 3, "{}", incomplete.stderr);
}

#[test]
fn rejects_bad_options_before_writing() {
    let work = tempdir().expect("a directory");
    let (other, dir) = (work.path().join("plain.data"), work.path().join("out"));
    fs::copy(fixture("plain.data"), &other).expect("copying should succeed");
    let assert_rejected = |arguments: &[&Path], options: &[&str], what: &str| {
        let run = run(perfconv().args(arguments).arg("--out-dir").arg(&dir).args(options));
        assert_eq!(run.status, 2, "{}", run.stderr);
        assert!(run.stderr.contains(what), "{what}: {}", run.stderr);
        assert!(!dir.exists());
    };
    assert_rejected(&[&fixture("plain.data"), &other], &[], "have the same output");
    assert_rejected(&[Path::new("-"), &other], &[], "-: cannot derive an output name");
    assert_rejected(&[], &[], "no recording is named");
    assert_rejected(&[&other], &["-t", "nothing"], "unknown format 'nothing'");
    assert_rejected(&[&other], &["--endian", "big"], "--endian does not apply to pprof");
    assert_rejected(&[&other], &["-J", "0"], "invalid value");
    assert_rejected(&[&other], &["-o", "x"], "cannot be used with");
}

#[test]
fn warnings_name_the_recording() {
    let work = tempdir().expect("a directory");
    let inputs = ["a.data", "b.data"].map(|name| {
        let path = work.path().join(name);
        // The missing user frames cause a warning without an offset.
        succeed(
            perfconv()
                .args(["synth", concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/registers.toml"), "-o"])
                .arg(&path),
        );
        path
    });
    let dir = work.path().join("out");
    let all = succeed(perfconv().args(&inputs).arg("--no-unwind").arg("--out-dir").arg(&dir));
    for input in &inputs {
        let begins = format!("{}: ", input.display());
        let own = all.warnings().iter().filter(|warning| warning.starts_with(&begins)).count();
        assert!(own > 0, "{}", all.stderr);
    }
    let is_named = |warning: &&str| inputs.iter().any(|input| warning.starts_with(&*input.to_string_lossy()));
    assert!(all.warnings().iter().all(is_named), "{}", all.stderr);
}

/// A command that runs the program on a single CPU.
fn on_one_cpu() -> Command {
    let status = fs::read_to_string("/proc/self/status").expect("/proc of this process should be readable");
    let allowed =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list of allowed CPUs");
    let first = allowed.trim().split([',', '-']).next().expect("a CPU");
    let mut command = Command::new("taskset");
    command.args(["-c", first, "timeout", "300", env!("CARGO_BIN_EXE_perfconv")]);
    command
}

#[test]
fn output_does_not_depend_on_the_number_of_cpus() {
    let cpus = available_parallelism().map_or(1, usize::from);
    if cpus == 1 {
        note!("skipped: only one CPU");
        return;
    }
    if !is_on_path("taskset") {
        return note!("skipped: taskset, which selects a CPU, is missing");
    }
    let work = tempdir().expect("a directory");
    let path = |name: &str| work.path().join(name);
    // Large enough for several work units of each kind.
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/callgraph.toml");
    succeed(perfconv().args(["synth", scenario, "--scale", "12", "-o"]).arg(path("plain.data")));
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let dumps = ["witness-gcc", "witness-clang", "witness-i386"];
    let dumps = dumps.map(|name| symbols.join(name).with_extension("data"));
    succeed(perfconv().arg("merge").args(dumps).arg("-o").arg(path("dumps.data")));
    let files = symbols.join("files");
    let unwind = ["--unwind", "--symfs", files.to_str().expect("a path in UTF-8")];
    let jobs: [(&str, &[&str], &[&str]); 15] = [
        ("all.jsonl", &["plain.data"], &[]),
        ("all.json.gz", &["plain.data"], &[]),
        ("restored.data", &["all.jsonl"], &[]),
        ("compressed.data", &["rewrite", "plain.data"], &["--compress"]),
        ("sorted.data", &["rewrite", "compressed.data"], &["--sort", "--compress"]),
        ("decompressed.data", &["rewrite", "compressed.data"], &["--decompress"]),
        ("profile.pb.gz", &["compressed.data"], &[]),
        ("proto.pb_data.zst", &["plain.data"], &["-t", "quipper"]),
        ("perf.json", &["plain.data"], &["-t", "perf-json"]),
        ("merged.data", &["merge", "plain.data", "compressed.data"], &["--compress"]),
        ("parts", &["split", "plain.data"], &["--by", "time=100ms"]),
        ("tables", &["plain.data"], &["-t", "csv"]),
        ("unwound.data", &["rewrite", "dumps.data"], &unwind),
        ("unwound-dumps.data", &["rewrite", "dumps.data"], &[unwind[0], unwind[1], unwind[2], "--keep-user-stack"]),
        ("unwound.script", &["dumps.data"], &["-t", "perf-script", unwind[1], unwind[2]]),
    ];
    let mut bytes = 0;
    for (output, inputs, options) in jobs {
        let results: Vec<_> = [perfconv(), on_one_cpu()]
            .into_iter()
            .map(|mut command| {
                // Inputs have the same paths, so that messages are the same.
                let run =
                    succeed(command.current_dir(work.path()).args(inputs).args(options).args(["-f", "-o", output]));
                let files = if path(output).is_dir() {
                    outputs(&path(output))
                } else {
                    BTreeMap::from([(
                        output.to_owned(),
                        fs::read(path(output)).expect("the file should have been written"),
                    )])
                };
                (files, run.stderr)
            })
            .collect();
        assert!(results[0] == results[1], "{output} depends on the number of CPUs");
        bytes += results[0].0.values().map(Vec::len).sum::<usize>();
    }
    note!("{} conversions on {cpus} CPUs and on one give the same {bytes} bytes", jobs.len());
    assert!(bytes > 20 << 20, "compared only {bytes} bytes");
}
