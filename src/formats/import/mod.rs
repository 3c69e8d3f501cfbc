//! Recordings that other formats carry, made again: whatever is done with a recording can be done with these.
//!
//! Profiles are no recordings, and become some: what they tell ([`source`]) gets addresses ([`placement`]) and is recorded
//! ([`record()`]); names of functions are beside the recording ([`images`]).

pub mod images;
mod imported;
mod labels;
mod mapping_writer;
mod maps;
pub mod placement;
mod record;
pub mod source;
pub mod symbols;
mod tasks;
#[cfg(test)]
mod tests;
mod values;

pub use record::record;
pub use values::Values;

use super::retained_fields::RetainedFields;
use crate::container::read::ReadOptions;
use crate::container::read::input::{Input, Opened};
use crate::container::spool::Spool;
use crate::container::temp_folder::TempFolder;
use crate::container::walk::Damage;
use crate::error::{Error, Result};
use crate::profile::imported::ImportedProfile;
use crate::stream::ledger::Ledger;
use images::Symbols;
use std::io::{Cursor, Read, Write};
use std::sync::Arc;

/// The most bytes of a call chain and raw bytes: what a record has room for.
const ROOM: usize = 65_000;

/// The most frames of a stack, and one, by which it is known to be cut.
pub const MOST_FRAMES: usize = ROOM / size_of::<u64>() + 1;

/// The most samples, and the most parts in all, that a profile may tell, each of which takes some hundred bytes of memory, however
/// few it takes in the profile.
pub const MOST_TOLD: usize = 1 << 24;

/// A word of an input in a message.
pub fn shown(word: &str) -> String {
    const LONGEST: usize = 60;
    match word.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &word[..end]),
        None => format!("{word:?}"),
    }
}

/// A recording that was made again.
#[derive(Debug)]
pub struct ImportedRecording {
    input: Input,
    /// What of the other format could not be read.
    pub damage: Vec<Damage>,
    /// Unknown fields of the input, which an output of a format like its own holds too.
    pub retained: RetainedFields,
    /// What is kept of a profile beside the recording that it became; `None` where the input carried a recording.
    pub imported: Option<Arc<ImportedProfile>>,
    /// What of a profile is in no output.
    pub missing: Vec<String>,
    /// What of a profile has no place in a recording, and is in profiles that are written from it.
    pub missing_in_recording: Vec<String>,
    /// Names of a profile's functions, which are to be beside the recording.
    pub symbols: Option<Symbols>,
    /// Where it lies, if it is one of several files; it goes with this value.
    _folder: Option<TempFolder>,
}

impl ImportedRecording {
    /// A recording of one file, by the name of what carried it.
    ///
    /// # Errors
    /// What the system says.
    pub fn from_file(name: &str, file: Spool, damage: Vec<Damage>) -> Result<Self> {
        let bytes = file.into_bytes().map_err(Error::io(name, "cannot keep in a temporary file"))?;
        Ok(Self {
            input: Input::Bytes { name: name.to_owned(), bytes },
            damage,
            retained: RetainedFields::default(),
            imported: None,
            missing: Vec::new(),
            missing_in_recording: Vec::new(),
            symbols: None,
            _folder: None,
        })
    }

    /// A recording of several files.
    pub fn from_folder(folder: TempFolder, damage: Vec<Damage>) -> Self {
        Self {
            input: Input::Path(folder.path().to_owned()),
            damage,
            retained: RetainedFields::default(),
            imported: None,
            missing: Vec::new(),
            missing_in_recording: Vec::new(),
            symbols: None,
            _folder: Some(folder),
        }
    }

    /// The recording, to be opened as often as needed while this value is there.
    pub fn input(&self) -> Input {
        self.input.clone()
    }
}

/// How recordings are made.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// How what is made is read.
    pub read: ReadOptions,
    /// What becomes of a profile's values.
    pub values: Values,
    /// The most samples that a profile may become, of 128 bytes on average.
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

/// Makes the recording again that an input in another format carries.
pub type Import = fn(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording>;

/// Copies a profile that is valid, and accounts for its samples.
pub type CopyProfile = fn(stream: &mut (dyn Read + Send), name: &str, out: &mut dyn Write) -> Result<Ledger>;

/// Makes a recording again, by one of the formats.
///
/// # Errors
/// Where the input cannot be opened or is not of that format.
pub fn import(import: Import, input: Input, options: &ImportOptions) -> Result<ImportedRecording> {
    opened(input, &options.read, |stream, name| import(stream, name, options))
}

/// Copies an input of a format to an output of the same.
///
/// # Errors
/// Where the input cannot be opened or is not of that format, and what `out` says.
pub fn copy(copy: CopyProfile, input: Input, options: &ReadOptions, out: &mut dyn Write) -> Result<Ledger> {
    opened(input, options, |stream, name| copy(stream, name, out))
}

/// Opens an input for reading from its beginning to its end.
fn opened<T>(
    input: Input,
    options: &ReadOptions,
    read: impl FnOnce(&mut (dyn Read + Send), &str) -> Result<T>,
) -> Result<T> {
    let name = input.name();
    match input.open(options)? {
        Opened::Bytes(bytes) => read(&mut Cursor::new(bytes), &name),
        Opened::Stream(mut stream) => read(&mut stream, &name),
        Opened::Directory(_) => Err(Error::input(name, None, "a folder is only read as a recording")),
    }
}
