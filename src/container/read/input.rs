//! What the user named: a file, a folder, standard input; possibly compressed as a whole.

use super::{ReadOptions, cut_by, spooled};
use crate::container::spool::map;
use crate::container::walk::Damage;
use crate::error::{Error, Result};
use bytes::Bytes;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::PathBuf;

/// Where a recording comes from.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file, a folder, or anything else that can be opened by its path.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes that are there already.
    Bytes {
        /// How to call them in messages.
        name: String,
        /// The bytes.
        bytes: Bytes,
    },
}

/// What is behind an [`Input`], decompressed.
pub enum Opened {
    /// All bytes, mapped or in memory.
    Bytes(Bytes),
    /// Bytes that come once.
    Stream(Box<dyn Read + Send>),
    /// A folder.
    Directory(PathBuf),
}

/// How the input is compressed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    Gzip,
    Zstd,
}

/// Bytes that tell how a stream is compressed.
const MAGIC_LEN: usize = 4;

impl Compression {
    fn recognise(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(&[0x1f, 0x8b]) {
            Some(Self::Gzip)
        } else if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Some(Self::Zstd)
        } else {
            None
        }
    }

    fn decompress(self, stream: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(stream)),
            Self::Zstd => Box::new(zstd::Decoder::new(stream)?),
        })
    }
}

impl Input {
    /// How to call it in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
            Self::Bytes { name, .. } => name.clone(),
        }
    }

    /// The same input as one that can be opened more than once: what comes but once is kept in a temporary file. Where reading
    /// it fails, what came before is kept, and the damage is told.
    ///
    /// # Errors
    /// What the system says.
    pub fn repeatable(self, options: &ReadOptions) -> Result<(Self, Option<Damage>)> {
        let name = self.name();
        match self.open()? {
            Opened::Directory(path) => Ok((Self::Path(path), None)),
            Opened::Bytes(bytes) => Ok((Self::Bytes { name, bytes }, None)),
            Opened::Stream(mut stream) => {
                let (bytes, failure) = spooled(&mut stream, &name, options)?;
                let offset = bytes.len() as u64;
                let damage = failure.map(|failure| Damage { file: name.clone(), offset, what: cut_by(&failure) });
                Ok((Self::Bytes { name, bytes }, damage))
            }
        }
    }

    /// Opens it. What can be mapped is mapped, all else is streamed.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(self) -> Result<Opened> {
        let name = self.name();
        let opened = match self {
            Self::Path(path) => {
                if path.is_dir() {
                    return Ok(Opened::Directory(path));
                }
                open_file(File::open(&path).map_err(Error::io(&name, "cannot open"))?)
            }
            Self::Stdin => stdin().and_then(open_file),
            Self::Bytes { bytes, .. } => Ok(Opened::Bytes(bytes)),
        };
        let read = |e| Error::io(&name, "cannot read")(e);
        match opened.map_err(read)? {
            Opened::Bytes(bytes) => match Compression::recognise(&bytes) {
                Some(compression) => compression.decompress(io::Cursor::new(bytes)).map(Opened::Stream),
                None => Ok(Opened::Bytes(bytes)),
            },
            Opened::Stream(mut stream) => {
                let mut start = Vec::new();
                (&mut stream).take(MAGIC_LEN as u64).read_to_end(&mut start).map_err(read)?;
                let compression = Compression::recognise(&start);
                let stream = io::Cursor::new(start).chain(stream);
                match compression {
                    Some(compression) => compression.decompress(io::BufReader::new(stream)).map(Opened::Stream),
                    None => Ok(Opened::Stream(Box::new(stream))),
                }
            }
            Opened::Directory(path) => Ok(Opened::Directory(path)),
        }
        .map_err(Error::io(&name, "cannot decompress"))
    }
}

/// Standard input as a file, so that one that is redirected from a file can be mapped.
fn stdin() -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::AsHandle;
        Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
    }
}

/// A regular file that nothing was read from yet is mapped; a pipe, a terminal or a device is a stream.
fn open_file(mut file: File) -> io::Result<Opened> {
    if file.metadata()?.is_file() && file.stream_position()? == 0 {
        Ok(Opened::Bytes(map(&file)?))
    } else {
        Ok(Opened::Stream(Box::new(file)))
    }
}
