//! Branches of a scenario, as LLVM's tools count them in the programs that it writes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use super::super::program::{oracle_is_missing, run_other, with_time_limit};
use super::{scenario, synth};

/// A branch: function and offset that it comes from and goes to.
type Branch = ((String, u64), (String, u64));

/// A tool of LLVM, by its own name: some go by that.
fn tool(name: &str) -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").ok()?.flatten().map(|folder| folder.path().join("bin").join(name));
    let mut found: Vec<_> = folders.filter(|path| path.is_file()).collect();
    found.sort();
    if found.is_empty() {
        oracle_is_missing(name);
    }
    found.pop()
}

/// What the scenario says: each of its stacks' branches as often as the stack is there.
fn said(text: &str) -> BTreeMap<Branch, u64> {
    let scenario: toml::Value = toml::from_str(text).expect("a scenario");
    let samples = scenario["expect"]["samples"].as_integer().expect("a number") as u64;
    let mut said = BTreeMap::new();
    for stack in scenario["process"][0]["thread"][0]["stack"].as_array().expect("stacks") {
        let percent = stack["percent"].as_integer().expect("a number") as u64;
        for branch in stack["branches"].as_array().expect("branches") {
            let (from, to) = branch.as_str().and_then(|text| text.split_once(" -> ")).expect("a branch");
            let place = |text: &str| {
                let (name, offset) = text.split_once("+0x").unwrap_or((text, "0"));
                (name.to_owned(), u64::from_str_radix(offset, 16).expect("an offset"))
            };
            *said.entry((place(from), place(to))).or_default() += samples * percent / 100;
        }
    }
    said
}

#[test]
fn tools_of_llvm_count_the_branches_that_the_scenario_says() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str| folder.path().join(name);
    let path = scenario("lbr.toml");
    let said = said(&fs::read_to_string(&path).expect("a scenario"));
    assert_eq!((said.len(), said.values().sum::<u64>()), (3, 2800));
    synth(&path, &file("lbr.data"), &["--images", file("images").to_str().expect("a path")]);
    let binary = file("images/usr/bin/loop");
    let mut out = io::stderr().lock();
    let missing = "it is not installed";
    match tool("perf2bolt") {
        None => writeln!(out, "perf2bolt: skipped, {missing}").unwrap(),
        Some(perf2bolt) => {
            let mut perf2bolt = with_time_limit(perf2bolt.to_str().expect("a path"));
            perf2bolt.arg("-p").arg(file("lbr.data")).arg("-o").arg(file("fdata")).arg(&binary);
            let run = run_other(perf2bolt.env("LC_ALL", "C").env("HOME", folder.path()));
            assert_eq!(run.status, 0, "perf2bolt: {}", run.stderr);
            let told = String::from_utf8_lossy(&run.stdout).into_owned() + &run.stderr;
            for sound in
                ["read 1000 samples and 2800 LBR entries", "traces mismatching disassembled function contents: 0 "]
            {
                assert!(told.contains(sound), "perf2bolt does not say {sound:?}: {told}");
            }
            let counted = fs::read_to_string(file("fdata")).expect("what it counted");
            let counted: BTreeMap<Branch, u64> = counted.lines().filter_map(counted_by_bolt).collect();
            for (branch, count) in &said {
                assert_eq!(counted.get(branch), Some(count), "perf2bolt: {branch:?} in {counted:?}");
            }
            writeln!(out, "perf2bolt: {} branches, as often as the scenario says", said.len()).unwrap();
        }
    }
    match tool("llvm-profgen") {
        None => writeln!(out, "llvm-profgen: skipped, {missing}").unwrap(),
        Some(profgen) => {
            let mut profgen = with_time_limit(profgen.to_str().expect("a path"));
            let args = ["--skip-symbolization", "--format=text", "--perfdata"];
            profgen.args(args).arg(file("lbr.data")).arg("--binary").arg(&binary).arg("--output").arg(file("raw"));
            let run = run_other(profgen.env("LC_ALL", "C").env("HOME", folder.path()));
            assert_eq!(run.status, 0, "llvm-profgen: {}", run.stderr);
            let counted = fs::read_to_string(file("raw")).expect("what it counted");
            let place = |(name, offset): &(String, u64)| {
                let function = ["main", "loop", "leaf"].iter().position(|function| function == name);
                0x1000 + 0x100 * function.expect("a function") as u64 + offset
            };
            let mut wanted: Vec<_> =
                said.iter().map(|((from, to), count)| format!("{:x}->{:x}:{count}", place(from), place(to))).collect();
            let mut told: Vec<_> = counted.lines().filter(|line| line.contains("->")).map(str::to_owned).collect();
            wanted.sort();
            told.sort();
            assert_eq!(told, wanted, "llvm-profgen: {counted}");
            writeln!(out, "llvm-profgen: {} branches, as often as the scenario says", told.len()).unwrap();
        }
    }
}

/// A line of perf2bolt's: `1 main/1 20 1 loop/1 0 0 800`, names with a number behind them, mispredictions before the count.
fn counted_by_bolt(line: &str) -> Option<(Branch, u64)> {
    let [_, from, from_offset, _, to, to_offset, _, count] = line.split_whitespace().collect::<Vec<_>>()[..] else {
        return None;
    };
    let place = |name: &str, offset: &str| {
        let name = name.split('/').next().unwrap_or(name).to_owned();
        Some((name, u64::from_str_radix(offset, 16).ok()?))
    };
    Some(((place(from, from_offset)?, place(to, to_offset)?), count.parse().ok()?))
}
