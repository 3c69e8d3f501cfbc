//! Opens an archive for a conversion: its recording, and its objects for symbols.

use super::entry::KALLSYMS;
use super::unpack::{Extracted, Members, extract_members};
use perf_data::container::read::input::Input;
use perf_data::container::spool::map;
use perf_data::container::temp_directory::TempDirectory;
use perf_data::error::{Error, Result};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Maximum number of bytes of an archive's members. They are unpacked to disk: a small archive of zeros could otherwise fill it.
const MAX_SIZE: u64 = 64 << 30;

/// An archive, extracted to a temporary directory that is removed with it.
#[derive(Debug)]
pub struct OpenedArchive {
    extracted: Extracted,
    recording: PathBuf,
}

impl OpenedArchive {
    /// Extracts an archive, without its objects unless they are needed, to a directory in `directory` or in the default one for
    /// temporary files.
    ///
    /// # Errors
    /// If the archive cannot be read, contains unexpected members or no recording, or the files cannot be written.
    pub fn new(archive: impl Read, name: &str, members: Members, directory: Option<&Path>) -> Result<Self> {
        let created = TempDirectory::new(directory);
        let directory = created.map_err(Error::io("temporary directory", "cannot create"))?;
        let archive = Bounded { archive, left: MAX_SIZE };
        let extracted = extract_members(archive, name, directory, members)?;
        match extracted.recording() {
            Some(recording) => Ok(Self { extracted, recording }),
            None => Err(Error::input(
                name,
                None,
                "archive contains objects, but no recording; unpack it with perfconv archive --unpack -o DIR, and use --buildid-dir DIR with its recording",
            )),
        }
    }

    /// The recording under the name of the archive, for messages.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn input(&self, name: &str) -> Result<Input> {
        if !self.recording().is_file() {
            return Ok(Input::Path(self.recording().to_owned()));
        }
        let bytes = File::open(self.recording()).and_then(|file| map(&file));
        Ok(Input::Bytes { bytes: bytes.map_err(Error::io(name, "cannot be read"))?, name: name.to_owned() })
    }

    /// Path of the recording.
    pub fn recording(&self) -> &Path {
        &self.recording
    }

    /// Symbols of the kernel, if it contains any.
    pub fn kallsyms(&self) -> Option<PathBuf> {
        self.extracted.file_named(KALLSYMS)
    }

    /// Directory of the objects, a build ID cache.
    pub fn cache(&self) -> &Path {
        self.extracted.directory()
    }
}

/// A reader that fails at a limit.
struct Bounded<R> {
    archive: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.archive.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::other(format!("it has more than {MAX_SIZE} bytes"))),
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tar::{Builder, Header};

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut tar = Builder::new(Vec::new());
        for (path, bytes) in files {
            let mut header = Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, path, *bytes).unwrap();
        }
        tar.into_inner().unwrap()
    }

    #[test]
    fn an_archive_is_extracted_to_a_directory_that_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let object = format!("bin/x/{}/elf", "ab".repeat(20));
        let whole = archive(&[("perf.data", b"PERFILE2"), (&object, b"ELF")]);
        for (members, has_object) in [(Members::All, true), (Members::Recording, false)] {
            let opened = OpenedArchive::new(&whole[..], "x.tar", members, Some(directory.path())).unwrap();
            assert_eq!(std::fs::read(opened.recording()).unwrap(), b"PERFILE2");
            assert_eq!(opened.cache().join(&object).exists(), has_object);
            drop(opened);
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        }
        let without = archive(&[(&object, b"ELF")]);
        for members in [Members::All, Members::Recording] {
            let error = OpenedArchive::new(&without[..], "x.tar", members, Some(directory.path())).err();
            assert!(error.is_some_and(|error| error.to_string().contains("recording")));
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_reader_fails_at_its_limit() {
        let mut bounded = Bounded { archive: &b"12345"[..], left: 4 };
        assert!(bounded.read_to_end(&mut Vec::new()).is_err());
    }
}
