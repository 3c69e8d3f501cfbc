//! Imports inputs of other formats as recordings.

pub(super) use crate::formats::import::ImportedRecording as Imported;

use crate::abi::header;
use crate::container::read::ReadOptions;
use crate::container::read::input::Input;
use crate::error::Result;
use crate::formats::Reader;
use crate::formats::import::{ImportOptions, import, import_directory};
use crate::formats::recognize::{START, directory_format, readable_format};
use crate::profile::imported::ImportedProfile;
use std::sync::Arc;

/// Converts an input in another format to a recording; returns recordings unchanged.
///
/// # Errors
/// If it cannot be opened, or its format is unknown.
pub(super) fn convert(input: Input, read: &ReadOptions) -> Result<(Input, Option<Imported>)> {
    if let Some(Reader::Directory { import, .. }) = directory_format(&input).map(|format| format.reader) {
        let imported = import_directory(import, &input, &ImportOptions::from(read))?;
        return Ok((imported.input(), Some(imported)));
    }
    let is_recording = |start: &[u8]| header::endian(start).is_some();
    let (input, start) = input.peek(START, is_recording, read)?;
    let format = readable_format(&start, &input.name())?;
    let Some(Reader::Import(how)) = format.map(|format| format.reader) else { return Ok((input, None)) };
    let imported = import(how, input, &ImportOptions::from(read))?;
    Ok((imported.input(), Some(imported)))
}

/// The imported profile, if the input is one.
pub(super) fn profile(imported: &Imported) -> Option<Arc<ImportedProfile>> {
    imported.imported.clone()
}
