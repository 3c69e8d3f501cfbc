//! Where output goes: a file that appears only when it is complete, standard output, or whatever else has a path.

use super::{failure::Failure, pending_output::PendingOutput, standard_streams, temporary_outputs};
use perfconv::error::{Error, Result};
use perfconv::rewrite::output::{RecordingOutput, WriteSeek};
use same_file::Handle;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

const EXISTS: &str = "exists already; -f overwrites it";
const IS_FOLDER: &str = "is a directory; name a file in it";
const IS_INPUT: &str = "is the input; an input is never overwritten";

/// A checked target, not opened yet.
#[derive(Debug)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// A regular file, there or not: written beside its place, then moved there.
    File {
        /// Where it belongs, links followed.
        target: PathBuf,
        /// How the user called it.
        name: String,
        /// Whether it may take the place of another.
        overwrite: bool,
        /// Whether it is for its owner alone, as what it is made of is.
        is_private: bool,
    },
    /// A device, a FIFO, what a process has open: written to directly.
    Special(PathBuf),
}

/// What the user allows for an output.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// To overwrite a file.
    pub overwrite: bool,
    /// Whether the output is of a kind that a terminal can show.
    pub on_terminal: bool,
    /// To put a folder in the place of one that is such a folder itself.
    pub folder: Option<fn(&Path) -> bool>,
    /// Whether the output is a folder whatever else is said, which takes no file's place.
    pub is_folder: bool,
}

impl Output {
    /// Checks that the target may be written.
    ///
    /// # Errors
    /// Where it exists and must not be overwritten, is the input, or is a terminal that could not show it.
    pub fn check(path: &Path, input: &Path, allowed: Allowed) -> std::result::Result<Self, Failure> {
        let refused = |name: &str| {
            let what = format!("{name}: this output is not for terminals: name a file with -o, or pipe it on");
            Err(Failure::Usage(what))
        };
        if path == Path::new("-") {
            standard_streams::demand_stdout()?;
            if io::stdout().is_terminal() && !allowed.on_terminal {
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
            Err(e) => return failed(&format!("cannot look at it: {e}")),
        };
        let is_replaced = |folder: &Path| allowed.folder.is_some_and(|is_alike| is_alike(folder));
        if let Some(found) = &found {
            if found.is_dir() && !is_replaced(path) {
                let is_other = "is a folder that holds something else, which is not overwritten; name another";
                return failed(if allowed.is_folder { is_other } else { IS_FOLDER });
            }
            if found.is_file() && allowed.is_folder {
                return failed("is a file, and the output a folder, which does not take its place; name another");
            }
            if found.is_dir() && holds_input(path, input) {
                return failed(IS_INPUT);
            }
            if !found.is_dir() && !found.is_file() {
                let is_refused = is_terminal(path, found) && !allowed.on_terminal;
                return if is_refused { refused(&name) } else { Ok(Self::Special(path.to_owned())) };
            }
            if Handle::from_path(path).is_ok_and(|target| is_input(&target, input)) {
                return failed(IS_INPUT);
            }
        }
        let Some(target) = follow_links(path) else { return Ok(Self::Special(path.to_owned())) };
        if found.is_some() && !allowed.overwrite {
            return failed(EXISTS);
        }
        if !parent(&target).is_dir() {
            return failed(&format!("cannot create: the folder {} does not exist", parent(&target).display()));
        }
        Ok(Self::File { target, name, overwrite: allowed.overwrite, is_private: is_private(input) })
    }

    /// The same of several inputs: for its owner alone, as soon as one of them is.
    pub fn of_input_too(mut self, input: &Path) -> Self {
        if let Self::File { is_private: is, .. } = &mut self {
            *is |= is_private(input);
        }
        self
    }

    /// How to call it.
    pub fn name(&self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::File { name, .. } => name.clone(),
            Self::Special(path) => path.display().to_string(),
        }
    }

