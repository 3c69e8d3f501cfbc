//! Output files and directories that appear when they are complete.

use crate::container::read::input::Input;
use crate::error::{Error, Result};
use crate::rewrite::output::{RecordingOutput, WriteSeek};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile, TempDir};

/// An output path.
pub(super) struct PathOutput {
    target: PathBuf,
    overwrite: bool,
}

/// A complete output under a temporary name.
pub(super) enum Pending {
    File(NamedTempFile, PathOutput),
    Directory(TempDir, PathOutput),
}

impl PathOutput {
    /// Checks that the path may be written.
    ///
    /// # Errors
    /// If it exists and must not be overwritten, or is the input.
    pub fn new(target: &Path, overwrite: bool, input: &Input) -> Result<Self> {
        let name = target.display();
        let is_input = match (input, fs::canonicalize(target)) {
            (Input::Path(input), Ok(target)) => fs::canonicalize(input).is_ok_and(|input| target == input),
            _ => false,
        };
        if is_input {
            return Err(Error::output_exists(format!("{name}: cannot overwrite the input; choose another output")));
        }
        if target.exists() && (!overwrite || target.is_dir()) {
            return Err(Error::output_exists(format!("{name}: already exists")));
        }
        Ok(Self { target: target.to_owned(), overwrite })
    }

    fn parent(&self) -> &Path {
        match self.target.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        }
    }

    fn failed(&self, doing: &'static str) -> impl FnOnce(io::Error) -> Error + use<> {
        Error::io(self.target.display().to_string(), doing)
    }

    fn write_file(self, write: impl FnOnce(&mut BufWriter<NamedTempFile>) -> Result<()>) -> Result<Pending> {
        let mut out = BufWriter::with_capacity(1 << 17, self.temporary_file()?);
        write(&mut out)?;
        let file = out.into_inner().map_err(|e| Error::Output(e.into_error()))?;
        Ok(Pending::File(file, self))
    }

    /// A temporary file next to the target, with default permissions.
    fn temporary_file(&self) -> Result<NamedTempFile> {
        #[cfg_attr(not(unix), allow(unused_mut))]
        let mut builder = Builder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        builder.tempfile_in(self.parent()).map_err(self.failed("cannot create"))
    }
}

impl Pending {
    /// Renames it to its path.
    ///
    /// # Errors
    /// I/O errors.
    pub fn put_in_place(self) -> Result<()> {
        match self {
            Self::File(file, output) => {
                let target = &output.target;
                let moved = if output.overwrite { file.persist(target) } else { file.persist_noclobber(target) };
                moved.map(drop).map_err(|e| output.failed("cannot create")(e.error))
            }
            Self::Directory(directory, output) => {
                fs::rename(directory.path(), &output.target).map_err(output.failed("cannot create"))?;
                // The directory has been renamed.
                let _ = directory.keep();
                Ok(())
            }
        }
    }
}

impl RecordingOutput for PathOutput {
    type Written = Pending;
    type Error = Error;

    fn is_stream(&self) -> bool {
        false
    }

    fn can_seek(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        self.target.display().to_string()
    }

    fn write_stream(self, write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<Pending> {
        self.write_file(|out| write(out))
    }

    fn write_seekable(self, write: impl FnOnce(&mut dyn WriteSeek) -> Result<()>) -> Result<Pending> {
        self.write_file(|out| write(out))
    }

    fn write_directory(self, write: impl FnOnce(&Path) -> Result<()>) -> Result<Pending> {
        let directory = tempfile::tempdir_in(self.parent()).map_err(self.failed("cannot create"))?;
        write(directory.path())?;
        Ok(Pending::Directory(directory, self))
    }
}
