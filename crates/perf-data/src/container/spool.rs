//! Mapped files, and temporary files for streams that are read more than once.

use bytes::Bytes;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Maps a file; where files cannot be mapped, reads it. An empty file gives empty bytes.
///
/// # Errors
/// I/O errors, for instance if the file cannot be mapped.
pub fn map(file: &File) -> io::Result<Bytes> {
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    map::map(file)
}

/// The only module that needs `unsafe`.
#[cfg(not(target_family = "wasm"))]
mod map {
    #![expect(unsafe_code, reason = "mapping a file cannot be proven safe")]

    use bytes::Bytes;
    use memmap2::Mmap;
    use std::fs::File;
    use std::io;

    pub(super) fn map(file: &File) -> io::Result<Bytes> {
        // SAFETY: the map is only read. A change of the file by others shows in the bytes. Truncation of the file raises SIGBUS,
        // which ends a program without a handler; ours has one. Both are documented, and `ReadOptions::private_copy` avoids both.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Bytes::from_owner(map))
    }
}

/// WebAssembly maps no files.
#[cfg(target_family = "wasm")]
mod map {
    use bytes::Bytes;
    use std::fs::File;
    use std::io::{self, Read, Seek};

    pub(super) fn map(mut file: &File) -> io::Result<Bytes> {
        let size = file.metadata()?.len().try_into().map_err(|_| io::ErrorKind::FileTooLarge)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size)?;
        file.rewind()?;
        file.take(size as u64).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// An unlinked temporary file that is written and then mapped.
pub struct Spool {
    file: File,
}

impl Spool {
    /// Creates one in `dir`, or in the system's default directory.
    ///
    /// # Errors
    /// I/O errors.
    pub fn new(dir: Option<&Path>) -> io::Result<Self> {
        let file = match dir {
            Some(dir) => tempfile::tempfile_in(dir),
            None => tempfile::tempfile(),
        }?;
        Ok(Self { file })
    }

    /// Appends everything from `reader`. If the reader fails, the bytes before the failure are preserved and the error is
    /// returned.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn fill(&mut self, reader: &mut dyn Read) -> io::Result<(u64, Option<io::Error>)> {
        let mut buffer = vec![0; 1 << 18];
        let mut copied = 0;
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok((copied, None)),
                Ok(len) => {
                    self.file.write_all(&buffer[..len])?;
                    copied += len as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Ok((copied, Some(e))),
            }
        }
    }

    /// Maps everything written.
    ///
    /// # Errors
    /// I/O errors.
    pub fn into_bytes(self) -> io::Result<Bytes> {
        map(&self.file)
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Spool {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_before_a_failure_are_preserved() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("unplugged"))
            }
        }
        let mut spool = Spool::new(None).unwrap();
        let (copied, failure) = spool.fill(&mut b"three".chain(Failing)).unwrap();
        assert_eq!((copied, failure.unwrap().to_string()), (5, "unplugged".to_owned()));
        assert_eq!(spool.into_bytes().unwrap(), &b"three"[..]);
    }

    #[test]
    fn spooled_bytes_are_mapped() {
        let mut spool = Spool::new(None).unwrap();
        spool.write_all(b"one ").unwrap();
        assert_eq!(spool.fill(&mut &b"two"[..]).unwrap().0, 3);
        assert_eq!(spool.into_bytes().unwrap(), &b"one two"[..]);
        assert!(Spool::new(None).unwrap().into_bytes().unwrap().is_empty());
    }
}
