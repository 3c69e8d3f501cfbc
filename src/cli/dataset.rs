//! `perfconv *.data --to parquet -o DIR`: converts several recordings to one directory, or adds them to an existing one.

use super::args::ConvertArgs;
use super::batch::convert_each;
use super::convert::Conversion;
use super::failure::Failure;
use super::output;
use perf_data::container::output::JoinDirectory;
use perf_data::container::output::incomplete::directory_in;
use perf_data::container::output::path::parent;
use perf_data::container::output::pending::PendingOutput;
use perf_data::container::output::{Output, OutputRules};
use perfconv::formats::FormatWriter;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Converts recordings to a directory. A recording that cannot be converted does not stop the others.
///
/// # Errors
/// If the arguments are invalid, or the directory cannot be created.
pub(super) fn run(
    args: &ConvertArgs,
    conversion: Conversion,
    output: &Path,
    join: JoinDirectory,
) -> Result<ExitCode, Failure> {
    let inputs = if args.inputs.is_empty() { &[args.input()][..] } else { &args.inputs };
    let FormatWriter::Directory(directory) = conversion.format().writer() else {
        return Err(Failure::Usage(format!("format {} is not a directory", conversion.format().format().name)));
    };
    let (is_alike, is_added) = (directory.is_alike(), directory.appends());
    let jobs: Vec<_> = inputs.iter().map(|input| (input, output.to_owned())).collect();
    let rules = OutputRules {
        overwrite: args.force || is_added,
        replaceable: Some(is_alike),
        is_directory: true,
        mode: args.mode,
    };
    let paths: Vec<_> = inputs.iter().map(PathBuf::as_path).collect();
    let checked = output::check(output, &paths, false, rules)?;
    let Output::File { target, .. } = &checked else { return Err(output::not_a_directory(&checked.name())) };
    if is_added {
        checked.access().create_directories(output).map_err(checked.failed("cannot create"))?;
        return Ok(convert_each(args, &conversion.into_directory(output.to_owned(), join), &jobs));
    }
    let directory = directory_in(parent(target)).map_err(checked.failed("cannot create"))?;
    let exit = convert_each(args, &conversion.into_directory(directory.path().to_owned(), join), &jobs);
    let is_empty = fs::read_dir(directory.path()).is_ok_and(|mut entries| entries.next().is_none());
    if !is_empty {
        PendingOutput::directory(&checked, target, args.force, directory).put_in_place()?;
    }
    Ok(exit)
}
