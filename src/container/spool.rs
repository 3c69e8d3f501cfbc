//! Bytes kept outside of memory: maps of files, and temporary files for what cannot be read twice.

use bytes::Bytes;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Maps a whole file. An empty file gives empty bytes.
///
/// # Errors
/// What the system says, for instance of a file that cannot be mapped.
pub fn map(file: &File) -> io::Result<Bytes> {
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    Ok(Bytes::from_owner(map::map(file)?))
}

/// The one place that needs `unsafe`.
mod map {
    #![expect(unsafe_code, reason = "mapping a file cannot be proven safe")]

    use memmap2::Mmap;
    use std::fs::File;
    use std::io;

    pub fn map(file: &File) -> io::Result<Mmap> {
        // SAFETY: the map is only read. Whoever changes the file meanwhile changes what is read, and a file that is cut
        // meanwhile ends a program with SIGBUS that does not catch it, as ours does; both are told in the documentation, and
        // whoever cannot trust in files has them copied (`ReadOptions::private_copy`).
        unsafe { Mmap::map(file) }
    }
}

/// A temporary file that has no name, is written, and is then mapped.
pub struct Spool {
    file: File,
}

impl Spool {
    /// Makes one, in the given folder or else where the system keeps temporary files.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(dir: Option<&Path>) -> io::Result<Self> {
        let file = match dir {
            Some(dir) => tempfile::tempfile_in(dir),
            None => tempfile::tempfile(),
        }?;
        Ok(Self { file })
    }

    /// Copies all of `reader` into it. Where the reader fails, what it gave before is kept, and how it failed is told.
    ///
    /// # Errors
    /// What the system says about writing.
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

    /// All that was written, mapped.
    ///
    /// # Errors
    /// What the system says.
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
    fn what_came_before_a_failure_is_kept() {
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
    fn what_is_spooled_comes_back() {
        let mut spool = Spool::new(None).unwrap();
        spool.write_all(b"one ").unwrap();
        assert_eq!(spool.fill(&mut &b"two"[..]).unwrap().0, 3);
        assert_eq!(spool.into_bytes().unwrap(), &b"one two"[..]);
        assert!(Spool::new(None).unwrap().into_bytes().unwrap().is_empty());
    }
}
