//! Inputs of any format: recordings, and what is converted to one.

use crate::formats::framework::recognize::{START, directory_format, readable_format};
use crate::formats::framework::retained_fields::RetainedFields;
use crate::formats::import::images::Symbols;
use crate::formats::import::{ImportOptions, ImportedRecording, import, import_directory};
use crate::formats::{Format, FormatReader, recording};
use crate::profile::imported::ImportedProfile;
use perf_data::abi::header;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::container::walk::Damage;
use perf_data::error::{Error, Result};
use std::sync::Arc;

/// An input and its format; `None` for a format that can only be perf.data.
#[derive(Debug)]
pub struct RecognizedInput {
    /// The input.
    pub input: Input,
    /// Its format.
    pub format: Option<&'static Format>,
}

impl RecognizedInput {
    /// Determines the format of an input: by its content, otherwise by its name.
    ///
    /// # Errors
    /// If the input cannot be opened, or the format is unknown.
    pub fn new(input: Input, read: &ReadOptions) -> Result<Self> {
        if let Some(format) = directory_format(&input) {
            return Ok(Self { input, format: Some(format) });
        }
        let is_recording = |start: &[u8]| header::endian(start).is_some();
        let (input, start) = input.peek(START, is_recording, read)?;
        let format = readable_format(&start, &input.name())?;
        Ok(Self { input, format })
    }

    /// Converts it to a recording, unless it is one.
    ///
    /// # Errors
    /// If the input is not in the format, or the format cannot be read.
    pub fn import(self, options: &ImportOptions) -> Result<OpenedInput> {
        let Self { input, format } = self;
        let format = format.unwrap_or(&recording::FORMAT);
        let import = match format.reader {
            FormatReader::Recording => return Ok(OpenedInput { input, import: None, format, damage: Vec::new() }),
            FormatReader::Import(how) => import(how, input, options)?,
            FormatReader::Directory { import, .. } => import_directory(import, &input, options)?,
            FormatReader::Nothing => {
                let problem = format!("format {} can be written but not read", format.name);
                return Err(Error::input(input.name(), None, problem));
            }
        };
        Ok(OpenedInput { input: import.input(), damage: import.damage.clone(), import: Some(import), format })
    }
}

/// A recording that can be opened, with what its input has in addition.
#[derive(Debug)]
pub struct OpenedInput {
    input: Input,
    /// The converted recording; it owns temporary files.
    import: Option<ImportedRecording>,
    format: &'static Format,
    damage: Vec<Damage>,
}

impl OpenedInput {
    /// The recording.
    pub fn input(&self) -> Input {
        self.input.clone()
    }

    /// The same recording at another input, such as the copy of a stream, and a problem found when it was copied.
    pub fn copied_to(mut self, input: Input, damage: Option<Damage>) -> Self {
        self.damage.extend(damage);
        Self { input, ..self }
    }

    /// The format of the input.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Whether it was converted from another format.
    pub fn is_imported(&self) -> bool {
        self.import.is_some()
    }

    /// Problems found when the input was opened.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// The profile that it was converted from, if any, as far as it is retained.
    pub fn imported(&self) -> Option<&Arc<ImportedProfile>> {
        self.import.as_ref()?.imported.as_ref()
    }

    /// Parts of the original profile that are missing from an output written from the recording, with or without the retained
    /// profile.
    pub fn missing(&self, has_profile: bool) -> impl Iterator<Item = &String> {
        let in_recording =
            self.import.iter().filter(move |_| !has_profile).flat_map(|import| &import.missing_in_recording);
        self.import.iter().flat_map(|import| &import.missing).chain(in_recording)
    }

    /// Function names of the profile that it was converted from, if any.
    pub fn symbols(&self) -> Option<&Symbols> {
        self.import.as_ref()?.symbols.as_ref()
    }

    /// Unknown fields of the input that it was converted from.
    pub fn retained_fields(&self) -> RetainedFields {
        self.import.as_ref().map_or_else(RetainedFields::default, |import| import.retained.clone())
    }
}