    /// Has `write` write it. A file keeps what it held until what was written is put in its place.
    ///
    /// # Errors
    /// What `write` or the system says.
    pub fn write(
        &self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
    ) -> std::result::Result<PendingOutput<'_>, Failure> {
        match self {
            // The file itself: std's own writer looks for ends of lines, and keeps what follows the last one.
            Self::Stdout => {
                standard_streams::demand_stdout()?;
                let written = Handle::stdout().map_err(Error::Output);
                let written = written.and_then(|stdout| buffered(stdout.as_file(), write));
                written.map(|()| PendingOutput::in_place()).map_err(|error| self.explained(error))
            }
            Self::Special(path) => {
                // What a process has open may hold something already.
                let file = File::options().append(true).open(path).map_err(|e| self.failed("cannot open", &e))?;
                buffered(file, write).map(|()| PendingOutput::in_place()).map_err(|error| self.explained(error))
            }
            Self::File { target, overwrite, is_private, .. } => {
                let file = self.beside(target, *is_private)?;
                buffered(file.as_file(), write).map_err(|error| self.explained(error))?;
                Ok(PendingOutput::file(self, target, *overwrite, file))
            }
        }
    }

    /// Has `write` write it into the very file that is there, for who has that open and reads on from there.
    ///
    /// # Errors
    /// What `write` or the system says.
    pub fn write_in_place(
        &self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
    ) -> std::result::Result<(), Failure> {
        match self {
            Self::File { target, overwrite: true, .. } if target.exists() => {
                let file = File::options().write(true).truncate(true).open(target);
                let file = file.map_err(|e| self.failed("cannot open", &e))?;
                buffered(file, write).map_err(|error| self.explained(error))
            }
            _ => self.write(write)?.put_in_place(),
        }
    }

    /// Has `write` fill a folder, which is then to take the output's place.
    ///
    /// # Errors
    /// Where the output cannot be a folder, and what `write` or the system says.
    pub fn write_folder(
        &self,
        write: impl FnOnce(&Path) -> Result<()>,
    ) -> std::result::Result<PendingOutput<'_>, Failure> {
        let Self::File { target, name, overwrite, is_private } = self else {
            return Err(Failure::Usage(format!("{}: cannot be a folder; name one with -o", self.name())));
        };
        let folder =
            temporary_outputs::folder_in(parent(target), *is_private).map_err(|e| self.cannot_create(target, &e))?;
        write(folder.path()).map_err(|error| match error {
            Error::Io { file, doing, source } => {
                let file = file.replacen(&*folder.path().to_string_lossy(), name, 1);
                Error::Io { file, doing, source }.into()
            }
            error => self.explained(error),
        })?;
        Ok(PendingOutput::folder(self, target, *overwrite, folder))
    }

    /// A temporary file in the target's folder, with the target's permissions, or those that new files get: one that is made of
    /// what its owner alone may read those of that.
    fn beside(&self, target: &Path, is_private: bool) -> std::result::Result<NamedTempFile, Failure> {
        if target.is_dir() {
            return Err(Failure::Failed(format!("{}: {IS_FOLDER}", self.name())));
        }
        let create = || {
            let file = temporary_outputs::file_in(parent(target), is_private)?;
            if let Ok(found) = fs::metadata(target) {
                file.as_file().set_permissions(found.permissions())?;
            }
            Ok(file)
        };
        create().map_err(|e| self.cannot_create(target, &e))
    }

    /// That nothing can be created beside a target, in a directory that exists.
    fn cannot_create(&self, target: &Path, error: &io::Error) -> Failure {
        if error.kind() == ErrorKind::NotFound {
            let (name, directory) = (self.name(), parent(target).display());
            return Failure::Failed(format!(
                "{name}: cannot create: no file can be created in {directory}; name another"
            ));
        }
        self.failed("cannot create", error)
    }

    /// That a folder has all that is in the one whose place it is to take: what it has not would be gone.
    ///
    /// # Errors
    /// Where something is missing.
    pub fn has_all_of_old(&self, folder: &Path) -> Result<()> {
        let Self::File { target, name, .. } = self else { return Ok(()) };
        for entry in fs::read_dir(target).into_iter().flatten().flatten() {
            if !folder.join(entry.file_name()).exists() {
                let other = entry.file_name();
                let what = format!("{name}: holds {}, which the output does not", other.to_string_lossy());
                return Err(Error::output_exists(format!("{what}: remove it, or name another folder")));
            }
        }
        Ok(())
    }

    fn explained(&self, error: Error) -> Failure {
        match error {
            Error::Output(e) if e.kind() == ErrorKind::BrokenPipe => Failure::ReaderGone,
            // The system itself has read what was to be written.
            Error::Output(e) if e.raw_os_error() == Some(BAD_ADDRESS) => {
                Failure::Failed(temporary_outputs::CUT.to_owned())
            }
            Error::Output(e) => self.failed("cannot write", &e),
            error => error.into(),
        }
    }

    /// That the system does not let it be done.
    pub fn failed(&self, doing: &str, error: &io::Error) -> Failure {
        Failure::Failed(format!("{}: {doing}: {error}", self.name()))
    }

    /// That there is something which must not be overwritten.
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
        let Output::File { target, overwrite, is_private, .. } = self else {
            return Err(Failure::Failed(format!("{}: cannot be sought in", Output::name(self))));
        };
        let file = self.beside(target, *is_private)?;
        let mut out = BufWriter::with_capacity(1 << 17, file.as_file());
        let written = write(&mut out).and_then(|()| out.flush().map_err(Error::Output));
        drop(out);
        written.map_err(|error| self.explained(error))?;
        Ok(PendingOutput::file(self, target, *overwrite, file))
    }

    fn write_directory(
        self,
        write: impl FnOnce(&Path) -> Result<()>,
    ) -> std::result::Result<PendingOutput<'a>, Failure> {
        self.write_folder(write)
    }
}

