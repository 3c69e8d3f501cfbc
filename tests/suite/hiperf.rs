//! Recordings of hiperf, the profiler of OpenHarmony: names, stacks and features of its own.

use crate::common::files::has_corpus;
use crate::common::program::{perfconv, run, succeed};
use std::fs;
use std::path::{Path, PathBuf};

/// `hiperf record -p 258 -s dwarf --dedup_stack -d 1`, from the tests of openharmony/developtools_hiperf (Apache 2.0). Unit tests have
/// constructed sections, for machines without the corpus.
fn recording() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/reports/hiperf/dwarf.compress.data");
    has_corpus("hiperf").then_some(path)
}

#[test]
fn samples_have_the_stacks_and_names_of_the_recording() {
    let Some(recording) = recording() else { return };
    let mut command = perfconv();
    command.arg(&recording).args(["-t", "perf-script", "-q", "-o", "-", "-F", "ip,sym,dso"]);
    let script = String::from_utf8(succeed(&mut command).stdout).expect("UTF-8");
    let stacks: Vec<_> = script.split("\n\n").filter(|stack| !stack.trim().is_empty()).collect();
    assert_eq!(stacks.len(), 16);
    // Their IDs state 25 frames, of which two are markers of the context.
    let deepest = stacks.iter().map(|stack| stack.lines().count()).max();
    assert!(deepest >= Some(23), "{deepest:?}");
    let stack = stacks.iter().find(|stack| stack.contains("futex_wait_queue_me")).expect("a stack");
    let names = [
        "_raw_spin_unlock_irq",
        "finish_task_switch",
        "el0_sync_compat",
        "__pthread_cond_timedwait_time64",
        "OHOS::AppExecFwk::EventQueue::GetEvent()",
    ];
    let positions: Vec<_> = names.iter().map(|name| stack.find(name)).collect();
    assert!(positions.is_sorted() && positions.iter().all(Option::is_some), "{stack}");
    let converted = run(perfconv().arg(&recording).args(["-t", "folded", "-o", "-"]));
    assert!(!converted.stderr.contains("larger than its fields"), "{}", converted.stderr);
}

#[test]
fn features_are_named_and_bytes_kept() {
    let Some(recording) = recording() else { return };
    let info = String::from_utf8(succeed(perfconv().arg("info").arg(&recording)).stdout).expect("UTF-8");
    for line in [
        "# cmdline : hiperf record -p 258 -s dwarf --dedup_stack -d 1 ",
        "# feature 192 (FILES_SYMBOL): names of 57 functions in 9 files, 3667 bytes",
        "# feature 194 (RECORD_TIME): 29 bytes",
        "# feature 197 (STACK_TABLE): 1108 bytes",
    ] {
        assert!(info.lines().any(|own| own == line), "{line}: {info}");
    }
    let check = String::from_utf8(run(perfconv().arg("check").arg(&recording)).stdout).expect("UTF-8");
    assert!(check.contains(" 0 errors") && !check.contains("unknown feature"), "{check}");

    let directory = tempfile::tempdir().expect("a temporary directory");
    let copy = directory.path().join("copy.data");
    succeed(perfconv().arg("rewrite").arg(&recording).args(["-q", "-o"]).arg(&copy));
    assert!(fs::read(&copy).expect("a copy") == fs::read(&recording).expect("a recording"));
    let stripped = directory.path().join("stripped.data");
    succeed(perfconv().arg("rewrite").arg(&copy).args(["--strip-symbols", "-q", "-o"]).arg(&stripped));
    let contains = |path: &Path| memchr::memmem::find(&fs::read(path).expect("a file"), b"OHOS::AppExecFwk").is_some();
    assert_eq!([contains(&copy), contains(&stripped)], [true, false]);
}
