//! `perf_to_profile -i IN -o OUT [-f] [-j]`: in the place of the program of that name, which pprof runs where it is given a
//! perf.data.

use super::failure::Failure;
use super::input::Recording;
use super::output::{Allowed, Output};
use super::report;
use clap::Parser;
use perfconv::container::read::ReadOptions;
use perfconv::container::read::input::Input;
use perfconv::formats::pprof::compat;
use perfconv::formats::recognize::{START, by_content};
use perfconv::formats::{FORMATS, quipper};
use perfconv::stream::source::Source;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Converts a Linux perf.data to a profile for pprof, as perf_to_profile does. This is perfconv by another name.
#[derive(Debug, Parser)]
#[command(name = NAME, version)]
struct PerfToProfileArgs {
    /// Recording to read: a file, a folder, or - for standard input
    #[arg(short = 'i', long = "input", value_name = "IN")]
    input: PathBuf,

    /// File to write, bare whatever its name, or - for standard output
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    output: PathBuf,

    /// Overwrite an output that exists
    #[arg(short = 'f', long = "force")]
    force: bool,

    /// Allow maps of JIT code that are not aligned to pages; here they always are
    #[arg(short = 'j', long = "jit")]
    _jit: bool,
}

/// The name by which the program is this one.
const NAME: &str = "perf_to_profile";

/// Whether the program was called by that name.
pub fn is_our_name() -> bool {
    std::env::args_os().next().is_some_and(|name| Path::new(&name).file_stem().is_some_and(|name| name == NAME))
}

/// Converts as the arguments of the program say.
///
/// # Errors
/// Where it cannot be done.
pub fn run() -> Result<ExitCode, Failure> {
    let args: PerfToProfileArgs = super::arguments()?;
    let allowed = Allowed { overwrite: args.force, on_terminal: false, folder: None, is_folder: false };
    let output = Output::check(&args.output, &args.input, allowed)?;
    let options = ReadOptions::default();
    // What is in no known format may be a PerfDataProto, of which hardly anything but this tells.
    let from = is_unknown(&args.input, &options)?.then_some(quipper::FORMAT.name);
    let recording = Recording::new(args.input, from, &options)?;
    let (profile, mut ledger) = compat::profile(Source::open(recording.input(), options)?)?;
    recording.damage().iter().for_each(|damage| ledger.damage(damage.clone()));
    // pprof opens the file before it has it written.
    output.write_in_place(|out| compat::write(&profile, out))?;
    report::ledger(&ledger, &output.name(), false);
    Ok(ExitCode::SUCCESS)
}

/// Whether a file has contents of no known format.
fn is_unknown(path: &Path, options: &ReadOptions) -> Result<bool, Failure> {
    if !path.is_file() {
        return Ok(false);
    }
    let (_, start) = Input::Path(path.to_owned()).peek(START, |_| false, options)?;
    Ok(!start.is_empty() && by_content(FORMATS, &start).is_none())
}
