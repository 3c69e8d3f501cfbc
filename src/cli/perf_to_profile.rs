//! `perf_to_profile -i IN -o OUT [-f] [-j]`: replaces the program of that name, which pprof runs to read a perf.data.

use super::failure::Failure;
use super::input::InputRecording;
use super::output;
use super::report;
use clap::{Command, CommandFactory, Parser};
use perf_data::container::output::OutputRules;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::stream::source::Source;
use perfconv::formats::framework::recognize::{START, by_content};
use perfconv::formats::pprof::compat;
use perfconv::formats::{FORMATS, quipper};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Convert a Linux perf.data to pprof as perf_to_profile does (this is perfconv under another name)
#[derive(Debug, Parser)]
#[command(name = NAME, version)]
struct PerfToProfileArgs {
    /// Recording to read: a file, a directory, or - for standard input
    #[arg(short = 'i', long = "input", value_name = "IN")]
    input: PathBuf,

    /// File to write, or - for standard output; always uncompressed
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    output: PathBuf,

    /// Overwrite an existing output
    #[arg(short = 'f', long = "force")]
    force: bool,

    /// Accept mappings of JIT code that are not page-aligned; perfconv always does
    #[arg(short = 'j', long = "jit")]
    _jit: bool,
}

/// Name under which the program behaves as perf_to_profile.
const NAME: &str = "perf_to_profile";

/// The command under that name.
pub(super) fn command() -> Command {
    PerfToProfileArgs::command()
}

/// Whether the program was called by that name.
pub(super) fn is_program_name() -> bool {
    std::env::args_os().next().is_some_and(|name| Path::new(&name).file_stem().is_some_and(|name| name == NAME))
}

/// Converts as the arguments ask for.
///
/// # Errors
/// If the recording cannot be read, or the output cannot be written.
pub(super) fn run() -> Result<ExitCode, Failure> {
    let (args, _): (PerfToProfileArgs, _) = super::arguments()?;
    let rules = OutputRules { overwrite: args.force, ..OutputRules::default() };
    let output = output::check(&args.output, &[&args.input], false, rules)?;
    let options = ReadOptions::default();
    // An unknown format may be PerfDataProto, which has no distinctive beginning.
    let from = is_unknown(&args.input, &options)?.then_some(quipper::FORMAT.name);
    let recording = InputRecording::new(args.input, from, &options)?;
    let (profile, mut ledger) = compat::profile(Source::open(recording.input(), options)?)?;
    recording.damage().iter().for_each(|damage| ledger.damage(damage.clone()));
    // pprof creates and opens the output file before it runs the program, so the file must not be replaced.
    output.write_in_place(|out| compat::write(&profile, out))?;
    report::ledger(&ledger, &output.name(), false);
    Ok(ExitCode::SUCCESS)
}

/// Whether a file is in an unknown format.
fn is_unknown(path: &Path, options: &ReadOptions) -> Result<bool, Failure> {
    if !path.is_file() {
        return Ok(false);
    }
    let (_, start) = Input::Path(path.to_owned()).peek(START, |_| false, options)?;
    Ok(!start.is_empty() && by_content(FORMATS, &start).is_none())
}
