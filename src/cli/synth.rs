//! `perfconv synth SCENARIO -o OUT`.

use super::args::{RecordingOutputArgs, ReportArg, SynthArgs};
use super::failure::Failure;
use super::merge::status;
use super::output;
use super::report::{self, Report};
use perf_data::abi::record::RecordType;
use perf_data::container::output::{Output, OutputRules};
use perf_data::container::write::envelope::{Envelopes, strip};
use perf_data::error::Error;
use perf_data::stream::ledger::Ledger;
use perfconv::conversion::{new_recording_rules, scenario_images_rules, write_scenario};
use perfconv::synth::Scenario;
use std::fs;
use std::process::ExitCode;

/// Generates a recording from a scenario.
///
/// # Errors
/// If the scenario is invalid, or the recording or its programs cannot be written.
pub(super) fn run(args: SynthArgs) -> Result<ExitCode, Failure> {
    let name = args.scenario.display().to_string();
    let text = fs::read(&args.scenario).map_err(Error::io(&name, "cannot read"))?;
    let text = String::from_utf8(text).map_err(|_| not_a_scenario(&name))?;
    let mut scenario = Scenario::parse(&name, &text)?;
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    let mode = args.written.mode;
    let rules = OutputRules { mode, ..new_recording_rules(args.force) };
    let output = output::check(&args.output, &[&args.scenario], false, rules)?;
    let rules = OutputRules { mode, ..scenario_images_rules(args.force) };
    let images = args.images.as_ref().map(|dir| output::check(dir, &[&args.scenario], false, rules)).transpose()?;
    let (_, list) = strip(&args.output.to_string_lossy());
    let (envelopes, recording) = (Envelopes { list, level: None }, args.written.recording(false));
    let spool_dir = args.written.spool_dir.as_deref();
    let ledger =
        write_scenario(scenario, args.scale.get(), &recording, &envelopes, (&output, images.as_ref()), spool_dir)?;
    Ok(report_result(&ledger, name, &output, &args.written))
}

/// The error about a scenario that is not text, such as a recording.
fn not_a_scenario(name: &str) -> Error {
    Error::input(name, None, "not a scenario, which is TOML text; 'perfconv synth --help' shows one")
}

/// Reports what was generated, and returns the exit status.
fn report_result(ledger: &Ledger, scenario: String, output: &Output, args: &RecordingOutputArgs) -> ExitCode {
    if args.report == ReportArg::Json {
        let report = Report { ledger, inputs: &[scenario], output: &output.name(), notes: &[], unsymbolized: None };
        report.print(args.report, args.verbose);
    } else if !args.quiet {
        report::warnings(ledger, args.verbose);
        if args.verbose {
            report::table(ledger);
        }
        let records: u64 = ledger.entries().values().map(|entry| entry.added).sum();
        let samples = ledger.counts(RecordType::SAMPLE).added;
        report::print_message(format_args!("[ perfconv: {}: {records} records, {samples} samples ]", output.name()));
    }
    status(ledger, args)
}
