//! Unwound stacks, compared with those that the recorded programs wrote themselves (`roundtrip/symbols/witness.c`).

use crate::common::program::{perfconv, succeed};
use perfconv::Recording;
use perfconv::recording::SymbolOptions;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols")
}

/// The return addresses that a program wrote, innermost first, by the page that it touched then.
fn written(path: &Path) -> BTreeMap<u64, Vec<u64>> {
    let number = |text| u64::from_str_radix(text, 16).unwrap();
    let text = fs::read_to_string(path).unwrap();
    let stacks = text.lines().map(|line| {
        let mut numbers = line.split(' ').map(number);
        (numbers.next().unwrap(), numbers.collect())
    });
    stacks.collect()
}

/// The callers of each sample, innermost first, by the page.
fn unwound(recording: Recording) -> Vec<(u64, Vec<u64>)> {
    let options = SymbolOptions::default().symfs(fixtures().join("files")).kallsyms("/dev/null");
    let mut samples = recording.with_symbols(options).samples().unwrap();
    let mut stacks = Vec::new();
    while let Some(sample) = samples.next().unwrap() {
        // Callers are at the last byte of their call.
        let callers = sample.frames().skip(1).map(|frame| frame.address() + 1).collect();
        stacks.push((sample.data_address().unwrap(), callers));
    }
    stacks
}

#[test]
fn stacks_are_those_that_the_programs_wrote() {
    for name in ["witness-gcc", "witness-clang", "witness-i386"] {
        let path = fixtures().join(format!("{name}.data"));
        let written = written(&fixtures().join(format!("{name}.stacks")));
        let directory = tempfile::tempdir().unwrap();
        let rewritten = directory.path().join("chains.data");
        let open = || Recording::open(&path).unwrap();
        let options = SymbolOptions::default().symfs(fixtures().join("files")).kallsyms("/dev/null");
        open().with_symbols(options).rewrite().unwind_user_stacks().write(&rewritten).unwrap();
        let chains = unwound(Recording::open(&rewritten).unwrap());
        let stacks = unwound(open());
        assert!(stacks.iter().map(|(page, _)| page).eq(chains.iter().map(|(page, _)| page)));
        let (mut equal, mut frames, mut longest) = (0, 0, 0);
        for ((page, callers), (_, chain)) in stacks.iter().zip(&chains) {
            let Some(expected) = written.get(page) else { continue };
            // The two outermost functions, which only the dump shows, are not instrumented.
            assert_eq!(callers[..callers.len() - 2], expected[..], "{name}, page {page:#x}");
            assert_eq!(chain, callers, "{name}, page {page:#x}");
            equal += 1;
            frames += callers.len();
            longest = longest.max(callers.len());
        }
        note!("{name}: {equal} of {} stacks equal, {frames} frames, at most {longest}", written.len());
        assert!(equal == written.len() && equal >= 250 && longest > 20);
    }
}

/// The callers of each sample of a recording with edited records.
fn edited(edit: impl Fn(&str) -> String) -> Vec<(u64, Vec<u64>)> {
    let directory = tempfile::tempdir().unwrap();
    let [lines, data] = ["edited.jsonl", "edited.data"].map(|name| directory.path().join(name));
    let exported = succeed(perfconv().arg(fixtures().join("witness-gcc.data")).args(["-t", "jsonl", "-o", "-"]));
    let text = String::from_utf8(exported.stdout).unwrap();
    fs::write(&lines, text.lines().map(|line| edit(line) + "\n").collect::<String>()).unwrap();
    succeed(perfconv().arg(&lines).arg("-o").arg(&data));
    unwound(Recording::open(&data).unwrap())
}

#[test]
fn stacks_in_deleted_files_and_without_registers() {
    let whole = unwound(Recording::open(fixtures().join("witness-gcc.data")).unwrap());
    // A file that was deleted, as by an upgrade, but whose build ID is known, is searched without the mark.
    let name = r#""/srv/sym/bin/witness-gcc""#;
    let deleted = edited(|line| line.replace(name, r#""/srv/sym/bin/witness-gcc (deleted)""#));
    let differing = deleted.iter().zip(&whole).find(|(deleted, whole)| deleted != whole);
    assert!(differing.is_none() && deleted.len() == whole.len(), "{differing:x?}");
    assert!(whole.iter().any(|(_, callers)| callers.len() > 20));
    // The kernel records no registers of its own threads.
    let without = edited(|line| {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        if record["record"] == "SAMPLE" {
            record["body"]["regs_user"] = serde_json::json!({ "abi": "NONE", "regs": [] });
            record["body"]["stack_user"] = serde_json::json!({ "data": "", "dyn_size": 0 });
        }
        record.to_string()
    });
    assert!(without.len() == whole.len() && without.iter().all(|(_, callers)| callers.is_empty()));
}
