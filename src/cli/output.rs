//! Where output goes: a file that appears only when it is complete, standard output, or whatever else has a path.

use super::failure::Failure;
use crate::container::spool::Spool;
use crate::error::{Error, Result};
use crate::formats::envelope::Envelope;
use same_file::Handle;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Seek, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What can be written to and gone back in.
pub trait WriteSeek: Write + Seek {}

impl<T: Write + Seek> WriteSeek for T {}

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
    },
    /// A device, a FIFO: written to directly.
    Special(PathBuf),
}

/// What the user allows for an output.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// To overwrite a file.
    pub overwrite: bool,
    /// Whether the output is of a kind that a terminal can show.
    pub on_terminal: bool,
    /// To put a folder in the place of one.
    pub folder: bool,
}

impl Output {
    /// Checks that the target may be written.
    ///
    /// # Errors
    /// Where it exists and must not be overwritten, is the input, or is a terminal that could not show it.
    pub fn check(path: &Path, input: &Path, allowed: Allowed) -> std::result::Result<Self, Failure> {
        if path == Path::new("-") {
            if io::stdout().is_terminal() && !allowed.on_terminal {
                return Err(Failure::Usage(
                    "this output is not for terminals: name a file with -o, or pipe it on".into(),
                ));
            }
            return Ok(Self::Stdout);
        }
        let name = path.display().to_string();
        let target = follow_links(path);
        let Ok(found) = fs::metadata(&target) else { return Ok(Self::File { target, name }) };
        let is_recording = found.is_dir() && allowed.folder && target.join("data").is_file();
        if found.is_dir() && !is_recording {
            return Err(Failure::Failed(format!("{name}: is a folder; name a file to write")));
        }
        if !found.is_file() && !is_recording {
            return Ok(Self::Special(target));
        }
        if is_input(&target, input) {
            return Err(Failure::Failed(format!("{name}: is the input; an input is never overwritten")));
        }
        if !allowed.overwrite {
            return Err(Failure::Failed(format!("{name}: exists already; -f overwrites it")));
        }
        Ok(Self::File { target, name })
    }

    /// How to call it.
    pub fn name(&self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::File { name, .. } => name.clone(),
            Self::Special(path) => path.display().to_string(),
        }
    }

    /// Has `write` write it. A file keeps what it held until all is written.
    ///
    /// # Errors
    /// What `write` or the system says.
    pub fn write(&self, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> std::result::Result<(), Failure> {
        match self {
            Self::Stdout => buffered(io::stdout().lock(), write).map(drop).map_err(|error| self.explained(error)),
            Self::Special(path) => {
                let file = File::options().write(true).open(path).map_err(|e| self.failed("cannot open", &e))?;
                buffered(file, write).map(drop).map_err(|error| self.explained(error))
            }
            Self::File { target, .. } => {
                let file = beside(target).map_err(|e| self.failed("cannot create", &e))?;
                self.put_in_place(buffered(file, write))
            }
        }
    }

    /// Has `write` write it, where it must be able to go back to what it wrote. What cannot seek gets it from a temporary
    /// file.
    ///
    /// # Errors
    /// What `write` or the system says.
    pub fn write_seekable(
        &self,
        envelope: Envelope,
        spool_dir: Option<&Path>,
        write: impl FnOnce(&mut dyn WriteSeek) -> Result<()>,
    ) -> std::result::Result<(), Failure> {
        if let (Self::File { target, .. }, Envelope::Bare) = (self, envelope) {
            let file = beside(target).map_err(|e| self.failed("cannot create", &e))?;
            let mut out = BufWriter::with_capacity(1 << 17, file);
            let written = write(&mut out).and_then(|()| out.into_inner().map_err(|e| Error::Output(e.into_error())));
            return self.put_in_place(written);
        }
        let mut spool = BufWriter::new(Spool::new(spool_dir).map_err(|e| self.failed("cannot keep", &e))?);
        write(&mut spool)?;
        let spooled = spool.into_inner().map_err(io::IntoInnerError::into_error).and_then(Spool::into_bytes);
        let bytes = spooled.map_err(|e| self.failed("cannot keep", &e))?;
        self.write(|out| envelope.around(out, |out| out.write_all(&bytes).map_err(Error::Output)))
    }

    /// Has `write` fill a folder, which then takes the output's place.
    ///
    /// # Errors
    /// Where the output cannot be a folder, and what `write` or the system says.
    pub fn write_folder(&self, write: impl FnOnce(&Path) -> Result<()>) -> std::result::Result<(), Failure> {
        let Self::File { target, .. } = self else {
            return Err(Failure::Usage(format!("{}: cannot be a folder; name one with -o", self.name())));
        };
        let folder = temporary().tempdir_in(parent(target)).map_err(|e| self.failed("cannot create", &e))?;
        write(folder.path())?;
        let put_in_place = (|| {
            if !target.exists() {
                return fs::rename(folder.path(), target);
            }
            let old = temporary().tempdir_in(parent(target))?;
            let old_inside = old.path().join("replaced");
            fs::rename(target, &old_inside)?;
            fs::rename(folder.path(), target).inspect_err(|_| drop(fs::rename(&old_inside, target)))
        })();
        put_in_place.map_err(|e| self.failed("cannot put in place", &e))
    }

    fn put_in_place(&self, written: Result<NamedTempFile>) -> std::result::Result<(), Failure> {
        let placed = written.and_then(|file| match self {
            Self::File { target, .. } => file.persist(target).map(drop).map_err(|e| Error::Output(e.error)),
            Self::Stdout | Self::Special(_) => Ok(()),
        });
        placed.map_err(|error| self.explained(error))
    }

    fn explained(&self, error: Error) -> Failure {
        match error {
            Error::Output(e) if e.kind() == io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            Error::Output(e) => self.failed("cannot write", &e),
            error => error.into(),
        }
    }

    fn failed(&self, doing: &str, error: &io::Error) -> Failure {
        Failure::Failed(format!("{}: {doing}: {error}", self.name()))
    }
}

fn buffered<W: Write>(out: W, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<W> {
    let mut out = BufWriter::with_capacity(1 << 17, out);
    write(&mut out)?;
    out.into_inner().map_err(|e| Error::Output(e.into_error()))
}

/// A temporary file in the target's folder, with the target's permissions, or those that new files get.
fn beside(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = temporary();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(parent(target))?;
    if let Ok(found) = fs::metadata(target) {
        file.as_file().set_permissions(found.permissions())?;
    }
    Ok(file)
}

/// The names of temporary files and folders.
fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".perfconv-").suffix(".tmp");
    builder
}

/// The folder that a path is in.
fn parent(target: &Path) -> &Path {
    match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Where a path leads, also if nothing is there yet.
fn follow_links(path: &Path) -> PathBuf {
    let mut target = path.to_owned();
    // As many links as Linux follows.
    for _ in 0..40 {
        let Ok(link) = fs::read_link(&target) else { break };
        target = target.parent().unwrap_or(Path::new("")).join(link);
    }
    target
}

/// Whether a file is the input, or one of the files of an input that is a folder.
fn is_input(target: &Path, input: &Path) -> bool {
    let Ok(target) = Handle::from_path(target) else { return false };
    let is_same = |other: io::Result<Handle>| other.is_ok_and(|other| other == target);
    if input == Path::new("-") {
        is_same(Handle::stdin())
    } else if input.is_dir() {
        fs::read_dir(input).into_iter().flatten().flatten().any(|entry| is_same(Handle::from_path(entry.path())))
    } else {
        is_same(Handle::from_path(input))
    }
}
