//! Compression of an output as a whole, on a thread of its own.

use crate::error::{Error, Result};
use crate::threads::returned;
use std::io::{self, ErrorKind, Write};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// A compression around an output. There may be none, or one around another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Envelope {
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

/// Splits the endings that ask for envelopes off a file name. The outermost envelope is the first.
pub fn strip(mut name: &str) -> (&str, Vec<Envelope>) {
    let mut envelopes = Vec::new();
    while let Some((stem, ending)) = name.rsplit_once('.') {
        envelopes.push(match &*ending.to_ascii_lowercase() {
            "gz" => Envelope::Gzip,
            "zst" => Envelope::Zstd,
            _ => break,
        });
        name = stem;
    }
    (name, envelopes)
}

/// The envelopes of an output.
#[derive(Clone, Debug, Default)]
pub struct Envelopes {
    /// The outermost first.
    pub list: Vec<Envelope>,
    /// How much is compressed, as each counts it: gzip from 0 to 9, zstd from 1 to 22. Each one's default if not set.
    pub level: Option<u32>,
}

impl Envelopes {
    /// Has `write` write to `out` through all of the envelopes, and finishes them.
    ///
    /// # Errors
    /// What `write` or `out` says.
    pub fn around(
        &self,
        out: &mut (dyn Write + Send),
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
    ) -> Result<()> {
        around(&self.list, self.level, out, write)
    }
}

fn around(
    envelopes: &[Envelope],
    level: Option<u32>,
    out: &mut (dyn Write + Send),
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<()> {
    let Some((outermost, inner)) = envelopes.split_first() else { return write(out) };
    let (sender, receiver) = sync_channel::<Vec<u8>>(CHUNKS);
    thread::scope(|scope| {
        let compressor = scope.spawn(move || outermost.compress(receiver.into_iter(), level, out));
        let mut feed = Feed { chunk: Vec::with_capacity(CHUNK), sender };
        let written = around(inner, level, &mut feed, write).and_then(|()| feed.flush().map_err(Error::Output));
        drop(feed);
        // Where compressing failed, that is why writing to it did.
        let compressed = returned(compressor.join());
        compressed.map_err(Error::Output).and(written)
    })
}

/// How much a `.gz` is compressed where nobody says. Of a profile with many stacks, zlib's own 6 would take a third of the
/// whole conversion's time to save a twentieth of the file.
const GZIP_LEVEL: u32 = 2;

impl Envelope {
    /// The ending of file names that asks for it.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Zstd => "zst",
        }
    }

    /// The most that it can be asked to compress.
    pub fn highest_level(self) -> u32 {
        match self {
            Self::Gzip => 9,
            Self::Zstd => 22,
        }
    }

    fn compress(
        self,
        chunks: impl Iterator<Item = Vec<u8>>,
        level: Option<u32>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let level = level.map(|level| level.min(self.highest_level()));
        match self {
            Self::Gzip => {
                let level = flate2::Compression::new(level.unwrap_or(GZIP_LEVEL));
                let mut encoder = flate2::write::GzEncoder::new(out, level);
                for chunk in chunks {
                    encoder.write_all(&chunk)?;
                }
                encoder.finish().map(drop)
            }
            Self::Zstd => {
                let level = level.map_or(zstd::DEFAULT_COMPRESSION_LEVEL, |level| level as i32);
                let mut encoder = zstd::Encoder::new(out, level)?;
                for chunk in chunks {
                    encoder.write_all(&chunk)?;
                }
                encoder.finish().map(drop)
            }
        }
    }
}

/// How much is given to the other thread at once, and how many such chunks may wait there. The system's allocator keeps memory
/// of such a size to be used again.
const CHUNK: usize = 64 << 10;
const CHUNKS: usize = 8;

/// Gives what is written to the thread that compresses it.
struct Feed {
    chunk: Vec<u8>,
    sender: SyncSender<Vec<u8>>,
}

impl Write for Feed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.chunk.len() == CHUNK {
            self.flush()?;
        }
        let taken = bytes.len().min(CHUNK - self.chunk.len());
        self.chunk.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        self.sender.send(chunk).map_err(|_| ErrorKind::BrokenPipe.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn what_is_written_comes_back_from_inside_the_envelopes() {
        let data: Vec<u8> = (0..3_000_000_u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let envelopes = Envelopes { list: vec![Envelope::Gzip, Envelope::Zstd], level: Some(1) };
        let mut out = Vec::new();
        let write = |out: &mut (dyn Write + Send)| {
            data.chunks(1000).try_for_each(|chunk| out.write_all(chunk)).map_err(Error::Output)
        };
        envelopes.around(&mut out, write).unwrap();
        let mut read = Vec::new();
        zstd::Decoder::new(flate2::read::GzDecoder::new(&*out)).unwrap().read_to_end(&mut read).unwrap();
        assert!(read == data);
    }

    #[test]
    fn an_output_that_fails_says_why() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let envelopes = Envelopes { list: vec![Envelope::Gzip], level: None };
        let mut state = 1_u64;
        let written = envelopes.around(&mut Full, |out| {
            (0..100_000).try_for_each(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                out.write_all(&[state.to_le_bytes(); 16].concat()).map_err(Error::Output)
            })
        });
        assert!(matches!(written, Err(Error::Output(e)) if e.kind() == ErrorKind::StorageFull));
    }
}
