//! Writes a recording as a profile, or as a directory of profiles.

use super::aggregate::{passed_profiles, streamed};
use crate::formats::framework::output::{BeginStreamed, ProfileFormat};
use crate::formats::{FORMATS, Format, FormatWriter, OutputFormat};
use crate::profile::Profile;
use crate::profile::options::{Measures, ProfileOptions};
use crate::profile::symbolize::unsymbolized::Unsymbolized;
use crate::profile::weight::SampleWeight;
use crate::rewrite::framework::passes::Passes;
use perf_data::container::output::Output;
use perf_data::container::output::file_names::FileNames;
use perf_data::container::output::pending::PendingOutput;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::container::write::envelope::{Envelope, Envelopes};
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// How and where profiles are written.
pub(crate) struct ProfileTarget<'a> {
    /// The description of the format.
    pub description: &'static Format,
    /// The format with its options.
    pub format: &'a dyn ProfileFormat,
    /// Compression of each file as a whole.
    pub envelopes: &'a Envelopes,
    /// The profile that is compared with.
    pub base: Option<Arc<Profile>>,
}

/// A written profile.
pub(crate) struct WrittenProfile<'a> {
    pub ledger: Ledger,
    pub pending: PendingOutput<'a>,
    /// Frames without function names.
    pub unsymbolized: Unsymbolized,
    /// What [exceeds](ProfileFormat::exceeded) limits.
    pub exceeded: Vec<String>,
}

/// Writes a recording as a profile, or split into several. Some formats can show how it differs from a `base`.
///
/// # Errors
/// If the arguments are invalid, the recording cannot be read, or the output cannot be written.
pub(crate) fn run<'a>(
    input: Input,
    read: &ReadOptions,
    passes: &mut Passes,
    target: &ProfileTarget<'_>,
    output: &'a Output,
    options: &ProfileOptions,
) -> Result<WrittenProfile<'a>> {
    let ProfileTarget { format, envelopes, .. } = *target;
    // An imported profile is in memory anyway, and its symbols are looked up once all samples are known.
    // Waits are no samples of the recording, which the format expects.
    let is_streamed = options.symbols.imported.is_none() && options.weight == SampleWeight::Period;
    let streamed = format.streamed().filter(|_| is_streamed);
    let is_unique = options.labels.iter().flatten().any(|label| label.is_unique());
    match streamed {
        _ if options.split.is_some() => {
            let (profiles, ledger) = passed_profiles(input, read, passes, options)?;
            let pending = output.fill_directory(|directory| {
                write_each(&profiles, directory, target)?;
                output.check_replaced(directory)
            })?;
            let unsymbolized = count_unsymbolized(&profiles);
            Ok(WrittenProfile { ledger, pending, unsymbolized, exceeded: Vec::new() })
        }
        Some(begin) if is_unique => stream_samples(input, read, passes, options, begin, output, envelopes),
        _ => {
            let (profiles, ledger) = passed_profiles(input, read, passes, options)?;
            let unsymbolized = count_unsymbolized(&profiles);
            let profile = profiles.into_iter().next().unwrap_or_default();
            let profile = Profile { base: target.base.clone(), ..profile };
            let pending = output.write(|out| envelopes.around(out, |out| format.write(&profile, out)))?;
            Ok(WrittenProfile { ledger, pending, unsymbolized, exceeded: format.exceeded(&profile)? })
        }
    }
}

/// Counts the samples whose frames have no function names.
fn count_unsymbolized(profiles: &[Profile]) -> Unsymbolized {
    let mut unsymbolized = Unsymbolized::default();
    profiles.iter().for_each(|profile| unsymbolized.add(profile));
    unsymbolized
}

fn stream_samples<'a>(
    input: Input,
    read: &ReadOptions,
    passes: &mut Passes,
    options: &ProfileOptions,
    begin: BeginStreamed,
    output: &'a Output,
    envelopes: &Envelopes,
) -> Result<WrittenProfile<'a>> {
    let mut result = (Ledger::default(), Unsymbolized::default());
    let pending = output.write(|out| {
        envelopes.around(out, |out| {
            result = streamed(input, read, passes, options, begin, out)?;
            Ok(())
        })
    })?;
    let (ledger, unsymbolized) = result;
    Ok(WrittenProfile { ledger, pending, unsymbolized, exceeded: Vec::new() })
}

/// Whether the output measures the time between samples, also between those that filters select and others.
pub fn uses_unselected_samples(weight: &SampleWeight, format: &dyn OutputFormat) -> bool {
    match format.writer() {
        FormatWriter::Profile(format) => match format.measures() {
            Measures::Samples => weight.needs_other_samples(),
            Measures::Scheduling => true,
            Measures::Syscalls => false,
        },
        _ => false,
    }
}

/// Options of a profile with what its format needs.
pub(crate) fn with_format(options: ProfileOptions, format: &dyn ProfileFormat) -> ProfileOptions {
    let has_times = format.has_times();
    let labels =
        options.labels.map(|labels| labels.into_iter().filter(|label| !has_times || !label.is_unique()).collect());
    ProfileOptions {
        labels,
        default_labels: format.labels(),
        omits_imported_labels: !format.keeps_imported_labels(),
        required_labels: format.required_labels(),
        timeline: has_times || format.shows_lengths() && matches!(options.weight, SampleWeight::Span(_)),
        weight: if format.measures() == Measures::Scheduling { SampleWeight::OffCpu } else { options.weight },
        measures: format.measures(),
        keeps_periods: format.has_columns(),
        keeps_samples: format.keeps_samples(),
        reads_code: format.reads_code(),
        as_recorded: format.is_as_recorded(),
        branches: format.branches(),
        time_quantum: format.time_quantum(),
        accesses: format.accesses(),
        ..options
    }
}

/// Writes each profile to a file with its name.
fn write_each(profiles: &[Profile], directory: &Path, target: &ProfileTarget<'_>) -> Result<()> {
    let mut names = FileNames::default();
    for profile in profiles {
        let name = names.unique(profile.name.as_deref().unwrap_or("all"));
        let path = directory.join(name + &full_extension(target));
        let file = File::create_new(&path).map_err(Error::io(path.display().to_string(), "cannot create"))?;
        let mut out = BufWriter::with_capacity(1 << 17, file);
        target.envelopes.around(&mut out, |out| target.format.write(profile, out))?;
        out.flush().map_err(Error::Output)?;
    }
    Ok(())
}

fn full_extension(target: &ProfileTarget<'_>) -> String {
    let extension = extension(target.description);
    let packed = target.envelopes.list.iter().rev().map(|envelope| match envelope {
        Envelope::Gzip => ".gz",
        Envelope::Zstd => ".zst",
    });
    format!(".{extension}{}", packed.collect::<String>())
}

/// Extension of a format's files, without that of compression.
fn extension(format: &Format) -> &'static str {
    format.extensions.first().map_or("", |(extension, _)| extension)
}

/// Whether a directory contains nothing but profiles, as a split writes it.
pub(crate) fn is_split(directory: &Path) -> bool {
    let is_profile = |name: &str| {
        let has_extension = |stem: &str| {
            let mut formats = FORMATS.iter().filter(|format| format.shows_stacks());
            formats.any(|format| stem.strip_suffix(extension(format)).is_some_and(|stem| stem.ends_with('.')))
        };
        [".gz", ".zst", ""].iter().filter_map(|packed| name.strip_suffix(packed)).any(has_extension)
    };
    let Ok(mut entries) = fs::read_dir(directory) else { return false };
    entries.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(is_profile)))
}
