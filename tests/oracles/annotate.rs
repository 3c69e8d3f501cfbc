//! Samples and texts of instructions, compared with `perf annotate --stdio` of perf 6.1.

use super::disassembly::normalized;
use super::perf_commands::has_perf;
use crate::common::program::{perfconv, run_other, succeed};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Samples and text by the name of the file and the address.
type Instructions = HashMap<(String, u64), (u64, String)>;

/// The output of `perf annotate --stdio -n`.
fn parsed(listing: &str) -> Instructions {
    let (mut instructions, mut dso) = (Instructions::new(), String::new());
    for line in listing.lines() {
        if let Some((_, rest)) = line.split_once("Disassembly of ")
            && let Some((name, _)) = rest.split_once(" for ")
        {
            dso = name.rsplit('/').next().unwrap_or(name).to_owned();
            continue;
        }
        // `samples :  address: text`; lines of source have a number there.
        let Some((samples, rest)) = line.split_once(" : ") else { continue };
        let (Ok(samples), Some((address, text))) = (samples.trim().parse(), rest.split_once(':')) else { continue };
        let Ok(address) = u64::from_str_radix(address.trim(), 16) else { continue };
        instructions.insert((dso.clone(), address), (samples, text.to_owned()));
    }
    instructions
}

/// The lines of `annotate --json`.
fn own(text: &[u8]) -> Instructions {
    let report: Value = serde_json::from_slice(text).expect("JSON");
    let mut instructions = Instructions::new();
    for line in report["lines"].as_array().expect("a list") {
        let Some(text) = line["instruction"].as_str() else { continue };
        let address = line["address"].as_str().and_then(|address| address.strip_prefix("0x")).expect("an address");
        let address = u64::from_str_radix(address, 16).expect("a number");
        let dso = line["dso"].as_str().unwrap_or_default();
        let samples = line["self"]["samples"].as_u64().unwrap_or(0);
        instructions.insert((dso.to_owned(), address), (samples, text.to_owned()));
    }
    instructions
}

/// Recordings with their programs, of one event.
fn recordings() -> Vec<(PathBuf, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = root.join("roundtrip/symbols");
    let names =
        ["c.data", "cxx.data", "words.data", "jitmap.data", "dwarf.data", "witness-gcc.data", "witness-i386.data"];
    let mut list: Vec<_> = names.iter().map(|name| (own.join(name), own.join("files"))).collect();
    let shared = root.join("../shared/symbols");
    for entry in fs::read_dir(shared.join("rec")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Samples of programs, and at addresses all over them.
        let kinds = ["d-fp-", "addr-foundry-lld", "addr-harbor-fp", "addr-lib", "addr-mill-pie"];
        if kinds.iter().any(|kind| name.starts_with(kind)) {
            list.push((entry.path(), shared.join("symfs")));
        }
    }
    list.sort();
    list
}

#[test]
fn samples_and_texts_equal_those_of_perf() {
    if !has_perf() {
        return;
    }
    let (mut compared, mut with_samples, mut failures) = (0, 0, Vec::new());
    for (recording, symfs) in recordings() {
        let name = recording.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut perf = Command::new("perf");
        perf.args(["annotate", "--stdio", "-n", "--no-source", "-f", "-i"]).arg(&recording).arg("--symfs").arg(&symfs);
        let listing = run_other(&mut perf);
        let expected = parsed(&String::from_utf8_lossy(&listing.stdout));
        let mut command = perfconv();
        command.args(["annotate", ".*"]).arg(&recording).arg("--symfs").arg(&symfs);
        let own = own(&succeed(command.args(["--json", "-q", "--no-source"]).env("HOME", "/nonexistent")).stdout);
        let (mut missing, mut counts, mut texts) = (0, Vec::new(), Vec::new());
        for (key, (samples, text)) in &expected {
            let Some((own_samples, own_text)) = own.get(key) else {
                missing += 1;
                continue;
            };
            compared += 1;
            with_samples += u64::from(*samples > 0);
            if samples != own_samples {
                counts.push(format!("{key:x?}: {samples} not {own_samples}"));
            }
            if normalized(text) != normalized(own_text) {
                texts.push(format!("{key:x?}: {} not {}", normalized(text), normalized(own_text)));
            }
        }
        println!(
            "{name:28} {:6} of {:6} instructions; {missing} are only in perf's, {} counts and {} texts differ",
            expected.len() - missing,
            own.len(),
            counts.len(),
            texts.len()
        );
        let examples: Vec<_> = counts.iter().take(3).chain(texts.iter().take(3)).collect();
        if !counts.is_empty() || !texts.is_empty() || missing * 50 > expected.len() {
            failures.push(format!("{name}: {missing} missing, {examples:#?}"));
        }
    }
    println!("{compared} instructions compared, {with_samples} with samples");
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(with_samples > 150, "only {with_samples} instructions with samples");
}
