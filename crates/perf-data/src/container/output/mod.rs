//! Outputs: a file or directory that appears only when it is complete, a stream, or a special file.

pub mod file_names;
pub mod incomplete;
pub mod path;
pub mod pending;

use super::access::{Access, FileMode};
use crate::error::{Error, Result};
use path::{follow_links, parent};
use pending::PendingOutput;
use same_file::Handle;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

const IS_DIRECTORY: &str = "is a directory; name a file in it";

/// A validated output target, not opened yet.
#[derive(Debug)]
pub enum Output {
    /// A stream, such as standard output.
    Stream {
        /// Name for messages.
        name: &'static str,
        /// Opens it.
        open: OpenStream,
    },
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

/// The error about an existing output that must not be overwritten.
pub fn exists(name: &impl Display) -> Error {
    Error::output_exists(format!("{name}: already exists")).remedy("overwrite", "to replace it")
}

/// The error about an output that is one of the inputs, perhaps by another name.
pub fn is_the_input(name: &str, input: &Path) -> Error {
    let alias = match input.display().to_string() {
        input if input == name => String::new(),
        input if input == "-" => " on standard input, which is the same file".to_owned(),
        input => format!(" {input}, which is the same file or in it"),
    };
    Error::output_exists(format!(
        "{name}: cannot overwrite the input{alias}; nothing was written; choose another output"
    ))
}

/// Opens a stream.
pub type OpenStream = fn() -> Result<Box<dyn Write + Send>>;

/// Moves the files of a directory into another one, which can have several recordings.
pub type JoinDirectory = fn(&Path, &Path) -> io::Result<()>;

/// A seekable output.
pub trait WriteSeek: Write + Seek {}

impl<T: Write + Seek> WriteSeek for T {}

/// Permitted targets of an output.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputRules {
    /// Whether it may overwrite a file.
    pub overwrite: bool,
    /// Predicate for an existing directory that it may replace.
    pub replaceable: Option<fn(&Path) -> bool>,
    /// Whether it is always a directory, which never replaces a file.
    pub is_directory: bool,
    /// Permissions, instead of those that its inputs have in common.
    pub mode: Option<FileMode>,
}

impl Output {
    /// Checks that a target may be written: an output of these inputs, which it never replaces, and whose readers alone may read
    /// it.
    ///
    /// # Errors
    /// If it exists and must not be overwritten, or is an input.
    pub fn check(path: &Path, inputs: &[&Path], rules: OutputRules) -> Result<Self> {
        let name = path.display().to_string();
        let refused = |problem: &str| Err(Error::output_exists(format!("{name}: {problem}")));
        let existing = match fs::metadata(path) {
            Ok(existing) => Some(existing),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(Error::io(name, "cannot access")(e)),
        };
        let is_replaceable = |directory: &Path| rules.replaceable.is_some_and(|is_alike| is_alike(directory));
        if let Some(existing) = &existing {
            if existing.is_dir() && !is_replaceable(path) {
                let is_other = "is a directory with other contents, which is not overwritten; name another";
                return refused(if rules.is_directory { is_other } else { IS_DIRECTORY });
            }
            if existing.is_file() && rules.is_directory {
                return refused("is a file, but the output is a directory; name another");
            }
            if let Some(input) = inputs.iter().find(|input| existing.is_dir() && holds_input(path, input)) {
                return Err(is_the_input(&name, input));
            }
            if !existing.is_dir() && !existing.is_file() {
                return Ok(Self::Special(path.to_owned()));
            }
            if let Ok(target) = Handle::from_path(path)
                && let Some(input) = inputs.iter().find(|input| is_input(&target, input))
            {
                return Err(is_the_input(&name, input));
            }
        }
        let Some(target) = follow_links(path) else { return Ok(Self::Special(path.to_owned())) };
        let is_free = rules.is_directory && is_empty_directory(path);
        if existing.is_some() && !rules.overwrite && !is_free {
            return Err(exists(&name));
        }
        if !parent(&target).is_dir() {
            let directory = parent(&target).display();
            return Err(Error::invalid(format!("{name}: cannot create: directory {directory} does not exist")));
        }
        let access = inputs.iter().fold(Access::default(), |access, input| access.and(Access::from_input(input)));
        Ok(Self::File { target, name, overwrite: rules.overwrite, access }.with_mode(rules.mode))
    }

