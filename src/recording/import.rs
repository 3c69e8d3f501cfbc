//! Imports inputs of other formats as recordings.

use crate::abi::header;
use crate::container::read::ReadOptions;
use crate::container::read::input::Input;
use crate::container::walk::Damage;
use crate::error::Result;
use crate::formats::Format;
use crate::formats::Reader;
use crate::formats::import::{ImportOptions, ImportedRecording, import, import_directory};
use crate::formats::recognize::{START, directory_format, readable_format};
use crate::profile::imported::ImportedProfile;
use std::sync::Arc;

/// A recording imported from another format.
#[derive(Debug)]
pub(super) struct Imported {
    /// The recording, which can be opened while this value exists.
    pub recording: ImportedRecording,
    /// The format.
    pub format: &'static Format,
}

impl Imported {
    /// The recording.
    pub fn input(&self) -> Input {
        self.recording.input()
    }

    /// Problems of the input.
    pub fn damage(&self) -> &[Damage] {
        &self.recording.damage
    }

    /// The profile, if it is one.
    pub fn profile(&self) -> Option<Arc<ImportedProfile>> {
        self.recording.imported.clone()
    }
}

/// Converts an input in another format to a recording; returns recordings unchanged.
///
/// # Errors
/// If it cannot be opened, or its format is unknown.
pub(super) fn convert(input: Input, read: &ReadOptions) -> Result<(Input, Option<Imported>)> {
    if let Some(format) = directory_format(&input)
        && let Reader::Directory { import, .. } = format.reader
    {
        let recording = import_directory(import, &input, &ImportOptions::from(read))?;
        return Ok((recording.input(), Some(Imported { recording, format })));
    }
    let is_recording = |start: &[u8]| header::endian(start).is_some();
    let (input, start) = input.peek(START, is_recording, read)?;
    if let Some(format) = readable_format(&start, &input.name())?
        && let Reader::Import(how) = format.reader
    {
        let recording = import(how, input, &ImportOptions::from(read))?;
        return Ok((recording.input(), Some(Imported { recording, format })));
    }
    Ok((input, None))
}