/// EFAULT: a mapped input has become shorter.
const BAD_ADDRESS: i32 = 14;

/// That standard output cannot be written.
pub fn stdout_failed(error: io::Error) -> Failure {
    Output::Stdout.explained(Error::Output(error))
}

/// Writes text to standard output.
///
/// # Errors
/// What the system says.
pub fn print(text: &[u8]) -> std::result::Result<(), Failure> {
    Output::Stdout.write(|out| out.write_all(text).map_err(Error::Output))?.put_in_place()
}

fn buffered(out: impl Write + Send, write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 17, out);
    write(&mut out)?;
    out.flush().map_err(Error::Output)
}

/// Whether an input is for its owner alone, as recordings of perf are.
pub fn is_private(input: &Path) -> bool {
    #[cfg(unix)]
    let is_private = {
        use std::os::unix::fs::PermissionsExt;
        let is_of_owner = |found: fs::Metadata| found.permissions().mode() & 0o077 == 0;
        let is_private = |path: &Path| fs::metadata(path).is_ok_and(is_of_owner);
        if input == Path::new("-") {
            // Pipes are of whoever has them, whatever their permissions.
            let stdin = Handle::stdin().and_then(|stdin| stdin.as_file().metadata());
            stdin.is_ok_and(|found| found.is_file() && is_of_owner(found))
        } else {
            let mut entries = fs::read_dir(input).into_iter().flatten().flatten();
            is_private(input) || entries.any(|entry| is_private(&entry.path()))
        }
    };
    #[cfg(not(unix))]
    let is_private = {
        let _ = input;
        false
    };
    is_private
}

/// Whether something that is there is a terminal. Of other things only devices are opened: a FIFO would wait for a reader.
fn is_terminal(path: &Path, found: &fs::Metadata) -> bool {
    #[cfg(unix)]
    let may_be = std::os::unix::fs::FileTypeExt::is_char_device(&found.file_type());
    #[cfg(not(unix))]
    let may_be = !found.is_dir();
    may_be && File::options().append(true).open(path).is_ok_and(|file| file.is_terminal())
}

/// The folder that a path is in.
pub fn parent(target: &Path) -> &Path {
    match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Where a path leads, also if nothing is there yet; `None` where it leads to what a process has open, which is not found
/// by what the link says.
fn follow_links(path: &Path) -> Option<PathBuf> {
    let mut target = path.to_owned();
    // As many links as Linux follows.
    for _ in 0..40 {
        let Ok(link) = fs::read_link(&target) else { break };
        let folder = parent(&target);
        if fs::canonicalize(folder).is_ok_and(|folder| folder.starts_with("/proc")) {
            return None;
        }
        target = folder.join(link);
    }
    Some(target)
}

fn is_regular(found: io::Result<fs::Metadata>) -> bool {
    found.is_ok_and(|found| found.is_file())
}

/// Whether a folder is the input, or the input is in it.
fn holds_input(folder: &Path, input: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    input != Path::new("-") && input.canonicalize().is_ok_and(|input| input.starts_with(folder))
}

/// Whether a file is the input, or one of the files of an input that is a folder.
fn is_input(target: &Handle, input: &Path) -> bool {
    let is_same = |other: io::Result<Handle>| other.is_ok_and(|other| other == *target);
    if input == Path::new("-") {
        is_same(Handle::stdin())
    } else if input.is_dir() {
        fs::read_dir(input).into_iter().flatten().flatten().any(|entry| is_same(Handle::from_path(entry.path())))
    } else {
        // Whoever writes to a FIFO would take this look for its reader, that has gone.
        is_regular(fs::metadata(input)) && is_same(Handle::from_path(input))
    }
}