    /// Files to add to a directory.
    pub fn part(directory: PathBuf, join: JoinDirectory, name: String, input: &Path) -> Self {
        Self::Part { directory, join, name, access: Access::from_input(input) }
    }

    /// The same output, which only users may read who have this access, too.
    pub fn restricted(mut self, other: Access) -> Self {
        if let Self::File { access, .. } | Self::Part { access, .. } = &mut self {
            *access = access.and(other);
        }
        self
    }

    /// The same output with these permissions, if any, instead of those that its inputs have in common.
    pub fn with_mode(mut self, mode: Option<FileMode>) -> Self {
        if let (Self::File { access, .. } | Self::Part { access, .. }, Some(mode)) = (&mut self, mode) {
            *access = access.with_mode(mode);
        }
        self
    }

    /// Who may read the output.
    pub fn access(&self) -> Access {
        match self {
            Self::File { access, .. } | Self::Part { access, .. } => *access,
            Self::Stream { .. } | Self::Special(_) => Access::default(),
        }
    }

    /// Name for messages.
    pub fn name(&self) -> String {
        match self {
            Self::Stream { name, .. } => (*name).to_owned(),
            Self::File { name, .. } | Self::Part { name, .. } => name.clone(),
            Self::Special(path) => path.display().to_string(),
        }
    }

    /// Whether it is a stream.
    pub fn is_stream(&self) -> bool {
        matches!(self, Self::Stream { .. })
    }

    /// Whether [`Self::fill_directory`] can write it.
    pub fn can_be_directory(&self) -> bool {
        matches!(self, Self::File { .. } | Self::Part { .. })
    }

    /// Whether [`Self::write_seekable`] can write it.
    pub fn can_seek(&self) -> bool {
        matches!(self, Self::File { .. })
    }

    /// Writes the output with `write`. An existing file keeps its contents until the new one is moved into place.
    ///
    /// # Errors
    /// Errors of `write` and of the system.
    pub fn write(&self, write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<PendingOutput<'_>> {
        match self {
            Self::Stream { open, .. } => {
                buffered(open()?, write).map_err(|error| self.named(error))?;
                Ok(PendingOutput::in_place())
            }
            Self::Special(path) => {
                // Append: the file may be open in another process and have contents.
                let file = File::options().append(true).open(path).map_err(self.failed("cannot open"))?;
                buffered(file, write).map_err(|error| self.named(error))?;
                Ok(PendingOutput::in_place())
            }
            Self::Part { name, .. } => Err(Error::invalid(format!("{name}: {IS_DIRECTORY}"))),
            Self::File { target, overwrite, .. } => {
                let file = self.create_temporary(target)?;
                buffered(file.as_file(), write).map_err(|error| self.named(error))?;
                Ok(PendingOutput::file(self, target, *overwrite, file))
            }
        }
    }

