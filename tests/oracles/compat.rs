//! Compatibility with perf_to_profile: pprof runs the program called by that name.

use crate::common::compat::WorkDir;
use crate::common::files::fixture;
use crate::common::pprof::find_pprof;
use crate::common::program::{self};
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

#[test]
fn pprof_reads_perf_data_through_it() {
    let Some(pprof) = find_pprof() else { return };
    let dir = WorkDir::new();
    fs::copy(fixture("callgraph.data"), dir.path("perf.data")).unwrap();
    let path = std::env::join_paths([dir.path(""), PathBuf::from("/usr/bin"), PathBuf::from("/bin")]).unwrap();
    let mut command = program::with_time_limit(&pprof.to_string_lossy());
    command.current_dir(&dir.0).env("PATH", path).env("PPROF_TMPDIR", dir.path("")).stdin(Stdio::null());
    let run = program::run_other(command.args(["-top", "perf.data"]));
    let text = String::from_utf8_lossy(&run.stdout);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(text.contains("Showing nodes accounting for") && !text.contains("0 of 0 total"), "{text}");
}
