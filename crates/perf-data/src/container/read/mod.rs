//! Reading of containers: from an input to blocks of records.

pub mod directory;
pub mod file;
pub mod file_bytes;
pub(crate) mod frame_decoder;
pub mod frames;
pub mod input;
pub(crate) mod pipe;

use crate::abi::Endian;
use crate::abi::feature::FeatureId;
use crate::abi::header::{self, EventType, FileHeader};
use crate::container::block::{Block, Origin};
use crate::container::image::FileImage;
use crate::container::limits::Limits;
use crate::container::spool::Spool;
use crate::container::walk::{Damage, DamageKind};
use crate::error::{Error, Result};
use crate::progress::{Progress, Task, Work};
use bytes::Bytes;
use file::FileAttr;
use file_bytes::FileBytes;
use input::{Input, Opened};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::ops::Range;
use std::path::PathBuf;

/// Options for reading.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Directory for temporary files that spool streams which must be read twice; the system's default if not set.
    pub spool_dir: Option<PathBuf>,
    /// Limits on what the recording can make the program allocate.
    pub limits: Limits,
    /// Whether files are first copied to temporary files instead of being mapped. If a mapped file is truncated while it is read,
    /// or its disk fails, the system ends the program with SIGBUS unless it has a handler.
    pub private_copy: bool,
    pub(crate) progress: Progress,
}

impl ReadOptions {
    /// Sets the directory for temporary files.
    #[must_use]
    pub fn with_spool_dir(self, spool_dir: Option<PathBuf>) -> Self {
        Self { spool_dir, ..self }
    }

    /// Sets the observer of progress.
    #[must_use]
    pub fn with_progress(self, progress: Progress) -> Self {
        Self { progress, ..self }
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }
}

/// The kind of container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// A file with sections.
    File,
    /// A stream of records, from a pipe or saved to a file.
    Pipe,
    /// A directory with one file for each thread of `perf record --threads`.
    Directory,
}

/// An opened recording: the metadata of its header, and its records block by block.
pub struct ContainerReader {
    /// Names of the files, indexed by [`Block::source`].
    pub files: Vec<String>,
    /// The directory of the files, if the recording is a directory.
    pub directory: Option<PathBuf>,
    /// Container.
    pub container: Container,
    /// Byte order of the recorder.
    pub endian: Endian,
    /// Events from the header. A pipe has records for them.
    pub attrs: Vec<FileAttr>,
    /// Names of tracepoints from the header of an old recording. A pipe has records for them.
    pub event_types: Vec<EventType>,
    /// Feature sections. A pipe has records for them.
    pub features: BTreeMap<FeatureId, Bytes>,
    /// Everything except the records of the main file, unchanged.
    pub image: FileImage,
    /// Problems in the header and sections.
    pub damage: Vec<Damage>,
    /// Options the recording was opened with.
    pub options: ReadOptions,
    streams: VecDeque<Records>,
    next_serial: u64,
}

/// Records of one file.
enum Records {
    /// All bytes, in memory or mapped.
    Whole(Block),
    /// A stream, its index among the files, and its size, if it is known.
    Arriving(pipe::PipeBlocks, u32, Option<u64>),
}

impl ContainerReader {
    /// Opens a recording in any container, optionally compressed as a whole (gzip or zstd).
    ///
    /// # Errors
    /// If the input is not a recording or cannot be read.
    pub fn open(input: Input, options: ReadOptions) -> Result<Self> {
        let name = input.name();
        match input.open(&options)? {
            Opened::Directory(path) => directory::open(&path, options),
            Opened::Bytes(bytes) => Self::from_bytes(&name, bytes, options),
            Opened::Stream(stream) => Self::from_unpacked(&name, stream, options),
        }
    }

    fn new(name: &str, container: Container, endian: Endian, options: ReadOptions) -> Self {
        Self {
            files: vec![name.to_owned()],
            directory: None,
            container,
            endian,
            attrs: Vec::new(),
            event_types: Vec::new(),
            features: BTreeMap::new(),
            image: FileImage::default(),
            damage: Vec::new(),
            streams: VecDeque::new(),
            options,
            next_serial: 0,
        }
    }

