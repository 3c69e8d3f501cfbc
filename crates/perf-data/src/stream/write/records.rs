//! Writes records in a form, in any container.

use super::form::{CompressedFrames, Form};
use crate::abi::feature::FeatureId;
use crate::abi::record::RecordType;
use crate::container::read::Container;
use crate::container::write::compressing::Compressing;
use crate::error::{Error, Result};
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use std::collections::BTreeMap;
use std::io::Write;

/// Writes the records of one file in a form.
pub(crate) struct Records {
    form: Form,
    frames: Option<Compressing>,
}

impl Records {
    /// Begins a file.
    ///
    /// # Errors
    /// If zstd rejects the level or cannot allocate memory.
    pub(crate) fn begin(form: Form, meta: &Meta) -> Result<Self> {
        let frames = match form.frames {
            CompressedFrames::Compressed(options) => Some(Compressing::new(options, form.endian(meta))?),
            CompressedFrames::Kept | CompressedFrames::Plain => None,
        };
        Ok(Self { form, frames })
    }

    /// Writes a record if it belongs to the form. With compression, kernel records are compressed and those of perf are written
    /// as they are.
    ///
    /// # Errors
    /// If a record cannot be encoded in the other byte order, or on errors of `out`.
    pub(crate) fn write(&mut self, meta: &Meta, raw: &Raw<'_>, out: &mut impl Write) -> Result<()> {
        let Some(record) = self.form.record(meta, raw)? else { return Ok(()) };
        if let Some(frames) = &mut self.frames {
            if raw.payload().is_empty() {
                return frames.record(&record, raw.header().kind < RecordType::USER_START, out);
            }
            frames.flush(out)?;
        }
        out.write_all(&record).and_then(|()| out.write_all(raw.payload())).map_err(Error::Output)
    }

    /// Writes the records that wait for compression.
    ///
    /// # Errors
    /// Errors of `out`.
    pub(crate) fn flush(&mut self, out: &mut impl Write) -> Result<()> {
        self.frames.as_mut().map_or(Ok(()), |frames| frames.flush(out))
    }

    /// The features in this form, for the container of the output.
    ///
    /// # Errors
    /// If a feature cannot be encoded in the other byte order.
    pub(crate) fn features(&self, meta: &Meta, to: Container) -> Result<BTreeMap<FeatureId, Vec<u8>>> {
        let mut features = self.form.features(meta, to)?;
        if let Some(compression) = self.compression()? {
            features.insert(FeatureId::COMPRESSED, compression);
        }
        Ok(features)
    }

    /// The feature COMPRESSED, if records are compressed.
    ///
    /// # Errors
    /// None in practice: the bytes are written to memory.
    pub(crate) fn compression(&self) -> Result<Option<Vec<u8>>> {
        self.frames.as_ref().map(Compressing::feature).transpose()
    }
}
