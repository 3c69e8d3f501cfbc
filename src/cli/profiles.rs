//! A recording as a profile, or as a folder of them.

use super::failure::Failure;
use super::file_names::FileNames;
use super::output::Output;
use super::pending_output::PendingOutput;
use hashbrown::HashMap;
use perfconv::container::read::ReadOptions;
use perfconv::container::read::input::Input;
use perfconv::container::write::envelope::{Envelope, Envelopes};
use perfconv::convert::{passed_profiles, streamed};
use perfconv::error::{Error, Result};
use perfconv::formats::options::OptionValues;
use perfconv::formats::profile_options::{DATA_ADDRESSES, LABELS, LOST, NO_LABELS, THREAD_TYPES, split};
use perfconv::formats::{BeginStreamed, FORMATS, Format, WriteProfile};
use perfconv::profile::Profile;
use perfconv::profile::imported::ImportedProfile;
use perfconv::profile::labels::Label;
use perfconv::profile::options::ProfileOptions;
use perfconv::profile::unnamed::Unnamed;
use perfconv::rewrite::passes::Passes;
use perfconv::stream::ledger::Ledger;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// The format of profiles that was chosen.
pub struct ProfileFormat {
    /// The format.
    pub format: &'static Format,
    /// How it is written.
    pub writes: WriteProfile,
}

/// A profile that is written: what became of the records, the files, and the names that its frames lack.
pub type Written<'a> = (Ledger, PendingOutput<'a>, Unnamed);

/// Writes what was asked for.
///
/// # Errors
/// Where the arguments do not make sense, the recording cannot be read or the output not be written.
pub fn run<'a>(
    input: Input,
    read: &ReadOptions,
    passes: &mut Passes,
    format: &ProfileFormat,
    output: &'a Output,
    envelopes: &Envelopes,
    options: &ProfileOptions,
) -> std::result::Result<Written<'a>, Failure> {
    let WriteProfile { write, streamed, .. } = format.writes;
    // What was imported is in memory as it is, and its symbols are looked up when all samples are there.
    let streamed = streamed.filter(|_| options.imported.is_none());
    let is_unique = options.labels.iter().flatten().any(|label| label.is_unique());
    match streamed {
        _ if options.split.is_some() => {
            let (profiles, ledger) = passed_profiles(input, read, passes, options)?;
            let written = output.write_folder(|folder| {
                write_each(&profiles, folder, format, envelopes)?;
                output.has_all_of_old(folder)
            })?;
            Ok((ledger, written, unnamed(&profiles)))
        }
        Some(begin) if is_unique => one_by_one(input, read, passes, options, begin, output, envelopes),
        _ => {
            let (profiles, ledger) = passed_profiles(input, read, passes, options)?;
            let unnamed = unnamed(&profiles);
            let profile = profiles.into_iter().next().unwrap_or_default();
            let written = output.write(|out| envelopes.around(out, |out| write(&profile, out)))?;
            Ok((ledger, written, unnamed))
        }
    }
}

/// How many samples have frames without names.
fn unnamed(profiles: &[Profile]) -> Unnamed {
    let mut unnamed = Unnamed::default();
    profiles.iter().for_each(|profile| unnamed.add(profile));
    unnamed
}

fn one_by_one<'a>(
    input: Input,
    read: &ReadOptions,
    passes: &mut Passes,
    options: &ProfileOptions,
    begin: BeginStreamed,
    output: &'a Output,
    envelopes: &Envelopes,
) -> std::result::Result<Written<'a>, Failure> {
    let mut account = (Ledger::default(), Unnamed::default());
    let written = output.write(|out| {
        envelopes.around(out, |out| {
            account = streamed(input, read, passes, options, begin, out)?;
            Ok(())
        })
    })?;
    let (ledger, unnamed) = account;
    Ok((ledger, written, unnamed))
}

/// What goes into a profile, of a recording with what is kept of the profile that it was converted from.
///
/// # Errors
/// Where the arguments do not make sense.
pub fn options(
    values: &OptionValues,
    events: Vec<String>,
    imported: Option<Arc<ImportedProfile>>,
) -> std::result::Result<ProfileOptions, Failure> {
    let keys = values.list(&LABELS);
    let labels = keys.map(|keys| keys.iter().filter_map(|key| Label::by_key(key)).collect::<Vec<_>>());
    if keys.is_some_and(|keys| keys.len() > 1 && keys.iter().any(|key| key == NO_LABELS)) {
        return Err(Failure::Usage(format!("--labels: {NO_LABELS} stands alone")));
    }
    let has_types = labels.iter().flatten().any(|&label| label == Label::ThreadType);
    if has_types != values.is_given(&THREAD_TYPES) {
        let what = "the label thread_type and --thread-types FILE need each other: the file says what to call threads";
        return Err(Failure::Usage(what.to_owned()));
    }
    Ok(ProfileOptions {
        labels,
        events,
        split: split(values),
        lost_as_samples: values.is_given(&LOST),
        data_addresses: values.is_given(&DATA_ADDRESSES),
        thread_types: values.file(&THREAD_TYPES).map(thread_types).transpose()?.unwrap_or_default(),
        imported,
    })
}

/// Reads lines of a thread id and what to call its thread.
fn thread_types(path: &Path) -> std::result::Result<HashMap<u32, String>, Failure> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(Error::io(&name, "cannot read"))?;
    let mut types = HashMap::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let pair = line.trim().split_once(char::is_whitespace);
        let Some((tid, kind)) = pair.and_then(|(tid, kind)| Some((tid.parse().ok()?, kind.trim().to_owned()))) else {
            let what = format!("line {} is not a thread id and what to call its thread: {line}", index + 1);
            return Err(Error::input(name, None, what).into());
        };
        types.insert(tid, kind);
    }
    Ok(types)
}

/// Writes each profile to a file of its own name.
fn write_each(profiles: &[Profile], folder: &Path, format: &ProfileFormat, envelopes: &Envelopes) -> Result<()> {
    let mut names = FileNames::default();
    for profile in profiles {
        let name = names.of(profile.name.as_deref().unwrap_or("all"));
        let path = folder.join(name + &ending(format, envelopes));
        let file = File::create_new(&path).map_err(Error::io(path.display().to_string(), "cannot create"))?;
        let mut out = BufWriter::with_capacity(1 << 17, file);
        envelopes.around(&mut out, |out| (format.writes.write)(profile, out))?;
        out.flush().map_err(Error::Output)?;
    }
    Ok(())
}

fn ending(format: &ProfileFormat, envelopes: &Envelopes) -> String {
    let extension = extension(format.format);
    let packed = envelopes.list.iter().rev().map(|envelope| match envelope {
        Envelope::Gzip => ".gz",
        Envelope::Zstd => ".zst",
    });
    format!(".{extension}{}", packed.collect::<String>())
}

/// How the names of a format's files end, without what tells their compression.
fn extension(format: &Format) -> &'static str {
    format.extensions.first().map_or("", |(extension, _)| extension)
}

/// Whether a folder holds profiles and nothing else, as a split leaves it.
pub fn is_split(folder: &Path) -> bool {
    let is_profile = |name: &str| {
        let has_extension = |stem: &str| {
            let mut formats = FORMATS.iter().filter(|format| format.is_of_profiles());
            formats.any(|format| stem.strip_suffix(extension(format)).is_some_and(|stem| stem.ends_with('.')))
        };
        [".gz", ".zst", ""].iter().filter_map(|packed| name.strip_suffix(packed)).any(has_extension)
    };
    let Ok(mut entries) = fs::read_dir(folder) else { return false };
    entries.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(is_profile)))
}
