//! `perfconv perf COMMAND`, and the program under the name `perf`: answers perf's commands for programs that call perf.
//!
//! A command translates perf's options into those of perfconv's conversions and reports; nothing is printed here that these do
//! not print. What is not answered is run by the real perf, if there is one.
//!
//! * `commands`: the table of commands.
//! * `option`: how perf's options are declared and parsed.
//! * `input`: the recording that a command reads.
//! * `real_perf`, `install`: the perf behind this program, and the link in front of it.
//! * A file for each command.

mod buildid_list;
mod commands;
mod data;
mod diff;
mod evlist;
mod header;
mod inject;
mod input;
mod install;
mod option;
mod real_perf;
mod report;
mod script;

use super::failure::Failure;
use super::output;
use commands::{COMMANDS, How, PerfCommand};
use option::{Given, usage};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Name under which the program behaves as perf.
const NAME: &str = "perf";

/// The command that this program also has without `perf`.
pub(super) const SCRIPT: &str = "script";

/// perf's exit status for invalid arguments.
const USAGE: u8 = 129;

/// perf's exit status for other failures.
const FAILED: u8 = 255;

/// A call of a perf command.
struct Call<'a> {
    /// All arguments of perf, with the options before the command, for the real perf.
    all: &'a [OsString],
    given: Given,
    /// The build ID cache of `perf --buildid-dir DIR COMMAND`.
    buildid_dir: Option<PathBuf>,
}

/// Whether the program was called by that name.
pub(super) fn is_program_name() -> bool {
    env::args_os().next().is_some_and(|name| Path::new(&name).file_stem().is_some_and(|name| name == NAME))
}

/// Runs perf with the arguments of this program.
///
/// # Errors
/// As [`run`].
pub(super) fn run_as_perf() -> Result<ExitCode, Failure> {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    run(&arguments)
}

/// The names of perf's commands.
pub(super) fn commands() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|command| command.name)
}

/// What to type instead of a command of this program with an option that only perf's has; `None` if that lacks it, or another one that
/// was typed.
pub(super) fn instead_with_option(typed: &[OsString], option: &str) -> Option<String> {
    let (name, arguments) = typed.split_first()?;
    let command = COMMANDS.iter().find(|command| *name == *command.name)?;
    let How::Answered { options, .. } = command.how else { return None };
    let named = |name: &str| options.iter().find(|perf_option| perf_option.is_named(name));
    let perf_option = named(option)?;
    let mut long =
        arguments.iter().filter_map(|argument| argument.to_str()).filter(|argument| argument.starts_with("--"));
    if long.any(|argument| named(argument.split('=').next().unwrap_or_default()).is_none()) {
        return None;
    }
    Some(match perf_option.refusal() {
        Some(reason) => format!("perfconv does not support it: {reason}"),
        None => {
            let text = format!("use 'perfconv perf {} ARGUMENTS'", command.name);
            commands::with_arguments(&text, &with_named_input(arguments), "")
        }
    })
}

/// What to type instead of the arguments `typed`, whose first is a command, with a key of perf that its `--sort` does not accept.
pub(super) fn instead_with_sort_key(typed: &[OsString], key: &str) -> Option<String> {
    let (name, arguments) = typed.split_first()?;
    if name != "report" {
        return None;
    }
    Some(match report::sort_key_support(key)? {
        report::SortKeySupport::Column => "rows are sorted by their samples anyway, so leave it out".to_owned(),
        report::SortKeySupport::Answered => {
            commands::with_arguments("use 'perfconv perf report ARGUMENTS'", &with_named_input(arguments), "")
        }
        report::SortKeySupport::Refused => "perfconv does not support it".to_owned(),
    })
}

/// Arguments with `-i` before an input, which is a filter in perf.
fn with_named_input(arguments: &[OsString]) -> Vec<OsString> {
    let mut named = Vec::with_capacity(arguments.len() + 1);
    for argument in arguments {
        let is_named = named.last().is_some_and(|last| last == "-i" || last == "--input");
        if !is_named && Path::new(argument).is_file() {
            named.push("-i".into());
        }
        named.push(argument.clone());
    }
    named
}

/// The options of a command that is answered.
pub(super) fn command_usage(name: &str) -> Option<String> {
    let command = COMMANDS.iter().find(|command| command.name == name)?;
    match command.how {
        How::Answered { options, .. } => Some(usage(command.name, options)),
        _ => None,
    }
}

/// The message for arguments that begin with a command that perf has and this program has not, unless a file has its name.
pub(super) fn instead_of(arguments: &[OsString]) -> Option<String> {
    let (word, arguments) = arguments.split_first()?;
    let word = word.to_str()?;
    let instead = commands::hint(word, arguments)?;
    let is_file = Path::new(word).symlink_metadata().is_ok();
    (!is_file).then(|| format!("'{word}' is not a command of perfconv; {instead}"))
}

