//! The person at the terminal.
//!
//! Exit status: 0 success, 1 failure, 2 wrong usage, 3 with `--strict` when anything of the input is missing from the
//! output and of `check` when it found warnings or errors, 141 when whoever reads the output has gone.
//! A signal that ends the program does so as it does without us, and shells tell it as 128 and its number.

mod archive;
mod args;
mod batch;
mod check;
mod convert;
mod diff;
mod dump;
mod failure;
mod file_names;
mod images;
mod info;
mod input;
mod merge;
mod output;
mod part_file;
mod pending_output;
mod perf_to_profile;
mod profiles;
mod report;
mod rewrite;
mod split;
mod standard_streams;
mod synth;
mod temporary_outputs;
mod unknown_command;

use args::{Cli, Command};
use clap::Parser;
use failure::Failure;
use std::io::{self, Write};
use std::process::{self, ExitCode};

/// Runs the program with the arguments that it was called with; as `perf_to_profile` where that is its name.
pub fn main() -> ExitCode {
    let watched = temporary_outputs::watch().map_err(|e| Failure::Failed(format!("cannot watch for signals: {e}")));
    let done = watched.and_then(|()| if perf_to_profile::is_our_name() { perf_to_profile::run() } else { run() });
    // Where a signal is ending the program, what came of it is not to be told.
    let _signals_wait = temporary_outputs::hold();
    done.unwrap_or_else(Failure::report)
}

/// The arguments of the program. Where they ask for help or the version, it is told, and the program ends.
fn arguments<T: Parser>() -> Result<T, Failure> {
    T::try_parse().or_else(|told| {
        if told.use_stderr() {
            told.exit();
        }
        standard_streams::demand_stdout()?;
        let print = || told.print().and_then(|()| io::stdout().flush());
        print().map_err(output::stdout_failed)?;
        process::exit(0)
    })
}

fn run() -> Result<ExitCode, Failure> {
    let cli: Cli = arguments()?;
    if cli.command.is_none() {
        unknown_command::check(cli.convert.input.as_deref())?;
    }
    match cli.command {
        Some(Command::Convert(args)) => convert::run(*args),
        Some(Command::Rewrite(args)) => convert::rewrite(*args),
        Some(Command::Repair(args)) => convert::repair(*args),
        Some(Command::Inject(args)) => convert::rewrite(args.rewrite().map_err(Failure::Usage)?),
        Some(Command::Merge(args)) => merge::run(*args),
        Some(Command::Split(args)) => split::run(*args),
        Some(Command::Synth(args)) => synth::run(args),
        Some(Command::Archive(args)) => archive::run(*args),
        Some(Command::Check(args)) => check::run(args),
        Some(Command::Info(args)) => info::run(args),
        Some(Command::Dump(args)) => dump::run(args),
        Some(Command::Diff(args)) => diff::run(args),
        None if cli.convert.asks_for_no_output() => info::summary(&cli.convert),
        None => convert::run(cli.convert),
    }
}
