//! The pipe container: a header of 16 bytes followed by records.

use super::ReadOptions;
use crate::abi::Endian;
use crate::abi::bytes::ByteReader;
use crate::abi::header::{self, PIPE_HEADER_SIZE};
use crate::container::spool::Spool;
use crate::container::walk::{WalkStep, complete};
use crate::error::{Error, Result};
use bytes::Bytes;
use std::io::{self, Read, Write};

/// Size of the header, which also stores this number after its magic.
pub(crate) const HEADER_SIZE: usize = PIPE_HEADER_SIZE as usize;

/// Number of bytes read at a time.
const CHUNK: usize = 1 << 20;

/// Byte order of a pipe header; `None` if the bytes do not begin with one.
pub(crate) fn recognize(bytes: &[u8]) -> Option<Endian> {
    let endian = header::endian(bytes)?;
    let mut reader = ByteReader::new(&bytes[8..], endian);
    (reader.u64()? == HEADER_SIZE as u64).then_some(endian)
}

/// Reads the records of a stream in blocks of about one megabyte that end with a complete record.
pub(crate) struct PipeBlocks {
    name: String,
    stream: Box<dyn Read + Send>,
    endian: Endian,
    /// Beginning of a record whose end has not arrived.
    rest: Vec<u8>,
    /// Offset of `rest` in the stream.
    offset: u64,
    ended: bool,
    failure: Option<io::Error>,
}

impl PipeBlocks {
    /// Takes a stream positioned at its records, and their offset in the file.
    pub(crate) fn new(name: &str, stream: Box<dyn Read + Send>, offset: u64, endian: Endian) -> Self {
        let name = name.to_owned();
        Self { name, stream, endian, rest: Vec::new(), offset, ended: false, failure: None }
    }

    /// Offset and error of a stream that failed.
    pub(crate) fn failure(&self) -> Option<(u64, &io::Error)> {
        Some((self.offset, self.failure.as_ref()?))
    }