    fn from_bytes(name: &str, bytes: FileBytes, options: ReadOptions) -> Result<Self> {
        let start = bytes.start(FileHeader::SIZE).map_err(Error::io(name, "cannot read"))?;
        if let Some(endian) = pipe::recognize(&start) {
            let mut reader = Self::new(name, Container::Pipe, endian, options);
            reader.image.before = start.slice(..pipe::HEADER_SIZE);
            reader.add_records(0, &bytes, pipe::HEADER_SIZE as u64..bytes.size());
            return Ok(reader);
        }
        let Some(endian) = header::endian(&start) else { return Err(not_a_recording(name, &start)) };
        let mut reader = Self::new(name, Container::File, endian, options);
        reader.add_file(&bytes)?;
        Ok(reader)
    }

    /// Reads the header, events, features and records of the main file.
    fn add_file(&mut self, bytes: &FileBytes) -> Result<()> {
        let file = file::FileSections::read(&self.files[0], bytes, self.endian)?;
        self.attrs = file.attrs;
        self.event_types = file.event_types;
        self.features = file.features;
        self.image = file.image;
        self.damage.extend(file.damage);
        self.add_records(0, bytes, file.data);
        Ok(())
    }

    /// Adds the records in a range of a file.
    fn add_records(&mut self, source: u32, file: &FileBytes, range: Range<u64>) {
        let (base, size) = (range.start, range.end - range.start);
        let records = match file {
            FileBytes::Whole(bytes) => {
                let bytes = bytes.slice(range.start as usize..range.end as usize);
                let serial = self.serial();
                Records::Whole(Block { bytes, source, base, origin: Origin::File, in_memory: false, serial })
            }
            FileBytes::Unmapped(..) => {
                let name = &self.files[source as usize];
                let blocks = pipe::PipeBlocks::new(name, file.reader(range), base, self.endian);
                Records::Arriving(blocks, source, Some(size))
            }
        };
        self.streams.push_back(records);
    }

    /// Reads a recording from a stream, in any container, optionally compressed as a whole. A pipe is read as it arrives. A
    /// file is spooled to a temporary file first, because its end must be known.
    ///
    /// # Errors
    /// If the stream is not a recording or cannot be read.
    pub fn from_stream(name: &str, stream: Box<dyn Read + Send>, options: ReadOptions) -> Result<Self> {
        let stream = input::unpacked(stream, &options).map_err(Error::io(name, "cannot read"))?;
        Self::from_unpacked(name, stream, options)
    }

    fn from_unpacked(name: &str, mut stream: Box<dyn Read + Send>, options: ReadOptions) -> Result<Self> {
        let mut start = Vec::new();
        let header = (&mut stream).take(pipe::HEADER_SIZE as u64).read_to_end(&mut start);
        header.map_err(Error::io(name, "cannot read"))?;
        if let Some(endian) = pipe::recognize(&start) {
            let mut reader = Self::new(name, Container::Pipe, endian, options);
            reader.image.before = start.into();
            let blocks = pipe::PipeBlocks::new(name, stream, pipe::HEADER_SIZE as u64, endian);
            reader.streams.push_back(Records::Arriving(blocks, 0, None));
            return Ok(reader);
        }
        if header::endian(&start).is_none() {
            // The message depends on the rest of the header, too.
            (&mut stream).take(FileHeader::SIZE).read_to_end(&mut start).map_err(Error::io(name, "cannot read"))?;
            return Err(not_a_recording(name, &start));
        }
        let (bytes, failure) = spooled(&mut io::Cursor::new(start).chain(stream), name, &options)?;
        let len = bytes.len() as u64;
        let mut reader = Self::from_bytes(name, bytes.into(), options)?;
        reader.note_failure(0, failure.as_ref().map(|failure| (len, failure)));
        Ok(reader)
    }

    /// Adds the records of a file that is read as a stream.
    fn add_spooled(&mut self, source: u32, name: &str, mut stream: Box<dyn Read + Send>) -> Result<()> {
        let (bytes, failure) = spooled(&mut stream, name, &self.options)?;
        self.note_failure(source, failure.as_ref().map(|failure| (bytes.len() as u64, failure)));
        let size = bytes.len() as u64;
        self.add_records(source, &bytes.into(), 0..size);
        Ok(())
    }

