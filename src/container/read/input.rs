//! What the user named: a file, a folder, standard input; possibly compressed as a whole.

use super::{ReadOptions, cut_by, spooled};
use crate::container::spool::{Spool, map};
use crate::container::walk::Damage;
use crate::error::{Error, Result};
use bytes::Bytes;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where a recording comes from.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file, a folder, or anything else that can be opened by its path.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// A stream of which the beginning was read. It can be opened once.
    Stream(Peeked),
    /// Bytes that are there already.
    Bytes {
        /// How to call them in messages.
        name: String,
        /// The bytes.
        bytes: Bytes,
    },
}

/// An unpacked stream, from its beginning on.
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

    fn decompress(self, stream: impl Read + Send + 'static, options: &ReadOptions) -> io::Result<Box<dyn Read + Send>> {
        let packed = Arc::new(AtomicU64::new(0));
        let stream = Counted { stream, count: packed.clone() };
        let unpacking: Box<dyn Read + Send> = match self {
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(stream)),
            Self::Zstd => Box::new(zstd::Decoder::new(stream)?),
        };
        Ok(Box::new(Unpacking { unpacking, compression: self, packed, unpacked: 0, free: options.limits.unpacked }))
    }
}

impl Compression {
    /// An error of unpacking, as far as the system has not another reason.
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

/// A stream that has failed: it says so once, and ends.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// A stream, and how much of it has been read.
struct Counted<R> {
    stream: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(out)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// What a compressed stream holds, as far as that can be a recording.
struct Unpacking {
    unpacking: Box<dyn Read + Send>,
    compression: Compression,
    /// Bytes of the compressed stream that have been read.
    packed: Arc<AtomicU64>,
    unpacked: u64,
    free: u64,
}

/// How many times its size an input may unpack to. Recordings do not come near.
const EXPANSION: u64 = 1000;

impl Read for Unpacking {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let room = self.packed.load(Ordering::Relaxed).saturating_mul(EXPANSION).max(self.free);
        if self.unpacked > room {
            let what =
                format!("it unpacks to more than {EXPANSION} times its size, which recordings do not; unpack it first");
            return Err(io::Error::other(what));
        }
        let read = self.unpacking.read(out).map_err(|e| self.compression.explain(e))?;
        self.unpacked += read as u64;
        Ok(read)
    }
}

impl Input {
    /// A stream, which can be opened once.
    pub fn stream(name: &str, stream: impl Read + Send + 'static) -> Self {
        Self::Stream(Peeked { name: name.to_owned(), stream: Arc::new(Mutex::new(Some(Box::new(stream)))) })
    }

    /// How to call it in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
            Self::Stream(Peeked { name, .. }) => name.clone(),
            Self::Bytes { name, .. } => name.clone(),
        }
    }

    /// The first bytes of what the input holds, unpacked, and an input that still holds all. Of a stream no more is read than until
    /// `is_enough`. A directory, and what cannot be read, has none.
    ///
    /// # Errors
    /// Where the input cannot be opened.
    pub fn peek(self, most: usize, is_enough: fn(&[u8]) -> bool, options: &ReadOptions) -> Result<(Self, Vec<u8>)> {
        let name = self.name();
        let again = match &self {
            Self::Path(path) if !path.exists() || path.is_dir() => return Ok((self, Vec::new())),
            Self::Path(path) if path.is_file() => Some(self.clone()),
            _ => None,
        };
        let mut stream = match self.open(options)? {
            Opened::Directory(path) => return Ok((Self::Path(path), Vec::new())),
            Opened::Bytes(bytes) => {
                let start = bytes[..bytes.len().min(most)].to_vec();
                return Ok((again.unwrap_or(Self::Bytes { name, bytes }), start));
            }
            Opened::Stream(stream) => stream,
        };
        let (mut start, mut failure, mut has_ended) = (Vec::new(), None, false);
        while start.len() < most && !is_enough(&start) {
            let at = start.len();
            start.resize(most, 0);
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
        if let Some(again) = again {
            return Ok((again, start));
        }
        let whole = io::Cursor::new(start.clone());
        let stream: Box<dyn Read + Send> = match failure {
            Some(failure) => Box::new(whole.chain(Failing(Some(failure)))),
            // A terminal would be read on behind its end.
            None if has_ended => Box::new(whole),
            None => Box::new(whole.chain(stream)),
        };
        Ok((Self::stream(&name, stream), start))
    }

    /// The same input as one that can be opened more than once: what comes but once is kept in a temporary file. Where reading
    /// it fails, what came before is kept, and the damage is told.
    ///
    /// # Errors
    /// What the system says.
    pub fn repeatable(self, options: &ReadOptions) -> Result<(Self, Option<Damage>)> {
        let name = self.name();
        match self.open(options)? {
            Opened::Directory(path) => Ok((Self::Path(path), None)),
            Opened::Bytes(bytes) => Ok((Self::Bytes { name, bytes }, None)),
            Opened::Stream(mut stream) => {
                let (bytes, failure) = spooled(&mut stream, &name, options)?;
                let offset = bytes.len() as u64;
                let damage = failure.map(|failure| Damage::new(&name, offset, cut_by(&failure)));
                Ok((Self::Bytes { name, bytes }, damage))
            }
        }
    }

    /// Opens it. What can be mapped is mapped, or copied if that is [asked for](ReadOptions::private_copy); all else is streamed.
    ///
    /// # Errors
    /// What the system says.
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
            Self::Bytes { bytes, .. } => Ok(Opened::Bytes(bytes)),
        };
        let read = |e| Error::io(&name, "cannot read")(e);
        match opened.map_err(read)? {
            Opened::Bytes(bytes) => match Compression::recognise(&bytes) {
                Some(compression) => compression.decompress(io::Cursor::new(bytes), options).map(Opened::Stream),
                None => Ok(Opened::Bytes(bytes)),
            },
            Opened::Stream(stream) => Ok(Opened::Stream(unpacked(stream, options).map_err(read)?)),
            Opened::Directory(path) => Ok(Opened::Directory(path)),
        }
        .map_err(Error::io(&name, "cannot decompress"))
    }
}

/// What a stream holds, which may be compressed as a whole.
///
/// # Errors
/// What the stream says.
pub fn unpacked(mut stream: Box<dyn Read + Send>, options: &ReadOptions) -> io::Result<Box<dyn Read + Send>> {
    let mut start = Vec::new();
    (&mut stream).take(MAGIC_LEN as u64).read_to_end(&mut start)?;
    let compression = Compression::recognise(&start);
    let stream = io::Cursor::new(start).chain(stream);
    match compression {
        Some(compression) => compression.decompress(io::BufReader::new(stream), options),
        None => Ok(Box::new(stream)),
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
            (_, None) => spool.into_bytes().map(Opened::Bytes),
        }
    } else {
        map(&file).map(Opened::Bytes)
    }
}

/// Has a pipe hold more than its 64 KB: each time it is full or empty, a program must be woken, which takes as long as to read
/// some hundred KB.
#[cfg(target_os = "linux")]
fn widen(file: &File, metadata: &std::fs::Metadata) {
    use std::os::unix::fs::FileTypeExt;
    // What everybody may have, if the system's administrator has changed nothing.
    const SIZE: usize = 1 << 20;
    if metadata.file_type().is_fifo() && rustix::pipe::fcntl_getpipe_size(file).is_ok_and(|size| size < SIZE) {
        // Where it may not be so wide, it is read as it is.
        let _ = rustix::pipe::fcntl_setpipe_size(file, SIZE);
    }
}
