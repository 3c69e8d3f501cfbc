//! Output targets: a file that appears only when complete, standard output, or a special file.

use super::{failure::Failure, pending_output::PendingOutput, progress, standard_streams, temporary_outputs};
use perfconv::container::access::Access;
use perfconv::container::output_path::{follow_links, parent};
use perfconv::error::{Error, Result};
use perfconv::formats::JoinDirectory;
use perfconv::rewrite::output::{RecordingOutput, WriteSeek};
use same_file::Handle;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

const EXISTS: &str = "already exists; use -f to overwrite it";
const IS_DIRECTORY: &str = "is a directory; name a file in it";
const IS_INPUT: &str = "cannot overwrite the input; choose another output";

/// A validated output target, not opened yet.
#[derive(Debug)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// A regular file, existing or not: written to a temporary file next to it, which is then renamed.
    File {
        /// Path to write, with links followed.
        target: PathBuf,
        /// Name as the user gave it.
        name: String,
        /// Whether it may replace an existing file.
        overwrite: bool,
        /// Who may read it.
        access: Access,
    },
    /// Files of a directory that can have several recordings, to which they are added.
    Part {
        /// The directory.
        directory: PathBuf,
        /// Moves the files into it.
        join: JoinDirectory,
        /// Name of the output as the user gave it.
        name: String,
        /// Who may read them.
        access: Access,
    },
    /// A device, a FIFO or an open file of a process: written to directly.
    Special(PathBuf),
}

/// Permitted targets of an output.
#[derive(Clone, Copy, Debug)]
pub struct OutputRules {
    /// Whether it may overwrite a file.
    pub overwrite: bool,
    /// Whether it may be shown on a terminal.
    pub on_terminal: bool,
    /// Predicate for an existing directory that it may replace.
    pub replaceable: Option<fn(&Path) -> bool>,
    /// Whether it is always a directory, which never replaces a file.
    pub is_directory: bool,
}

impl Output {
    /// Checks that a target may be written.
    ///
    /// # Errors
    /// If it exists and must not be overwritten, is the input, or is a terminal that cannot show the output.
    pub fn check(path: &Path, input: &Path, rules: OutputRules) -> std::result::Result<Self, Failure> {
        let refused = |name: &str| {
            let what =
                format!("{name}: binary output is not written to a terminal; name a file with -o, or use a pipe");
            Err(Failure::Usage(what))
        };
        if path == Path::new("-") {
            standard_streams::require_stdout()?;
            if io::stdout().is_terminal() && !rules.on_terminal {
                return refused("standard output");
            }
            return match Handle::stdout() {
                Ok(stdout) if is_regular(stdout.as_file().metadata()) && is_input(&stdout, input) => {
                    Err(Failure::Failed(format!("standard output: {IS_INPUT}")))
                }
                _ => Ok(Self::Stdout),
            };
        }
        let name = path.display().to_string();
        let failed = |what: &str| Err(Failure::Failed(format!("{name}: {what}")));
        let found = match fs::metadata(path) {
            Ok(found) => Some(found),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return failed(&format!("cannot access: {e}")),
        };
        let is_replaceable = |directory: &Path| rules.replaceable.is_some_and(|is_alike| is_alike(directory));
        if let Some(found) = &found {
            if found.is_dir() && !is_replaceable(path) {
                let is_other = "is a directory with other contents, which is not overwritten; name another";
                return failed(if rules.is_directory { is_other } else { IS_DIRECTORY });
            }
            if found.is_file() && rules.is_directory {
                return failed("is a file, but the output is a directory; name another");
            }
            if found.is_dir() && holds_input(path, input) {
                return failed(IS_INPUT);
            }
            if !found.is_dir() && !found.is_file() {
                let is_refused = is_terminal(path, found) && !rules.on_terminal;
                return if is_refused { refused(&name) } else { Ok(Self::Special(path.to_owned())) };
            }
            if Handle::from_path(path).is_ok_and(|target| is_input(&target, input)) {
                return failed(IS_INPUT);
            }
        }
        let Some(target) = follow_links(path) else { return Ok(Self::Special(path.to_owned())) };
        if found.is_some() && !rules.overwrite {
            return failed(EXISTS);
        }
        if !parent(&target).is_dir() {
            return failed(&format!("cannot create: directory {} does not exist", parent(&target).display()));
        }
        Ok(Self::File { target, name, overwrite: rules.overwrite, access: Access::of_input(input) })
    }

    /// Files to add to a directory.
    pub fn part(directory: PathBuf, join: JoinDirectory, name: String, input: &Path) -> Self {
        Self::Part { directory, join, name, access: Access::of_input(input) }
    }

    /// The same output with one more input, whose readers alone may read it.
    pub fn with_input(mut self, input: &Path) -> Self {
        if let Self::File { access, .. } | Self::Part { access, .. } = &mut self {
            *access = access.and(Access::of_input(input));
        }
        self
    }

