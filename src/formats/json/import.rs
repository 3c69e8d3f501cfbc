//! Imports JSON objects as a recording.

use super::batches::{self, Failure};
use super::directory_files::ExtraFileWriter;
use super::encode::{self, Room};
use super::field_error::FieldError;
use super::field_error::{ImportError, invalid};
use super::frames::Framed;
use super::item::{InFrame, JsonItem, JsonSection};
use super::layout::{Layout, apply};
use super::layout_check::{matches_layout, misfit};
use super::objects::{ByteReplacement, ContainerName, FileEnd, IndexEntry};
use super::target::{JsonTarget, Out};
use crate::formats::import::{ImportOptions, ImportedRecording};
use perf_data::abi::feature::auxtrace::{AuxtraceIndex, AuxtraceIndexEntry};
use perf_data::abi::feature::compressed::Compression;
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::abi::header::EventType;
use perf_data::abi::record::header_feature::HeaderFeature;
use perf_data::abi::record::{RecordHeader, RecordType};
use perf_data::abi::{self, Endian};
use perf_data::container::block::{Block, Origin};
use perf_data::container::read::file::FileAttr;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::container::spool::Spool;
use perf_data::container::temp_directory::TempDirectory;
use perf_data::container::write::encoded;
use perf_data::container::write::frames::MMAP_LEN;
use perf_data::error::{Error, Result};
use perf_data::stream::events::Events;
use perf_data::stream::raw::Raw;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::result::Result as StdResult;