/// Runs perf with arguments, and reports failures with perf's exit status.
///
/// # Errors
/// Only if the reader of the output closed the pipe.
pub(super) fn run(arguments: &[OsString]) -> Result<ExitCode, Failure> {
    match run_program(arguments) {
        Err(Failure::BrokenPipe) => Err(Failure::BrokenPipe),
        Err(failure) => {
            let status = if failure.has_valid_arguments() { FAILED } else { USAGE };
            failure.report();
            Ok(ExitCode::from(status))
        }
        Ok(code) => Ok(code),
    }
}

/// Parses the options before the command.
fn run_program(arguments: &[OsString]) -> Result<ExitCode, Failure> {
    let (mut rest, mut buildid_dir) = (arguments, None);
    while let Some((first, others)) = rest.split_first() {
        let option = first.to_string_lossy();
        let (name, value) = option.split_once('=').map_or((&*option, None), |(name, value)| (name, Some(value)));
        match name {
            "--version" | "-v" => return version(),
            "--help" | "-h" => return help(),
            // Nothing is paged.
            "--no-pager" => rest = others,
            "--install" | "--buildid-dir" => {
                let value = value.map(OsString::from).or_else(|| others.first().cloned());
                let value = value.ok_or_else(|| Failure::Usage(format!("perf {name}: no directory is named")))?;
                if name == "--install" {
                    return install::run(Path::new(&value));
                }
                rest = if option.contains('=') { others } else { &others[1..] };
                buildid_dir = Some(PathBuf::from(value));
            }
            _ if option.starts_with('-') => {
                return Err(Failure::Usage(format!(
                    "unknown option of perf '{option}'; 'perf --help' lists the commands"
                )));
            }
            _ => return run_command(arguments, rest, buildid_dir),
        }
    }
    help()?;
    Ok(ExitCode::FAILURE)
}

/// Runs a command with its arguments; `all` has the options before it, too.
fn run_command(all: &[OsString], arguments: &[OsString], buildid_dir: Option<PathBuf>) -> Result<ExitCode, Failure> {
    let name = arguments[0].to_string_lossy();
    match &*name {
        "version" => return version(),
        "help" if arguments.len() == 1 => return help(),
        _ => {}
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        let missing = format!("'{name}' is not a perf command; 'perf --help' lists those that perfconv answers");
        return real_perf::run(all, &missing);
    };
    match command.how {
        How::Answered { options, run } => {
            let asks_for_usage = |argument: &OsString| argument == "-h" || argument == "--help";
            if arguments[1..].iter().any(asks_for_usage) {
                output::print(usage(command.name, options).as_bytes())?;
                return Ok(ExitCode::from(USAGE));
            }
            let given = Given::parse(command.name, options, &arguments[1..])?;
            run(&Call { all, given, buildid_dir })
        }
        How::NeedsPerf(purpose) => real_perf::run(all, &missing_perf(purpose)),
        How::Replaced(instead) => {
            let instead = commands::with_operand(instead, &arguments[1..]);
            real_perf::run(all, &format!("perfconv does not answer perf {name}; {instead}, or install perf"))
        }
    }
}

fn missing_perf(purpose: &str) -> String {
    format!("{purpose} needs perf: there is no other perf in PATH; install it, or add its directory to PATH")
}

/// Prints the version of perf whose output the commands have.
fn version() -> Result<ExitCode, Failure> {
    output::print(concat!("perf version 6.1.0-perfconv-", env!("CARGO_PKG_VERSION"), "\n").as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Lists the commands.
fn help() -> Result<ExitCode, Failure> {
    let list = |is_listed: fn(&How) -> bool| -> Vec<&PerfCommand> {
        COMMANDS.iter().filter(|command| is_listed(&command.how)).collect()
    };
    let answered = list(|how| matches!(how, How::Answered { .. }));
    let others = list(|how| !matches!(how, How::Answered { .. }));
    let mut text =
        "\n usage: perf [--version] [--help] [OPTIONS] COMMAND [ARGS]\n\n Answered by perfconv:\n".to_owned();
    answered.iter().for_each(|command| text += &format!("   {:<15} {}\n", command.name, command.about));
    text += "\n Run by the real perf, if there is one in PATH:\n";
    let names: Vec<_> = others.iter().map(|command| command.name).collect();
    names.chunks(8).for_each(|names| text += &format!("   {}\n", names.join(" ")));
    text += "\n See 'perf COMMAND -h' for the options of a command.\n\n";
    output::print(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
