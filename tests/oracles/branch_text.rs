//! Branches as text: the instructions between them, and rows of reports, compared with perf 6.1.

use super::perf_commands::has_perf;
use crate::common::branch_profiles::{kernel_image, kernel_recording};
use crate::common::program::{perfconv, run_other, succeed};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Recordings of real programs in an emulator.
const RECORDINGS: [&str; 5] = ["squeeze", "interp", "interp-gcc", "sorter", "mixed"];

/// Unpacked recordings, and a copy of the root directory with the recorded programs; `None` without `../shared`.
fn unpacked(directory: &Path) -> Option<(Vec<PathBuf>, PathBuf)> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/pgo");
    if !shared.is_dir() {
        note!("branches: no ../shared/pgo; not compared");
        return None;
    }
    let root = directory.join("root");
    fs::create_dir_all(root.join("opt/bench")).expect("a directory");
    for entry in fs::read_dir(shared.join("bin")).expect("programs") {
        let program = entry.expect("a file").path();
        fs::copy(&program, root.join("opt/bench").join(program.file_name().expect("a name"))).expect("a copy");
    }
    let unpack = |name: &str| {
        let path = directory.join(format!("{name}.data"));
        succeed(perfconv().arg("-q").arg(shared.join(format!("{name}.data.zst"))).arg("-o").arg(&path));
        path
    };
    Some((RECORDINGS.iter().map(|name| unpack(name)).collect(), root))
}

