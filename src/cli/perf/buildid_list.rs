//! `perf buildid-list`: the build IDs of a recording, or of the running kernel.

use super::option::{PerfOption, names};
use super::{Call, input};
use crate::cli::failure::Failure;
use crate::cli::output;
use crate::cli::report::printable_line;
use perf_symbols::object::build_id_note::read_notes;
use perfconv::inspect::info::Parts;
use perfconv::inspect::info::build_ids::{FileId, has_table};
use std::path::Path;
use std::process::ExitCode;

/// The options of perf 6.1.
pub(super) const OPTIONS: &[PerfOption] = &[
    PerfOption::flag(names!("force")).short('f'),
    PerfOption::flag(names!("with-hits")).short('H'),
    PerfOption::value(names!("input")).short('i'),
    PerfOption::flag(names!("kernel")).short('k'),
    PerfOption::flag(names!("kernel-maps")).short('m').refused("use /proc/kallsyms and 'perf buildid-list -k'"),
    PerfOption::flag(names!("verbose")).short('v'),
];

/// Notes of the running kernel.
const KERNEL_NOTES: &str = "/sys/kernel/notes";

/// Prints the build IDs.
///
/// # Errors
/// If the recording or the notes of the kernel cannot be read.
pub(super) fn run(call: &Call<'_>) -> Result<ExitCode, Failure> {
    let given = &call.given;
    if given.has("kernel") {
        return kernel();
    }
    print(&files(&input::path(given), given.has("with-hits"))?)?;
    Ok(ExitCode::SUCCESS)
}

/// The files of the table; those with samples if only these are asked for, or if there is no table.
fn files(path: &Path, with_hits: bool) -> Result<Vec<FileId>, Failure> {
    if with_hits || input::is_stdin(path) {
        return input::files_with_samples(path);
    }
    if !has_table(&input::info(path, Parts::default())?.meta) {
        return input::files_with_samples(path);
    }
    Ok(input::info(path, Parts { build_ids: true, ..Parts::default() })?.build_ids)
}

/// Prints a line for each file, with blanks for a missing build ID.
fn print(files: &[FileId]) -> Result<(), Failure> {
    let line = |file: &FileId| printable_line(format_args!("{:<40} {}", file.digits(), file.filename)) + "\n";
    output::print(files.iter().map(line).collect::<String>().as_bytes())
}

fn kernel() -> Result<ExitCode, Failure> {
    let id = read_notes(Path::new(KERNEL_NOTES));
    let id = id.map_err(|error| Failure::Failed(format!("{KERNEL_NOTES}: {error}")))?;
    let id = id.ok_or_else(|| Failure::Failed(format!("{KERNEL_NOTES}: no build ID")))?;
    output::print(format!("{id}\n").as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
