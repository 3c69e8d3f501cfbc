//! Programs that the pages call.

use super::{ROOT, fixtures};
use crate::common::oracle::note_missing_oracle;
use crate::common::pprof::find_pprof;
use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// The environment of the commands.
pub(crate) struct Tools {
    /// Has `perfconv`, stand-ins and [`BASIC`].
    directory: tempfile::TempDir,
    /// Which programs exist.
    installed: Mutex<HashMap<String, bool>>,
    /// Whether pages may call programs that this machine need not have.
    with_others: bool,
}

/// `cargo run` as the program that the tests were built with. Other commands of cargo are not executed.
const CARGO: &str = r#"#!/bin/bash
case "$*" in
"run --release -- "*) shift 3; exec perfconv "$@" ;;
"run --release --example "*) example=$4; shift 5; exec "$EXAMPLES/$example" "$@" ;;
*) echo "cargo $*: not executed by the tests of the docs" >&2; exit 1 ;;
esac
"#;

/// Programs that pages may call without saying so: a system without them builds no Rust program with C code.
const BASIC: &[&str] = &[
    "awk", "basename", "bash", "cat", "chmod", "cmp", "cp", "cut", "date", "diff", "dirname", "du", "echo", "env",
    "false", "find", "grep", "gzip", "head", "id", "ln", "ls", "mkdir", "mktemp", "mv", "nl", "od", "printf", "pwd",
    "readlink", "realpath", "rm", "sed", "seq", "sh", "sleep", "sort", "stat", "tail", "tar", "tee", "test", "timeout",
    "touch", "tr", "true", "uniq", "wc", "xargs",
];

impl Tools {
    /// The tools of pages: perfconv, a shell, and other programs or none.
    pub(crate) fn new(with_others: bool) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let cargo = directory.path().join("cargo");
        fs::write(&cargo, CARGO).expect("a temporary file");
        let program = Path::new(env!("CARGO_BIN_EXE_perfconv"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::{PermissionsExt, symlink};
            fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).expect("a temporary file");
            symlink(program, directory.path().join("perfconv")).expect("a temporary directory");
            let search_path = env::var_os("PATH").unwrap_or_default();
            for basic in BASIC {
                let path = env::split_paths(&search_path).map(|path| path.join(basic)).find(|path| path.exists());
                if let Some(path) = path {
                    symlink(path, directory.path().join(basic)).expect("a temporary directory");
                }
            }
        }
        Self { directory, installed: Mutex::default(), with_others }
    }

    /// A script in a directory, with standard output and standard error in one stream.
    pub(crate) fn bash(&self, work: &Path, script: &str) -> Command {
        let mut path = vec![self.directory.path().to_owned()];
        if self.with_others {
            path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        }
        let program = Path::new(env!("CARGO_BIN_EXE_perfconv"));
        let mut command = Command::new("timeout");
        command.args(["300", "bash", "-c", &format!("exec 2>&1\n{script}")]).current_dir(work).stdin(Stdio::null());
        command
            .env("PATH", env::join_paths(path).expect("a search path"))
            .env("HOME", work.parent().unwrap_or(work).join("home"))
            .env("TZ", "UTC")
            .env("LC_ALL", "C.UTF-8")
            .env("REPO", ROOT)
            .env("FIXTURES", fixtures())
            .env("EXAMPLES", program.parent().expect("a directory").join("examples"))
            .env_remove("PERFCONV_UPDATE_DOCS");
        command
    }

    /// Whether a program that a block needs exists, and may be called.
    pub(crate) fn has(&self, program: &str) -> bool {
        let is_ours = program == "parquet" || program.starts_with("example:");
        let mut installed = self.installed.lock().expect("no thread panics");
        (is_ours || self.with_others) && *installed.entry(program.to_owned()).or_insert_with(|| self.find(program))
    }

    /// Why a block is skipped that needs a program. Fails if this program must be installed.
    pub(crate) fn why_not(&self, program: &str) -> String {
        if !self.with_others {
            return format!("with {program}, in the test target clients");
        }
        if !["parquet", "perf-record"].contains(&program) && !program.starts_with("example:") {
            note_missing_oracle(program);
        }
        format!("without {program}")
    }

    /// `perf-record` is a perf that is permitted to record; `parquet` the cargo feature; `example:NAME` an example that cargo built; pprof is built where it is not
    /// installed; all others are programs on the search path.
    fn find(&self, program: &str) -> bool {
        #[cfg(unix)]
        if program == "pprof" {
            let link = self.directory.path().join("pprof");
            return find_pprof().is_some_and(|pprof| std::os::unix::fs::symlink(pprof, link).is_ok());
        }
        if program == "parquet" {
            return cfg!(feature = "parquet");
        }
        let script = match program.split_once(':') {
            Some(("example", name)) => format!("test -x \"$EXAMPLES/{name}\""),
            _ if program == "perf-record" => "perf record -e cpu-clock -g -o /dev/null true".into(),
            _ => format!("command -v {program}"),
        };
        let work = PathBuf::from(self.directory.path());
        self.bash(&work, &script).output().is_ok_and(|output| output.status.success())
    }
}
