//! Build IDs: options.

use crate::common::program::{perfconv, run};

#[test]
fn inject_reports_unsupported_options() {
    for (args, expected) in [
        (&["--itrace=i100us", "--strip"][..], "Arm SPE has no times between records"),
        (&["--convert-callchain"], "--convert-callchain: this option of perf inject is not supported yet"),
        (&["--symfs", "/"], "--symfs requires --build-ids"),
        (&["-b", "--known-build-ids", "xyz /bin/cat"], "'xyz' is not a build ID"),
        (&["-b", "--known-build-ids", "/no/such/file"], "/no/such/file: cannot read"),
    ] {
        let run = run(perfconv().arg("inject").args(args));
        assert_eq!((run.status, run.stderr.contains(expected)), (2, true), "{}", run.stderr);
    }
}