    /// The next block and its offset in the stream. The last block may end within a record. A stream that fails ends with that
    /// block ([`failure`](Self::failure)).
    ///
    /// # Errors
    /// If a large record cannot be spooled to a temporary file.
    pub(crate) fn next(&mut self, options: &ReadOptions) -> Result<Option<(u64, Bytes)>> {
        let mut bytes = std::mem::take(&mut self.rest);
        let mut wanted = bytes.len() + CHUNK;
        while !self.ended {
            self.read_up_to(&mut bytes, wanted);
            if self.ended {
                break;
            }
            match complete(&bytes, self.endian) {
                (0, WalkStep::Cut { needed }) if !options.limits.holds(needed) => {
                    return self.spool(bytes, needed, options).map(Some);
                }
                (0, WalkStep::Cut { needed }) => wanted = (needed as usize).max(bytes.len() + CHUNK),
                (0, WalkStep::Garbage { .. }) if bytes.len() < options.limits.damage => wanted = bytes.len() + CHUNK,
                // Too many bytes without a record are passed on. The reader of the block reports them.
                (0, _) => break,
                (whole, _) => {
                    self.rest = bytes.split_off(whole);
                    break;
                }
            }
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let at = self.offset;
        self.offset += bytes.len() as u64;
        Ok(Some((at, bytes.into())))
    }

    fn read_up_to(&mut self, bytes: &mut Vec<u8>, wanted: usize) {
        let missing = wanted.saturating_sub(bytes.len());
        bytes.reserve_exact(missing);
        match (&mut self.stream).take(missing as u64).read_to_end(bytes) {
            Ok(read) => self.ended = read < missing,
            Err(e) => {
                self.ended = true;
                self.failure = Some(e);
            }
        }
    }

    /// Spools one large record to a temporary file.
    fn spool(&mut self, start: Vec<u8>, needed: u64, options: &ReadOptions) -> Result<(u64, Bytes)> {
        let missing = needed - start.len() as u64;
        let spooled = (|| {
            let mut spool = Spool::new(options.spool_dir.as_deref())?;
            spool.write_all(&start)?;
            let (copied, failure) = spool.fill(&mut (&mut self.stream).take(missing))?;
            self.ended = copied < missing;
            self.failure = failure;
            spool.into_bytes()
        })();
        let bytes = spooled.map_err(|e: io::Error| Error::io(&self.name, "cannot spool to a temporary file")(e))?;
        let at = self.offset;
        self.offset += bytes.len() as u64;
        Ok((at, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::walk::whole_records;

    /// Returns a few bytes at a time, as pipes do.
    struct Dribble(Vec<u8>, usize, usize);

    impl Read for Dribble {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = out.len().min(self.2).min(self.0.len() - self.1);
            out[..n].copy_from_slice(&self.0[self.1..self.1 + n]);
            self.1 += n;
            Ok(n)
        }
    }

    fn records(count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for i in 0..count {
            let len = 8 + i % 100 * 8;
            bytes.extend([9, 0, 0, 0, 0, 0, len as u8, (len >> 8) as u8]);
            bytes.resize(bytes.len() + len - 8, i as u8);
        }
        bytes
    }

    #[test]
    fn blocks_hold_whole_records_however_the_bytes_arrive() {
        let all = records(7000);
        for step in [1000, 4093, usize::MAX] {
            let stream = Box::new(Dribble(all.clone(), 0, step));
            let mut blocks = PipeBlocks::new("test", stream, PIPE_HEADER_SIZE, Endian::Little);
            let mut seen = Vec::new();
            while let Some((at, bytes)) = blocks.next(&ReadOptions::default()).unwrap() {
                assert_eq!(at, (HEADER_SIZE + seen.len()) as u64);
                assert!(matches!(whole_records(&bytes, Endian::Little), (len, WalkStep::End) if len == bytes.len()));
                seen.extend_from_slice(&bytes);
            }
            assert!(seen == all);
        }
    }

    #[test]
    fn corruption_does_not_lose_records_across_blocks() {
        let mut all = records(9000);
        all[300_000..300_100].fill(0);
        let mut blocks =
            PipeBlocks::new("test", Box::new(io::Cursor::new(all.clone())), PIPE_HEADER_SIZE, Endian::Little);
        let (mut seen, mut ends) = (Vec::new(), Vec::new());
        while let Some((_, bytes)) = blocks.next(&ReadOptions::default()).unwrap() {
            ends.push(matches!(complete(&bytes, Endian::Little), (len, WalkStep::End) if len == bytes.len()));
            seen.extend_from_slice(&bytes);
        }
        assert!(seen == all);
        assert!(ends.len() > 2 && ends.iter().all(|whole| *whole), "{ends:?}");
    }

    #[test]
    fn a_large_payload_is_spooled() {
        let mut all = records(10);
        let payload = ReadOptions::default().limits.record + 5;
        all.extend([71, 0, 0, 0, 0, 0, 48, 0]);
        all.extend(payload.to_le_bytes());
        all.resize(all.len() + 32 + payload as usize, 3);
        all.extend(records(10));
        let mut blocks =
            PipeBlocks::new("test", Box::new(io::Cursor::new(all.clone())), PIPE_HEADER_SIZE, Endian::Little);
        let mut seen = Vec::new();
        while let Some((_, bytes)) = blocks.next(&ReadOptions::default()).unwrap() {
            seen.extend_from_slice(&bytes);
        }
        assert!(seen == all);
    }

    #[test]
    fn a_truncated_stream_returns_everything_that_arrived() {
        let mut all = records(50);
        all.truncate(all.len() - 3);
        let mut blocks =
            PipeBlocks::new("test", Box::new(io::Cursor::new(all.clone())), PIPE_HEADER_SIZE, Endian::Little);
        let (_, bytes) = blocks.next(&ReadOptions::default()).unwrap().unwrap();
        assert!(bytes == all);
        assert!(blocks.next(&ReadOptions::default()).unwrap().is_none());
    }
}
