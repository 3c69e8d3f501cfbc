//! Inputs: a file, a directory or standard input, optionally compressed as a whole.

use super::file_bytes::FileBytes;
use super::{ReadOptions, failure_message, spooled};
use crate::container::spool::Spool;
use crate::container::walk::{Damage, DamageKind};
use crate::error::{Error, Result};
use bytes::Bytes;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where to read a recording from.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file, a directory, or anything else that can be opened by its path.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// A stream whose beginning has been read. It can be opened once.
    Stream(Peeked),
    /// Bytes in memory.
    Bytes {
        /// Name in messages.
        name: String,
        /// The bytes.
        bytes: Bytes,
    },
}

/// A decompressed stream, from its beginning.
#[derive(Clone)]
pub struct Peeked {
    name: String,
    stream: Arc<Mutex<Option<Box<dyn Read + Send>>>>,
}

impl fmt::Debug for Peeked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Peeked").field(&self.name).finish()
    }
}

/// An opened and decompressed [`Input`].
pub enum Opened {
    /// All bytes of a file.
    Bytes(FileBytes),
    /// A stream that can be read once.
    Stream(Box<dyn Read + Send>),
    /// A directory.
    Directory(PathBuf),
}

/// Compression of an input as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    Gzip,
    Zstd,
}

/// Number of bytes that identify the compression.
const MAGIC_LEN: usize = 4;

impl Compression {
    fn recognize(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(&[0x1f, 0x8b]) {
            Some(Self::Gzip)
        } else if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Some(Self::Zstd)
        } else {
            None
        }
    }

    fn decompress(self, stream: impl Read + Send + 'static, options: &ReadOptions) -> io::Result<Box<dyn Read + Send>> {
        let compressed = Arc::new(AtomicU64::new(0));
        let stream = CountedReader { stream, count: compressed.clone() };
        let decoder: Box<dyn Read + Send> = match self {
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(stream)),
            Self::Zstd => Box::new(zstd::Decoder::new(stream)?),
        };
        Ok(Box::new(Decompressing {
            decoder,
            compression: self,
            compressed,
            unpacked: 0,
            allowance: options.limits.unpacked,
        }))
    }
}

impl Compression {
    /// Adds the name of the compression to errors of its decoder. Errors of the system are returned unchanged.
    fn explain(self, error: io::Error) -> io::Error {
        let name = match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        };
        match error.kind() {
            _ if error.raw_os_error().is_some() => error,
            ErrorKind::UnexpectedEof => io::Error::new(error.kind(), format!("the {name} data is truncated")),
            ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::Other => {
                io::Error::new(error.kind(), format!("the {name} data is corrupt: {error}"))
            }
            _ => error,
        }
    }
}

/// A stream that returns one error and then ends.
struct FailingOnce(Option<io::Error>);

impl Read for FailingOnce {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// A stream that counts the bytes read from it.
struct CountedReader<R> {
    stream: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(out)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Decompresses a stream, up to the limit of expansion.
struct Decompressing {
    decoder: Box<dyn Read + Send>,
    compression: Compression,
    /// Number of compressed bytes read.
    compressed: Arc<AtomicU64>,
    unpacked: u64,
    allowance: u64,
}

/// Limit of the expansion of an input. Recordings do not come near it.
const MAX_EXPANSION: u64 = 1000;

impl Read for Decompressing {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let limit = self.compressed.load(Ordering::Relaxed).saturating_mul(MAX_EXPANSION).max(self.allowance);
        if self.unpacked > limit {
            let problem = format!(
                "it decompresses to more than {MAX_EXPANSION} times its size; if it is a recording, decompress it first"
            );
            return Err(io::Error::other(problem));
        }
        let read = self.decoder.read(out).map_err(|e| self.compression.explain(e))?;
        self.unpacked += read as u64;
        Ok(read)
    }
}

impl Input {
    /// A stream. It can be opened once.
    pub fn stream(name: &str, stream: impl Read + Send + 'static) -> Self {
        Self::Stream(Peeked { name: name.to_owned(), stream: Arc::new(Mutex::new(Some(Box::new(stream)))) })
    }

