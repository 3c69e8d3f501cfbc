//! Reading: from what the user named to blocks of records.

pub mod directory;
pub mod file;
pub mod frame_decoder;
pub mod frames;
pub mod input;
pub mod pipe;

use crate::abi::Endian;
use crate::abi::feature::FeatureId;
use crate::abi::header::{self, EventType, FileHeader};
use crate::container::block::{Block, Origin};
use crate::container::image::FileImage;
use crate::container::limits::Limits;
use crate::container::spool::Spool;
use crate::container::walk::Damage;
use crate::error::{Error, Result};
use bytes::Bytes;
use file::FileAttr;
use input::{Input, Opened};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::path::PathBuf;

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Where temporary files go that hold what arrives on a stream but must be read twice; the system's folder if not set.
    pub spool_dir: Option<PathBuf>,
    /// How far the recording is trusted.
    pub limits: Limits,
    /// Whether files are copied to temporary files first, and read there. Otherwise they are mapped, and where somebody cuts a
    /// file while it is read, or its disk fails, the system ends the program with SIGBUS, unless that catches it.
    pub private_copy: bool,
}

/// Which kind of container a recording is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// A file with sections.
    File,
    /// A stream of records, from a pipe or saved to a file.
    Pipe,
    /// A folder with a file of its own for each thread of `perf record --threads`.
    Directory,
}

/// An opened recording: what its header tells, and its records, a block at a time.
pub struct Reader {
    /// Files that records come from, by the number that is in [`Block::source`].
    pub files: Vec<String>,
    /// The folder that they are in, of a recording that is one.
    pub folder: Option<PathBuf>,
    /// Container.
    pub container: Container,
    /// Byte order of the recorder.
    pub endian: Endian,
    /// Events that the header tells; in a pipe they come as records.
    pub attrs: Vec<FileAttr>,
    /// Names of tracepoints that the header of an old recording tells; in a pipe they come as records.
    pub event_types: Vec<EventType>,
    /// Feature sections; in a pipe they come as records.
    pub features: BTreeMap<FeatureId, Bytes>,
    /// Everything of the recording's main file but the records, as it is.
    pub image: FileImage,
    /// What is wrong with header and sections.
    pub damage: Vec<Damage>,
    /// How it is read.
    pub options: ReadOptions,
    streams: VecDeque<Records>,
    next_serial: u64,
}

/// Records of one file.
enum Records {
    /// All there, in memory or mapped.
    Whole(Block),
    /// Still arriving.
    Arriving(pipe::PipeBlocks),
}

impl Reader {
    /// Opens a recording, whatever its container and whether it is compressed as a whole (gzip, zstd).
    ///
    /// # Errors
    /// Where there is no recording, or none that can be read.
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
            folder: None,
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

    fn from_bytes(name: &str, bytes: Bytes, options: ReadOptions) -> Result<Self> {
        if let Some(endian) = pipe::recognise(&bytes) {
            let mut reader = Self::new(name, Container::Pipe, endian, options);
            reader.image.before = bytes.slice(..pipe::HEADER_SIZE);
            reader.add_records(0, pipe::HEADER_SIZE as u64, bytes.slice(pipe::HEADER_SIZE..));
            return Ok(reader);
        }
        let Some(endian) = header::endian(&bytes) else { return Err(not_a_recording(name, &bytes)) };
        let mut reader = Self::new(name, Container::File, endian, options);
        reader.add_file(&bytes)?;
        Ok(reader)
    }

    /// Takes header, events, features and records from the file that is named first.
    fn add_file(&mut self, bytes: &Bytes) -> Result<()> {
        let file = file::FileSections::read(&self.files[0], bytes, self.endian)?;
        self.attrs = file.attrs;
        self.event_types = file.event_types;
        self.features = file.features;
        self.image = file.image;
        self.damage.extend(file.damage);
        self.add_records(0, file.data.start as u64, bytes.slice(file.data));
        Ok(())
    }

    fn add_records(&mut self, source: u32, base: u64, bytes: Bytes) {
        let serial = self.serial();
        self.streams.push_back(Records::Whole(Block {
            bytes,
            source,
            base,
            origin: Origin::File,
            in_memory: false,
            serial,
        }));
    }

    /// Reads a recording from a stream, whatever its container and whether it is compressed as a whole. That of a pipe is read as
    /// it comes; a file, of which the end must be known, is kept in a temporary file first.
    ///
    /// # Errors
    /// Where there is no recording, or none that can be read.
    pub fn from_stream(name: &str, stream: Box<dyn Read + Send>, options: ReadOptions) -> Result<Self> {
        let stream = input::unpacked(stream, &options).map_err(Error::io(name, "cannot read"))?;
        Self::from_unpacked(name, stream, options)
    }

