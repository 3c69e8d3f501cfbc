//! Records that the schema cannot represent, and frames.

use super::Fidelity;
use super::chunks::raw;
use super::encode::field;
use super::proto::perf_data_proto::Record;
use crate::formats::framework::converter::ConvertOptions;
use bytes::Bytes;
use md5::{Digest, Md5};
use perf_data::container::spool::Spool;
use perf_data::error::{Error, Result};
use prost::encoding::message;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Spools them as messages, to be written after all events.
pub(super) struct UnrepresentedRecords {
    /// Whether they are written at all.
    is_lossless: bool,
    spool_dir: Option<PathBuf>,
    records: Option<BufWriter<Spool>>,
    frame: Option<CompressedFrame>,
    buffer: Vec<u8>,
}

/// Original bytes of the records that follow.
struct CompressedFrame {
    at: u64,
    bytes: Bytes,
    sum: Md5,
    /// Records of the frame that the schema cannot represent.
    records: Vec<u8>,
}

impl UnrepresentedRecords {
    /// Starts empty.
    pub(super) fn new(fidelity: Fidelity, options: &ConvertOptions) -> Self {
        let (is_lossless, spool_dir) = (fidelity.is_lossless(), options.spool_dir.clone());
        Self { is_lossless, spool_dir, records: None, frame: None, buffer: Vec::new() }
    }

    /// Adds the record of this number.
    ///
    /// # Errors
    /// If it cannot be spooled.
    pub(super) fn add(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        self.keep(&Record { at: Some(at), chunks: raw(bytes).into_iter().collect(), ..Record::default() })
    }

    fn keep(&mut self, record: &Record) -> Result<()> {
        if !self.is_lossless {
            return Ok(());
        }
        if let Some(frame) = &mut self.frame {
            message::encode(field::RECORDS, record, &mut frame.records);
            return Ok(());
        }
        self.buffer.clear();
        message::encode(field::RECORDS, record, &mut self.buffer);
        let records = match &mut self.records {
            Some(records) => records,
            None => self.records.insert(spool(self.spool_dir.as_deref())?),
        };
        records.write_all(&self.buffer).map_err(Error::Output)
    }

    /// Begins a run of records whose bytes in the file are these.
    pub(super) fn begin_frame(&mut self, at: u64, bytes: Bytes) {
        self.frame = Some(CompressedFrame { at, bytes, sum: Md5::new(), records: Vec::new() });
    }

    /// Adds a record of the run to its checksum.
    pub(super) fn add_to_frame(&mut self, bytes: &[u8]) {
        if let Some(frame) = &mut self.frame {
            frame.sum.update(bytes);
        }
    }

    /// Ends the run, if any, before the record of this number.
    ///
    /// # Errors
    /// If it cannot be spooled.
    pub(super) fn end_frame(&mut self, at: u64) -> Result<()> {
        let Some(frame) = self.frame.take() else { return Ok(()) };
        let inside = at - frame.at - 1;
        let sum: [u8; 16] = frame.sum.finalize().into();
        self.keep(&Record {
            at: Some(frame.at),
            chunks: raw(&frame.bytes).into_iter().collect(),
            inside: (inside > 0).then_some(inside),
            inside_md5_prefix: sum.first_chunk().filter(|_| inside > 0).map(|sum| u64::from_be_bytes(*sum)),
        })?;
        match &mut self.records {
            Some(records) => records.write_all(&frame.records).map_err(Error::Output),
            None => Ok(()),
        }
    }

    /// Returns the spooled messages.
    pub(super) fn take(&mut self) -> Option<BufWriter<Spool>> {
        self.records.take()
    }
}

/// Creates a buffered temporary file.
///
/// # Errors
/// If it cannot be created.
pub(super) fn spool(dir: Option<&Path>) -> Result<BufWriter<Spool>> {
    Ok(BufWriter::with_capacity(
        1 << 17,
        Spool::new(dir).map_err(Error::io("the records", "cannot write to a temporary file"))?,
    ))
}
