//! Compression of an output as a whole.

use crate::error::{Error, Result};
use std::io::Write;

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

/// Has `write` write to `out` through all of the envelopes, and finishes them.
///
/// # Errors
/// What `write` or `out` says.
pub fn around(
    envelopes: &[Envelope],
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    match envelopes.split_first() {
        Some((outermost, inner)) => outermost.around(out, |out| around(inner, out, write)),
        None => write(out),
    }
}

impl Envelope {
    fn around(self, out: &mut dyn Write, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let finished = match self {
            Self::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
                write(&mut encoder)?;
                encoder.finish()
            }
            Self::Zstd => {
                let level = zstd::DEFAULT_COMPRESSION_LEVEL;
                let mut encoder = zstd::Encoder::new(out, level).map_err(Error::Output)?;
                write(&mut encoder)?;
                encoder.finish()
            }
        };
        finished.map(drop).map_err(Error::Output)
    }
}
