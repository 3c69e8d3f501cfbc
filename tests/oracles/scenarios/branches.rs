//! Branch stacks of a scenario: LLVM's tools count the expected branches in its program.

use crate::common::oracle::llvm_tool;
use crate::common::program::{run_other, with_time_limit};
use crate::common::scenarios::{scenario, synth};
use std::collections::BTreeMap;
use std::fs;

/// A branch: function and offset of its source and target.
type Branch = ((String, u64), (String, u64));

/// The expected counts: each branch of a stack occurs as often as the stack.
fn expected(text: &str) -> BTreeMap<Branch, u64> {
    let scenario: toml::Value = toml::from_str(text).expect("a scenario");
    let samples = scenario["expect"]["samples"].as_integer().expect("a number") as u64;
    let mut expected = BTreeMap::new();
    for stack in scenario["process"][0]["thread"][0]["stack"].as_array().expect("stacks") {
        let percent = stack["percent"].as_integer().expect("a number") as u64;
        for branch in stack["branches"].as_array().expect("a branch stack") {
            let (from, to) = branch.as_str().and_then(|text| text.split_once(" -> ")).expect("a branch");
            let location = |text: &str| {
                let (name, offset) = text.split_once("+0x").unwrap_or((text, "0"));
                (name.to_owned(), u64::from_str_radix(offset, 16).expect("an offset"))
            };
            *expected.entry((location(from), location(to))).or_default() += samples * percent / 100;
        }
    }
    expected
}

#[test]
fn llvm_tools_count_the_branches_of_the_scenario() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str| dir.path().join(name);
    let path = scenario("lbr.toml");
    let expected = expected(&fs::read_to_string(&path).expect("a scenario"));
    assert_eq!((expected.len(), expected.values().sum::<u64>()), (3, 2800));
    synth(&path, &file("lbr.data"), &["--images", file("images").to_str().expect("a path")]);
    let binary = file("images/usr/bin/loop");
    if let Some(perf2bolt) = llvm_tool("perf2bolt") {
        let mut perf2bolt = with_time_limit(perf2bolt.to_str().expect("a path"));
        perf2bolt.arg("-p").arg(file("lbr.data")).arg("-o").arg(file("fdata")).arg(&binary);
        let run = run_other(perf2bolt.env("LC_ALL", "C").env("HOME", dir.path()));
        assert_eq!(run.status, 0, "perf2bolt: {}", run.stderr);
        let output = String::from_utf8_lossy(&run.stdout).into_owned() + &run.stderr;
        // BOLT 17 and newer count brstack entries.
        let messages = [
            &["read 1000 samples and 2800 LBR entries", "read 1000 samples and 2800 brstack entries"][..],
            &["traces mismatching disassembled function contents: 0 "],
        ];
        for wanted in messages {
            let is_printed = wanted.iter().any(|message| output.contains(message));
            assert!(is_printed, "perf2bolt prints none of {wanted:?}: {output}");
        }
        let counted = fs::read_to_string(file("fdata")).expect("the output of perf2bolt");
        let counted: BTreeMap<Branch, u64> = counted.lines().filter_map(counted_by_bolt).collect();
        for (branch, count) in &expected {
            assert_eq!(counted.get(branch), Some(count), "perf2bolt: {branch:?} in {counted:?}");
        }
        note!("perf2bolt: the counts of {} branches match the scenario", expected.len());
    }
    if let Some(profgen) = llvm_tool("llvm-profgen") {
        let mut profgen = with_time_limit(profgen.to_str().expect("a path"));
        let args = ["--skip-symbolization", "--format=text", "--perfdata"];
        profgen.args(args).arg(file("lbr.data")).arg("--binary").arg(&binary).arg("--output").arg(file("raw"));
        let run = run_other(profgen.env("LC_ALL", "C").env("HOME", dir.path()));
        assert_eq!(run.status, 0, "llvm-profgen: {}", run.stderr);
        let counted = fs::read_to_string(file("raw")).expect("the output of llvm-profgen");
        let location = |(name, offset): &(String, u64)| {
            let function = ["main", "loop", "leaf"].iter().position(|function| function == name);
            0x1000 + 0x100 * function.expect("a function") as u64 + offset
        };
        let mut wanted: Vec<_> = expected
            .iter()
            .map(|((from, to), count)| format!("{:x}->{:x}:{count}", location(from), location(to)))
            .collect();
        let mut counts: Vec<_> = counted.lines().filter(|line| line.contains("->")).map(str::to_owned).collect();
        wanted.sort();
        counts.sort();
        assert_eq!(counts, wanted, "llvm-profgen: {counted}");
        note!("llvm-profgen: the counts of {} branches match the scenario", counts.len());
    }
}

/// Parses a line of perf2bolt: `1 main/1 20 1 loop/1 0 0 800`; names with a suffix, mispredictions before the count.
fn counted_by_bolt(line: &str) -> Option<(Branch, u64)> {
    let [_, from, from_offset, _, to, to_offset, _, count] = line.split_whitespace().collect::<Vec<_>>()[..] else {
        return None;
    };
    let location = |name: &str, offset: &str| {
        let name = name.split('/').next().unwrap_or(name).to_owned();
        Some((name, u64::from_str_radix(offset, 16).ok()?))
    };
    Some(((location(from, from_offset)?, location(to, to_offset)?), count.parse().ok()?))
}
