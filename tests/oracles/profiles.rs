//! Profiles without functions, which pprof adds.

use crate::common::oracle::{has_program, note_missing_oracle};
use crate::common::pprof::find_pprof;
use crate::common::program::{self, run};
use std::fs;
use std::process::{Command, Stdio};

#[test]
fn pprof_symbolizes_over_placeholder_names() {
    let Some(pprof) = find_pprof().filter(|_| ["cc", "addr2line", "perf"].iter().all(|tool| has_program(tool))) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let source = "static volatile long sum;
        __attribute__((noinline)) void spins(void) { for (long i = 0; i < 100000000; i++) sum += i; }
        int main(void) { spins(); return 0; }";
    fs::write(path("spin.c"), source).unwrap();
    let done = |command: &mut Command| command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success();
    assert!(done(Command::new("cc").args(["-O1", "-g", "-o"]).arg(path("spin")).arg(path("spin.c"))));
    let record = ["record", "-q", "-e", "cpu-clock:u", "-F", "999", "-o"];
    if !done(Command::new("perf").args(record).arg(path("perf.data")).arg(path("spin"))) {
        return note_missing_oracle("a perf that can record");
    }
    let output = path("out.pb.gz");
    let mut convert = program::perfconv();
    convert.arg(path("perf.data")).args(["--symbols", "no", "-o"]).arg(&output);
    assert_eq!(program::run(&mut convert).status, 0);
    let top = |options: &[&str]| {
        let mut command = program::with_time_limit(&pprof.to_string_lossy());
        command.args(options).arg("-top").arg(&output).env("PPROF_TMPDIR", dir.path()).stdin(Stdio::null());
        String::from_utf8_lossy(&run(&mut command).stdout).into_owned()
    };
    assert!(top(&[]).contains(" spins\n"), "{}", top(&[]));
    let placeholders = top(&["-symbolize=none"]);
    assert!(placeholders.contains(" spin+0x") && !placeholders.contains(" spins\n"), "{placeholders}");
    note!("pprof replaces placeholder names");
}
