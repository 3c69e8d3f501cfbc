//! Reports of a recording with C++ functions.

use crate::common::program::{perfconv, run};
use std::path::Path;

pub(crate) fn report(args: &[&str]) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let mut command = perfconv();
    command.arg("report").arg(directory.join("cxx.data")).arg("--symfs").arg(directory.join("files"));
    let run = run(command.args(args).arg("-q").env("HOME", "/nonexistent"));
    assert_eq!((run.status, &*run.stderr), (0, ""), "{args:?}");
    String::from_utf8(run.stdout).expect("UTF-8")
}
