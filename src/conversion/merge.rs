//! Merges recordings into one.

use super::split::new_form;
use crate::rewrite::endian::EndianPass;
use crate::rewrite::framework::output::{RecordingOptions, RecordingTarget};
use crate::rewrite::merge::options::MergeOptions;
use crate::rewrite::merge::run::Merge;
use perf_data::container::output::{Output, OutputRules};
use perf_data::container::read::directory::is_recording;
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::container::write::envelope::Envelopes;
use perf_data::error::Result;
use perf_data::stream::ledger::Ledger;

/// The existing outputs that a new recording may replace.
pub fn new_recording_rules(overwrite: bool) -> OutputRules {
    OutputRules { overwrite, replaceable: Some(is_recording), ..OutputRules::default() }
}

/// Writes recordings as one, in time order: by default as a file, or as a pipe if the output is a stream.
///
/// # Errors
/// If a recording cannot be read, the recordings cannot be merged, or the output cannot be written.
pub fn write_merged(
    inputs: Vec<Input>,
    read: &ReadOptions,
    options: MergeOptions,
    recording: &RecordingOptions,
    envelopes: &Envelopes,
    output: &Output,
) -> Result<Ledger> {
    let merge = Merge::open(inputs, read, options)?;
    let form = new_form(recording);
    if let Some(endian) = form.endian {
        merge.run(read, &mut EndianPass::new(endian, recording.allow_mixed))?;
    }
    let container = if output.is_stream() { Container::Pipe } else { Container::File };
    let to = recording.form.container.unwrap_or(container);
    let target = RecordingTarget { to, form, envelopes, spool_dir: read.spool_dir.as_deref() };
    let (ledger, written) = target.write(output, |sink| merge.run(read, sink))?;
    written.put_in_place()?;
    Ok(ledger)
}
