//! Runs the real perf, found in PATH behind this program.

use crate::cli::failure::Failure;
use crate::cli::report::print_message;
use same_file::is_same_file;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Environment variable with the executables that have passed a command on: a further copy of this program skips them all, and
/// scripts that run this program again are found out by their number.
const PASSED_BY: &str = "PERFCONV_PASSED_BY";

/// Number of executables after which a command runs in circles. A recorded command may run perf itself, so that some are usual.
const MAX_PASSED: usize = 8;

/// perf's exit status for an unknown command.
const UNKNOWN_COMMAND: u8 = 1;

/// Runs the real perf with these arguments; without one, reports the problem.
///
/// # Errors
/// If it cannot be run, or `PATH` only leads back to this program.
pub(super) fn run(arguments: &[OsString], missing: &str) -> Result<ExitCode, Failure> {
    let passed_by = passed_by();
    if passed_by.len() > MAX_PASSED {
        let problem = "the perf in PATH runs perfconv again; remove it, or put the real perf before it";
        return Err(Failure::Failed(problem.to_owned()));
    }
    let Some(program) = find(&passed_by) else {
        print_message(format_args!("perfconv: {missing}"));
        return Ok(ExitCode::from(UNKNOWN_COMMAND));
    };
    let mut command = Command::new(&program);
    command.args(arguments);
    if let Ok(list) = env::join_paths(&passed_by) {
        command.env(PASSED_BY, list);
    }
    execute(command).map_err(|error| Failure::Failed(format!("{}: cannot be run: {error}", program.display())))
}

/// This program and others that have passed the command on.
fn passed_by() -> Vec<PathBuf> {
    let earlier = env::var_os(PASSED_BY).unwrap_or_default();
    let earlier = env::split_paths(&earlier).filter(|path| !path.as_os_str().is_empty());
    earlier.chain(env::current_exe()).collect()
}

/// The first perf in PATH that is none of these programs.
fn find(others: &[PathBuf]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let name = format!("perf{}", env::consts::EXE_SUFFIX);
    let mut candidates = env::split_paths(&path).map(|directory| directory.join(&name));
    candidates.find(|candidate| is_executable(candidate) && !others.iter().any(|other| is_same(candidate, other)))
}

fn is_same(candidate: &Path, other: &Path) -> bool {
    is_same_file(candidate, other).unwrap_or(false)
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// Replaces this process, so that signals and the exit status are those of perf.
#[cfg(unix)]
fn execute(mut command: Command) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    crate::cli::temporary_outputs::restore_signals();
    Err(command.exec())
}

#[cfg(not(unix))]
fn execute(mut command: Command) -> std::io::Result<ExitCode> {
    let status = command.status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
