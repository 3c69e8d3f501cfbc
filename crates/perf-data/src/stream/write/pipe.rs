//! Writes a stream of records as a pipe.

use super::form::{Form, events};
use super::records::Records;
use crate::abi::bytes::ByteReader;
use crate::abi::feature::FeatureId;
use crate::abi::record::RecordType;
use crate::container::read::Container;
use crate::container::write::pipe;
use crate::error::{Error, Result};
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use std::io::Write;

/// Writes records of any container to a pipe.
pub struct ToPipe<W> {
    form: Form,
    out: W,
    records: Option<Records>,
    /// Whether the feature COMPRESSED has been written.
    has_compression: bool,
    /// Features and events that a pipe cannot represent.
    omitted: Vec<String>,
}

impl<W: Write> ToPipe<W> {
    /// Takes the output.
    pub fn new(out: W, form: Form) -> Self {
        Self { form, out, records: None, has_compression: false, omitted: Vec::new() }
    }

    /// Names of features and events that a pipe cannot represent.
    pub fn omitted(&self) -> &[String] {
        &self.omitted
    }

    /// The output.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(Error::Output)
    }

    fn write_or_skip(&mut self, record: Option<Vec<u8>>, problem: impl FnOnce() -> String) -> Result<()> {
        match record {
            Some(record) => self.write(&record),
            None => {
                self.omitted.push(problem());
                Ok(())
            }
        }
    }

    /// Writes the metadata of a file as records, in the order of perf record.
    fn header(&mut self, meta: &Meta, records: &Records) -> Result<()> {
        let endian = self.form.endian(meta);
        for (index, event) in events(meta).iter().enumerate() {
            self.write_or_skip(pipe::event(event, endian)?, || format!("event {index}"))?;
        }
        for event_type in meta.event_types.list() {
            self.write(&pipe::event_type(event_type, endian)?)?;
        }
        let features = records.features(meta, Container::Pipe)?;
        for (&id, bytes) in &features {
            if pipe::has_feature(id) {
                self.write_or_skip(pipe::feature(id, bytes, endian)?, || id.to_string())?;
            } else if !matches!(id, FeatureId::TRACING_DATA | FeatureId::BUILD_ID) {
                self.omitted.push(id.to_string());
            }
        }
        let last = features.keys().copied().rfind(|&id| pipe::has_feature(id));
        self.write(&match self.form.features_known {
            Some(supported) => pipe::mark(supported, endian)?,
            None => pipe::feature_end(last, endian)?,
        })?;
        if let Some(bytes) = features.get(&FeatureId::TRACING_DATA) {
            self.write(&pipe::tracing_data(bytes, endian)?)?;
        }
        for (misc, build_id) in meta.build_ids() {
            let name = || format!("build ID of {}", String::from_utf8_lossy(build_id.filename.text()));
            self.write_or_skip(pipe::build_id(misc, &build_id, endian)?, name)?;
        }
        Ok(())
    }
}

impl<W: Write> Sink for ToPipe<W> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.write(&pipe::header(self.form.endian(meta))?)?;
        let records = Records::begin(self.form, meta)?;
        if meta.container != Container::Pipe {
            self.header(meta, &records)?;
            self.has_compression = true;
        }
        self.records = Some(records);
        Ok(())
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let Some(records) = &mut self.records else { return Ok(()) };
        if !self.form.keeps_frames(meta) {
            // The feature COMPRESSED is written once, among the first features or before the first frame.
            if !self.has_compression && raw.header().kind != RecordType::HEADER_ATTR {
                self.has_compression = true;
                if let Some(feature) = records.compression()? {
                    let feature_record = pipe::feature(FeatureId::COMPRESSED, &feature, self.form.endian(meta))?;
                    self.out.write_all(&feature_record.unwrap_or_default()).map_err(Error::Output)?;
                }
            }
            if is_about_frames(raw) {
                return Ok(());
            }
        }
        records.write(meta, raw, &mut self.out)
    }

    fn end(&mut self, _: &Meta) -> Result<()> {
        if let Some(records) = &mut self.records {
            records.flush(&mut self.out)?;
        }
        self.out.flush().map_err(Error::Output)
    }
}

/// Whether a record is the feature COMPRESSED.
fn is_about_frames(raw: &Raw<'_>) -> bool {
    raw.header().kind == RecordType::HEADER_FEATURE
        && ByteReader::new(raw.body(), raw.endian()).u64() == Some(FeatureId::COMPRESSED.0.into())
        && raw.body().len() > size_of::<u64>()
}
