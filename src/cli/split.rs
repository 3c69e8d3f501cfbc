//! `perfconv split IN --by WHAT -o DIR`.

use super::args::SplitArgs;
use super::failure::Failure;
use super::input::InputRecording;
use super::merge::report_result;
use super::output::{self, create_directories};
use super::progress;
use perf_data::container::access::Access;
use perf_data::container::output::OutputRules;
use perf_data::container::output::path::parent;
use perf_data::container::read::ReadOptions;
use perfconv::conversion::{split_rules, write_parts};
use std::path::Path;
use std::process::ExitCode;

/// Splits a recording.
///
/// # Errors
/// If the arguments are invalid, or the recording cannot be split.
pub(super) fn run(args: SplitArgs) -> std::result::Result<ExitCode, Failure> {
    if args.output == Path::new("-") {
        return Err(Failure::Usage("split writes a directory; name one with -o".to_owned()));
    }
    let mode = args.written.mode;
    let access = mode.into_iter().fold(Access::from_input(&args.input), Access::with_mode);
    if !args.output.exists() {
        create_directories(parent(&args.output), access)?;
    }
    let rules = OutputRules { mode, ..split_rules(args.force) };
    let output = output::check(&args.output, &[&args.input], false, rules)?;
    let read = progress::observed(ReadOptions::default().with_spool_dir(args.written.spool_dir.clone()));
    let name = args.input.display().to_string();
    let recording = InputRecording::new(args.input, None, &read)?;
    let options = args.written.recording(args.allow_mixed);
    let (count, mut ledger) = write_parts(recording.input(), &read, args.by, args.force, &options, &output)?;
    recording.record_missing(&mut ledger);
    if args.written.verbose {
        super::report::print_message(format_args!("{count} parts in {}", output.name()));
    }
    Ok(report_result(&ledger, &[name], &output, &args.written))
}
