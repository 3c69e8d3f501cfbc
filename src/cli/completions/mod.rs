//! `perfconv completions SHELL`, and the completions that its script asks for.
//!
//! The script runs the program with a variable set, so that values of the recording at hand can be completed. clap_complete calls
//! this engine unstable: its interface may change in a minor version, so Cargo.toml requires one minor version.

mod candidates;
mod functions;
mod input;
mod nushell;
mod recorded;
mod shell_word;
mod shells;

use super::args::{CompletionsArgs, ShellArg};
use super::failure::Failure;
use super::output;
use clap_complete::CompleteEnv;
use clap_complete::env::{EnvCompleter, Shells};
use nushell::Nushell;
use shells::{Bash, ELVISH, FISH, POWERSHELL, ZSH};
use std::env;
use std::process::ExitCode;

/// The variable with the shell's name, if the program is run for completions.
const VARIABLE: &str = "PERFCONV_COMPLETE";

/// Name of the program in the script: the one found on the path.
const PROGRAM: &str = "perfconv";

const SHELLS: Shells<'static> = Shells(&[&Bash, &ELVISH, &FISH, &Nushell, &POWERSHELL, &ZSH]);

/// Completes the command line if the program is run for that. Must be called before threads start.
///
/// # Errors
/// If the shell is unknown, or the completions cannot be printed.
pub(super) fn complete() -> Result<bool, Failure> {
    if !cfg!(feature = "workstation") || env::var_os(VARIABLE).is_none() {
        return Ok(false);
    }
    let directory = env::current_dir().ok();
    let completions = CompleteEnv::with_factory(candidates::program);
    let completions = completions.var(VARIABLE).completer(PROGRAM).shells(SHELLS);
    completions.try_complete(env::args_os(), directory.as_deref()).map_err(|error| Failure::Failed(error.to_string()))
}

/// Prints the script for a shell.
///
/// # Errors
/// If standard output cannot be written.
pub(super) fn run(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let shell: &dyn EnvCompleter = match args.shell {
        ShellArg::Bash => &Bash,
        ShellArg::Elvish => &ELVISH,
        ShellArg::Fish => &FISH,
        ShellArg::Nushell => &Nushell,
        ShellArg::Powershell => &POWERSHELL,
        ShellArg::Zsh => &ZSH,
    };
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script).map_err(output::stdout_failed)?;
    output::print(&script)?;
    Ok(ExitCode::SUCCESS)
}