/// Reconstructs the recording from a stream of objects.
///
/// # Errors
/// If the stream has another format or version, or describes an impossible recording; with line and field.
pub fn import(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording> {
    let mut import: Option<Importer> = None;
    let failed = |failure| match failure {
        Failure::Io(e) => Error::io(name, "cannot read")(e),
        Failure::Field(line, error) => at(name, line, &error),
    };
    let last_line = batches::each(stream, failed, |batch| {
        for piece in std::mem::take(&mut batch.pieces) {
            let block = block(piece.bytes);
            for (offset, item) in piece.items {
                let result = match (&mut import, item) {
                    (Some(import), item) => import.take(item, &block),
                    (None, JsonItem::File { container, endian, files }) => {
                        import = Some(Importer::begin(container, endian, files, name, &options.read)?);
                        Ok(())
                    }
                    (None, _) => invalid("expected the first object, with the field perfconv"),
                };
                result.map_err(|problem| match problem {
                    ImportError::Field(error) => at(name, batch.line(offset), &error),
                    ImportError::Misfit(raw, events) => {
                        let error = batch.object(offset).map(|object| misfit(&raw, object, events));
                        at(
                            name,
                            batch.line(offset),
                            &error.unwrap_or_else(|| FieldError::new("the fields do not match the event")),
                        )
                    }
                    ImportError::Error(error) => error,
                })?;
            }
        }
        Ok(())
    })?;
    match import {
        Some(import) if import.end.is_some() => import.finish(name),
        _ => {
            let problem = "the last object, end, is missing: the file is truncated";
            Err(at(name, last_line, &FieldError::new(problem)))
        }
    }
}

fn at(name: &str, line: u64, error: &FieldError) -> Error {
    Error::input(name, None, format!("line {line}: {error}"))
}

/// Wraps the bytes of records in a block.
fn block(bytes: Vec<u8>) -> Block {
    Block { bytes: bytes.into(), source: 0, base: 0, origin: Origin::File, in_memory: true, serial: 0 }
}

/// Builds a recording from objects.
struct Importer {
    container: Container,
    endian: Endian,
    directory: Option<TempDirectory>,
    files: Vec<String>,
    events: Vec<FileAttr>,
    event_types: Vec<EventType>,
    /// The events so far, as a reader would see them.
    reader_events: Events,
    change_before: Option<ByteReplacement>,
    /// The bytes before the records, once records begin.
    before: Option<Vec<u8>>,
    features: BTreeMap<FeatureId, JsonSection>,
    out: Out,
    framed: Framed,
    /// The main file of a directory, once another file is being written.
    main: Option<Out>,
    /// Whether frames of a finished file were recompressed.
    is_changed: bool,
    /// Writes the other files of a directory.
    extra_files: Option<ExtraFileWriter>,
    /// Index of the file being written.
    source: u32,
    /// Offset of the feature COMPRESSED in a pipe.
    compression: Option<(u64, Compression)>,
    end: Option<FileEnd>,
}

impl Importer {
    fn begin(
        container: ContainerName,
        endian: Endian,
        files: Vec<String>,
        name: &str,
        options: &ReadOptions,
    ) -> Result<Self> {
        let failed = |e| Error::io(name, "cannot write to a temporary file")(e);
        let mut directory = None;
        let file = if container == ContainerName::Directory {
            let made = TempDirectory::new(options.spool_dir.as_deref()).map_err(failed)?;
            let main = File::create_new(made.path().join("data")).map_err(failed)?;
            directory = Some(made);
            JsonTarget::File(main)
        } else {
            JsonTarget::Spool(Spool::new(options.spool_dir.as_deref()).map_err(failed)?)
        };
        Ok(Self {
            container: container.into(),
            endian,
            files,
            events: Vec::new(),
            event_types: Vec::new(),
            reader_events: Events::default(),
            change_before: None,
            before: None,
            features: BTreeMap::new(),
            out: Out::new(file),
            framed: Framed::new(endian),
            main: None,
            extra_files: directory.as_ref().map(|directory| ExtraFileWriter::new(directory.path().to_owned())),
            is_changed: false,
            source: 0,
            compression: None,
            end: None,
            directory,
        })
    }

    fn layout(&self) -> Layout<'_> {
        let (events, event_types) = (&*self.events, &*self.event_types);
        Layout { container: self.container, endian: self.endian, events, event_types }
    }

    fn take<'a>(&'a mut self, item: JsonItem, block: &'a Block) -> StdResult<(), ImportError<'a>> {
        if self.end.is_some() {
            return invalid("found an object after the last one, end");
        }
        let is_late = match &item {
            // Later ones would move all records; a pipe has them as records.
            JsonItem::Attr(_) | JsonItem::EventType(_) => self.before.is_some() || self.container == Container::Pipe,
            JsonItem::Before(_) => self.before.is_some(),
            _ => false,
        };
        if is_late {
            return invalid("the object must precede all records, and a pipe has none");
        }
        match item {
            JsonItem::File { .. } => return invalid("found a second first object"),
            JsonItem::Attr(attr) => {
                self.reader_events.add(attr.attr.clone(), attr.ids.clone());
                self.events.push(*attr);
            }
            JsonItem::EventType(event_type) => self.event_types.push(event_type),
            JsonItem::Before(before) => self.change_before = Some(*before),
            JsonItem::Source(file) => self.switch_to(file)?,
            JsonItem::Record { bytes, nr, frame, described } => {
                self.begin_records()?;
                let raw = self.raw(block, &bytes)?;
                if raw.header().kind == RecordType::HEADER_ATTR
                    && self.reader_events.add_attr_record(raw.body(), self.endian).is_none()
                {
                    self.reader_events.miss();
                }
                if described.is_some_and(|described| !matches_layout(&raw, described, &self.reader_events)) {
                    return Err(ImportError::Misfit(raw, &self.reader_events));
                }
                self.write(&block.bytes[bytes], nr, frame)?;
            }
            JsonItem::Gap { bytes, frame } => {
                self.begin_records()?;
                self.write(&block.bytes[bytes], None, frame)?;
            }
            JsonItem::Other { name, bytes } => {
                let Some(extra_files) = &mut self.extra_files else {
                    return Err(FieldError::new("only a directory recording has other files").within("other").into());
                };
                if extra_files.write(name, &bytes)?.is_none() {
                    return Err(FieldError::new("duplicate file").within("other").into());
                }
            }
            JsonItem::Feature(id, section) => self.feature(id, *section)?,
            JsonItem::End(end) => self.end = Some(*end),
        }
        Ok(())
    }

    /// The record in these bytes of a block.
    fn raw<'a>(&self, block: &'a Block, bytes: &Range<usize>) -> StdResult<Raw<'a>, FieldError> {
        let header = RecordHeader::peek(&block.bytes[bytes.clone()], self.endian);
        // They were encoded with a header that covers them.
        let raw = header.and_then(|header| {
            let payload = bytes.len().checked_sub(header.len())?;
            Raw::new(header, self.endian, block, bytes.start, payload)
        });
        raw.ok_or_else(|| FieldError::new("not a record"))
    }

    /// Writes a record or gap.
    fn write(&mut self, bytes: &[u8], nr: Option<u64>, frame: InFrame) -> StdResult<(), ImportError<'static>> {
        match frame {
            InFrame::No => {
                self.note_compression(bytes);
                self.framed.plain(bytes, nr, &mut self.out)?;
            }
            InFrame::Inside if !self.framed.has_frames() => {
                let problem = "no frame precedes this record; remove the field";
                return Err(FieldError::new(problem).within("frame").into());
            }
            InFrame::Inside => self.framed.frame_record(bytes),
            InFrame::Frame { misframed } => self.framed.frame(bytes.to_vec(), misframed, &mut self.out)?,
        }
        Ok(())
    }

    /// Remembers where a pipe describes its compression, before the first frame.
    fn note_compression(&mut self, record: &[u8]) {
        if self.container != Container::Pipe || self.framed.has_frames() {
            return;
        }
        let kind = RecordHeader::peek(record, self.endian).map(|header| header.kind);
        let Some(body) = record.get(RecordHeader::SIZE..).filter(|_| kind == Some(RecordType::HEADER_FEATURE)) else {
            return;
        };
        let feature = abi::parse::<HeaderFeature>(body, self.endian, ()).ok().map(|(feature, _)| feature);
        let Some(feature) = feature.filter(|feature| feature.id() == Some(FeatureId::COMPRESSED)) else { return };
        if let Ok((compression, _)) = abi::parse::<Compression>(&feature.data, self.endian, ()) {
            self.compression = Some((self.out.at + (record.len() - feature.data.len()) as u64, compression));
        }
    }

    fn feature(&mut self, id: FeatureId, section: JsonSection) -> StdResult<(), ImportError<'static>> {
        let invalid = |problem| Err(FieldError::new(problem).within("feature").into());
        // The feature bitmap of a file has 256 bits; a pipe has features as records.
        if id.0 >= 256 || self.container == Container::Pipe {
            return invalid("this container cannot store the feature");
        }
        match self.features.insert(id, section) {
            None => Ok(()),
            Some(_) => invalid("duplicate feature"),
        }
    }

    /// Writes what precedes the records, to be completed at the end.
    fn begin_records(&mut self) -> Result<()> {
        if self.before.is_some() {
            return Ok(());
        }
        let mut before = self.layout().before()?;
        if let Some(change) = &self.change_before {
            apply(change, &mut before);
        }
        self.out.write_all(&before).map_err(Error::Output)?;
        self.before = Some(before);
        Ok(())
    }

    fn switch_to(&mut self, file: u32) -> StdResult<(), ImportError<'static>> {
        self.begin_records()?;
        let name = self.files.get(file as usize).filter(|_| file == self.source + 1);
        let (Some(name), Some(directory)) = (name, &self.directory) else {
            return Err(FieldError::new(format!("{file} is not the next file")).within("file").into());
        };
        let made = File::create_new(directory.path().join(name)).map_err(Error::Output)?;
        self.framed.finish(&mut self.out)?;
        let finished = std::mem::replace(&mut self.out, Out::new(JsonTarget::File(made)));
        let framed = std::mem::replace(&mut self.framed, Framed::new(self.endian));
        self.is_changed |= framed.is_changed();
        if self.main.is_none() {
            self.main = Some(finished);
        } else {
            self.flushed(finished)?;
        }
        self.source = file;
        Ok(())
    }

    fn flushed(&self, mut out: Out) -> Result<()> {
        out.flush().map_err(Error::Output)
    }

    fn finish(mut self, name: &str) -> Result<ImportedRecording> {
        self.begin_records()?;
        self.framed.finish(&mut self.out)?;
        let is_changed = self.is_changed || self.framed.is_changed();
        if let Some(main) = self.main.take() {
            let last = std::mem::replace(&mut self.out, main);
            self.flushed(last)?;
        }
        let end = self.end.take().unwrap_or_default();
        let mut before = self.before.take().unwrap_or_default();
        let data = self.out.at - before.len() as u64;
        let features = std::mem::take(&mut self.features).into_iter();
        let features = features.map(|(id, section)| Ok((id, self.section(id, section, is_changed)?)));
        let features = features.collect::<Result<BTreeMap<_, _>>>()?;
        let behind = self.layout().finish(&mut before, data, &features, &end)?;
        let compression = match self.compression.filter(|_| is_changed) {
            Some((at, compression)) => Some((at, encoded(abi::to_bytes(&with_room(compression), self.endian))?)),
            None => None,
        };
        let written: io::Result<()> = (|| {
            self.out.file.write_all(&behind)?;
            if let Some((at, compression)) = compression {
                self.out.file.seek(SeekFrom::Start(at))?;
                self.out.file.write_all(&compression)?;
            }
            self.out.file.seek(SeekFrom::Start(0))?;
            self.out.file.write_all(&before)?;
            self.out.file.flush()
        })();
        written.map_err(Error::Output)?;
        let file = self.out.file.into_inner().map_err(|e| Error::Output(e.into_error()))?;
        match (self.directory, file) {
            (Some(directory), _) => Ok(ImportedRecording::from_directory(directory, Vec::new())),
            (None, JsonTarget::Spool(spool)) => ImportedRecording::from_file(name, spool, Vec::new()),
            (None, JsonTarget::File(_)) => Err(Error::input(name, None, "the directory has no files")),
        }
    }

    /// The bytes of a feature, with the final offsets of records.
    fn section(&self, id: FeatureId, section: JsonSection, is_changed: bool) -> Result<Vec<u8>> {
        match section {
            JsonSection::Bytes(bytes) if id == FeatureId::COMPRESSED && is_changed => {
                match abi::parse::<Compression>(&bytes, self.endian, ()) {
                    Ok((compression, _)) => encoded(abi::to_bytes(&with_room(compression), self.endian)),
                    Err(_) => Ok(bytes),
                }
            }
            JsonSection::Bytes(bytes) => Ok(bytes),
            JsonSection::Index { index, room, tail } => {
                let index_entry = |entry: &IndexEntry| {
                    let record_offset = entry.nr.and_then(|nr| self.out.auxtrace.get(&nr).copied());
                    // A deleted record is removed from the index.
                    let file_offset = record_offset.or(entry.file_offset.filter(|_| entry.nr.is_none()))?;
                    Some(AuxtraceIndexEntry { file_offset, sz: entry.sz })
                };
                let entries = index.entries.iter().filter_map(index_entry).collect();
                let index = match index.counted {
                    true => AuxtraceIndex::Counted { entries },
                    false => AuxtraceIndex::Uncounted { entries },
                };
                let room = Room { len: room, tail: tail.as_deref().map(Vec::as_slice), usual: |covered| covered };
                encode::feature_section(id, Feature::Auxtrace(index), &room, self.endian)
                    .map_err(|error| Error::Output(io::Error::new(io::ErrorKind::InvalidData, error)))
            }
        }
    }
}

/// Raises the buffer size that readers allocate for frames to that of newly compressed ones.
fn with_room(compression: Compression) -> Compression {
    Compression { mmap_len: compression.mmap_len.max(MMAP_LEN as u32), ..compression }
}
