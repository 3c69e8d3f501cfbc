//! Outputs of a recording that only its owner may read: whatever a command or the library writes from it is as private.

use crate::common::branch_profiles::BRANCH_PROFILES;
use crate::common::files::fixture;
use crate::common::program::{Run, run_other, with_time_limit};
use perfconv::Recording;
use perfconv::formats::FORMATS;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What other users may do with the entries below a directory.
fn open_to_others(path: &Path, found: &mut Vec<String>, count: &mut usize) {
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mode = metadata.permissions().mode();
        if metadata.is_symlink() {
            continue;
        }
        *count += 1;
        if mode & 0o077 != 0 {
            found.push(format!("{}: {:o}", path.display(), mode & 0o777));
        } else if metadata.is_dir() {
            open_to_others(&path, found, count);
        }
    }
}

/// A private recording, a private profile and a private scenario, and a directory for outputs that everyone may enter.
fn place(directory: &Path) -> (PathBuf, PathBuf) {
    let (recording, profile) = (directory.join("in.data"), directory.join("in.folded"));
    fs::copy(fixture("callgraph.data"), &recording).unwrap();
    fs::write(&profile, "main;work 3\nmain;wait 4\n").unwrap();
    let scenario = directory.join("in.toml");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/registers.toml"), &scenario).unwrap();
    for path in [&recording, &profile, &scenario] {
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    }
    (recording, profile)
}

#[test]
fn everything_that_a_command_writes_of_a_private_recording_is_private() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    place(directory.path());
    let commands: Vec<String> = FORMATS
        .iter()
        .filter(|format| format.output.is_some() && !BRANCH_PROFILES.contains(&format.name))
        .map(|format| format!("convert ../in.data -t {} -o format-{}", format.name, format.name))
        .chain(
            [
                "convert ../in.data --out-dir many -t pprof",
                "convert ../in.data --split-by comm -t pprof -o split-profiles",
                "convert ../in.data --container dir -o dir.data",
                "convert ../in.data --compress -o compressed.data",
                "convert ../in.folded -o imported.data",
                "convert ../in.folded --images names -o other.data",
                "convert ../in.data -t json --compress-files -o ignored",
                "rewrite ../in.data -o rewritten.data",
                "rewrite ../in.data --anonymize -o anonymous.data",
                "rewrite ../in.data -b -o with-ids.data",
                "split ../in.data --by pid -o parts",
                "merge ../in.data ../in.data -o merged.data",
                "repair ../in.data -o repaired.data",
                "archive ../in.data -o packed.tar",
                "archive --unpack packed.tar -o unpacked",
                "view ../in.data -o page.html",
                "report ../in.data -o report.txt",
                "dump ../in.data -o dump.txt",
                "synth ../in.toml -o synthesized.data",
            ]
            .map(str::to_owned),
        )
        .chain(cfg!(feature = "parquet").then(|| "convert ../in.data -t parquet -o format-parquet --append".to_owned()))
        .collect();
    let out = directory.path().join("out");
    fs::create_dir(&out).unwrap();
    let mut ran = 0;
    for command in &commands {
        let arguments = command.strip_prefix("convert ").unwrap_or(command);
        let run = run_openly(&out, arguments);
        // Some of these commands write to standard output only.
        ran += usize::from(run.status == 0);
        assert!(run.status == 0 || run.status == 2, "{command}: {}", run.stderr);
    }
    let (mut accessible, mut count) = (Vec::new(), 0);
    open_to_others(&out, &mut accessible, &mut count);
    note!("{ran} of {} commands wrote {count} files and directories", commands.len());
    assert!(accessible.is_empty(), "{}", accessible.join("\n"));
    assert!(ran >= 35 && count >= 61, "only {ran} commands, {count} entries");
}

