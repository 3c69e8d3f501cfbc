//! Writes a recording as perf.data: `perfconv IN -o OUT.data`.

use super::args::ConvertArgs;
use super::failure::Failure;
use super::output::not_a_directory;
use perfconv::abi::record::RecordType;
use perfconv::container::output::Output;
use perfconv::container::output::pending::PendingOutput;
use perfconv::container::read::input::Input;
use perfconv::container::read::{Container, ReadOptions};
use perfconv::container::write::envelope::Envelopes;
use perfconv::rewrite::output::write;
use perfconv::rewrite::passes::Passes;
use perfconv::stream::ledger::Ledger;

/// Writes a recording with its passes and options.
///
/// # Errors
/// If it cannot be read or written.
pub fn run<'a>(
    input: Input,
    options: &ReadOptions,
    passes: &mut Passes,
    output: &'a Output,
    envelopes: &Envelopes,
    args: &ConvertArgs,
) -> Result<(Ledger, PendingOutput<'a>), Failure> {
    let recording = args.of_records.recording();
    if let Some(version) = passes.perf_version().filter(|_| recording.compress.is_some())
        && !version.knows_record(RecordType::COMPRESSED)
    {
        let what = format!("--compress: perf {version} cannot read compressed records; they need perf 5.2");
        return Err(Failure::Usage(what));
    }
    if recording.container == Some(Container::Directory) && !output.can_be_directory() {
        return Err(not_a_directory(&output.name()));
    }
    Ok(write(input, options, passes, &recording, envelopes, output)?)
}
