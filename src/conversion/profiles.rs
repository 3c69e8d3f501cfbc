//! Writes a recording as a profile, or as a directory of profiles.

use super::aggregate::{passed_profiles, streamed};
use crate::formats::options::OptionValues;
use crate::formats::profile_options::{DATA_ADDRESSES, LABELS, LOST, THREAD_TYPES, split};
use crate::formats::{BeginStreamed, FORMATS, Format, WriteProfile};
use crate::profile::Profile;
use crate::profile::labels::Label;
use crate::profile::options::ProfileOptions;
use crate::profile::symbolize::SymbolSources;
use crate::profile::unsymbolized::Unsymbolized;
use crate::rewrite::passes::Passes;
use hashbrown::HashMap;
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

/// The profile format to write.
pub struct ProfileFormat<'a> {
    /// The format.
    pub format: &'static Format,
    /// The functions that write it.
    pub writes: WriteProfile,
    /// The values of its options.
    pub values: &'a OptionValues,
    /// The profile that is compared with.
    pub base: Option<Arc<Profile>>,
}

/// A written profile: the ledger, the pending output, and the frames without function names.
pub type Written<'a> = (Ledger, PendingOutput<'a>, Unsymbolized);

/// Writes a recording as a profile, or split into several. Some formats can show how it differs from a `base`.
///
/// # Errors
/// If the arguments are invalid, the recording cannot be read, or the output cannot be written.
pub fn run<'a>(
    input: Input,
    read: &ReadOptions,
    passes: &mut Passes,
    format: &ProfileFormat<'_>,
    output: &'a Output,
    envelopes: &Envelopes,
    options: &ProfileOptions,
) -> Result<Written<'a>> {
    let WriteProfile { write, streamed, .. } = format.writes;
    // An imported profile is in memory anyway, and its symbols are looked up once all samples are known.
    let streamed = streamed.filter(|_| options.symbols.imported.is_none());
    let is_unique = options.labels.iter().flatten().any(|label| label.is_unique());
    match streamed {
        _ if options.split.is_some() => {
            let (profiles, ledger) = passed_profiles(input, read, passes, options)?;
            let written = output.fill_directory(|directory| {
                write_each(&profiles, directory, format, envelopes)?;
                output.check_replaced(directory)
            })?;
            Ok((ledger, written, unnamed(&profiles)))
        }
        Some(begin) if is_unique => stream_samples(input, read, passes, options, begin, output, envelopes),
        _ => {
            let (profiles, ledger) = passed_profiles(input, read, passes, options)?;
            let unnamed = unnamed(&profiles);
            let profile = profiles.into_iter().next().unwrap_or_default();
            let profile = Profile { base: format.base.clone(), ..profile };
            let written = output.write(|out| envelopes.around(out, |out| write(&profile, format.values, out)))?;
            Ok((ledger, written, unnamed))
        }
    }
}

/// Counts the samples whose frames have no function names.
fn unnamed(profiles: &[Profile]) -> Unsymbolized {
    let mut unnamed = Unsymbolized::default();
    profiles.iter().for_each(|profile| unnamed.add(profile));
    unnamed
}

fn stream_samples<'a>(
    input: Input,
    read: &ReadOptions,
    passes: &mut Passes,
    options: &ProfileOptions,
    begin: BeginStreamed,
    output: &'a Output,
    envelopes: &Envelopes,
) -> Result<Written<'a>> {
    let mut result = (Ledger::default(), Unsymbolized::default());
    let written = output.write(|out| {
        envelopes.around(out, |out| {
            result = streamed(input, read, passes, options, begin, out)?;
            Ok(())
        })
    })?;
    let (ledger, unnamed) = result;
    Ok((ledger, written, unnamed))
}

/// Profile options from the values of format options, for a recording or for the profile that it was converted from.
///
/// # Errors
/// If the arguments are invalid.
pub fn options(format: &ProfileFormat<'_>, events: Vec<String>, symbols: SymbolSources) -> Result<ProfileOptions> {
    let values = format.values;
    let keys = values.list(&LABELS);
    let labels = keys.map(|keys| keys.iter().filter_map(|key| Label::by_key(key)).collect::<Vec<_>>());
    let has_times = (format.writes.has_times)(values);
    let labels = labels.map(|labels| labels.into_iter().filter(|label| !has_times || !label.is_unique()).collect());
    Ok(ProfileOptions {
        labels,
        default_labels: format.writes.labels,
        required_labels: format.writes.required_labels,
        events,
        split: split(values),
        lost_as_samples: values.is_given(&LOST),
        timeline: has_times,
        data_addresses: values.is_given(&DATA_ADDRESSES),
        leaves_only: false,
        thread_types: values.file(&THREAD_TYPES).map(thread_types).transpose()?.unwrap_or_default(),
        symbols,
    })
}

/// Reads a file of thread IDs and thread types, one pair on each line.
fn thread_types(path: &Path) -> Result<HashMap<u32, String>> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(Error::io(&name, "cannot read"))?;
    let mut types = HashMap::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let pair = line.trim().split_once(char::is_whitespace);
        let Some((tid, kind)) = pair.and_then(|(tid, kind)| Some((tid.parse().ok()?, kind.trim().to_owned()))) else {
            let what = format!("line {}: expected a thread ID and a thread type, found '{line}'", index + 1);
            return Err(Error::input(name, None, what));
        };
        types.insert(tid, kind);
    }
    Ok(types)
}

/// Writes each profile to a file with its name.
fn write_each(profiles: &[Profile], directory: &Path, format: &ProfileFormat<'_>, envelopes: &Envelopes) -> Result<()> {
    let mut names = FileNames::default();
    for profile in profiles {
        let name = names.unique(profile.name.as_deref().unwrap_or("all"));
        let path = directory.join(name + &full_extension(format, envelopes));
        let file = File::create_new(&path).map_err(Error::io(path.display().to_string(), "cannot create"))?;
        let mut out = BufWriter::with_capacity(1 << 17, file);
        envelopes.around(&mut out, |out| (format.writes.write)(profile, format.values, out))?;
        out.flush().map_err(Error::Output)?;
    }
    Ok(())
}

fn full_extension(format: &ProfileFormat<'_>, envelopes: &Envelopes) -> String {
    let extension = extension(format.format);
    let packed = envelopes.list.iter().rev().map(|envelope| match envelope {
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
pub fn is_split(directory: &Path) -> bool {
    let is_profile = |name: &str| {
        let has_extension = |stem: &str| {
            let mut formats = FORMATS.iter().filter(|format| format.is_of_profiles());
            formats.any(|format| stem.strip_suffix(extension(format)).is_some_and(|stem| stem.ends_with('.')))
        };
        [".gz", ".zst", ""].iter().filter_map(|packed| name.strip_suffix(packed)).any(has_extension)
    };
    let Ok(mut entries) = fs::read_dir(directory) else { return false };
    entries.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(is_profile)))
}
