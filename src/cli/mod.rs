//! The command-line program.
//!
//! Exit status: 0 success, 1 failure, 2 usage error, 3 with `--strict` if anything of the input is missing from the output, and
//! from `check` if it found warnings or errors, 4 with `--fail-above` and `--fail-above-total` if a function or an event grew by more, 141 if the reader of the output closed the pipe. Signals end the program with
//! their default action, which shells report as 128 plus the signal number. Commands of perf have the exit status of perf.

mod archive;
mod args;
mod batch;
mod check;
mod completions;
mod convert;
mod dataset;
mod diff;
mod dump;
mod failure;
mod help;
mod info;
mod input;
mod man;
mod mcp;
mod merge;
mod output;
mod page_request;
mod page_server;
mod pager;
mod perf;
mod perf_options;
mod perf_to_profile;
mod profile_report;
mod progress;
#[cfg(feature = "push")]
mod push;
mod report;
mod split;
mod ssh;
mod standard_streams;
mod synth;
mod temporary_outputs;
mod unknown_command;
mod usage;
mod version;
mod view;
mod viewer;

use args::{Cli, Command, Deferred};
use clap::Parser;
use clap::error::ErrorKind;
use failure::Failure;
use perf_data::container::output::incomplete::hold;
use perf_data::threads;
use std::env;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::process::{self, ExitCode};

/// Runs the program with its command-line arguments; as `perf_to_profile` or `perf` if it was called by that name.
pub(crate) fn main() -> ExitCode {
    match completions::complete() {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(failure) => return failure.report(),
    }
    let watching = temporary_outputs::watch().map_err(|e| Failure::Failed(format!("cannot watch for signals: {e}")));
    let done = watching.and_then(|()| run_by_name());
    progress::end();
    // If a signal is ending the program, wait for it instead of reporting a failure that it caused.
    let _signals_wait = hold();
    done.unwrap_or_else(Failure::report)
}

/// Parses the command-line arguments, and whether one of them is `--quiet`. Prints help or the version if they ask for it, and exits.
fn arguments<T: Parser>() -> Result<(T, bool), Failure> {
    let mut command = args::command::<T>();
    let parsed = command.try_get_matches_from_mut(env::args_os());
    let parsed = parsed.and_then(|mut matches| {
        let command_matches = matches.subcommand().map_or(&matches, |(_, matches)| matches);
        let is_quiet = matches!(command_matches.try_get_one("quiet"), Ok(Some(true)));
        if let Ok(Some(jobs)) = command_matches.try_get_one::<NonZeroUsize>("jobs") {
            threads::limit_workers(*jobs);
        }
        let parsed = T::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))?;
        Ok((parsed, is_quiet))
    });
    parsed.or_else(|error| {
        if error.use_stderr() {
            return Err(Failure::Arguments(usage::message(&error)));
        }
        standard_streams::require_stdout()?;
        match args::short_help(&error) {
            None if error.kind() == ErrorKind::DisplayVersion && version::is_verbose(env::args_os()) => {
                output::print(version::verbose().as_bytes())?;
            }
            Some(help) => output::print(help.to_string().as_bytes())?,
            None => error.print().and_then(|()| io::stdout().flush()).map_err(output::stdout_failed)?,
        }
        process::exit(0)
    })
}

/// Runs the program as that of the name by which it was called.
fn run_by_name() -> Result<ExitCode, Failure> {
    if perf_to_profile::is_program_name() {
        perf_to_profile::run()
    } else if perf::is_program_name() {
        perf::run_as_perf()
    } else {
        run()
    }
}

/// Runs a command for people at a terminal. Without the feature, what only these commands use is not linked.
fn on_workstation(run: impl FnOnce() -> Result<ExitCode, Failure>) -> Result<ExitCode, Failure> {
    if cfg!(feature = "workstation") {
        run()
    } else {
        Err(Failure::Usage("this build of perfconv does not have this command".to_owned()))
    }
}

fn run() -> Result<ExitCode, Failure> {
    let typed: Vec<_> = env::args_os().skip(1).collect();
    // All its arguments are perf's, -h too.
    if typed.first().is_some_and(|command| command == perf::SCRIPT) {
        return perf::run(&typed);
    }
    // Before its options are rejected as unknown.
    if let Some(message) = perf::instead_of(&typed) {
        return Err(Failure::Usage(message));
    }
    let parsed = arguments();
    if !matches!(&parsed, Ok((Cli { command: Some(_), .. }, _))) {
        unknown_command::check(&typed)?;
    }
    let (cli, is_quiet): (Cli, _) = parsed?;
    progress::start(cli.progress, is_quiet);
    match cli.command {
        Some(Command::Convert(Deferred(args))) => convert::run(*args),
        Some(Command::Rewrite(Deferred(args))) => convert::rewrite(args.convert),
        Some(Command::Repair(Deferred(args))) => convert::repair(args.convert),
        Some(Command::Inject(Deferred(args))) => convert::rewrite(args.rewrite().map_err(Failure::Usage)?),
        Some(Command::Merge(Deferred(args))) => merge::run(*args),
        Some(Command::Split(Deferred(args))) => split::run(*args),
        Some(Command::Synth(Deferred(args))) => on_workstation(|| synth::run(*args)),
        Some(Command::Archive(Deferred(args))) => archive::run(*args),
        Some(Command::Check(Deferred(args))) => check::run(*args),
        Some(Command::Info(Deferred(args))) => info::run(*args),
        Some(Command::Dump(Deferred(args))) => dump::run(*args),
        Some(Command::Report(Deferred(args))) => profile_report::run(*args),
        Some(Command::Annotate(Deferred(args))) => profile_report::annotate(*args),
        #[cfg(feature = "push")]
        Some(Command::Push(Deferred(args))) => push::run(*args),
        Some(Command::View(Deferred(args))) => on_workstation(|| view::run(*args)),
        Some(Command::Diff(Deferred(args))) => diff::run(*args),
        Some(Command::Perf(Deferred(args))) => perf::run(&args.arguments),
        Some(Command::Mcp(Deferred(args))) => on_workstation(|| mcp::run(*args)),
        Some(Command::Completions(Deferred(args))) => on_workstation(|| completions::run(&args)),
        Some(Command::Man(Deferred(args))) => on_workstation(|| man::run(*args)),
        Some(Command::Help(Deferred(args))) => help::run(*args),
        None if cli.convert.asks_for_no_output() => info::summary(&cli.convert),
        None => convert::run(cli.convert),
    }
}