    /// Name in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
            Self::Stream(Peeked { name, .. }) => name.clone(),
            Self::Bytes { name, .. } => name.clone(),
        }
    }

    /// Returns the first bytes of the decompressed input, and an input that still contains them. A stream is read until
    /// `is_enough` returns true or there are `limit` bytes. A directory or a missing path has no bytes.
    ///
    /// # Errors
    /// If the input cannot be opened.
    pub fn peek(self, limit: usize, is_enough: fn(&[u8]) -> bool, options: &ReadOptions) -> Result<(Self, Vec<u8>)> {
        let name = self.name();
        let reopened = match &self {
            Self::Path(path) if !path.exists() || path.is_dir() => return Ok((self, Vec::new())),
            Self::Path(path) if path.is_file() => Some(self.clone()),
            _ => None,
        };
        let unopened = self.clone();
        let mut stream = match self.open(options)? {
            Opened::Directory(path) => return Ok((Self::Path(path), Vec::new())),
            Opened::Bytes(bytes) => {
                let start = bytes.start(limit as u64).map_err(Error::io(&name, "cannot read"))?;
                return Ok((reopened.unwrap_or(unopened.with_bytes(bytes)), start.to_vec()));
            }
            Opened::Stream(stream) => stream,
        };
        let (mut start, mut failure, mut has_ended) = (Vec::new(), None, false);
        while start.len() < limit && !is_enough(&start) {
            let at = start.len();
            start.resize(limit, 0);
            let read = stream.read(&mut start[at..]);
            start.truncate(at + read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(0) => {
                    has_ended = true;
                    break;
                }
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    failure = Some(e);
                    break;
                }
            }
        }
        if let Some(reopened) = reopened {
            return Ok((reopened, start));
        }
        let start_reader = io::Cursor::new(start.clone());
        let stream: Box<dyn Read + Send> = match failure {
            Some(failure) => Box::new(start_reader.chain(FailingOnce(Some(failure)))),
            // A terminal must not be read beyond its end-of-file.
            None if has_ended => Box::new(start_reader),
            None => Box::new(start_reader.chain(stream)),
        };
        Ok((Self::stream(&name, stream), start))
    }

    /// Converts the input to one that can be opened more than once, by spooling a stream to a temporary file. If reading fails,
    /// the bytes before the failure are preserved and the failure is returned as damage.
    ///
    /// # Errors
    /// I/O errors.
    pub fn repeatable(self, options: &ReadOptions) -> Result<(Self, Option<Damage>)> {
        let (name, unopened) = (self.name(), self.clone());
        match self.open(options)? {
            Opened::Directory(path) => Ok((Self::Path(path), None)),
            Opened::Bytes(bytes) => Ok((unopened.with_bytes(bytes), None)),
            Opened::Stream(mut stream) => {
                let (bytes, failure) = spooled(&mut stream, &name, options)?;
                let offset = bytes.len() as u64;
                let damage =
                    failure.map(|failure| Damage::new(DamageKind::ReadError, &name, offset, failure_message(&failure)));
                Ok((Self::Bytes { name, bytes }, damage))
            }
        }
    }

    /// This input, which was opened, as one that can be opened again.
    fn with_bytes(self, bytes: FileBytes) -> Self {
        match bytes {
            FileBytes::Whole(bytes) => Self::Bytes { name: self.name(), bytes },
            FileBytes::Unmapped(..) => self,
        }
    }

    /// Opens the input. A regular file is mapped, or copied for [`ReadOptions::private_copy`]; everything else is streamed.
    ///
    /// # Errors
    /// I/O errors.
    pub fn open(self, options: &ReadOptions) -> Result<Opened> {
        let name = self.name();
        let opened = match self {
            Self::Path(path) => {
                if path.is_dir() {
                    return Ok(Opened::Directory(path));
                }
                open_file(File::open(&path).map_err(Error::io(&name, "cannot open"))?, options)
            }
            Self::Stream(Peeked { stream, .. }) => {
                let stream = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
                let stream = stream.map(Opened::Stream);
                return stream.ok_or_else(|| Error::input(name, None, "this stream can be read only once"));
            }
            Self::Stdin => stdin().and_then(|file| open_file(file, options)),
            Self::Bytes { bytes, .. } => Ok(Opened::Bytes(bytes.into())),
        };
        let read = |e| Error::io(&name, "cannot read")(e);
        match opened.map_err(read)? {
            Opened::Bytes(bytes) => match Compression::recognize(&bytes.start(MAGIC_LEN as u64).map_err(read)?) {
                Some(compression) => compression.decompress(bytes.into_reader(), options).map(Opened::Stream),
                None => Ok(Opened::Bytes(bytes)),
            },
            Opened::Stream(stream) => Ok(Opened::Stream(unpacked(stream, options).map_err(read)?)),
            Opened::Directory(path) => Ok(Opened::Directory(path)),
        }
        .map_err(Error::io(&name, "cannot decompress"))
    }
}

/// Decompresses a stream if it is compressed as a whole.
///
/// # Errors
/// Errors of the stream.
pub fn unpacked(mut stream: Box<dyn Read + Send>, options: &ReadOptions) -> io::Result<Box<dyn Read + Send>> {
    let mut start = Vec::new();
    (&mut stream).take(MAGIC_LEN as u64).read_to_end(&mut start)?;
    let compression = Compression::recognize(&start);
    let stream = io::Cursor::new(start).chain(stream);
    match compression {
        Some(compression) => compression.decompress(io::BufReader::new(stream), options),
        None => Ok(Box::new(stream)),
    }
}

/// Standard input as a file, so that it can be mapped if redirected from a file.
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
    // A browser has none.
    #[cfg(not(any(unix, windows)))]
    Err(io::ErrorKind::Unsupported.into())
}

/// Maps a regular file from which nothing has been read; streams a pipe, terminal or device.
fn open_file(mut file: File, options: &ReadOptions) -> io::Result<Opened> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        #[cfg(target_os = "linux")]
        widen(&file, &metadata);
        Ok(Opened::Stream(Box::new(file)))
    } else if file.stream_position()? != 0 {
        Ok(Opened::Stream(Box::new(file)))
    } else if options.private_copy {
        let mut spool = Spool::new(options.spool_dir.as_deref())?;
        match spool.fill(&mut file)? {
            (_, Some(failure)) => Err(failure),
            (_, None) => Ok(Opened::Bytes(spool.into_bytes()?.into())),
        }
    } else {
        FileBytes::open(file).map(Opened::Bytes)
    }
}

/// Enlarges a pipe beyond the default of 64 KB. Each time a pipe is full or empty a process is woken, which costs as much as
/// reading some hundred KB.
#[cfg(target_os = "linux")]
fn widen(file: &File, metadata: &std::fs::Metadata) {
    use std::os::unix::fs::FileTypeExt;
    // The default limit for unprivileged processes.
    const SIZE: usize = 1 << 20;
    if metadata.file_type().is_fifo() && rustix::pipe::fcntl_getpipe_size(file).is_ok_and(|size| size < SIZE) {
        // Without permission, the pipe is read with its present size.
        let _ = rustix::pipe::fcntl_setpipe_size(file, SIZE);
    }
}
