//! `perfconv perf --install DIR`: links the name `perf` to this program.

use crate::cli::failure::Failure;
use crate::cli::output;
use same_file::is_same_file;
use std::env;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Links `perf` in a directory to this program.
///
/// # Errors
/// If the directory has another file of that name, or the link cannot be made.
pub(super) fn run(directory: &Path) -> Result<ExitCode, Failure> {
    let link = directory.join(format!("perf{}", env::consts::EXE_SUFFIX));
    let shown = link.display();
    let failed = |error: io::Error| Failure::Failed(format!("{shown}: cannot be linked: {error}"));
    let program = env::current_exe().map_err(failed)?;
    if is_same_file(&link, &program).unwrap_or(false) {
        return done(&link, "is already this program");
    }
    if link.symlink_metadata().is_ok() {
        return Err(Failure::Failed(format!(
            "{shown}: exists and is another program; remove it, or name another directory"
        )));
    }
    make_link(&program, &link).map_err(failed)?;
    done(&link, "runs perfconv")
}

fn done(link: &Path, state: &str) -> Result<ExitCode, Failure> {
    output::print(format!("{} {state}; put its directory first in PATH\n", link.display()).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(unix)]
fn make_link(program: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(program, link)
}

/// Symbolic links need a privilege on Windows.
#[cfg(not(unix))]
fn make_link(program: &Path, link: &Path) -> io::Result<()> {
    std::fs::copy(program, link).map(drop)
}
