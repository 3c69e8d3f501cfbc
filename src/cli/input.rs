//! Opens the inputs that the user names: a recording as it is, or one converted from another format.

use super::archive;
use super::failure::Failure;
use super::standard_streams::announce_terminal_input;
use perfconv::abi::header;
use perfconv::bundle::open::OpenedArchive;
use perfconv::bundle::unpack::Members;
use perfconv::container::read::ReadOptions;
use perfconv::container::read::input::Input;
use perfconv::container::spool::map;
use perfconv::container::walk::Damage;
use perfconv::error::Error;
use perfconv::formats::import::images::Symbols;
use perfconv::formats::import::{ImportOptions, ImportedRecording, Values, import, import_directory};
use perfconv::formats::recognize::{START, directory_format, readable_format};
use perfconv::formats::retained_fields::RetainedFields;
use perfconv::formats::table::{by_name, readable};
use perfconv::formats::{FORMATS, Format, Reader, perf_data};
use perfconv::inspect::info::imported_profile::ImportedInfo;
use perfconv::profile::imported::ImportedProfile;
use perfconv::stream::ledger::Ledger;
use perfconv::suggest::unknown;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An input and its format; `None` for a format that can only be perf.data.
#[derive(Debug)]
pub struct NamedInput {
    /// The input.
    pub input: Input,
    /// Its format.
    pub format: Option<&'static Format>,
}

impl NamedInput {
    /// Opens an input and determines its format: by `--from`, otherwise by its content, otherwise by its name.
    ///
    /// # Errors
    /// If `--from` names a format that cannot be read, or the format is unknown.
    pub fn open(path: PathBuf, from: Option<&str>, options: &ReadOptions) -> Result<Self, Failure> {
        Self::of(named(path), from, options)
    }

    /// Determines the format of an input.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    fn of(input: Input, from: Option<&str>, options: &ReadOptions) -> Result<Self, Failure> {
        if let Some(name) = from {
            return Ok(Self { input, format: Some(by_name(FORMATS, name).ok_or_else(|| not_readable(name))?) });
        }
        if let Some(format) = directory_format(&input) {
            return Ok(Self { input, format: Some(format) });
        }
        let is_recording = |start: &[u8]| header::endian(start).is_some();
        let (input, start) = input.peek(START, is_recording, options)?;
        let format = readable_format(&start, &input.name())?;
        Ok(Self { input, format })
    }
}

/// A recording that can be opened.
#[derive(Debug)]
pub struct Recording {
    input: Input,
    /// The reconstructed or converted recording; it owns temporary files.
    import: Option<ImportedRecording>,
    /// Name of the input's format.
    format: &'static str,
    /// The archive that it is in; it owns temporary files.
    archive: Option<OpenedArchive>,
}

impl Recording {
    /// Opens a recording, or that in an archive, with the format determined as by [`NamedInput::open`].
    ///
    /// # Errors
    /// If the format cannot be read or is unknown, or the input is not in the format.
    pub fn new(path: PathBuf, from: Option<&str>, options: &ReadOptions) -> Result<Self, Failure> {
        Self::with_members(path, Members::Recording, from, Values::default(), options)
    }

    /// Opens a recording; of an archive, extracts these members.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_members(
        path: PathBuf,
        members: Members,
        from: Option<&str>,
        values: Values,
        options: &ReadOptions,
    ) -> Result<Self, Failure> {
        let archive = archive::opened(&path, members, options)?;
        let input = match &archive {
            // Messages name the archive.
            Some(archive) if archive.recording().is_file() => {
                let bytes = File::open(archive.recording()).and_then(|file| map(&file));
                let name = path.display().to_string();
                Input::Bytes { bytes: bytes.map_err(Error::io(&name, "cannot be read"))?, name }
            }
            Some(archive) => Input::Path(archive.recording().to_owned()),
            None => named(path),
        };
        let recording = Self::converted(NamedInput::of(input, from, options)?, options, values)?;
        Ok(Self { archive, ..recording })
    }

    /// The archive that the recording is in.
    pub fn archive(&self) -> Option<&OpenedArchive> {
        self.archive.as_ref()
    }

    /// The recording that an input is, or is converted to.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn converted(named: NamedInput, options: &ReadOptions, values: Values) -> Result<Self, Failure> {
        let NamedInput { input, format } = named;
        match format.map(|format| (format.name, format.reader)) {
            None | Some((_, Reader::Recording)) => {
                Ok(Self { input, import: None, format: perf_data::FORMAT.name, archive: None })
            }
            Some((format, Reader::Import(how))) => {
                let import = import(how, input, &ImportOptions { values, ..ImportOptions::from(options) })?;
                Ok(Self { input: import.input(), import: Some(import), format, archive: None })
            }
            Some((format, Reader::Directory { import, .. })) => {
                let import =
                    import_directory(import, &input, &ImportOptions { values, ..ImportOptions::from(options) })?;
                Ok(Self { input: import.input(), import: Some(import), format, archive: None })
            }
            Some((name, Reader::Nothing)) => Err(not_readable(name)),
        }
    }

    /// The recording.
    pub fn input(&self) -> Input {
        self.input.clone()
    }

    /// Damage in the format that it was converted from.
    pub fn damage(&self) -> &[Damage] {
        self.import.as_ref().map_or(&[], |import| &import.damage)
    }

    /// Whether it was converted from another format.
    pub fn is_imported(&self) -> bool {
        self.import.is_some()
    }

    /// Information on the profile that it was converted from, if any.
    pub fn imported_info(&self) -> Option<ImportedInfo<'_>> {
        self.imported().map(|imported| ImportedInfo::new(self.format, imported))
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

    /// Records which parts of the input this recording lacks, function names included.
    pub fn record_missing(&self, ledger: &mut Ledger) {
        self.damage().iter().for_each(|damage| ledger.damage(damage.clone()));
        let name = self.input.name();
        self.missing(false).for_each(|missing| ledger.missing(format!("{name}: {missing}")));
        if let Some(symbols) = self.symbols() {
            let functions = symbols.functions();
            ledger.missing(format!(
                "{name}: {functions} function names are not written; perfconv IN -o OUT.data writes them"
            ));
        }
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

/// The failure that `--from` names a format that is unknown or cannot be read.
fn not_readable(name: &str) -> Failure {
    let formats: Vec<_> = readable(FORMATS).map(|format| format.name).collect();
    let message = match by_name(FORMATS, name) {
        Some(_) => format!("format '{name}' can be written but not read; expected one of: {}", formats.join(", ")),
        None => unknown("format", name, &formats),
    };
    Failure::Usage(format!("--from: {message}"))
}

/// The input at a path; - is standard input.
pub fn named(path: PathBuf) -> Input {
    if path == Path::new("-") {
        announce_terminal_input();
        return Input::Stdin;
    }
    Input::Path(path)
}
