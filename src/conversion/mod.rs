//! Conversion of an input to an output: what the program and [`Recording`](crate::Recording) call.

mod aggregate;
mod archive;
mod hardware_trace;
mod images;
pub mod input;
mod merge;
mod part_file;
mod profile_sum;
pub(crate) mod profiles;
mod records;
mod split;
mod synth;

pub use aggregate::{decoded_profiles, passed_profiles, profile, profiles};
pub use archive::{
    archive_envelopes, archive_reader, name_in_archive, open_archive, with_archived_objects, write_archive,
};
pub(crate) use hardware_trace::decode_trace;
pub use hardware_trace::trace_source;
pub use merge::{new_recording_rules, write_merged};
pub use profile_sum::write_profile_sum;
pub use profiles::uses_unselected_samples;
pub use records::{convert_records, convert_records_to_directory, convert_with};
pub use split::{split_rules, write_parts};
pub use synth::{scenario_images_rules, write_scenario};

use crate::formats::framework::converter::{AppliedPasses, ConvertOptions};
use crate::formats::framework::output::ProfileFormat;
use crate::formats::import::{self, CopyProfile};
use crate::formats::{FormatWriter, OutputFormat};
use crate::profile::options::ProfileOptions;
use crate::profile::symbolize::SymbolSources;
use crate::profile::symbolize::unsymbolized::Unsymbolized;
use crate::rewrite::framework::output::write;
use crate::rewrite::framework::passes::Passes;
use crate::rewrite::itrace::TraceEvents;
use images::Images;
use input::{OpenedInput, RecognizedInput};
use perf_data::container::output::incomplete::hold;
use perf_data::container::output::pending::PendingOutput;
use perf_data::container::output::{Output, OutputRules};
use perf_data::container::read::ReadOptions;
use perf_data::container::read::directory::is_recording;
use perf_data::container::read::input::Input;
use perf_data::container::write::envelope::Envelopes;
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use perf_data::stream::source::Source;
use profiles::ProfileTarget;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A conversion of a recording to an output.
pub struct Conversion<'a> {
    /// Format of the output, with its options.
    pub format: &'a dyn OutputFormat,
    /// Compression of the output as a whole.
    pub envelopes: &'a Envelopes,
    /// Passes over the records.
    pub passes: Passes,
    /// To samples of which events hardware traces are decoded by default, in outputs that show samples. If `None`, the passes may decode
    /// them.
    pub traces: Option<TraceEvents>,
    /// What the profile contains, if the output is one. The format adds the labels and times that it needs, and `symbols` says
    /// where functions are looked up.
    pub profile: ProfileOptions,
    /// Options for reading.
    pub read: &'a ReadOptions,
    /// Where to look up functions, in addition to those of the input.
    pub symbols: SymbolSources,
    /// Directory for the function names of an input that is a profile, by default next to an output that is a recording.
    pub images: Option<&'a Path>,
    /// Whether files may be overwritten.
    pub overwrite: bool,
    /// What the profile is compared with, if the format shows that.
    pub base: Option<Base<'a>>,
}

/// A recording that another is compared with.
pub struct Base<'a> {
    /// The recording.
    pub recording: &'a OpenedInput,
    /// Passes over its records.
    pub passes: Passes,
    /// Where to look up its functions.
    pub symbols: SymbolSources,
}

/// The result of a conversion.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Converted {
    /// What was read, written and dropped.
    pub ledger: Ledger,
    /// The same of the [base](Conversion::base).
    pub base: Option<Ledger>,
    /// A message on the directory with function names that was written.
    pub images: Option<String>,
    /// Frames without function names, by object; `None` if the output has no frames.
    pub unsymbolized: Option<Unsymbolized>,
    /// Messages on what exceeds limits that the format's options set.
    pub exceeded: Vec<String>,
}

/// Shows the [ledger](Converted::ledger).
impl fmt::Display for Converted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ledger.fmt(f)
    }
}

/// The existing outputs that one of a format may replace.
pub fn output_rules(format: &dyn OutputFormat, is_split: bool, overwrite: bool) -> OutputRules {
    OutputRules {
        overwrite,
        replaceable: match format.writer() {
            FormatWriter::Records(_) => Some(is_recording),
            FormatWriter::Profile(_) if is_split => Some(profiles::is_split),
            FormatWriter::Directory(directory) => Some(directory.is_alike()),
            FormatWriter::Profile(_) | FormatWriter::Converter(_) => None,
        },
        is_directory: matches!(format.writer(), FormatWriter::Directory(_)) || is_split,
        mode: None,
    }
}

/// Copies an input to an output of its format.
///
/// # Errors
/// If the input cannot be read or is invalid, or the output cannot be written.
pub fn copy(
    copy: CopyProfile,
    input: RecognizedInput,
    read: &ReadOptions,
    envelopes: &Envelopes,
    output: &Output,
) -> Result<Converted> {
    let mut ledger = Ledger::default();
    let written = output.write(|out| {
        envelopes.around(out, |out| {
            ledger = import::copy(copy, input.input, read, out)?;
            Ok(())
        })
    })?;
    written.put_in_place()?;
    Ok(Converted { ledger, ..Converted::default() })
}