#[test]
fn everything_that_the_library_writes_of_a_private_recording_is_private() {
    let directory = tempfile::tempdir().unwrap();
    let (recording, _) = place(directory.path());
    let out = directory.path().join("out");
    fs::create_dir(&out).unwrap();
    let recording = Recording::open(&recording).unwrap();
    for name in ["profile.pb.gz", "profile.html", "profile.folded", "profile.speedscope.json"] {
        recording.profile().write(out.join(name)).unwrap();
    }
    recording.rewrite().write(out.join("rewritten.data")).unwrap();
    let (mut accessible, mut count) = (Vec::new(), 0);
    open_to_others(&out, &mut accessible, &mut count);
    assert!(accessible.is_empty() && count == 5, "{count}: {}", accessible.join("\n"));
}

#[test]
fn mode_sets_the_permissions_of_outputs_and_of_files_next_to_them() {
    let directory = tempfile::tempdir().unwrap();
    place(directory.path());
    let commands = [
        "in.data -o page.html --mode 644",
        "in.data -t csv -o tables --mode 644",
        "in.folded -o imported.data --mode 644",
        "in.data --out-dir many --mode 644",
        "report in.data -o report.txt --mode 644",
        "split in.data --by pid --out-dir a/parts --mode 644",
        "merge in.data in.data -o merged.data --mode 644",
        "archive in.data -o packed.tar --mode 644",
    ];
    for command in commands {
        let run = run_openly(directory.path(), command);
        assert_eq!(run.status, 0, "{command}: {}", run.stderr);
    }
    let mode = |name: &str| fs::metadata(directory.path().join(name)).unwrap().permissions().mode() & 0o777;
    let files = "page.html tables/overview.csv many/in.pb.gz report.txt merged.data packed.tar imported.data";
    files.split(' ').for_each(|name| assert_eq!(mode(name), 0o644, "{name}"));
    "tables imported.data.images many a a/parts".split(' ').for_each(|name| assert_eq!(mode(name), 0o755, "{name}"));
    for wrong in ["9", "1000", "u=rw"] {
        let run = run_openly(directory.path(), &format!("in.data -o other.html --mode {wrong}"));
        assert!(run.status == 2 && run.stderr.contains("permissions from 0 to 777"), "{}", run.stderr);
    }
    let recording = Recording::open(directory.path().join("in.data")).unwrap();
    let mode_of_all = perf_data::container::access::FileMode::new(0o604).unwrap();
    recording.convert().mode(mode_of_all).write(directory.path().join("library.html")).unwrap();
    assert_eq!(mode("library.html"), 0o604);
}

/// Runs a command in a directory, where files are readable for all by default.
fn run_openly(directory: &Path, command: &str) -> Run {
    let mut shell = with_time_limit("sh");
    shell.args(["-c", &format!("umask 022; exec {} {command} -q", env!("CARGO_BIN_EXE_perfconv"))]);
    run_other(shell.current_dir(directory).env("HOME", "/nonexistent"))
}

/// An output that replaces another is no more open than that one and the input, and a link to it stays one.
#[test]
fn replaced_outputs_are_no_more_open_and_links_stay() {
    let directory = tempfile::tempdir().unwrap();
    place(directory.path());
    let at = |name: &str| directory.path().join(name);
    fs::write(at("target.data"), "").unwrap();
    fs::set_permissions(at("target.data"), Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("target.data", at("link.data")).unwrap();
    let commands = ["in.data -f -o link.data", "rewrite in.data -f -o link.data", "merge in.data -f -o link.data"];
    // The modes of the input, of the output before, and after.
    for (input, before, after) in [(0o600, 0o640, 0o600), (0o644, 0o600, 0o600), (0o644, 0o640, 0o640)] {
        fs::set_permissions(at("in.data"), Permissions::from_mode(input)).unwrap();
        for command in commands {
            fs::set_permissions(at("target.data"), Permissions::from_mode(before)).unwrap();
            let run = run_openly(directory.path(), command);
            assert_eq!(run.status, 0, "{command}: {}", run.stderr);
            assert!(fs::symlink_metadata(at("link.data")).unwrap().is_symlink(), "{command}");
            let metadata = fs::metadata(at("target.data")).unwrap();
            assert!(metadata.len() > 1000, "{command}");
            assert_eq!(metadata.permissions().mode() & 0o777, after, "{command}: {input:o}, {before:o}");
        }
    }
}
