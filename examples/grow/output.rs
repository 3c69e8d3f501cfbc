//! Writer of the grown recording: a file or a pipe stream, plain or compressed.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

use crate::recording::{Recording, kind};

/// The largest chunk that perf compresses at once, and so the buffer that a reader needs.
const CHUNK: usize = 1 << 16;
/// The largest payload of a COMPRESSED record, whose size is a u16.
const PAYLOAD: usize = 65528 - 8;
const COMPRESSED_FEATURE: u32 = 27;
const LAST_FEATURE: u64 = 32;
/// Features that perf does not write to pipes.
const FILE_ONLY: [u32; 8] = [1, 2, 15, 18, 19, 20, 24, 30];

/// An output recording.
pub(crate) struct Output {
    file: BufWriter<File>,
    head: Vec<u8>,
    features: Vec<(u32, Vec<u8>)>,
    pipe: bool,
    compressor: Option<Compressor>,
    data_size: u64,
}

struct Compressor {
    encoder: Encoder<'static>,
    chunk: Vec<u8>,
}

impl Output {
    /// Creates the output and writes everything before the data.
    pub(crate) fn create(path: &Path, recording: &Recording, pipe: bool, compress: bool) -> io::Result<Output> {
        let mut features: Vec<(u32, Vec<u8>)> =
            recording.features().map(|(bit, bytes)| (bit, bytes.to_vec())).collect();
        if compress {
            // Version, type (zstd), level, ratio, size of the reader's buffer.
            let section = [0, 1, 1, 4, CHUNK as u32].map(u32::to_le_bytes).concat();
            let place = features.partition_point(|(bit, _)| *bit < COMPRESSED_FEATURE);
            features.insert(place, (COMPRESSED_FEATURE, section));
        }
        let compressor = if compress {
            let mut encoder = Encoder::new(1)?;
            encoder.set_parameter(CParameter::WindowLog(19))?;
            Some(Compressor { encoder, chunk: Vec::with_capacity(CHUNK) })
        } else {
            None
        };
        let file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let head = recording.head().to_vec();
        let mut output = Output { file, head, features, pipe, compressor, data_size: 0 };
        if pipe {
            output.pipe_head(recording)?
        } else {
            output.file.write_all(&output.head)?
        }
        Ok(output)
    }

    /// The number of bytes of records written, before compression.
    pub(crate) fn data_size(&self) -> u64 {
        self.data_size
    }

    /// Writes a record of the kernel, compressed if the output is.
    pub(crate) fn record(&mut self, record: &[u8]) -> io::Result<()> {
        self.data_size += record.len() as u64;
        let Some(compressor) = &mut self.compressor else { return self.file.write_all(record) };
        // Fill chunks to the last byte, so that records straddle them.
        let (now, later) = record.split_at(record.len().min(CHUNK - compressor.chunk.len()));
        compressor.chunk.extend_from_slice(now);
        if compressor.chunk.len() == CHUNK {
            self.compress()?;
            self.compressor.as_mut().expect("the compressor should exist").chunk.extend_from_slice(later);
        }
        Ok(())
    }

    /// Writes the end of a round, after everything that belongs to the round.
    pub(crate) fn round(&mut self, record: &[u8]) -> io::Result<()> {
        self.compress()?;
        self.user_record(record)
    }

    /// Writes a record of perf itself, which is never compressed.
    pub(crate) fn user_record(&mut self, record: &[u8]) -> io::Result<()> {
        self.data_size += record.len() as u64;
        self.file.write_all(record)
    }

    /// Writes everything after the data, and the sizes into the header.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.compress()?;
        if self.pipe {
            return self.file.flush();
        }
        let table = self.file.stream_position()?;
        let data_size = table - self.head.len() as u64;
        let mut offset = table + 16 * self.features.len() as u64;
        for (_, bytes) in &self.features {
            self.file.write_all(&offset.to_le_bytes())?;
            self.file.write_all(&(bytes.len() as u64).to_le_bytes())?;
            offset += bytes.len() as u64;
        }
        let mut bits = [0; 32];
        for (bit, bytes) in &self.features {
            self.file.write_all(bytes)?;
            bits[*bit as usize / 8] |= 1 << (bit % 8);
        }
        self.file.seek(SeekFrom::Start(48))?;
        self.file.write_all(&data_size.to_le_bytes())?;
        self.file.seek(SeekFrom::Start(72))?;
        self.file.write_all(&bits)?;
        self.file.flush()
    }

    fn pipe_head(&mut self, recording: &Recording) -> io::Result<()> {
        self.file.write_all(b"PERFILE2")?;
        self.file.write_all(&16_u64.to_le_bytes())?;
        for (attr, ids) in recording.events() {
            self.framed(kind::HEADER_ATTR, &[attr, ids])?;
        }
        for (bit, bytes) in self.features.clone() {
            let fits = bytes.len() <= PAYLOAD - 8;
            if fits && !FILE_ONLY.contains(&bit) {
                self.framed(kind::HEADER_FEATURE, &[&u64::from(bit).to_le_bytes(), &bytes])?;
            }
        }
        self.framed(kind::HEADER_FEATURE, &[&LAST_FEATURE.to_le_bytes()])
    }

    /// Writes the chunk, one flush of the single zstd stream, as as many records as it needs.
    fn compress(&mut self) -> io::Result<()> {
        let Some(compressor) = &mut self.compressor else { return Ok(()) };
        let mut frame = Vec::new();
        let mut block = vec![0; CHUNK];
        let mut input = InBuffer::around(&compressor.chunk);
        let mut is_flushed = false;
        while !is_flushed && !compressor.chunk.is_empty() {
            let mut output = OutBuffer::around(&mut block[..]);
            if input.pos() < compressor.chunk.len() {
                compressor.encoder.run(&mut input, &mut output)?;
            } else {
                is_flushed = compressor.encoder.flush(&mut output)? == 0;
            }
            frame.extend_from_slice(output.as_slice());
        }
        compressor.chunk.clear();
        frame.chunks(PAYLOAD).try_for_each(|payload| self.framed(kind::COMPRESSED, &[payload]))
    }

    fn framed(&mut self, kind: u32, body: &[&[u8]]) -> io::Result<()> {
        let size = 8 + body.iter().map(|part| part.len()).sum::<usize>();
        self.file.write_all(&kind.to_le_bytes())?;
        self.file.write_all(&[0; 2])?;
        self.file.write_all(&u16::try_from(size).map_err(io::Error::other)?.to_le_bytes())?;
        body.iter().try_for_each(|part| self.file.write_all(part))
    }
}
