//! Unwound stack dumps of real recordings in each output, compared with perf.

use super::fuzz_corpus::fuzz;
use crate::common::program::{perfconv, run, succeed};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols")
}

/// A conversion of the recording in the repository, with its program.
fn convert(args: &[&str]) -> Command {
    let mut command = perfconv();
    command.arg(directory().join("dwarf.data")).arg("--symfs").arg(directory().join("files")).args(args);
    command.env("HOME", "/nonexistent");
    command
}

fn output(args: &[&str]) -> (String, String) {
    let run = succeed(&mut convert(args));
    (String::from_utf8(run.stdout).unwrap(), run.stderr)
}

/// The functions of each sample in perf script text, root first.
fn stacks(text: &str) -> Vec<Vec<String>> {
    let samples = text.split("\n\n").filter(|sample| !sample.trim().is_empty());
    let function = |line: &str| {
        let name = line.trim().split_once(' ').unwrap().1;
        name.split("+0x").next().unwrap().split(" (").next().unwrap().to_owned()
    };
    let stack = |sample: &str| {
        let mut frames: Vec<_> = sample.lines().skip(1).map(function).collect();
        frames.reverse();
        frames
    };
    samples.map(stack).collect()
}

/// Whether a stack is one that the program can have, by its source.
fn is_possible(stack: &[String]) -> bool {
    let Some(rest) = stack.strip_prefix(&["_start".to_owned(), "run".to_owned()]) else { return false };
    match rest {
        [] => true,
        [only] if only == "climb" => true,
        [first, rest @ ..] if first == "visit" => {
            let floors = rest.iter().take_while(|name| *name == "floor_of").count();
            floors <= 12 && matches!(&rest[floors..], [] | [_]) && rest[floors..].iter().all(|leaf| leaf == "climb")
        }
        _ => false,
    }
}

#[test]
fn stacks_are_those_of_the_program() {
    let (text, messages) = output(&["-t", "perf-script", "--no-inline"]);
    let stacks = stacks(&text);
    let impossible: Vec<_> = stacks.iter().filter(|stack| !is_possible(stack)).collect();
    assert!(impossible.is_empty() && stacks.len() > 50, "{} stacks, {impossible:?}", stacks.len());
    assert!(stacks.iter().any(|stack| stack.len() > 12), "no recursion");
    assert!(!messages.contains("warning"), "{messages}");
    note!("{} stacks of {} frames", stacks.len(), stacks.iter().map(Vec::len).sum::<usize>());
}

/// The stacks of detour.c, leaf first, and how often each must occur at least.
const DETOURS: [(&[&str], usize); 6] = [
    (&["__vdso_clock_gettime", "read_clock"], 10),
    // The handler runs on an alternate stack: the dump does not contain that of the interrupted function.
    (&["handle_long", "handle", "restore", "interrupted"], 10),
    (&["fail", "detour_cold.cold"], 5),
    (&["step@plt", "through_table"], 1),
    (&["step", "through_table"], 1),
    (&["through_table"], 10),
];

#[test]
fn signal_handlers_cold_code_linkage_tables_and_the_vdso_are_unwound() {
    let mut command = perfconv();
    command.arg(directory().join("detour.data")).arg("--symfs").arg(directory().join("files"));
    command.arg("--buildid-dir").arg(directory().join("files/cache"));
    let run = succeed(command.args(["-t", "perf-script", "--no-inline"]).env("HOME", "/nonexistent"));
    let mut counts: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for mut stack in stacks(&String::from_utf8(run.stdout).unwrap()) {
        if stack.starts_with(&["_start".to_owned(), "run".to_owned()]) {
            stack.drain(..2);
        } else {
            assert_eq!(stack[0], "interrupted", "{stack:?}");
        }
        stack.reverse();
        *counts.entry(stack).or_default() += 1;
    }
    for (stack, least) in DETOURS {
        let stack: Vec<_> = stack.iter().map(|name| (*name).to_owned()).collect();
        let count = counts.remove(&stack).unwrap_or_default();
        assert!(count >= least, "{count} of {stack:?}");
    }
    assert!(counts.is_empty(), "{counts:?}");
}