    /// Who may read the output.
    pub fn access(&self) -> Access {
        match self {
            Self::File { access, .. } | Self::Part { access, .. } => *access,
            Self::Stdout | Self::Special(_) => Access::default(),
        }
    }

    /// Name for messages.
    pub fn name(&self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::File { name, .. } | Self::Part { name, .. } => name.clone(),
            Self::Special(path) => path.display().to_string(),
        }
    }

    /// Writes the output with `write`. An existing file keeps its contents until the new one is moved into place.
    ///
    /// # Errors
    /// Errors of `write` and of the system.
    pub fn write(
        &self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
    ) -> std::result::Result<PendingOutput<'_>, Failure> {
        match self {
            // The file itself instead of std's `Stdout`, which is line-buffered.
            Self::Stdout => {
                standard_streams::require_stdout()?;
                let written = Handle::stdout().map_err(Error::Output);
                let written = written.and_then(|stdout| buffered(progress::AfterDisplay(stdout.as_file()), write));
                written.map(|()| PendingOutput::in_place()).map_err(|error| self.failure_of(error))
            }
            Self::Special(path) => {
                // Append: the file may be open in another process and have contents.
                let file = File::options().append(true).open(path).map_err(|e| self.failed("cannot open", &e))?;
                buffered(file, write).map(|()| PendingOutput::in_place()).map_err(|error| self.failure_of(error))
            }
            Self::Part { name, .. } => Err(Failure::Usage(format!("{name}: is a directory; name a file in it"))),
            Self::File { target, overwrite, .. } => {
                let file = self.create_temporary(target)?;
                buffered(file.as_file(), write).map_err(|error| self.failure_of(error))?;
                Ok(PendingOutput::file(self, target, *overwrite, file))
            }
        }
    }

    /// Writes the output into the existing file instead of replacing it, for a process that has the file open.
    ///
    /// # Errors
    /// Errors of `write` and of the system.
    pub fn write_in_place(
        &self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
    ) -> std::result::Result<(), Failure> {
        match self {
            Self::File { target, overwrite: true, access, .. } if target.exists() => {
                let open = || {
                    let file = File::options().write(true).open(target)?;
                    access.restrict_file(&file, target)?;
                    file.set_len(0)?;
                    Ok(file)
                };
                let file = open().map_err(|e| self.failed("cannot open", &e))?;
                buffered(file, write).map_err(|error| self.failure_of(error))
            }
            _ => self.write(write)?.put_in_place(),
        }
    }

    /// Fills a temporary directory with `write`, which is then moved into place.
    ///
    /// # Errors
    /// If the output cannot be a directory, and errors of `write` and of the system.
    pub fn fill_directory(
        &self,
        write: impl FnOnce(&Path) -> Result<()>,
    ) -> std::result::Result<PendingOutput<'_>, Failure> {
        let (location, target) = match self {
            Self::File { target, .. } => (parent(target), target),
            Self::Part { directory, .. } => (&**directory, directory),
            Self::Stdout | Self::Special(_) => {
                return Err(Failure::Usage(format!("{}: the output is a directory; name one with -o", self.name())));
            }
        };
        let directory = temporary_outputs::directory_in(location).map_err(|e| self.cannot_create(target, &e))?;
        write(directory.path()).map_err(|error| match error {
            Error::Io { file, doing, source } => {
                let file = file.replacen(&*directory.path().to_string_lossy(), &self.name(), 1);
                Error::Io { file, doing, source }.into()
            }
            error => self.failure_of(error),
        })?;
        Ok(match self {
            Self::Part { join, .. } => PendingOutput::part(self, target, *join, directory),
            _ => PendingOutput::directory(self, target, matches!(self, Self::File { overwrite: true, .. }), directory),
        })
    }

    /// Creates a temporary file in the target's directory.
    fn create_temporary(&self, target: &Path) -> std::result::Result<NamedTempFile, Failure> {
        if target.is_dir() {
            return Err(Failure::Failed(format!("{}: {IS_DIRECTORY}", self.name())));
        }
        temporary_outputs::file_in(parent(target)).map_err(|e| self.cannot_create(target, &e))
    }

    /// The failure to create a file next to a target, in a directory that exists.
    fn cannot_create(&self, target: &Path, error: &io::Error) -> Failure {
        if error.kind() == ErrorKind::NotFound {
            let (name, directory) = (self.name(), parent(target).display());
            return Failure::Failed(format!(
                "{name}: cannot create: no file can be created in {directory}; name another"
            ));
        }
        self.failed("cannot create", error)
    }

    /// Checks that a new directory has all entries of the one that it replaces; others would be lost.
    ///
    /// # Errors
    /// If an entry is missing.
    pub fn check_replaced(&self, directory: &Path) -> Result<()> {
        let Self::File { target, name, .. } = self else { return Ok(()) };
        for entry in fs::read_dir(target).into_iter().flatten().flatten() {
            if !directory.join(entry.file_name()).exists() {
                let other = entry.file_name();
                let what = format!("{name}: contains {}, which the new output does not", other.to_string_lossy());
                return Err(Error::output_exists(format!("{what}; remove it, or name another directory")));
            }
        }
        Ok(())
    }

    fn failure_of(&self, error: Error) -> Failure {
        match error {
            Error::Output(e) if e.kind() == ErrorKind::BrokenPipe => Failure::BrokenPipe,
            // The system failed to read the bytes to write, from a memory-mapped input.
            Error::Output(e) if e.raw_os_error() == Some(BAD_ADDRESS) => {
                Failure::Failed(temporary_outputs::INPUT_TRUNCATED.to_owned())
            }
            Error::Output(e) => self.failed("cannot write", &e),
            error => error.into(),
        }
    }

    /// The failure of an operation on this output.
    pub fn failed(&self, doing: &str, error: &io::Error) -> Failure {
        Failure::Failed(format!("{}: {doing}: {error}", self.name()))
    }

    /// The failure that the output exists and must not be overwritten.
    pub fn exists(&self) -> Failure {
        Failure::Failed(format!("{}: {EXISTS}", self.name()))
    }
}