impl Conversion<'_> {
    /// Converts a recording. Its output appears when it is complete, together with the files that it refers to.
    ///
    /// # Errors
    /// If the recording cannot be read, or the output cannot be written.
    pub fn run(mut self, recording: &OpenedInput, output: &Output) -> Result<Converted> {
        let writer = self.format.writer();
        let direct = match writer {
            FormatWriter::Profile(format) => format.direct(),
            _ => None,
        };
        let disclosure = self.passes.disclosure();
        if let FormatWriter::Profile(format) = writer
            && format.reads_code()
            && disclosure.is_anonymized()
        {
            return Err(Error::invalid("an anonymized output cannot have source lines or instructions of functions"));
        }
        let held_files = self.passes.hold_files();
        let images = Images::check(recording.symbols(), disclosure, self.images, (writer, output), self.overwrite)?;
        // Function names of an imported profile.
        let imported = disclosure.bypassing(recording.imported()).filter(|_| direct.is_none()).cloned();
        let keeps_profile = imported.is_some() && matches!(writer, FormatWriter::Profile(_));
        // Objects have names for the original addresses only.
        let has_objects = disclosure.bypassing(Some(self.format)).is_some_and(OutputFormat::shows_functions)
            && direct.is_none()
            && !self.passes.replace_addresses();
        if !has_objects {
            self.symbols = SymbolSources::default();
            self.base.iter_mut().for_each(|base| base.symbols = SymbolSources::default());
        }
        self.symbols.imported = imported;

        let decoded = self.traces.as_ref().filter(|_| !recording.is_imported() && self.format.shows_samples());
        let input = match decoded {
            Some(events) => decode_trace(recording.input(), self.read, &mut self.passes, events)?,
            None => recording.input(),
        };
        let mut converted = Converted::default();
        let (mut ledger, written) = match (direct, writer) {
            (Some(direct), _) => {
                let (write, ledger) = direct(Source::open(input, self.read.clone())?)?;
                (ledger, output.write(|out| self.envelopes.around(out, |out| write(out)))?)
            }
            (None, FormatWriter::Records(options)) => {
                let Self { read, envelopes, .. } = self;
                write(input, read, &mut self.passes, options, envelopes, output)?
            }
            (None, FormatWriter::Converter(format)) => {
                let options = self.convert_options(recording);
                let Self { read, ref mut passes, envelopes, .. } = self;
                let mut ledger = Ledger::default();
                let written = output.write(|out| {
                    envelopes.around(out, |out| {
                        (ledger, converted.unsymbolized) = convert_records(input, read, &options, passes, format, out)?;
                        Ok(())
                    })
                })?;
                (ledger, written)
            }
            (None, FormatWriter::Directory(format)) => {
                let options = self.convert_options(recording);
                let mut ledger = Ledger::default();
                let written = output.fill_directory(|directory| {
                    (ledger, converted.unsymbolized) =
                        convert_records_to_directory(input, self.read, &options, &mut self.passes, format, directory)?;
                    Ok(())
                })?;
                (ledger, written)
            }
            (None, FormatWriter::Profile(format)) => self.profile(input, format, output, &mut converted)?,
        };

        let (names, message) = images.write(&mut ledger)?.unzip();
        {
            // Moved into place last: a recording must not appear before the files that it refers to.
            let appear_together = hold();
            names.map_or(Ok(()), |names| names.put_in_place_held(&appear_together))?;
            held_files.put_in_place(&mut self.passes)?;
            written.put_in_place_held(&appear_together)?;
        }
        recording.missing(keeps_profile).for_each(|missing| ledger.missing(missing.clone()));
        recording.damage().iter().for_each(|damage| ledger.damage(damage.clone()));
        let unknown = recording.retained_fields();
        if !unknown.is_empty() && (disclosure.is_anonymized() || !(self.format.format().keeps)(&unknown)) {
            ledger.missing(format!("{}: unknown fields cannot be stored in the output", recording.input().name()));
        }
        if let Some(aggregated) = recording.imported().and_then(|imported| imported.size.aggregated()) {
            ledger.aggregated(aggregated);
        }
        Ok(Converted { ledger, images: message, ..converted })
    }

    /// Options for writing the records in another form.
    fn convert_options(&self, recording: &OpenedInput) -> ConvertOptions {
        let disclosure = self.passes.disclosure();
        ConvertOptions {
            passes: AppliedPasses {
                change_records: self.passes.change_records(),
                replace_addresses: self.passes.replace_addresses(),
                disclosure,
            },
            // Unknown fields could contain anything.
            retained: disclosure.bypassing(Some(recording.retained_fields())).unwrap_or_default(),
            symbols: self.symbols.clone(),
            unmapped: self.profile.cuts.unmapped,
            spool_dir: self.read.spool_dir.clone(),
        }
    }

    /// Writes a profile.
    fn profile<'a>(
        &mut self,
        input: Input,
        format: &dyn ProfileFormat,
        output: &'a Output,
        converted: &mut Converted,
    ) -> Result<(Ledger, PendingOutput<'a>)> {
        let disclosure = self.passes.disclosure();
        let options = ProfileOptions { symbols: self.symbols.clone(), ..std::mem::take(&mut self.profile) };
        let options = profiles::with_format(options, format);
        let mut target =
            ProfileTarget { description: self.format.format(), format, envelopes: self.envelopes, base: None };
        if let Some(Base { recording, mut passes, mut symbols }) = self.base.take() {
            symbols.imported = disclosure.bypassing(recording.imported()).cloned();
            let options = ProfileOptions { symbols, ..options.clone() };
            let input = match self.traces.as_ref().filter(|_| !recording.is_imported()) {
                Some(events) => decode_trace(recording.input(), self.read, &mut passes, events)?,
                None => recording.input(),
            };
            let (profiles, ledger) = passed_profiles(input, self.read, &mut passes, &options)?;
            converted.base = Some(ledger);
            target.base = Some(Arc::new(profiles.into_iter().next().unwrap_or_default()));
        }
        let written = profiles::run(input, self.read, &mut self.passes, &target, output, &options)?;
        converted.unsymbolized = Some(written.unsymbolized);
        converted.exceeded = written.exceeded;
        Ok((written.ledger, written.pending))
    }
}
