//! Writes the recording of a scenario.

use super::split::new_form;
use crate::rewrite::framework::output::{RecordingOptions, RecordingTarget};
use crate::synth::Scenario;
use perf_data::container::output::incomplete::hold;
use perf_data::container::output::{Output, OutputRules};
use perf_data::container::read::Container;
use perf_data::container::write::envelope::Envelopes;
use perf_data::container::write::frames::FrameOptions;
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use perf_data::stream::write::form::{CompressedFrames, Form};
use std::path::Path;

/// zstd level if a scenario asks for compression: the default of all outputs.
const LEVEL: i32 = 3;

/// The existing directories of images that a scenario may replace.
pub fn scenario_images_rules(overwrite: bool) -> OutputRules {
    OutputRules {
        overwrite,
        replaceable: Some(Scenario::is_image_directory),
        is_directory: true,
        ..OutputRules::default()
    }
}

/// Writes the recording of a scenario, and the images of its programs if there is a directory for them. Both appear together.
///
/// # Errors
/// If the scenario is invalid, or an output cannot be written.
pub fn write_scenario(
    scenario: Scenario,
    scale: u64,
    recording: &RecordingOptions,
    envelopes: &Envelopes,
    (output, images): (&Output, Option<&Output>),
    spool_dir: Option<&Path>,
) -> Result<Ledger> {
    let scenario = match recording.form.endian {
        Some(endian) => scenario.with_endian(endian),
        None => scenario,
    };
    let container = if output.is_stream() { Container::Pipe } else { scenario.container };
    let to = recording.form.container.unwrap_or(container);
    // The scenario is generated in the byte order asked for, and keeps its own compressed frames.
    let frames = match (recording.form.compress, scenario.compress) {
        (Some(_), _) => new_form(recording).frames,
        (None, Some(kind)) => CompressedFrames::Compressed(FrameOptions { kind, level: LEVEL }),
        (None, None) => CompressedFrames::Kept,
    };
    let form = Form { frames, ..Form::default() };
    // Damage changes bytes of the complete file, which is therefore generated in memory.
    let (ledger, written) = if scenario.damage.is_some() {
        let (bytes, _, ledger) = scenario.to_bytes(scale, to, form)?;
        let written = output.write(|out| envelopes.around(out, |out| out.write_all(&bytes).map_err(Error::Output)))?;
        (ledger, written)
    } else {
        let target = RecordingTarget { to, form, envelopes, spool_dir };
        target.write(output, |sink| scenario.run(scale, sink))?
    };
    let images =
        images.map(|images| images.fill_directory(|directory| scenario.write_images(directory))).transpose()?;
    // A signal between the two renames waits until both are done.
    let held = hold();
    images.map_or(Ok(()), |images| images.put_in_place_held(&held))?;
    written.put_in_place_held(&held)?;
    Ok(ledger)
}
