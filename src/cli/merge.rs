//! `perfconv merge IN... -o OUT`: merges recordings, and adds up profiles for binary optimizers.

use super::args::{MergeArgs, RecordingOutputArgs};
use super::failure::Failure;
use super::input::InputRecording;
use super::output;
use super::progress;
use super::report::{Report, print_message};
use perf_data::container::output::{Output, OutputRules};
use perf_data::container::read::ReadOptions;
use perf_data::container::write::envelope::{Envelopes, strip};
use perf_data::stream::ledger::Ledger;
use perfconv::conversion::{new_recording_rules, write_merged, write_profile_sum};
use perfconv::formats::framework::profile_sum::SummedFormat;
use perfconv::rewrite::merge::options::MergeOptions;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit status of `--strict` if something is missing from the output.
const INCOMPLETE: u8 = 3;

/// Merges recordings.
///
/// # Errors
/// If the arguments are invalid, or the recordings cannot be merged.
pub(super) fn run(args: MergeArgs) -> Result<ExitCode, Failure> {
    let stdin = args.inputs.iter().filter(|input| *input == Path::new("-")).count();
    if stdin > 1 {
        return Err(Failure::Usage("standard input can be only one of the recordings".to_owned()));
    }
    let options = MergeOptions {
        align_wall: args.align.is_some(),
        offset_pids: args.offset_pids,
        features_from: number(&args.inputs, "--features-from", args.features_from.as_deref())?,
        kernel_from: number(&args.inputs, "--kernel-from", args.kernel_from.as_deref())?,
    };
    if args.inputs.is_empty() {
        return Err(Failure::Usage("no recording to merge".to_owned()));
    }
    if let Some(format) = SummedFormat::from_path(&args.inputs[0]) {
        return add_profiles(&args, format);
    }
    let rules = OutputRules { mode: args.written.mode, ..new_recording_rules(args.force) };
    let inputs: Vec<_> = args.inputs.iter().map(PathBuf::as_path).collect();
    let output = output::check(&args.output, &inputs, false, rules)?;
    let read = progress::observed(ReadOptions::default().with_spool_dir(args.written.spool_dir.clone()));
    let names: Vec<_> = args.inputs.iter().map(|input| input.display().to_string()).collect();
    let recordings = args.inputs.into_iter().map(|input| InputRecording::new(input, None, &read));
    let recordings = recordings.collect::<Result<Vec<_>, _>>()?;
    let inputs = recordings.iter().map(|recording| recording.input()).collect();
    let (_, list) = strip(&args.output.to_string_lossy());
    let (envelopes, written) = (Envelopes { list, level: None }, args.written.recording(args.allow_mixed));
    let mut ledger = write_merged(inputs, &read, options, &written, &envelopes, &output)?;
    recordings.iter().for_each(|recording| recording.record_missing(&mut ledger));
    Ok(report_result(&ledger, &names, &output, &args.written))
}

/// Adds up profiles for binary optimizers.
fn add_profiles(args: &MergeArgs, format: SummedFormat) -> Result<ExitCode, Failure> {
    if args.align.is_some() || args.offset_pids || args.features_from.is_some() || args.kernel_from.is_some() {
        let problem = "--align, --offset-pids, --features-from and --kernel-from apply to recordings, not to profiles";
        return Err(Failure::Usage(problem.to_owned()));
    }
    let rules = OutputRules { mode: args.written.mode, overwrite: args.force, ..OutputRules::default() };
    let inputs: Vec<_> = args.inputs.iter().map(PathBuf::as_path).collect();
    let output = output::check(&args.output, &inputs, true, rules)?;
    let (_, list) = strip(&args.output.to_string_lossy());
    let sum = write_profile_sum(&args.inputs, format, &Envelopes { list, level: None }, &output)?;
    if !args.written.quiet {
        sum.warnings().iter().for_each(|warning| print_message(format_args!("perfconv: warning: {warning}")));
        print_message(format_args!("[ perfconv: {}: {} added up ]", output.name(), sum.summary()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Reports the ledger as the arguments ask for, and returns the exit status.
pub(super) fn report_result(
    ledger: &Ledger,
    inputs: &[String],
    output: &Output,
    args: &RecordingOutputArgs,
) -> ExitCode {
    if !args.quiet {
        Report { ledger, inputs, output: &output.name(), notes: &[], unsymbolized: None }
            .print(args.report, args.verbose);
    }
    status(ledger, args)
}

pub(super) fn status(ledger: &Ledger, args: &RecordingOutputArgs) -> ExitCode {
    if args.strict && ledger.is_incomplete() { ExitCode::from(INCOMPLETE) } else { ExitCode::SUCCESS }
}

/// The index of the input that an option names, by its name or by its number from 1.
fn number(inputs: &[PathBuf], option: &str, text: Option<&str>) -> Result<Option<usize>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let by_number = || text.parse().ok().and_then(|number: usize| number.checked_sub(1)).filter(|&n| n < inputs.len());
    let index = inputs.iter().position(|input| input == Path::new(text)).or_else(by_number);
    let unknown = || {
        Failure::Usage(format!(
            "{option} {text}: not one of the inputs; expected a name or a number from 1 to {}",
            inputs.len()
        ))
    };
    index.ok_or_else(unknown).map(Some)
}
