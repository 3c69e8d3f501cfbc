//! What the user named, as a recording: as it is, or made again from another format.

use super::failure::Failure;
use super::standard_streams::announce_terminal_input;
use perfconv::abi::header;
use perfconv::container::read::ReadOptions;
use perfconv::container::read::input::Input;
use perfconv::container::walk::Damage;
use perfconv::formats::import::images::Symbols;
use perfconv::formats::import::{ImportOptions, ImportedRecording, Values, import};
use perfconv::formats::recognize::{START, readable_format};
use perfconv::formats::retained_fields::RetainedFields;
use perfconv::formats::table::{by_name, readable_names};
use perfconv::formats::{FORMATS, Format, Reads, perf_data};
use perfconv::inspect::info::imported::ImportedInfo;
use perfconv::profile::imported::ImportedProfile;
use perfconv::stream::ledger::Ledger;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An input that the user named, and its format; `None` where it can only be a recording.
#[derive(Debug)]
pub struct NamedInput {
    /// The input.
    pub input: Input,
    /// Its format.
    pub format: Option<&'static Format>,
}

impl NamedInput {
    /// Opens an input as far as its format needs: as the user says, else by what it begins with, else by its name.
    ///
    /// # Errors
    /// Where the user names a format that cannot be read, or the format is unknown.
    pub fn open(path: PathBuf, from: Option<&str>, options: &ReadOptions) -> Result<Self, Failure> {
        let input = named(path);
        if let Some(name) = from {
            return Ok(Self { input, format: Some(by_name(FORMATS, name).ok_or_else(|| not_readable(name))?) });
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
    /// Keeps what was made again.
    remade: Option<ImportedRecording>,
    /// Name of the format that it is converted from.
    format: &'static str,
}

impl Recording {
    /// Determines the format of an input: the one that the user names, else by content, else by name.
    ///
    /// # Errors
    /// Where the user names a format that cannot be read, the input is not of the format, or its format is unknown.
    pub fn new(path: PathBuf, from: Option<&str>, options: &ReadOptions) -> Result<Self, Failure> {
        Self::converted(NamedInput::open(path, from, options)?, options, Values::default())
    }

    /// The recording that an input is or is converted to.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn converted(named: NamedInput, options: &ReadOptions, values: Values) -> Result<Self, Failure> {
        let NamedInput { input, format } = named;
        match format.map(|format| (format.name, format.reads)) {
            None | Some((_, Reads::Recording)) => Ok(Self { input, remade: None, format: perf_data::FORMAT.name }),
            Some((format, Reads::Import(how))) => {
                let remade = import(how, input, &ImportOptions { values, ..ImportOptions::from(options) })?;
                Ok(Self { input: remade.input(), remade: Some(remade), format })
            }
            Some((name, Reads::Nothing)) => Err(not_readable(name)),
        }
    }

    /// The recording.
    pub fn input(&self) -> Input {
        self.input.clone()
    }

    /// What could not be read of the format that carried it.
    pub fn damage(&self) -> &[Damage] {
        self.remade.as_ref().map_or(&[], |remade| &remade.damage)
    }

    /// Whether it was converted from another format.
    pub fn is_imported(&self) -> bool {
        self.remade.is_some()
    }

    /// What it was converted from, if that is a profile.
    pub fn imported_info(&self) -> Option<ImportedInfo<'_>> {
        self.imported().map(|imported| ImportedInfo::new(self.format, imported))
    }

    /// What is kept of the profile that it was converted from, if it was.
    pub fn imported(&self) -> Option<&Arc<ImportedProfile>> {
        self.remade.as_ref()?.imported.as_ref()
    }

    /// What of the profile that it was converted from is not in an output that is written from the recording, with what is kept
    /// of the profile or without.
    pub fn missing(&self, is_kept: bool) -> impl Iterator<Item = &String> {
        let in_recording = self.remade.iter().filter(move |_| !is_kept).flat_map(|remade| &remade.missing_in_recording);
        self.remade.iter().flat_map(|remade| &remade.missing).chain(in_recording)
    }

    /// Tells what is not in it of what it was made of, names of functions among that.
    pub fn account(&self, ledger: &mut Ledger) {
        self.damage().iter().for_each(|damage| ledger.damage(damage.clone()));
        let name = self.input.name();
        self.missing(false).for_each(|missing| ledger.missing(format!("{name}: {missing}")));
        if let Some(symbols) = self.symbols() {
            let functions = symbols.functions();
            ledger.missing(format!(
                "{name}: names of {functions} functions are not written; perfconv IN -o OUT.data does"
            ));
        }
    }

    /// Names of functions of a profile that became it.
    pub fn symbols(&self) -> Option<&Symbols> {
        self.remade.as_ref()?.symbols.as_ref()
    }

    /// Unknown fields of the input that it was converted from.
    pub fn retained_fields(&self) -> RetainedFields {
        self.remade.as_ref().map_or_else(RetainedFields::default, |remade| remade.retained.clone())
    }
}

fn not_readable(name: &str) -> Failure {
    Failure::Usage(format!("--from {name}: is not a format that is read; these are {}", readable_names()))
}

/// The input of this name, - for standard input.
pub fn named(path: PathBuf) -> Input {
    if path == Path::new("-") {
        announce_terminal_input();
        return Input::Stdin;
    }
    Input::Path(path)
}
