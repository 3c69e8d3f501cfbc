//! Several recordings at a time, each converted by itself into a folder; and several threads at work on one.

use super::files::{Files, files_in, fixture, fixtures};
use super::program::{Run, perfconv, run};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::available_parallelism;
use tempfile::tempdir;

/// All files in a folder and the folders in it, by their paths.
fn outputs(folder: &Path) -> Files {
    files_in(folder).into_iter().filter(|(path, _)| !path.ends_with('/')).collect()
}

fn convert_all(folder: &Path, options: &[&str]) -> Run {
    let inputs = fixtures().into_iter().map(|fixture| fixture.path);
    run(perfconv().args(inputs).arg("--out-dir").arg(folder).args(options))
}

#[test]
fn each_is_what_it_is_alone_whatever_the_number_of_threads() {
    let desk = tempdir().expect("a folder");
    let mut told = BTreeMap::new();
    let formats =
        [("pprof", ".pb.gz"), ("jsonl", ".jsonl"), ("perf.data", ".data"), ("quipper", ".pb_data"), ("csv", ".csv")];
    for (to, ending) in formats {
        for jobs in ["1", "2", "7"] {
            let folder = desk.path().join(format!("{to}{jobs}"));
            let run = convert_all(&folder, &["-t", to, "-J", jobs]);
            assert_eq!(run.status, 0, "{}", run.stderr);
            let stderr = run.stderr.replace(&*folder.to_string_lossy(), "");
            let (first_told, first) = told.entry(to).or_insert_with(|| (stderr.clone(), outputs(&folder)));
            assert_eq!(*first_told, stderr, "what is told is in the order of the inputs");
            assert!(*first == outputs(&folder), "-J {jobs} makes something else");
        }
        let (_, all) = &told[to];
        let mut compared = 0;
        for fixture in fixtures() {
            let stem = fixture.name.trim_end_matches(".data");
            let alone = desk.path().join(format!("{stem} alone{ending}"));
            let run = run(perfconv().arg(&fixture.path).args(["-f", "-t", to, "-o"]).arg(&alone));
            assert_eq!(run.status, 0, "{}", run.stderr);
            let name = format!("{stem}{ending}");
            let alone = if alone.is_dir() {
                outputs(&alone).into_iter().map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)).collect()
            } else {
                BTreeMap::from([(name, fs::read(&alone).expect("a file"))])
            };
            assert!(alone.iter().all(|(name, bytes)| all.get(name) == Some(bytes)), "{to}: {stem}");
            compared += alone.len();
        }
        assert_eq!(all.len(), compared, "{to}");
    }
}

