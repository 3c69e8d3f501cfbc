//! Records that have no place among others, and bytes that stand for records.

use super::Fidelity;
use super::chunks::raw;
use super::encode::field;
use super::proto::perf_data_proto::Record;
use crate::container::spool::Spool;
use crate::error::{Error, Result};
use crate::formats::carry::CarryOptions;
use bytes::Bytes;
use md5::{Digest, Md5};
use prost::encoding::message;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Keeps them in a temporary file, as messages, until all others are written.
pub struct Aside {
    /// Whether they are to be kept at all.
    is_kept: bool,
    spool_dir: Option<PathBuf>,
    records: Option<BufWriter<Spool>>,
    frame: Option<Frame>,
    buffer: Vec<u8>,
}

/// Bytes that stand for the records that follow.
struct Frame {
    at: u64,
    bytes: Bytes,
    sum: Md5,
    /// Records inside that have no place among others.
    records: Vec<u8>,
}

impl Aside {
    /// Nothing kept yet.
    pub fn new(options: &CarryOptions) -> Self {
        let (is_kept, spool_dir) = (Fidelity::from(&options.values) == Fidelity::Lossless, options.spool_dir.clone());
        Self { is_kept, spool_dir, records: None, frame: None, buffer: Vec::new() }
    }

    /// Keeps a record that is the one of that number.
    ///
    /// # Errors
    /// Where it cannot be kept.
    pub fn add(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        self.keep(&Record { at: Some(at), chunks: raw(bytes).into_iter().collect(), ..Record::default() })
    }

    fn keep(&mut self, record: &Record) -> Result<()> {
        if !self.is_kept {
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

    /// Begins a run of records that are in the file as these bytes.
    pub fn begin_frame(&mut self, at: u64, bytes: Bytes) {
        self.frame = Some(Frame { at, bytes, sum: Md5::new(), records: Vec::new() });
    }

    /// Takes note of a record of the run.
    pub fn inside(&mut self, bytes: &[u8]) {
        if let Some(frame) = &mut self.frame {
            frame.sum.update(bytes);
        }
    }

    /// Ends the run before the record of that number, if there is one.
    ///
    /// # Errors
    /// Where it cannot be kept.
    pub fn end_frame(&mut self, at: u64) -> Result<()> {
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

    /// What was kept.
    pub fn take(&mut self) -> Option<BufWriter<Spool>> {
        self.records.take()
    }
}

/// A temporary file.
///
/// # Errors
/// Where there can be none.
pub fn spool(dir: Option<&Path>) -> Result<BufWriter<Spool>> {
    Ok(BufWriter::with_capacity(
        1 << 17,
        Spool::new(dir).map_err(Error::io("the records", "cannot keep in a temporary file"))?,
    ))
}