    fn note_failure(&mut self, source: u32, failure: Option<(u64, &io::Error)>) {
        if let Some((offset, failure)) = failure {
            let file = &self.files[source as usize];
            self.damage.push(Damage::new(DamageKind::ReadError, file, offset, failure_message(failure)));
        }
    }

    /// The next block of records, in file order. It ends with a complete record, except where the file is corrupt or ends.
    ///
    /// # Errors
    /// If a large record of a stream cannot be spooled to a temporary file.
    pub fn next_block(&mut self) -> Result<Option<Block>> {
        while let Some(records) = self.streams.front_mut() {
            match records {
                Records::Whole(_) => {
                    let Some(Records::Whole(block)) = self.streams.pop_front() else { continue };
                    return Ok(Some(block));
                }
                Records::Arriving(blocks, source, _) => {
                    let source = *source;
                    if let Some((base, bytes)) = blocks.next(&self.options)? {
                        let serial = self.serial();
                        return Ok(Some(Block { bytes, source, base, origin: Origin::File, in_memory: true, serial }));
                    }
                    if let Some(Records::Arriving(blocks, ..)) = self.streams.pop_front() {
                        self.note_failure(source, blocks.failure());
                    }
                }
            }
        }
        Ok(None)
    }

    /// Begins the task of reading the records.
    pub(crate) fn begin_task(&self) -> Task {
        let size = |records: &Records| match records {
            Records::Whole(block) => Some(block.bytes.len() as u64),
            Records::Arriving(_, _, size) => *size,
        };
        self.options.progress.begin(Work::Reading, &self.files[0], self.streams.iter().map(size).sum())
    }

    /// Allocates the serial number of a block.
    pub fn serial(&mut self) -> u64 {
        self.next_serial += 1;
        self.next_serial
    }
}

/// Message for a stream that failed.
fn failure_message(failure: &io::Error) -> String {
    format!("reading failed; the rest is missing: {failure}")
}

/// Spools a stream to a temporary file; also returns the error the stream failed with, if any.
fn spooled(stream: &mut dyn Read, name: &str, options: &ReadOptions) -> Result<(Bytes, Option<io::Error>)> {
    let spooled = (|| {
        let mut spool = Spool::new(options.spool_dir.as_deref())?;
        let task = options.progress.begin(Work::Reading, name, None);
        let (_, failure) = spool.fill(&mut task.reader(stream))?;
        Ok((spool.into_bytes()?, failure))
    })();
    spooled.map_err(Error::io(name, "cannot spool to a temporary file"))
}

/// The most specific error for bytes that are not a recording.
fn not_a_recording(name: &str, bytes: &[u8]) -> Error {
    let unrecognized = || "not a perf.data file: it does not begin with PERFILE2 or PERFFILE".to_owned();
    let offset = (!bytes.is_empty()).then_some(0);
    Error::input(name, offset, header_problem(bytes).unwrap_or_else(unrecognized))
}

/// A known problem of bytes that are not a recording; `None` if they are of an unknown kind.
pub fn header_problem(bytes: &[u8]) -> Option<String> {
    Some(if bytes.is_empty() {
        "the input is empty; nothing was recorded".to_owned()
    } else if bytes.len() < FileHeader::SIZE_WITHOUT_FEATURES as usize
        && [b"PERFILE2", b"PERFFILE"].iter().any(|magic| magic.starts_with(&bytes[..bytes.len().min(8)]))
    {
        format!("the header is truncated after {} bytes", bytes.len())
    } else if bytes.starts_with(b"PERFFILE") {
        "unknown byte order: the header size of this version 1 perf.data is none of 104, 72 and 16 in either \
         order"
            .to_owned()
    } else if bytes.starts_with(b"\x1f\x8b") || bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        "compressed more than once; decompress it first, leaving at most one layer of gzip or zstd".to_owned()
    } else if bytes.starts_with(b"\xfd7zXZ") {
        "compressed with xz, which is not supported; decompress it first (xz -d)".to_owned()
    } else {
        return None;
    })
}
