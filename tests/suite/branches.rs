//! Branches of branch stacks: rows of reports, basic blocks and loops, and the instructions between them.

use crate::common::branch_profiles::directory;
use crate::common::files::fixture;
use crate::common::program::{perfconv, run, succeed};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// The output of a command that reads the repository's recording with branch stacks.
fn sieve(command: &str, arguments: &[&str]) -> String {
    let mut program = perfconv();
    program.args(command.split(' ')).arg("-i").arg(directory().join("sieve.data"));
    let run =
        succeed(program.arg("--symfs").arg(directory().join("files")).args(arguments).env("HOME", "/nonexistent"));
    String::from_utf8(run.stdout).expect("UTF-8")
}

fn json(command: &str, arguments: &[&str]) -> Value {
    serde_json::from_str(&sieve(command, &[arguments, &["--json", "-q"]].concat())).expect("JSON")
}

/// Sources and targets of branches by sample, newest first.
fn recorded() -> Vec<Vec<(u64, u64, u64)>> {
    let text = sieve("perf script", &["-F", "brstack"]);
    let entry = |entry: &str| {
        let mut parts = entry.split('/');
        let mut address = || {
            let part = parts.next()?;
            u64::from_str_radix(part.strip_prefix("0x")?, 16).ok()
        };
        let (from, to) = (address()?, address()?);
        Some((from, to, parts.nth(3)?.parse().ok()?))
    };
    text.lines().map(|line| line.split_whitespace().filter_map(entry).collect()).collect()
}

#[test]
fn rows_are_branches() {
    let entries = recorded().iter().map(Vec::len).sum::<usize>() as u64;
    for keys in ["symbol_from,symbol_to,mispredict,cycles", "srcline_to", "dso_from,dso_to,in_tx,abort", "sym,cycles"] {
        let report = json("report", &["--sort", keys]);
        let rows = report["entries"].as_array().expect("entries");
        let sum: u64 = rows.iter().filter_map(|row| row["self"]["samples"].as_u64()).sum();
        assert_eq!(sum, entries, "{keys}");
    }
    let text = sieve("report", &["--branch-stack", "-q"]);
    assert!(text.starts_with("br_inst_retired.near_taken:u: 5280 branches\n"), "{text}");
    assert!(text.lines().nth(1).is_some_and(|line| line.ends_with("dso_to") || line.contains("symbol_from")), "{text}");
}

#[test]
fn keys_of_branches_need_branch_stacks() {
    let mut report = perfconv();
    let report = run(report.arg("report").arg(fixture("callgraph.data")).args(["--sort", "mispredict"]));
    assert!(report.status == 1 && report.stderr.contains("record them with 'perf record -b'"), "{}", report.stderr);
    for other in [&["--weight", "latency"][..], &["--off-cpu"], &["--callers", "main"], &["--mem"]] {
        let mut report = perfconv();
        let run = run(report.arg("report").arg(fixture("callgraph.data")).args(["--sort", "symbol_to"]).args(other));
        assert!(run.status == 2 && run.stderr.contains("symbol_to"), "{other:?}: {}", run.stderr);
    }
}

/// Instructions are executed as often as the ranges between branches say that contain them.
#[test]
fn blocks_and_loops_are_those_of_branch_stacks() {
    let report = json("annotate primes", &[]);
    let address = |value: &Value| {
        let text = value.as_str().and_then(|text| text.strip_prefix("0x")).expect("an address");
        u64::from_str_radix(text, 16).expect("an address")
    };
    let lines = report["lines"].as_array().expect("lines");
    let mut times: BTreeMap<u64, u64> = lines.iter().map(|line| (address(&line["address"]), 0)).collect();
    let (first, last) = (*times.keys().next().expect("a line"), *times.keys().last().expect("a line"));
    let mut jumps: BTreeMap<u64, u64> = BTreeMap::new();
    for stack in recorded() {
        for (newer, older) in stack.iter().zip(&stack[1..]) {
            let (start, end) = (older.1, newer.0);
            if start >= first && end <= last {
                times.range_mut(start..=end).for_each(|(_, times)| *times += 1);
            }
        }
        for (from, to, _) in stack {
            if (first..=last).contains(&from) && (first..=from).contains(&to) {
                *jumps.entry(to).or_default() += 1;
            }
        }
    }
    for line in lines {
        assert_eq!(line["times"].as_u64(), times.get(&address(&line["address"])).copied(), "{line}");
    }
    let executed: u64 = times.values().sum();
    let blocks = report["blocks"].as_array().expect("blocks");
    let of_block = |block: &Value| block["times"].as_u64().unwrap_or(0) * block["instructions"].as_u64().unwrap_or(0);
    assert_eq!(blocks.iter().map(of_block).sum::<u64>(), executed);
    assert!(blocks.is_sorted_by(|a, b| of_block(a) >= of_block(b)) && blocks[0]["cycles"].as_f64() > Some(0.0));
    let loops = report["loops"].as_array().expect("loops");
    let counted: BTreeMap<u64, u64> =
        loops.iter().map(|counted| (address(&counted["start"]), counted["iterations"].as_u64().unwrap_or(0))).collect();
    assert_eq!(counted, jumps);
    assert!(sieve("annotate primes", &["-q"]).contains("loops in branch stacks"));
    // A recording without branch stacks has none.
    let mut other = perfconv();
    other.args(["annotate", "primes", "--json", "-q", "-i"]).arg(directory().join("sieve-ip.data"));
    let other = succeed(other.arg("--symfs").arg(directory().join("files")).env("HOME", "/nonexistent"));
    let other: Value = serde_json::from_slice(&other.stdout).expect("JSON");
    assert!(other.get("blocks").is_none() && other["lines"][0].get("times").is_none());
}

#[test]
fn instructions_between_branches_are_printed_and_skipped_by_readers() {
    let text = sieve("perf script", &["-F", "comm,tid,time,event,ip,sym,brstackdisasm"]);
    assert!(
        text.contains("\tprimes") && text.contains("jb 0x401200") && text.contains(" PRED 2 cycles ["),
        "{text:.2000}"
    );
    let with_bytes =
        sieve("perf script", &["-F", "comm,tid,time,event,ip,sym,brstackinsn,brstackinsnlen,brstackdisasm"]);
    assert!(with_bytes.contains("\tinsn: c6 04 08 00") || with_bytes.contains("\tinsn: "), "{with_bytes:.2000}");
    assert!(with_bytes.contains("\tilen: 4") && !with_bytes.contains("jb 0x401200"));
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let path = temporary.path().join("script.txt");
    std::fs::write(&path, &text).expect("a file");
    let run = succeed(perfconv().arg(&path).args(["-t", "folded", "-o", "-"]));
    let samples = String::from_utf8_lossy(&run.stdout).lines().count();
    assert!(samples > 0 && run.stderr.contains("lines of instructions between branches are skipped"), "{}", run.stderr);
    assert!(run.stderr.contains("330 samples in"), "{}", run.stderr);
    let mut other = perfconv();
    let other = run_without_branches(other.arg("script").arg("-i").arg(fixture("callgraph.data")));
    assert!(other.contains("record with perf record -b"), "{other}");
}

/// The message of a command about a recording without branch stacks.
fn run_without_branches(command: &mut Command) -> String {
    let run = run(command.args(["-F", "+brstackinsn"]));
    assert_ne!(run.status, 0, "{}", run.stderr);
    run.stderr
}
