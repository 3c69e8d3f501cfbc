//! Other programs, whose output is compared with ours or which read it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether all of these programs must be installed.
pub(crate) fn requires_oracles() -> bool {
    env::var_os("PERFCONV_REQUIRE_ORACLES").is_some_and(|value| value == "1")
}

/// Says that a test, or a part of it, is skipped because a program is missing. Fails if oracles are required.
pub(crate) fn note_missing_oracle(program: &str) {
    assert!(!requires_oracles(), "{program} is missing, and PERFCONV_REQUIRE_ORACLES=1 requires it");
    note!("skipped: {program} is missing");
}

/// Whether a program is on the search path, or at this path. If not, says so.
pub(crate) fn has_program(program: &str) -> bool {
    let has_program = is_on_path(program);
    if !has_program {
        note_missing_oracle(program);
    }
    has_program
}

pub(crate) fn is_on_path(program: &str) -> bool {
    let directories = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&directories).any(|directory| directory.join(program).is_file())
}

/// Whether python3 has this module. If not, says so.
pub(crate) fn has_python_module(module: &str) -> bool {
    let output = Command::new("python3").args(["-c", &format!("import {module}")]).output();
    let has_module = output.is_ok_and(|output| output.status.success());
    if !has_module {
        note_missing_oracle(&format!("{module} for python3"));
    }
    has_module
}

/// A tool of the newest installed LLVM that has it, by its own name, since some tools check the name. If there is none, says so.
pub(crate) fn llvm_tool(name: &str) -> Option<PathBuf> {
    let newest = llvm_directories().into_iter().map(|directory| directory.join("bin").join(name));
    let directories = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&directories).map(|directory| directory.join(name));
    let tool = newest.chain(on_path).find(|path| path.is_file());
    if tool.is_none() {
        note_missing_oracle(name);
    }
    tool
}

/// The search path, with the tools of the newest LLVM under their own names.
pub(crate) fn path_with_llvm() -> OsString {
    let own = llvm_directories().into_iter().map(|directory| directory.join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    env::join_paths(own.chain(env::split_paths(&path))).expect("directories should have no colon")
}

/// The directories of the installed versions of LLVM as Debian names them, the newest first.
fn llvm_directories() -> Vec<PathBuf> {
    let version = |path: &Path| path.file_name()?.to_str()?.strip_prefix("llvm-")?.parse::<u32>().ok();
    let entries = fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    let mut versions: Vec<_> = entries.filter_map(|path| Some((version(&path)?, path))).collect();
    versions.sort_by(|a, b| b.cmp(a));
    versions.into_iter().map(|(_, path)| path).collect()
}
