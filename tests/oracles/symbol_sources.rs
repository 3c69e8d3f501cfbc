//! Sources and instructions of functions, as pprof prints them.

use crate::common::pprof::find_pprof;
use crate::common::program::{perfconv, succeed, with_time_limit};
use crate::common::symbol_sources::in_repository;
use std::fs::{self};
use std::process::Stdio;

#[test]
fn pprof_lists_and_disassembles_functions() {
    let Some(pprof) = find_pprof() else { return };
    let directory = tempfile::tempdir().unwrap();
    let (files, output) = (in_repository("symbols/files"), directory.path().join("report"));
    let shown = |recording: &str, program: &str, report: &str| {
        let path = directory.path().join(recording).with_extension("pb.gz");
        let mut command = perfconv();
        command.arg(in_repository("symbols").join(recording)).arg("--symfs").arg(&files).args(["-q", "-f", "-o"]);
        succeed(command.arg(&path));
        let mut command = with_time_limit(&pprof.to_string_lossy());
        command.args(["-trim_path=/", report]).arg(format!("-source_path={}", files.display()));
        command.arg(format!("-output={}", output.display())).arg(&path).stdin(Stdio::null());
        command.env("PPROF_BINARY_PATH", files.join(program)).env("PPROF_TMPDIR", directory.path());
        succeed(&mut command);
        fs::read_to_string(&output).unwrap()
    };
    let list = shown("c.data", "srv/sym/bin", "-list=^grind$");
    // Columns of values, and the number of the line, are before its text.
    let line = |line| {
        let columns = str::trim_start(line).split_once(' ')?.1.trim_start();
        let (number, text) = columns.split_once(' ')?.1.split_once(':')?;
        Some((number.trim().parse::<usize>().ok()?, text))
    };
    let listed: Vec<(usize, &str)> = list.lines().filter_map(line).collect();
    let source = fs::read_to_string(files.join("srv/sym/src/mill.c")).unwrap();
    let source: Vec<&str> = source.lines().collect();
    let equal = listed.iter().filter(|(number, text)| source.get(number - 1).is_some_and(|line| line == text)).count();
    note!("pprof: -list shows {equal} of {} lines of the source", listed.len());
    assert!(equal >= 7 && equal == listed.len(), "{list}");
    let page = shown("c.data", "srv/sym/bin", "-weblist=^grind$");
    assert!(page.contains("mill.c") && page.contains("class=asm"), "{page:.2000}");
    // Of functions with inlined ones, -disasm finds only some at random, also in profiles that pprof symbolized itself.
    let disassembly = shown("words.data", "opt/words/bin", "-disasm=find");
    let instructions = disassembly.lines().filter(|line| line.contains("words.c:")).count();
    note!("pprof: -disasm shows {instructions} instructions with lines");
    assert!(instructions > 5 && disassembly.contains("ROUTINE ======================== find"), "{disassembly}");
}
