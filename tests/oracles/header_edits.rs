//! Setting, adding and dropping features: perf prints them.

use crate::common::files::fixture;
use crate::common::oracle::has_program;
use crate::common::program::rewrite;
use crate::common::program::{run_other, with_time_limit};

#[test]
fn perf_prints_edited_features() {
    if !has_program("perf") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    let args = [
        "--set",
        "hostname=h1",
        "--set",
        "CMDLINE=perf record -g ./app",
        "--set",
        "nrcpus=3/8",
        "--set",
        "os-release=x",
    ];
    assert!(rewrite(&fixture("callgraph.data"), &output, &args).unwrap_err().contains("unknown feature"));
    let args = [
        "--set",
        "hostname=h1",
        "--set",
        "CMDLINE=perf record -g ./app",
        "--set",
        "HEADER_NRCPUS=3/8",
        "--set",
        "total_mem=77",
        "--drop-feature",
        "cpuid",
        "--set",
        "hostname=h2",
    ];
    rewrite(&fixture("callgraph.data"), &output, &args).unwrap();
    let printed = run_other(with_time_limit("perf").args(["report", "--header-only", "-i"]).arg(&output));
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    for line in [
        "# hostname : h2",
        "# cmdline : perf record -g ./app",
        "# nrcpus online : 3",
        "# nrcpus avail : 8",
        "# total memory : 77 kB",
    ] {
        assert!(printed.lines().any(|other| other.trim_end() == line), "{line}:\n{printed}");
    }
    assert!(!printed.contains("# cpuid"), "{printed}");
}
