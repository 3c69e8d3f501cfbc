//! Writes a stream of records as a file.

use super::form::{Form, events};
use super::records::Records;
use crate::abi;
use crate::abi::feature::FeatureId;
use crate::abi::feature::auxtrace::{AuxtraceIndex, AuxtraceIndexEntry};
use crate::abi::record::RecordType;
use crate::container::read::Container;
use crate::container::write::encoded;
use crate::container::write::file::FileWriter;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use std::io::{Seek, Write};

/// Writes records of any container to a file.
pub struct ToFile<W> {
    form: Form,
    out: Option<W>,
    writer: Option<(FileWriter<W>, Records)>,
    auxtrace: Vec<AuxtraceIndexEntry>,
}

impl<W: Write + Seek> ToFile<W> {
    /// Takes the output.
    pub fn new(out: W, form: Form) -> Self {
        Self { form, out: Some(out), writer: None, auxtrace: Vec::new() }
    }

    /// The output, after the end.
    pub fn into_inner(self) -> Option<W> {
        self.out
    }
}

impl<W: Write + Seek> Sink for ToFile<W> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        let writer = FileWriter::begin(out, self.form.endian(meta), &events(meta), meta.event_types.list())?;
        self.writer = Some((writer, Records::begin(self.form, meta)?));
        Ok(())
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let Some((writer, records)) = &mut self.writer else { return Ok(()) };
        // The sections of the file take the place of these records.
        if meta.container == Container::Pipe && raw.header().kind.is_header() {
            return Ok(());
        }
        if raw.header().kind == RecordType::AUXTRACE {
            records.flush(writer)?;
            self.auxtrace.push(AuxtraceIndexEntry { file_offset: writer.position(), sz: raw.bytes().len() as u64 });
        }
        records.write(meta, raw, writer)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        let Some((mut writer, mut records)) = self.writer.take() else { return Ok(()) };
        records.flush(&mut writer)?;
        let mut features = records.features(meta, Container::File)?;
        if !self.auxtrace.is_empty() {
            let index = AuxtraceIndex::Counted { entries: std::mem::take(&mut self.auxtrace) };
            features.insert(FeatureId::AUXTRACE, encoded(abi::to_bytes(&index, self.form.endian(meta)))?);
        }
        self.out = Some(writer.finish(&events(meta), meta.event_types.list(), &features)?);
        Ok(())
    }
}