    /// As [`write`](Self::write), with a writer that can seek.
    ///
    /// # Errors
    /// As [`write`](Self::write), and if the output is not a file.
    pub fn write_seekable(&self, write: impl FnOnce(&mut dyn WriteSeek) -> Result<()>) -> Result<PendingOutput<'_>> {
        let Self::File { target, overwrite, .. } = self else {
            return Err(Error::invalid(format!("{}: not seekable; name a file", self.name())));
        };
        let file = self.create_temporary(target)?;
        let mut out = BufWriter::with_capacity(1 << 17, file.as_file());
        let written = write(&mut out).and_then(|()| out.flush().map_err(Error::Output));
        drop(out);
        written.map_err(|error| self.named(error))?;
        Ok(PendingOutput::file(self, target, *overwrite, file))
    }

    /// Writes the output into the existing file instead of replacing it, for a process that has the file open.
    ///
    /// # Errors
    /// Errors of `write` and of the system.
    pub fn write_in_place(&self, write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<()> {
        match self {
            Self::File { target, overwrite: true, access, .. } if target.exists() => {
                let open = || {
                    let file = File::options().write(true).open(target)?;
                    access.restrict_file(&file, target)?;
                    file.set_len(0)?;
                    Ok(file)
                };
                let file = open().map_err(self.failed("cannot open"))?;
                buffered(file, write).map_err(|error| self.named(error))
            }
            _ => self.write(write)?.put_in_place(),
        }
    }

    /// Fills a temporary directory with `write`, which is then moved into place.
    ///
    /// # Errors
    /// If the output cannot be a directory, and errors of `write` and of the system.
    pub fn fill_directory(&self, write: impl FnOnce(&Path) -> Result<()>) -> Result<PendingOutput<'_>> {
        let (location, target) = match self {
            Self::File { target, .. } => (parent(target), target),
            Self::Part { directory, .. } => (&**directory, directory),
            Self::Stream { .. } | Self::Special(_) => {
                return Err(Error::invalid(format!("{}: the output is a directory; name one", self.name())));
            }
        };
        let directory = incomplete::directory_in(location).map_err(|e| self.cannot_create(target, e))?;
        write(directory.path()).map_err(|error| match error {
            Error::Io { file, doing, source } => {
                let file = file.replacen(&*directory.path().to_string_lossy(), &self.name(), 1);
                Error::Io { file, doing, source }
            }
            error => self.named(error),
        })?;
        Ok(match self {
            Self::Part { join, .. } => PendingOutput::part(self, target, *join, directory),
            _ => PendingOutput::directory(self, target, matches!(self, Self::File { overwrite: true, .. }), directory),
        })
    }

    /// Creates a temporary file in the target's directory.
    fn create_temporary(&self, target: &Path) -> Result<NamedTempFile> {
        if target.is_dir() {
            return Err(Error::output_exists(format!("{}: {IS_DIRECTORY}", self.name())));
        }
        incomplete::file_in(parent(target)).map_err(|e| self.cannot_create(target, e))
    }

    /// The error of creating a file next to a target, in a directory that exists.
    fn cannot_create(&self, target: &Path, error: io::Error) -> Error {
        if error.kind() == ErrorKind::NotFound {
            let (name, directory) = (self.name(), parent(target).display());
            return Error::invalid(format!(
                "{name}: cannot create: no file can be created in {directory}; name another"
            ));
        }
        self.failed("cannot create")(error)
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
                return Err(Error::output_exists(format!(
                    "{name}: contains {}, which the new output does not; remove it, or name another directory",
                    other.to_string_lossy()
                )));
            }
        }
        Ok(())
    }

    /// The same error, which names the output. A closed pipe is no error of the output.
    fn named(&self, error: Error) -> Error {
        match error {
            Error::Output(e) if e.kind() != ErrorKind::BrokenPipe => self.failed("cannot write")(e),
            error => error,
        }
    }

    /// The error of an operation on this output.
    pub fn failed(&self, doing: &'static str) -> impl FnOnce(io::Error) -> Error + use<> {
        Error::io(self.name(), doing)
    }
}

fn buffered(out: impl Write + Send, write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 17, out);
    write(&mut out)?;
    out.flush().map_err(Error::Output)
}

/// Whether a path is a directory without entries, which is filled rather than replaced.
fn is_empty_directory(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether a directory is the input or contains it.
fn holds_input(directory: &Path, input: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else { return false };
    input != Path::new("-") && input.canonicalize().is_ok_and(|input| input.starts_with(directory))
}

/// Whether a file is the input, or one of the files of an input directory; `-` is standard input.
pub fn is_input(target: &Handle, input: &Path) -> bool {
    let is_same = |other: io::Result<Handle>| other.is_ok_and(|other| other == *target);
    if input == Path::new("-") {
        is_same(Handle::stdin())
    } else if input.is_dir() {
        fs::read_dir(input).into_iter().flatten().flatten().any(|entry| is_same(Handle::from_path(entry.path())))
    } else {
        // Opening a FIFO here would give its writer a reader that then closes it.
        input.is_file() && is_same(Handle::from_path(input))
    }
}
