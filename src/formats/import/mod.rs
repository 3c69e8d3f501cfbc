//! Recordings imported from other formats, which can be processed like any other.
//!
//! Profiles are converted: their contents ([`source`]) get addresses (`placement`) and are recorded ([`record()`]);
//! function names are written to files next to the recording ([`images`]).

pub mod images;
mod imported_profile;
pub(crate) mod json_document;
mod labels;
mod mapping_writer;
mod maps;
pub(crate) mod placement;
mod record;
pub mod source;
pub mod source_samples;
pub(crate) mod symbols;
mod tasks;
#[cfg(test)]
mod tests;
mod values;
pub(crate) mod weighted_events;

pub use record::{START, record};
pub use values::Values;

use crate::formats::framework::retained_fields::RetainedFields;
use crate::profile::imported::ImportedProfile;
use images::Symbols;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::{Input, Opened};
use perf_data::container::spool::Spool;
use perf_data::container::temp_directory::TempDirectory;
use perf_data::container::walk::Damage;
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use std::borrow::Cow;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Limit for call chain and raw data of a sample, in bytes, imposed by the size of a record.
const MAX_PAYLOAD: usize = 65_000;

/// Maximum frames of a stack, plus one to detect truncation.
pub const MAX_FRAMES: usize = MAX_PAYLOAD / size_of::<u64>() + 1;

/// Maximum number of samples, and of messages in all, of a profile: each takes some hundred bytes of memory, however
/// few in the input.
pub const MAX_PARTS: usize = 1 << 24;

/// Quotes a word of the input for a message, shortened.
pub fn quoted(word: &str) -> String {
    const MAX_LEN: usize = 60;
    match word.char_indices().nth(MAX_LEN) {
        Some((end, _)) => format!("'{}'...", word[..end].escape_debug()),
        None => format!("'{}'", word.escape_debug()),
    }
}

/// Shortens a long text to its ends, since fields and values may have any length.
pub fn shortened(text: &str) -> Cow<'_, str> {
    const END: usize = 150;
    let (head, tail) = (text.char_indices().nth(END), text.char_indices().nth_back(END));
    match (head, tail) {
        (Some((head, _)), Some((tail, _))) if head < tail => format!("{}...{}", &text[..head], &text[tail..]).into(),
        _ => text.into(),
    }
}

/// Reads an entire input.
///
/// # Errors
/// I/O errors.
pub fn read_all(stream: &mut (dyn Read + Send), name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).map_err(Error::io(name, "cannot read"))?;
    Ok(bytes)
}

/// Limit on the memory for an input that may be hostile.
pub const fn memory_limit(input_size: usize) -> usize {
    const MIN: usize = 64 << 20;
    const PER_BYTE: usize = 20;
    input_size.saturating_mul(PER_BYTE).saturating_add(MIN)
}

/// Limit for the frames of all stacks, which can be many more than an input of this size lists: inlined frames and
/// prefixes can be part of many stacks.
pub fn max_total_frames(bytes: usize) -> usize {
    const MIN: usize = 64 << 20;
    const PER_BYTE: usize = 64;
    bytes.saturating_mul(PER_BYTE).max(MIN)
}

/// A recording imported from another format.
#[derive(Debug)]
pub struct ImportedRecording {
    input: Input,
    /// Parts of the input that could not be read.
    pub damage: Vec<Damage>,
    /// Unknown fields of the input, preserved for an output of a similar format.
    pub retained: RetainedFields,
    /// Data of a profile preserved in addition to the recording converted from it; `None` if the input contained a
    /// recording.
    pub imported: Option<Arc<ImportedProfile>>,
    /// Parts of a profile that are in no output.
    pub missing: Vec<String>,
    /// Parts of a profile that a recording cannot store, but profiles written from it contain.
    pub missing_in_recording: Vec<String>,
    /// Function names of a profile, to be written next to the recording.
    pub symbols: Option<Symbols>,
    /// The recording's directory, if it has several files; deleted with this value.
    _directory: Option<TempDirectory>,
}

impl ImportedRecording {
    /// A recording of one file; `name` is that of the input.
    ///
    /// # Errors
    /// I/O errors.
    pub fn from_file(name: &str, file: Spool, damage: Vec<Damage>) -> Result<Self> {
        let bytes = file.into_bytes().map_err(Error::io(name, "cannot write to a temporary file"))?;
        Ok(Self {
            input: Input::Bytes { name: name.to_owned(), bytes },
            damage,
            retained: RetainedFields::default(),
            imported: None,
            missing: Vec::new(),
            missing_in_recording: Vec::new(),
            symbols: None,
            _directory: None,
        })
    }

    /// A recording of several files.
    pub fn from_directory(directory: TempDirectory, damage: Vec<Damage>) -> Self {
        Self {
            input: Input::Path(directory.path().to_owned()),
            damage,
            retained: RetainedFields::default(),
            imported: None,
            missing: Vec::new(),
            missing_in_recording: Vec::new(),
            symbols: None,
            _directory: Some(directory),
        }
    }

    /// The recording. It can be opened repeatedly while this value exists.
    pub fn input(&self) -> Input {
        self.input.clone()
    }
}

/// Options for imports.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Options for reading the imported recording.
    pub read: ReadOptions,
    /// How to expand values that aggregate many samples.
    pub values: Values,
    /// Limit for the samples of a converted profile, of 128 bytes on average.
    pub most_samples: u64,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self { read: ReadOptions::default(), values: Values::default(), most_samples: 100_000_000 }
    }
}

impl From<&ReadOptions> for ImportOptions {
    fn from(read: &ReadOptions) -> Self {
        Self { read: read.clone(), ..Self::default() }
    }
}

/// Imports a recording from a directory.
pub type ImportDirectory = fn(directory: &Path, options: &ImportOptions) -> Result<ImportedRecording>;

/// Imports a recording from another format.
pub type Import = fn(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording>;

/// Copies a valid profile, and accounts for its samples.
pub type CopyProfile = fn(stream: &mut (dyn Read + Send), name: &str, out: &mut dyn Write) -> Result<Ledger>;

/// Imports a recording with the function of a format.
///
/// # Errors
/// If the input cannot be opened or has another format.
pub fn import(import: Import, input: Input, options: &ImportOptions) -> Result<ImportedRecording> {
    opened(input, &options.read, |stream, name| import(stream, name, options))
}

/// Imports a recording from an input that is a directory of another format.
///
/// # Errors
/// If it is not a directory, and errors of the format.
pub fn import_directory(import: ImportDirectory, input: &Input, options: &ImportOptions) -> Result<ImportedRecording> {
    match input {
        Input::Path(path) if path.is_dir() => import(path, options),
        _ => Err(Error::input(input.name(), None, "is not a directory")),
    }
}

/// Copies an input of a format to an output of the same format.
///
/// # Errors
/// If the input cannot be opened or has another format, and errors of `out`.
pub fn copy(copy: CopyProfile, input: Input, options: &ReadOptions, out: &mut dyn Write) -> Result<Ledger> {
    opened(input, options, |stream, name| copy(stream, name, out))
}

/// Opens an input for reading it once.
fn opened<T>(
    input: Input,
    options: &ReadOptions,
    read: impl FnOnce(&mut (dyn Read + Send), &str) -> Result<T>,
) -> Result<T> {
    let name = input.name();
    match input.open(options)? {
        Opened::Bytes(bytes) => read(&mut bytes.into_reader(), &name),
        Opened::Stream(mut stream) => read(&mut stream, &name),
        Opened::Directory(_) => Err(Error::input(name, None, "a directory can be read only as a recording")),
    }
}
