//! Imports messages as a recording.

use super::messages::ProtoContents;
use super::unknown::UnknownFields;
use crate::formats::framework::retained_fields::RetainedFields;
use crate::formats::import::{ImportOptions, ImportedRecording};
use bytes::Bytes;
use perf_data::container::read::ReadOptions;
use perf_data::container::spool::Spool;
use perf_data::error::{Error, Result};
use std::io::Read;

/// Reconstructs the recording from a PerfDataProto.
///
/// # Errors
/// If the input is not a PerfDataProto, or does not describe a recording.
pub fn import(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording> {
    let options = &options.read;
    let failed = || Error::io(name, "cannot write to a temporary file");
    let mut spool = Spool::new(options.spool_dir.as_deref()).map_err(failed())?;
    let (_, failure) = spool.fill(stream).map_err(failed())?;
    if let Some(failure) = failure {
        return Err(Error::io(name, "cannot read")(failure));
    }
    decode(name, &spool.into_bytes().map_err(failed())?, options)
}

/// Reconstructs the recording from a PerfDataProto in text format.
///
/// # Errors
/// Those of [`import`].
#[cfg(feature = "quipper-text")]
pub fn import_text(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording> {
    let options = &options.read;
    let mut spool = super::plain::buffered(name, options)?;
    super::text_format::from_text(stream, name, options, &mut spool)?;
    let bytes = super::plain::unbuffered(name, spool)?.into_bytes();
    decode(name, &bytes.map_err(Error::io(name, "cannot write to a temporary file"))?, options)
}

fn decode(name: &str, bytes: &Bytes, options: &ReadOptions) -> Result<ImportedRecording> {
    let mut message = ProtoContents::read(name, bytes, &options.limits)?;
    let unknown = std::mem::take(&mut message.unknown);
    let (mut recording, events) = match &message.rest.layout {
        Some(layout) => message.to_layout(layout, options)?,
        None => message.to_recording(options)?,
    };
    let unknown = UnknownFields { message: unknown, events };
    if !unknown.is_empty() {
        recording.retained = RetainedFields::new(unknown);
    }
    Ok(recording)
}
