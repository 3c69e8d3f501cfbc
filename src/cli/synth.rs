//! `perfconv synth SCENARIO -o OUT`.

use super::args::{RecordingOutputArgs, ReportArg, SynthArgs};
use super::failure::Failure;
use super::merge::{form, status};
use super::output;
use super::report::{self, Report};
use perf_data::abi::record::RecordType;
use perf_data::container::output::incomplete::hold;
use perf_data::container::output::{Output, OutputRules};
use perf_data::container::read::Container;
use perf_data::container::read::directory::is_recording;
use perf_data::container::write::envelope::{Envelopes, strip};
use perf_data::container::write::frames::FrameOptions;
use perf_data::error::Error;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::write::form::{Form, Frames};
use perfconv::rewrite::output::Target;
use perfconv::synth::Scenario;
use std::fs;
use std::process::ExitCode;

/// zstd level if a scenario asks for compression: the default of `--compress`.
const LEVEL: i32 = 3;

/// Generates a recording from a scenario.
///
/// # Errors
/// If the scenario is invalid, or the recording or its programs cannot be written.
pub(super) fn run(args: SynthArgs) -> Result<ExitCode, Failure> {
    let name = args.scenario.display().to_string();
    let text = fs::read_to_string(&args.scenario).map_err(Error::io(&name, "cannot read"))?;
    let mut scenario = Scenario::parse(&name, &text)?;
    let recording = args.written.form;
    if let Some(endian) = recording.endian {
        scenario = scenario.on_machine_of(endian);
    }
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    let of_recording = OutputRules { overwrite: args.force, replaceable: Some(is_recording), is_directory: false };
    let output = output::check(&args.output, &[&args.scenario], false, of_recording)?;
    let of_images = OutputRules { replaceable: Some(Scenario::is_of_images), is_directory: true, ..of_recording };
    let images = args.images.as_ref().map(|dir| output::check(dir, &[&args.scenario], false, of_images)).transpose()?;
    let container = if output.is_stream() { Container::Pipe } else { scenario.container };
    let to = recording.container.unwrap_or(container);
    // The scenario is generated in the byte order asked for, and keeps its own compressed frames.
    let frames = match (recording.compress, scenario.compress) {
        (Some(_), _) => form(&args.written).frames,
        (None, Some(kind)) => Frames::Compressed(FrameOptions { kind, level: LEVEL }),
        (None, None) => Frames::Kept,
    };
    let form = Form { frames, ..Form::default() };
    let (_, list) = strip(&args.output.to_string_lossy());
    let envelopes = Envelopes { list, level: None };
    let (ledger, written) = if scenario.damage.is_some() {
        let (bytes, _, ledger) = scenario.to_bytes(args.scale, to, form)?;
        let written = output.write(|out| envelopes.around(out, |out| out.write_all(&bytes).map_err(Error::Output)))?;
        (ledger, written)
    } else {
        let spool_dir = args.written.spool_dir.as_deref();
        let target = Target { to, form, envelopes: &envelopes, spool_dir };
        target.write(&output, |sink| scenario.run(args.scale, sink))?
    };
    let images = images
        .as_ref()
        .map(|images| images.fill_directory(|directory| scenario.write_images(directory)))
        .transpose()?;
    let appear_together = hold();
    images.map_or(Ok(()), |images| images.put_in_place_held(&appear_together))?;
    written.put_in_place_held(&appear_together)?;
    drop(appear_together);
    Ok(report_result(&ledger, name, &output, &args.written))
}

/// Reports what was generated, and returns the exit status.
fn report_result(ledger: &Ledger, scenario: String, output: &Output, args: &RecordingOutputArgs) -> ExitCode {
    if args.report == ReportArg::Json {
        let report = Report { ledger, inputs: &[scenario], output: &output.name(), notes: &[], unnamed: None };
        report.print(args.report, args.verbose);
    } else if !args.quiet {
        report::warnings(ledger, args.verbose);
        if args.verbose {
            report::table(ledger);
        }
        let records: u64 = ledger.entries().values().map(|entry| entry.added).sum();
        let samples = ledger.of(RecordType::SAMPLE).added;
        report::print_message(format_args!("[ perfconv: {}: {records} records, {samples} samples ]", output.name()));
    }
    status(ledger, args)
}
