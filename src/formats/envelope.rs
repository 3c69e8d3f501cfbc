//! Compression of an output as a whole.

use crate::error::{Error, Result};
use std::io::Write;

/// How an output is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Envelope {
    /// Not at all.
    Bare,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

impl Envelope {
    /// Splits the ending that asks for an envelope off a file name.
    pub fn strip(name: &str) -> (&str, Self) {
        if let Some(stem) = name.strip_suffix(".gz") {
            (stem, Self::Gzip)
        } else if let Some(stem) = name.strip_suffix(".zst") {
            (stem, Self::Zstd)
        } else {
            (name, Self::Bare)
        }
    }

    /// Has `write` write to `out` through the envelope, and finishes it.
    ///
    /// # Errors
    /// What `write` or `out` says.
    pub fn around(self, out: &mut dyn Write, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let finished = match self {
            Self::Bare => return write(out),
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
