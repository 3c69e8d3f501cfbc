//! A file that is open only during writes, so that more of them can exist than a process may have open.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file to write. Each write opens it, so writes should be large.
#[derive(Debug)]
pub(super) struct PartFile {
    path: PathBuf,
    at: u64,
}

impl PartFile {
    /// Creates the file.
    ///
    /// # Errors
    /// Errors of the system.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        File::create_new(path)?;
        Ok(Self { path: path.to_owned(), at: 0 })
    }

    fn open(&self) -> io::Result<File> {
        File::options().write(true).open(&self.path)
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.open()?;
        file.seek(SeekFrom::Start(self.at))?;
        file.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for PartFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let moved = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.open()?.metadata()?.len().checked_add_signed(by),
        };
        self.at = moved.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