/// Samples with a dump and a call chain by frame pointers: the chain is the truth, but lacks the caller of a function that has no
/// frame yet or no longer.
#[test]
fn stacks_equal_the_call_chains_of_the_same_samples() {
    let convert = |args: &[&str]| {
        let mut command = perfconv();
        command.arg(directory().join("both.data")).arg("--symfs").arg(directory().join("files"));
        let run =
            succeed(command.args(["-t", "perf-json", "--no-inline", "-o", "-"]).args(args).env("HOME", "/nonexistent"));
        let json: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        let chain = |sample: &serde_json::Value| -> Vec<u64> {
            let frames = sample["callchain"].as_array().unwrap().iter();
            let address = |frame: &serde_json::Value| frame["ip"].as_str().unwrap()[2..].to_owned();
            frames.map(|frame| u64::from_str_radix(&address(frame), 16).unwrap()).collect()
        };
        (json["samples"].as_array().unwrap().iter().map(chain).collect::<Vec<_>>(), run.stderr)
    };
    let (unwound, messages) = convert(&[]);
    let (recorded, _) = convert(&["--no-unwind"]);
    assert!(!messages.contains("user stacks"), "all are complete: {messages}");
    let (mut equal, mut longer) = (0, 0);
    for (unwound, recorded) in unwound.iter().zip(&recorded) {
        // Unwound callers are at the last byte of their call.
        let unwound: Vec<_> = unwound.iter().enumerate().map(|(index, ip)| ip + u64::from(index > 0)).collect();
        if unwound == *recorded {
            equal += 1;
        } else {
            assert_eq!((unwound[0], &unwound[2..]), (recorded[0], &recorded[1..]));
            longer += 1;
        }
    }
    note!("{equal} stacks equal, {longer} longer by the caller of the leaf, 0 differ");
    assert!(equal > 150 && longer > 20 && unwound.len() == recorded.len());
}

#[test]
fn unwinding_can_be_disabled_and_limited() {
    for args in [&["--no-unwind"][..], &["--symbols", "no"]] {
        let (text, messages) = output(&[&["-t", "perf-script"], args].concat());
        assert!(stacks(&text).iter().all(|stack| stack.len() <= 2), "{text}");
        assert!(!text.contains("_start"), "{args:?}: {messages}");
    }
    let (text, messages) = output(&["-t", "perf-script", "--no-inline", "--max-stack", "3"]);
    let stacks = stacks(&text);
    assert!(stacks.iter().all(|stack| (1..=3).contains(&stack.len())));
    assert!(messages.contains("longer than the limit"), "{messages}");
    let both = run(&mut convert(&["-t", "perf-script", "--no-unwind", "--max-stack", "3"]));
    assert_eq!(both.status, 2, "{}", both.stderr);
}

#[test]
fn missing_programs_are_reported() {
    let empty = tempfile::tempdir().unwrap();
    let mut command = perfconv();
    command.arg(directory().join("dwarf.data")).args(["-t", "perf-script", "--strict"]);
    let run = run(command.arg("--symfs").arg(empty.path()).arg("--buildid-dir").arg(empty.path()));
    assert_eq!(run.status, 3, "{}", run.stderr);
    let message = "user stacks that end where unwind information is missing: ";
    assert!(
        run.stderr.contains(message) && run.stderr.contains("/srv/sym/bin/tower (98, no matching file)"),
        "{}",
        run.stderr
    );
}

/// Inputs of the fuzz target with changed bytes.
#[test]
fn corrupt_objects_and_dumps_do_no_harm() {
    const CHANGED: usize = 150;
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzzed/corpus/unwind");
    let mut inputs: Vec<_> = fs::read_dir(inputs).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as usize % below
    };
    for path in &inputs {
        let input = fs::read(path).unwrap();
        // Head and dump; ELF header; CFI, which follows the code.
        let ranges = [1..180, 180..400, 4096 + 200..input.len()];
        for number in 0..CHANGED {
            let mut changed = input.clone();
            for _ in 0..1 + random(4) {
                let range = &ranges[number % ranges.len()];
                let values = [0, 1, 0x7f, 0x80, 0xff, random(256) as u8];
                changed[range.start + random(range.len())] = values[random(values.len())];
            }
            fuzz::unwind(&changed);
        }
    }
    note!("{} inputs, {CHANGED} changes of each", inputs.len());
}
