//! Functions in perf script text.

use crate::common::program::{perfconv, run_other};
use std::path::Path;

#[test]
fn names_have_parameters_as_in_the_style() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let has_parameters = |args: &[&str]| {
        let mut command = perfconv();
        command
            .arg(own.join("cxx.data"))
            .args(["-t", "perf-script", "-q", "--symfs"])
            .arg(own.join("files"))
            .args(args);
        let run = run_other(command.env("HOME", "/nonexistent"));
        let text = String::from_utf8(run.stdout).unwrap();
        assert!(run.status == 0 && text.contains("foundry::"), "{}", run.stderr);
        text.contains("pour_into(")
    };
    for (args, expected) in [
        (&[][..], false),
        (&["--perf-style", "6.1"], false),
        (&["--perf-style", "6.12"], true),
        (&["--perf-style", "7"], true),
        (&["--perf-style", "6.1", "--demangle", "full"], true),
        (&["--perf-style", "6.12", "--demangle", "short"], false),
    ] {
        assert_eq!(has_parameters(args), expected, "{args:?}");
    }
}
