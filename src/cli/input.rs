//! Opens the inputs that the user names: a recording as it is, or one converted from another format.

use super::args::DEFAULT_INPUT;
use super::failure::Failure;
use super::report::print_message;
use super::standard_streams::announce_terminal_input;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::stream::ledger::Ledger;
use perfconv::bundle::open::OpenedArchive;
use perfconv::bundle::unpack::Members;
use perfconv::conversion::input::{OpenedInput, RecognizedInput};
use perfconv::conversion::open_archive;
use perfconv::formats::framework::table::{by_name, readable};
use perfconv::formats::import::{ImportOptions, Values};
use perfconv::formats::omitted::omitted;
use perfconv::formats::{FORMATS, FormatReader};
use perfconv::inspect::info::imported_profile::ImportedInfo;
use perfconv::suggest::unknown;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// Opens an input and determines its format: by `--from`, otherwise by its content, otherwise by its name.
///
/// # Errors
/// If `--from` names a format that cannot be read, or the format is unknown.
pub(super) fn recognized(path: PathBuf, from: Option<&str>, options: &ReadOptions) -> Result<RecognizedInput, Failure> {
    recognized_input(named(path)?, from, options)
}

fn recognized_input(input: Input, from: Option<&str>, options: &ReadOptions) -> Result<RecognizedInput, Failure> {
    let Some(name) = from else { return Ok(RecognizedInput::new(input, options)?) };
    let format = by_name(FORMATS, name).filter(|format| !matches!(format.reader, FormatReader::Nothing));
    Ok(RecognizedInput { input, format: Some(format.ok_or_else(|| not_readable(name))?) })
}

/// A recording that can be opened.
#[derive(Debug)]
pub(super) struct InputRecording {
    opened: OpenedInput,
    /// The archive that it is in; it owns temporary files.
    archive: Option<OpenedArchive>,
}

impl Deref for InputRecording {
    type Target = OpenedInput;

    fn deref(&self) -> &OpenedInput {
        &self.opened
    }
}

impl InputRecording {
    /// Opens a recording, or that in an archive, with the format determined as by [`recognized`].
    ///
    /// # Errors
    /// If the format cannot be read or is unknown, or the input is not in the format.
    pub(super) fn new(path: PathBuf, from: Option<&str>, options: &ReadOptions) -> Result<Self, Failure> {
        Self::with_members(path, Members::Recording, from, Values::default(), options)
    }

    /// Opens a recording; of an archive, extracts these members.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(super) fn with_members(
        path: PathBuf,
        members: Members,
        from: Option<&str>,
        values: Values,
        options: &ReadOptions,
    ) -> Result<Self, Failure> {
        let archive = open_archive(&path, members, options)?;
        let input = match &archive {
            Some(archive) => archive.input(&path.display().to_string())?,
            None => named(path)?,
        };
        let opened = recognized_input(input, from, options)?
            .import(&ImportOptions { values, ..ImportOptions::from(options) })?;
        Ok(Self { opened, archive })
    }

    /// Reports that the input was converted to a recording before it is read.
    pub(super) fn announce_conversion(&self) {
        if self.is_imported() {
            let (name, format) = (self.input().name(), self.format().name);
            print_message(format_args!("perfconv: {name}: {format}, converted to a recording first"));
        }
    }

    /// The archive that the recording is in.
    pub(super) fn archive(&self) -> Option<&OpenedArchive> {
        self.archive.as_ref()
    }

    /// The recording, without its archive.
    pub(super) fn opened(&self) -> &OpenedInput {
        &self.opened
    }

    /// Information on the profile that it was converted from, if any.
    pub(super) fn imported_info(&self) -> Option<ImportedInfo<'_>> {
        self.imported().map(|imported| ImportedInfo::new(self.format().name, imported))
    }

    /// Records which parts of the input this recording lacks, function names included.
    pub(super) fn record_missing(&self, ledger: &mut Ledger) {
        self.damage().iter().for_each(|damage| ledger.damage(damage.clone()));
        let name = self.input().name();
        self.missing(false).for_each(|missing| ledger.missing(format!("{name}: {missing}")));
        if let Some(symbols) = self.symbols() {
            let functions = symbols.functions();
            ledger.missing(format!(
                "{name}: {functions} function names are not written; perfconv IN -o OUT.data writes them"
            ));
        }
    }
}

/// The failure that `--from` names a format that is unknown or cannot be read.
fn not_readable(name: &str) -> Failure {
    let formats: Vec<_> = readable(FORMATS).map(|format| format.name).collect();
    let message = match by_name(FORMATS, name) {
        Some(_) => format!("format '{name}' can be written but not read; expected one of: {}", formats.join(", ")),
        None => omitted(name).unwrap_or_else(|| unknown("format", name, &formats)),
    };
    Failure::Usage(format!("--from: {message}"))
}

/// The input at a path; - is standard input.
///
/// # Errors
/// If it is the default recording, which does not exist: the user may not know that it is read.
pub(super) fn named(path: PathBuf) -> Result<Input, Failure> {
    if path == Path::new("-") {
        announce_terminal_input();
        return Ok(Input::Stdin);
    }
    if path == Path::new(DEFAULT_INPUT) && matches!(path.try_exists(), Ok(false)) {
        return Err(Failure::Usage(format!(
            "{DEFAULT_INPUT}: not found in this directory; name a recording, or make one with perf record -g ./app"
        )));
    }
    Ok(Input::Path(path))
}