impl<'a> RecordingOutput for &'a Output {
    type Written = PendingOutput<'a>;
    type Error = Failure;

    fn is_stream(&self) -> bool {
        matches!(self, Output::Stdout)
    }

    fn can_seek(&self) -> bool {
        matches!(self, Output::File { .. })
    }

    fn name(&self) -> String {
        Output::name(self)
    }

    fn write_stream(
        self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
    ) -> std::result::Result<PendingOutput<'a>, Failure> {
        self.write(write)
    }

    fn write_seekable(
        self,
        write: impl FnOnce(&mut dyn WriteSeek) -> Result<()>,
    ) -> std::result::Result<PendingOutput<'a>, Failure> {
        let Output::File { target, overwrite, .. } = self else {
            return Err(Failure::Failed(format!("{}: not seekable; name a file", Output::name(self))));
        };
        let file = self.create_temporary(target)?;
        let mut out = BufWriter::with_capacity(1 << 17, file.as_file());
        let written = write(&mut out).and_then(|()| out.flush().map_err(Error::Output));
        drop(out);
        written.map_err(|error| self.failure_of(error))?;
        Ok(PendingOutput::file(self, target, *overwrite, file))
    }

    fn write_directory(
        self,
        write: impl FnOnce(&Path) -> Result<()>,
    ) -> std::result::Result<PendingOutput<'a>, Failure> {
        self.fill_directory(write)
    }
}

/// EFAULT: a memory-mapped input was truncated.
const BAD_ADDRESS: i32 = 14;

/// The failure to write to standard output.
pub fn stdout_failed(error: io::Error) -> Failure {
    Output::Stdout.failure_of(Error::Output(error))
}

/// Writes text to standard output.
///
/// # Errors
/// Errors of the system.
pub fn print(text: &[u8]) -> std::result::Result<(), Failure> {
    Output::Stdout.write(|out| out.write_all(text).map_err(Error::Output))?.put_in_place()
}

fn buffered(out: impl Write + Send, write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 17, out);
    write(&mut out)?;
    out.flush().map_err(Error::Output)
}

/// Whether an existing file is a terminal. Only devices are opened: opening a FIFO would wait for a reader.
fn is_terminal(path: &Path, found: &fs::Metadata) -> bool {
    #[cfg(unix)]
    let can_be_terminal = std::os::unix::fs::FileTypeExt::is_char_device(&found.file_type());
    #[cfg(not(unix))]
    let can_be_terminal = !found.is_dir();
    can_be_terminal && File::options().append(true).open(path).is_ok_and(|file| file.is_terminal())
}

fn is_regular(found: io::Result<fs::Metadata>) -> bool {
    found.is_ok_and(|found| found.is_file())
}

/// Whether a directory is the input or contains it.
fn holds_input(directory: &Path, input: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else { return false };
    input != Path::new("-") && input.canonicalize().is_ok_and(|input| input.starts_with(directory))
}

/// Whether a file is the input, or one of the files of an input directory.
fn is_input(target: &Handle, input: &Path) -> bool {
    let is_same = |other: io::Result<Handle>| other.is_ok_and(|other| other == *target);
    if input == Path::new("-") {
        is_same(Handle::stdin())
    } else if input.is_dir() {
        fs::read_dir(input).into_iter().flatten().flatten().any(|entry| is_same(Handle::from_path(entry.path())))
    } else {
        // Opening a FIFO here would give its writer a reader that then closes it.
        is_regular(fs::metadata(input)) && is_same(Handle::from_path(input))
    }
}