/// The output of a command that reads a recording with its programs.
fn lines(command: &mut Command, recording: &Path, root: &Path, args: &[&str]) -> Vec<String> {
    let output =
        run_other(command.arg("-i").arg(recording).arg("--symfs").arg(root).args(args).env("HOME", "/nonexistent"));
    assert_eq!(output.status, 0, "{args:?}: {}", output.stderr);
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Instructions with their bytes and cycles, and the names of functions, but for those of stubs, of which perf 6.1 does not know all.
#[test]
fn instructions_between_branches_equal_those_of_perf() {
    if !has_perf() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let Some((recordings, root)) = unpacked(directory.path()) else { return };
    let (mut instructions, mut names, mut others) = (0, 0, 0);
    for fields in ["brstackinsn", "brstackinsn,brstackinsnlen", "brstackinsn,srcline"] {
        for recording in &recordings {
            let fields = format!("comm,tid,time,ip,{fields}");
            // perf prints the lines of inlined functions, but not their names.
            let inline = if fields.ends_with("srcline") { &[][..] } else { &["--no-inline"] };
            let args = [&["-F", &fields], inline].concat();
            let ours = lines(perfconv().args(["perf", "script"]), recording, &root, &args);
            let expected = lines(Command::new("perf").arg("script"), recording, &root, &["-F", &fields]);
            // A source line can follow.
            let is_name = |line: &&String| line.starts_with('\t') && (line.ends_with(':') || line.contains(":\t"));
            // Below samples, lines of libraries, which perf also searches outside of the root directory.
            let is_source = |line: &&String| line.starts_with("  ") && !line.starts_with("   ");
            let is_rest = |line: &&String| !is_name(line) && !is_source(line);
            let rest = |lines: &'_ [String]| lines.iter().filter(is_rest).cloned().collect::<Vec<_>>();
            let (our_rest, expected_rest) = (rest(&ours), rest(&expected));
            let different = our_rest.iter().zip(&expected_rest).find(|(ours, expected)| ours != expected);
            assert!(different.is_none(), "{}: {different:?}", recording.display());
            assert_eq!(our_rest.len(), expected_rest.len(), "{}", recording.display());
            instructions += expected_rest.iter().filter(|line| line.contains("\tinsn: ")).count();
            // The name before each instruction that has one in both.
            let named = |lines: &[String]| {
                let rows = lines.windows(2).filter(|pair| is_name(&&pair[0]) && !is_name(&&pair[1]));
                rows.map(|pair| (pair[1].clone(), pair[0].clone())).collect::<BTreeMap<_, _>>()
            };
            let (ours, expected) = (named(&ours), named(&expected));
            for (instruction, name) in expected {
                match ours.get(&instruction) {
                    Some(our_name) if *our_name == name => names += 1,
                    our_name => {
                        let is_stub = our_name.is_some_and(|name| name.ends_with("@plt:"));
                        assert!(is_stub, "{instruction}: {name}, not {our_name:?}");
                        others += 1;
                    }
                }
            }
        }
    }
    println!(
        "{instructions} instructions and {names} names of functions equal those of perf, {others} names of stubs differ"
    );
    assert!(instructions > 6_000_000 && names > 1000 && others <= 100, "{instructions}, {names}, {others}");
}

/// Counts of branches by the values of keys. Functions that perf does not know are one: those of stubs, and of libraries, which are not
/// below the root directory.
fn counts(rows: Vec<(Vec<String>, u64)>, keys: &str) -> BTreeMap<Vec<String>, u64> {
    let column = |key: &str| keys.split(',').position(|other| other == key);
    let mut counts = BTreeMap::new();
    for (mut values, count) in rows {
        for (function, file) in [("symbol_from", "dso_from"), ("symbol_to", "dso_to")] {
            let Some((function, file)) = column(function).zip(column(file)) else { continue };
            let name = values[function].trim_start_matches("[.] ").trim_start_matches("[k] ").to_owned();
            let is_program = !values[file].contains(".so");
            let is_named = is_program && !name.starts_with(['[', '0']) && !name.ends_with("@plt") && name != "_init";
            values[function] = if is_named { name } else { "?".to_owned() };
        }
        *counts.entry(values).or_default() += count;
    }
    counts
}

fn own_rows(report: &[u8], keys: &str) -> Vec<(Vec<String>, u64)> {
    let report: Value = serde_json::from_slice(report).expect("JSON");
    let entries = report["entries"].as_array().expect("entries").iter();
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let row = |entry: &Value| {
        let values = keys.split(',').map(|key| text(entry, key)).collect();
        (values, entry["self"]["samples"].as_u64().expect("a number"))
    };
    entries.map(row).collect()
}

/// Rows whose first column is the number of branches.
fn rows_of_perf(lines: &[String]) -> Vec<(Vec<String>, u64)> {
    let rows = lines.iter().filter(|line| line.contains('|')).map(|line| {
        let mut cells = line.split('|').map(|cell| cell.trim().to_owned());
        let count = cells.next().and_then(|count| count.parse().ok()).expect("a number");
        (cells.collect(), count)
    });
    rows.collect()
}

#[test]
fn rows_of_branches_equal_those_of_perf() {
    const KEYS: [&str; 3] = [
        "dso_from,symbol_from,dso_to,symbol_to,mispredict,cycles",
        "comm,dso_from,symbol_from,dso_to,in_tx,abort",
        "dso_to,symbol_to,mispredict",
    ];
    if !has_perf() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let Some((recordings, root)) = unpacked(directory.path()) else { return };
    let (mut rows, mut branches) = (0, 0);
    for keys in KEYS {
        for recording in &recordings {
            let mut report = perfconv();
            report
                .args(["report", "--sort", keys, "--json", "--no-inline", "--demangle=no", "-q", "--symfs"])
                .arg(&root)
                .arg(recording);
            let ours = counts(own_rows(&succeed(report.env("HOME", "/nonexistent")).stdout, keys), keys);
            let fields = format!("sample,{keys}");
            let args = ["-q", "-b", "--no-demangle", "--stdio", "-t", "|", "-F", &fields];
            let expected = lines(Command::new("perf").arg("report"), recording, &root, &args);
            let expected = counts(rows_of_perf(&expected), keys);
            let different = ours.iter().find(|(values, count)| expected.get(*values) != Some(count));
            assert!(different.is_none(), "{} by {keys}: {different:?}", recording.display());
            assert_eq!(ours.len(), expected.len(), "{} by {keys}", recording.display());
            rows += ours.len();
            branches += ours.values().sum::<u64>();
        }
    }
    println!("{rows} rows of {branches} branches equal those of perf");
    assert!(rows > 1000 && branches > 2_000_000, "{rows}, {branches}");
}

/// Instructions of a kernel from its image, at the addresses of the image and at others.
#[test]
fn instructions_of_kernels_equal_those_of_perf() {
    if !has_perf() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let image = kernel_image();
    let mut instructions = 0;
    for text in [0xffff_ffff_8100_0000, 0xffff_ffff_a2c0_0000] {
        let recording = kernel_recording(directory.path(), text);
        let output = |command: &mut Command| {
            let command = command.arg("script").arg("-i").arg(&recording).arg("-k").arg(&image);
            let output = run_other(command.args(["-F", "ip,sym,brstackinsn,srcline"]).env("HOME", "/nonexistent"));
            assert_eq!(output.status, 0, "{}", output.stderr);
            String::from_utf8(output.stdout).expect("UTF-8")
        };
        let (ours, expected) = (output(perfconv().arg("perf")), output(&mut Command::new("perf")));
        assert_eq!(ours, expected);
        instructions += expected.matches("\tinsn: ").count();
    }
    println!("{instructions} instructions of a kernel equal those of perf");
    assert!(instructions >= 50, "{instructions}");
}