#[test]
fn one_that_cannot_be_converted_keeps_no_other_from_it() {
    let desk = tempdir().expect("a folder");
    let (empty, profiles) = (desk.path().join("empty.data"), desk.path().join("a/profiles"));
    fs::write(&empty, b"").expect("it can be written");
    let inputs = [&fixture("plain.data"), &empty, &fixture("pipe.data")];
    let run_all = |options: &[&str]| run(perfconv().args(inputs).arg("--out-dir").arg(&profiles).args(options));
    let run = run_all(&["--strict"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.ends_with("perfconv: 1 of 3 recordings could not be converted\n"), "{}", run.stderr);
    assert_eq!(outputs(&profiles).into_keys().collect::<Vec<_>>(), ["pipe.pb.gz", "plain.pb.gz"]);
    let again = run_all(&[]);
    assert_eq!(again.status, 1);
    assert_eq!(again.stderr.matches("exists already; -f overwrites it").count(), 2, "{}", again.stderr);
    let incomplete = super::program::run(
        perfconv()
            .arg(fixture("truncated.data"))
            .arg(fixture("plain.data"))
            .args(["--strict", "--out-dir"])
            .arg(desk.path()),
    );
    assert_eq!(incomplete.status, 3, "{}", incomplete.stderr);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_written() {
    let desk = tempdir().expect("a folder");
    let (other, folder) = (desk.path().join("plain.data"), desk.path().join("out"));
    fs::copy(fixture("plain.data"), &other).expect("it can be copied");
    let refused = |arguments: &[&Path], options: &[&str], what: &str| {
        let run = run(perfconv().args(arguments).arg("--out-dir").arg(&folder).args(options));
        assert_eq!(run.status, 2, "{}", run.stderr);
        assert!(run.stderr.contains(what), "{what}: {}", run.stderr);
        assert!(!folder.exists());
    };
    refused(&[&fixture("plain.data"), &other], &[], "would both be");
    refused(&[Path::new("-"), &other], &[], "- has no name by which its output could be called");
    refused(&[], &[], "no recording is named");
    refused(&[&other], &["-t", "nothing"], "unknown format 'nothing'");
    refused(&[&other], &["--endian", "big"], "--endian is not for pprof");
    refused(&[&other], &["-J", "0"], "invalid value");
    refused(&[&other], &["-o", "x"], "cannot be used with");
}

#[test]
fn warnings_name_the_recording() {
    let desk = tempdir().expect("a directory");
    let inputs = ["a.data", "b.data"].map(|name| {
        let path = desk.path().join(name);
        // Its user frames are missing, which is a note without a place.
        let made = run(perfconv()
            .args(["synth", concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/registers.toml"), "-o"])
            .arg(&path));
        assert_eq!(made.status, 0, "{}", made.stderr);
        path
    });
    let folder = desk.path().join("out");
    let all = run(perfconv().args(&inputs).arg("--out-dir").arg(&folder));
    assert_eq!(all.status, 0, "{}", all.stderr);
    for input in &inputs {
        let begins = format!("{}: ", input.display());
        let own = all.warnings().iter().filter(|warning| warning.starts_with(&begins)).count();
        assert!(own > 0, "{}", all.stderr);
    }
    let is_named = |warning: &&str| inputs.iter().any(|input| warning.starts_with(&*input.to_string_lossy()));
    assert!(all.warnings().iter().all(is_named), "{}", all.stderr);
}

/// The program, which may only use the first of the processors that this one may.
fn on_one_processor() -> Command {
    let status = fs::read_to_string("/proc/self/status").expect("what is known of this process");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("its processors");
    let first = allowed.trim().split([',', '-']).next().expect("a processor");
    let mut command = Command::new("taskset");
    command.args(["-c", first, "timeout", "60", env!("CARGO_BIN_EXE_perfconv")]);
    command
}

#[test]
fn what_comes_out_does_not_depend_on_the_number_of_processors() {
    let processors = available_parallelism().map_or(1, usize::from);
    if processors == 1 {
        println!("skipped: there is one processor here");
        return;
    }
    let desk = tempdir().expect("a folder");
    let path = |name: &str| desk.path().join(name);
    // Large enough for several turns of each kind of work that is given to threads.
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/callgraph.toml");
    let made = run(perfconv().args(["synth", scenario, "--scale", "30", "-o"]).arg(path("plain.data")));
    assert_eq!(made.status, 0, "{}", made.stderr);
    let jobs: [(&str, &[&str], &[&str]); 12] = [
        ("all.jsonl", &["plain.data"], &[]),
        ("all.json.gz", &["plain.data"], &[]),
        ("again.data", &["all.jsonl"], &[]),
        ("compressed.data", &["rewrite", "plain.data"], &["--compress"]),
        ("sorted.data", &["rewrite", "compressed.data"], &["--sort", "--compress"]),
        ("decompressed.data", &["rewrite", "compressed.data"], &["--decompress"]),
        ("profile.pb.gz", &["compressed.data"], &[]),
        ("proto.pb_data.zst", &["plain.data"], &["-t", "quipper"]),
        ("perf.json", &["plain.data"], &["-t", "perf-json"]),
        ("merged.data", &["merge", "plain.data", "compressed.data"], &["--compress"]),
        ("parts", &["split", "plain.data"], &["--by", "time=100ms"]),
        ("tables", &["plain.data"], &["-t", "csv"]),
    ];
    let mut bytes = 0;
    for (output, inputs, options) in jobs {
        let made: Vec<_> = [perfconv(), on_one_processor()]
            .into_iter()
            .map(|mut command| {
                // Inputs lie in the same place, so that both tell the same of them.
                let run = run(command.current_dir(desk.path()).args(inputs).args(options).args(["-f", "-o", output]));
                assert_eq!(run.status, 0, "{output}: {}", run.stderr);
                let made = if path(output).is_dir() {
                    outputs(&path(output))
                } else {
                    BTreeMap::from([(output.to_owned(), fs::read(path(output)).expect("it was written"))])
                };
                (made, run.stderr)
            })
            .collect();
        assert!(made[0] == made[1], "{output} depends on how many processors there are");
        bytes += made[0].0.values().map(Vec::len).sum::<usize>();
    }
    println!("{} jobs on {processors} processors and on one: the same {bytes} bytes", jobs.len());
    assert!(bytes > 50 << 20, "too little was compared: {bytes} bytes");
}