    fn from_unpacked(name: &str, mut stream: Box<dyn Read + Send>, options: ReadOptions) -> Result<Self> {
        let mut start = Vec::new();
        let header = (&mut stream).take(pipe::HEADER_SIZE as u64).read_to_end(&mut start);
        header.map_err(Error::io(name, "cannot read"))?;
        if let Some(endian) = pipe::recognise(&start) {
            let mut reader = Self::new(name, Container::Pipe, endian, options);
            reader.image.before = start.into();
            let blocks = pipe::PipeBlocks::new(name, stream, endian);
            reader.streams.push_back(Records::Arriving(blocks));
            return Ok(reader);
        }
        if header::endian(&start).is_none() {
            // Why is told by what is behind, too.
            (&mut stream).take(FileHeader::SIZE).read_to_end(&mut start).map_err(Error::io(name, "cannot read"))?;
            return Err(not_a_recording(name, &start));
        }
        let (bytes, failure) = spooled(&mut io::Cursor::new(start).chain(stream), name, &options)?;
        let len = bytes.len() as u64;
        let mut reader = Self::from_bytes(name, bytes, options)?;
        reader.note_failure(0, failure.as_ref().map(|failure| (len, failure)));
        Ok(reader)
    }

    /// Adds the records of a file that comes as a stream.
    fn add_spooled(&mut self, source: u32, name: &str, mut stream: Box<dyn Read + Send>) -> Result<()> {
        let (bytes, failure) = spooled(&mut stream, name, &self.options)?;
        self.note_failure(source, failure.as_ref().map(|failure| (bytes.len() as u64, failure)));
        self.add_records(source, 0, bytes);
        Ok(())
    }

    fn note_failure(&mut self, source: u32, failure: Option<(u64, &io::Error)>) {
        if let Some((offset, failure)) = failure {
            self.damage.push(Damage::new(&self.files[source as usize], offset, cut_by(failure)));
        }
    }

    /// The next block of records, in the order of the file. Its records are whole, except where the file is damaged or
    /// ends.
    ///
    /// # Errors
    /// Where a large record of a stream cannot be kept in a temporary file.
    pub fn next_block(&mut self) -> Result<Option<Block>> {
        while let Some(records) = self.streams.front_mut() {
            match records {
                Records::Whole(_) => {
                    let Some(Records::Whole(block)) = self.streams.pop_front() else { continue };
                    return Ok(Some(block));
                }
                Records::Arriving(blocks) => {
                    if let Some((base, bytes)) = blocks.next(&self.options)? {
                        let serial = self.serial();
                        return Ok(Some(Block {
                            bytes,
                            source: 0,
                            base,
                            origin: Origin::File,
                            in_memory: true,
                            serial,
                        }));
                    }
                    if let Some(Records::Arriving(blocks)) = self.streams.pop_front() {
                        self.note_failure(0, blocks.failure());
                    }
                }
            }
        }
        Ok(None)
    }

    /// A serial number for one more block.
    pub fn serial(&mut self) -> u64 {
        self.next_serial += 1;
        self.next_serial
    }
}

/// What to say of a stream that failed.
fn cut_by(failure: &io::Error) -> String {
    format!("reading failed here, what follows is missing: {failure}")
}

/// All of a stream in a temporary file, and how it failed if it did.
fn spooled(stream: &mut dyn Read, name: &str, options: &ReadOptions) -> Result<(Bytes, Option<io::Error>)> {
    let spooled = (|| {
        let mut spool = Spool::new(options.spool_dir.as_deref())?;
        let (_, failure) = spool.fill(stream)?;
        Ok((spool.into_bytes()?, failure))
    })();
    spooled.map_err(Error::io(name, "cannot keep in a temporary file"))
}

/// Why these bytes are no recording, as well as can be told.
fn not_a_recording(name: &str, bytes: &[u8]) -> Error {
    let unknown = || "this is not a perf.data: it does not begin with PERFILE2 or PERFFILE".to_owned();
    Error::input(name, 0, header_problem(bytes).unwrap_or_else(unknown))
}

/// What is known to be wrong with bytes that are no recording; `None` where they may be anything.
pub fn header_problem(bytes: &[u8]) -> Option<String> {
    Some(if bytes.is_empty() {
        "the file is empty".to_owned()
    } else if bytes.len() < FileHeader::SIZE_WITHOUT_FEATURES as usize
        && [b"PERFILE2", b"PERFFILE"].iter().any(|magic| magic.starts_with(&bytes[..bytes.len().min(8)]))
    {
        format!("the perf.data is cut in its header, after {} bytes", bytes.len())
    } else if bytes.starts_with(b"PERFFILE") {
        "this perf.data of version 1 says that its header takes neither 104 nor 72 bytes, nor 16 as that of a pipe: its byte \
         order cannot be told"
            .to_owned()
    } else if bytes.starts_with(b"\x1f\x8b") || bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        "this is compressed more than once; unpack it first, down to one gzip or zstd around the perf.data".to_owned()
    } else if bytes.starts_with(b"\xfd7zXZ") {
        "this is compressed by xz, which is not read; unpack it first (xz -d)".to_owned()
    } else {
        return None;
    })
}
