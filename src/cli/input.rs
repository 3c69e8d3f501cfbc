//! What the user named, as a recording: as it is, or made again from another format.

use super::failure::Failure;
use crate::container::read::ReadOptions;
use crate::container::read::input::Input;
use crate::container::walk::Damage;
use crate::formats::import::images::Symbols;
use crate::formats::import::{ImportOptions, Remade, Values, by_content, import, readable};
use crate::formats::quipper::unknown::UnknownFields;
use crate::formats::{Format, Reads, by_file_name, by_name};
use crate::info::imported::ImportedInfo;
use crate::profile::imported::ImportedProfile;
use crate::stream::ledger::Ledger;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A recording that can be opened.
#[derive(Debug)]
pub struct Recording {
    input: Input,
    /// Keeps what was made again.
    remade: Option<Remade>,
    /// Name of the format that it is converted from.
    format: &'static str,
}

impl Recording {
    /// Finds out what an input is: as the user says, else by what it begins with, else by its name.
    ///
    /// # Errors
    /// Where the user names a format that cannot be read, or the input is not of the format.
    pub fn new(path: PathBuf, from: Option<&str>, options: &ReadOptions) -> Result<Self, Failure> {
        Self::with_values(path, from, options, Values::default())
    }

    /// The same, of a profile with that done to its values.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_values(
        path: PathBuf,
        from: Option<&str>,
        options: &ReadOptions,
        values: Values,
    ) -> Result<Self, Failure> {
        let format = format_of(&path, from)?;
        let input = input_of(path);
        match format.map(|format| (format.name, format.reads)) {
            None | Some((_, Reads::Recording)) => Ok(Self { input, remade: None, format: "perf.data" }),
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
        self.missing(false).for_each(|missing| ledger.missing(missing.clone()));
        if let Some(symbols) = self.symbols() {
            let (functions, name) = (symbols.functions(), self.input.name());
            ledger.missing(format!(
                "{name}: names of {functions} functions are not written; perfconv IN -o OUT.data does"
            ));
        }
    }

    /// Names of functions of a profile that became it.
    pub fn symbols(&self) -> Option<&Symbols> {
        self.remade.as_ref()?.symbols.as_ref()
    }

    /// Fields of a PerfDataProto that carried it which are not known.
    pub fn unknown_fields(&self) -> UnknownFields {
        self.remade.as_ref().map_or_else(UnknownFields::default, |remade| remade.unknown.clone())
    }
}

/// The format of an input, as the user says, else by what it begins with, else by its name; `None` where nothing says.
///
/// # Errors
/// Where the user names no format.
pub fn format_of(path: &Path, from: Option<&str>) -> Result<Option<&'static Format>, Failure> {
    match from {
        Some(name) => by_name(name).map(Some).ok_or_else(|| not_readable(name)),
        None => Ok(recognised(path)),
    }
}

/// What the user named, to be opened.
pub fn input_of(path: PathBuf) -> Input {
    if path == Path::new("-") { Input::Stdin } else { Input::Path(path) }
}

fn not_readable(name: &str) -> Failure {
    Failure::Usage(format!("--from {name}: is not a format that is read; these are {}", readable().join(", ")))
}

/// The format of a regular file. What comes but once is not looked at.
fn recognised(path: &Path) -> Option<&'static Format> {
    let mut start = Vec::new();
    if path.is_file() {
        File::open(path).ok()?.take(64).read_to_end(&mut start).ok()?;
    }
    by_content(&start).or_else(|| by_file_name(&path.to_string_lossy()).map(|(format, _)| format)).filter(|format| {
        // A name may say anything of what is not read.
        !matches!(format.reads, Reads::Nothing)
    })
}
