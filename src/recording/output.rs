//! Output files and directories that appear when they are complete.

use crate::container::access::Access;
use crate::container::output_path::{follow_links, parent};
use crate::container::read::input::Input;
use crate::container::temp_directory::{private, temporary};
use crate::error::{Error, Result};
use crate::rewrite::output::{RecordingOutput, WriteSeek};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempDir};

/// An output path.
pub(super) struct PathOutput {
    /// Path to write, with links followed.
    target: PathBuf,
    overwrite: bool,
    access: Access,
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
    /// If it exists and must not be overwritten, is not a regular file, or is the input.
    pub fn new(target: &Path, overwrite: bool, input: &Input, access: Access) -> Result<Self> {
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
        let followed = follow_links(target).filter(|target| !target.exists() || target.is_file());
        let Some(target) = followed else {
            let what = format!("{name}: is a device, a FIFO or a socket, which would be replaced; name a file");
            return Err(Error::output_exists(what));
        };
        Ok(Self { target, overwrite, access })
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

    /// A temporary file next to the target.
    fn temporary_file(&self) -> Result<NamedTempFile> {
        temporary().tempfile_in(parent(&self.target)).map_err(self.failed("cannot create"))
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
                output.access.open_file(file.path(), target).map_err(output.failed("cannot set permissions"))?;
                let moved = if output.overwrite { file.persist(target) } else { file.persist_noclobber(target) };
                moved.map(drop).map_err(|e| output.failed("cannot create")(e.error))
            }
            Self::Directory(directory, output) => {
                output.access.open_directory(directory.path()).map_err(output.failed("cannot set permissions"))?;
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
        let directory = private().tempdir_in(parent(&self.target)).map_err(self.failed("cannot create"))?;
        write(directory.path())?;
        Ok(Pending::Directory(directory, self))
    }
}
