//! Compression of an output as a whole, on other threads.

use super::gzip::GzipWriter;
use crate::error::{Error, Result};
use crate::threads::{builder, returned};
use std::io::{self, ErrorKind, Write};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// A compression around an output. Several can be nested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Envelope {
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

/// Splits the extensions of compressions off a file name. The outermost compression is the first.
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

/// The compressions of an output.
#[derive(Clone, Debug, Default)]
pub struct Envelopes {
    /// The outermost first.
    pub list: Vec<Envelope>,
    /// Level, in the scale of each compression: gzip 0 to 9, zstd 1 to 22. The default of each if not set.
    pub level: Option<u32>,
}

impl Envelopes {
    /// Runs `write` with an output that compresses into `out`, and finishes the compressed streams.
    ///
    /// # Errors
    /// Errors of `write` or `out`.
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
    let own_level = level.map(|level| level.min(outermost.highest_level()));
    match outermost {
        Envelope::Gzip => {
            let mut gzip = GzipWriter::new(out, own_level.unwrap_or(GZIP_LEVEL)).map_err(Error::Output)?;
            around(inner, level, &mut gzip, write)?;
            gzip.finish().map_err(Error::Output)
        }
        Envelope::Zstd => {
            let (sender, receiver) = sync_channel::<Vec<u8>>(CHUNKS);
            let mut write = Some(write);
            let result = thread::scope(|scope| {
                let compress = || zstd(receiver.into_iter(), own_level, &mut *out);
                let compressor = builder("zstd").spawn_scoped(scope, compress).ok()?;
                let write = write.take()?;
                let mut feed = Feed { chunk: Vec::with_capacity(CHUNK), sender };
                let written = around(inner, level, &mut feed, write).and_then(|()| feed.flush().map_err(Error::Output));
                drop(feed);
                // A compression error is the cause of a write error.
                let compressed = returned(compressor.join());
                Some(compressed.map_err(Error::Output).and(written))
            });
            match (result, write) {
                (None, Some(write)) => {
                    let mut encoder = zstd_encoder(own_level, out).map_err(Error::Output)?;
                    around(inner, level, &mut encoder, write)?;
                    encoder.finish().map(drop).map_err(Error::Output)
                }
                (result, _) => result.unwrap_or(Ok(())),
            }
        }
    }
}

fn zstd_encoder<W: Write>(level: Option<u32>, out: W) -> io::Result<zstd::Encoder<'static, W>> {
    zstd::Encoder::new(out, level.map_or(zstd::DEFAULT_COMPRESSION_LEVEL, |level| level as i32))
}

fn zstd(chunks: impl Iterator<Item = Vec<u8>>, level: Option<u32>, out: &mut dyn Write) -> io::Result<()> {
    let mut encoder = zstd_encoder(level, out)?;
    for chunk in chunks {
        encoder.write_all(&chunk)?;
    }
    encoder.finish().map(drop)
}

/// Default level of gzip. For a profile with many stacks, zlib's default of 6 would take a third of the time of the conversion to
/// save a twentieth of the size.
const GZIP_LEVEL: u32 = 2;

impl Envelope {
    /// The file name extension.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Zstd => "zst",
        }
    }

    /// The highest level.
    pub fn highest_level(self) -> u32 {
        match self {
            Self::Gzip => 9,
            Self::Zstd => 22,
        }
    }
}

/// Size of a chunk sent to the compressing thread, and maximum number of chunks in flight. Allocators keep chunks of this size
/// for reuse.
const CHUNK: usize = 64 << 10;
const CHUNKS: usize = 8;

/// Sends written bytes to the compressing thread.
struct Feed {
    chunk: Vec<u8>,
    sender: SyncSender<Vec<u8>>,
}

impl Write for Feed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.chunk.len() == CHUNK {
            self.flush()?;
        }
        let accepted = bytes.len().min(CHUNK - self.chunk.len());
        self.chunk.extend_from_slice(&bytes[..accepted]);
        Ok(accepted)
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
    use crate::threads::testing::without_threads;
    use std::io::Read;

    #[test]
    fn nested_compression_is_reversible() {
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
    fn compression_needs_no_thread() {
        without_threads(nested_compression_is_reversible);
    }

    #[test]
    fn the_output_error_is_returned() {
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
