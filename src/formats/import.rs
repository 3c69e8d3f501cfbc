//! Recordings that other formats carry, made again: whatever is done with a recording can be done with these.

use super::quipper::unknown::UnknownFields;
use super::{FORMATS, Format, Reads};
use crate::container::read::ReadOptions;
use crate::container::read::input::{Input, Opened};
use crate::container::spool::Spool;
use crate::container::temp_folder::TempFolder;
use crate::container::walk::Damage;
use crate::error::{Error, Result};
use std::io::{Cursor, Read};

/// A recording that was made again.
#[derive(Debug)]
pub struct Remade {
    input: Input,
    /// What of the other format could not be read.
    pub damage: Vec<Damage>,
    /// Fields of a PerfDataProto which are not known.
    pub unknown: UnknownFields,
    /// Where it lies, if it is one of several files; it goes with this value.
    _folder: Option<TempFolder>,
}

impl Remade {
    /// A recording of one file, by the name of what carried it.
    ///
    /// # Errors
    /// What the system says.
    pub fn from_file(name: &str, file: Spool, damage: Vec<Damage>) -> Result<Self> {
        let bytes = file.into_bytes().map_err(Error::io(name, "cannot keep in a temporary file"))?;
        Ok(Self {
            input: Input::Bytes { name: name.to_owned(), bytes },
            damage,
            unknown: UnknownFields::default(),
            _folder: None,
        })
    }

    /// A recording of several files.
    pub fn from_folder(folder: TempFolder, damage: Vec<Damage>) -> Self {
        let input = Input::Path(folder.path().to_owned());
        Self { input, damage, unknown: UnknownFields::default(), _folder: Some(folder) }
    }

    /// The recording, to be opened as often as needed while this value is there.
    pub fn input(&self) -> Input {
        self.input.clone()
    }
}

/// Makes the recording again that an input in another format carries.
pub type Import = fn(stream: &mut dyn Read, name: &str, options: &ReadOptions) -> Result<Remade>;

/// Makes a recording again, by one of the formats.
///
/// # Errors
/// Where the input cannot be opened or is not of that format.
pub fn import(import: Import, input: Input, options: &ReadOptions) -> Result<Remade> {
    let name = input.name();
    match input.open(options)? {
        Opened::Bytes(bytes) => import(&mut Cursor::new(bytes), &name, options),
        Opened::Stream(mut stream) => import(&mut stream, &name, options),
        Opened::Directory(_) => Err(Error::input(name, None, "a folder is only read as a recording")),
    }
}

/// The format of an input by what it begins with, for formats that can be told by that.
pub fn by_content(start: &[u8]) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.recognises)(start))
}

/// The formats that can be read, for messages.
pub fn readable() -> Vec<&'static str> {
    let is_readable = |format: &&Format| !matches!(format.reads, Reads::Nothing);
    FORMATS.iter().filter(is_readable).map(|format| format.name).collect()
}
