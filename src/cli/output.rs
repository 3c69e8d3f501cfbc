//! Where output goes: a file that appears only when it is complete, standard output, or whatever else has a path.

use super::failure::Failure;
use crate::error::{Error, Result};
use same_file::Handle;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

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
        if found.is_dir() {
            return Err(Failure::Failed(format!("{name}: is a folder; name a file to write")));
        }
        if !found.is_file() {
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
        let written = match self {
            Self::Stdout => buffered(io::stdout().lock(), write).map(drop),
            Self::Special(path) => {
                let file = File::options().write(true).open(path).map_err(|e| self.failed("cannot open", &e))?;
                buffered(file, write).map(drop)
            }
            Self::File { target, .. } => {
                let file = beside(target).map_err(|e| self.failed("cannot create", &e))?;
                let put_in_place = |file: NamedTempFile| file.persist(target).map_err(|e| Error::Output(e.error));
                buffered(file, write).and_then(put_in_place).map(drop)
            }
        };
        written.map_err(|error| match error {
            Error::Output(e) if e.kind() == io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            Error::Output(e) => self.failed("cannot write", &e),
            error => error.into(),
        })
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
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".perfconv-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder)?;
    if let Ok(found) = fs::metadata(target) {
        file.as_file().set_permissions(found.permissions())?;
    }
    Ok(file)
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
