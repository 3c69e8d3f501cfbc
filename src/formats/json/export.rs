//! Writes a stream of records as JSON objects.

use super::layout::Layout;
use super::objects::{
    AttrObject, BeforeObject, DirectoryPiece, EndObject, EventTypeObject, FeatureObject, FileEnd, FileObject,
    GapObject, Index, IndexEntry, SourceObject, VERSION,
};
use super::render::{self, RecordInfo, left_over};
use super::render_queue::{RenderQueue, failed};
use super::sample_symbols::{SampleSymbols, StackScan};
use super::value_writer::append;
use super::{Decoded, directory_files};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::profile::symbolize::SymbolSources;
use crate::profile::symbolize::unsymbolized::Unsymbolized;
use crate::profile::unwind::unwinding::Unwinding;
use bytes::Bytes;
use perf_data::abi::attr::AttrType;
use perf_data::abi::feature::auxtrace::AuxtraceIndex;
use perf_data::abi::feature::{Feature, FeatureId, FeatureSection};
use perf_data::abi::header::EventType;
use perf_data::abi::record::RecordType;
use perf_data::abi::serde::tokens::Unsupported;
use perf_data::container::block::Origin;
use perf_data::container::read::file::FileAttr;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::error::{Error, Result};
use perf_data::ibs::{IbsUnit, IbsUnits};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::{Gap, Raw};
use perf_data::stream::write::form::events;
use perf_data::tracepoint::tracepoints::Tracepoints;
use serde::Serialize;
use serde_bytes::Bytes as Base64;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::result::Result as StdResult;
use std::sync::Arc;

/// Writes objects, one per line or all in one array.
pub struct Export<W> {
    out: W,
    is_document: bool,
    /// Whether a pass changed the records, so that what follows them cannot be compared with the file.
    is_rewritten: bool,
    /// The object being written.
    line: Vec<u8>,
    queue: RenderQueue,
    /// Whether fields of tracepoint samples are written.
    decodes_tracepoints: bool,
    /// The units of AMD IBS, if the registers of samples are written.
    ibs: Option<IbsUnits>,
    /// Where to look up the functions of samples; `None` if they are not written.
    symbol_sources: Option<SymbolSources>,
    symbols: Arc<SampleSymbols>,
    spool_dir: Option<PathBuf>,
    /// Whether the other files of a directory recording are written.
    writes_extra_files: bool,
    is_first: bool,
    /// Events, tracepoint names and features from before the first record; records may add to those of `Meta`.
    events: Vec<FileAttr>,
    event_types: Vec<EventType>,
    features: BTreeMap<FeatureId, Bytes>,
    /// The file of the last record.
    source: u32,
    /// Bytes of records in the main file.
    data: u64,
    frames: u64,
    /// Number of each AUXTRACE record by its offset.
    auxtrace: HashMap<u64, u64>,
    /// Names in the directory that are skipped.
    skipped: Vec<String>,
}

impl<W: Write> Export<W> {
    /// Creates the sink; writes an array if `is_document`.
    pub fn new(out: W, is_document: bool, decoded: &[Decoded], options: &ConvertOptions) -> Self {
        let (before, behind) = between(is_document);
        Self {
            out,
            is_document,
            is_rewritten: options.passes.any(),
            line: Vec::new(),
            queue: RenderQueue::new(before, behind),
            decodes_tracepoints: decoded.contains(&Decoded::Tracepoints),
            ibs: decoded.contains(&Decoded::Ibs).then(IbsUnits::default),
            symbol_sources: decoded.contains(&Decoded::Symbols).then(|| options.symbols.clone()),
            symbols: Arc::default(),
            spool_dir: options.spool_dir.clone(),
            writes_extra_files: !options.passes.disclosure.is_anonymized(),
            is_first: true,
            events: Vec::new(),
            event_types: Vec::new(),
            features: BTreeMap::new(),
            source: 0,
            data: 0,
            frames: 0,
            auxtrace: HashMap::new(),
            skipped: Vec::new(),
        }
    }

    fn write(&mut self, object: &impl Serialize) -> Result<()> {
        self.write_with(|line| append(line, object))
    }

    fn write_with(&mut self, append: impl FnOnce(&mut Vec<u8>) -> StdResult<(), Unsupported>) -> Result<()> {
        self.queue.flush(&mut self.out)?;
        let (before, behind) = between(self.is_document);
        let is_first = std::mem::take(&mut self.is_first);
        self.line.clear();
        self.line.extend_from_slice(if is_first && self.is_document { b"[\n" } else { before });
        append(&mut self.line).map_err(failed)?;
        self.line.extend_from_slice(behind);
        self.out.write_all(&self.line).map_err(Error::Output)
    }

    /// Loads the tracepoint formats, if they are to be decoded.
    fn know_tracepoints(&mut self, meta: &Meta) {
        let tracing_data = meta.features.get(&FeatureId::TRACING_DATA).filter(|_| self.decodes_tracepoints);
        if let Some(bytes) = tracing_data {
            self.queue.set_tracepoints(Tracepoints::read(bytes));
        }
    }

    /// The tracepoint ID of a sample whose fields are to be decoded.
    fn tracepoint(&self, meta: &Meta, raw: &Raw<'_>) -> Option<u64> {
        if !self.decodes_tracepoints || raw.header().kind != RecordType::SAMPLE {
            return None;
        }
        let (_, event) = meta.events.find(raw)?;
        (event.attr.kind == AttrType::TRACEPOINT).then_some(event.attr.config)
    }

    /// The unit of AMD IBS of a sample whose registers are to be decoded.
    fn ibs_unit(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<IbsUnit> {
        let units = self.ibs.as_mut().filter(|_| raw.header().kind == RecordType::SAMPLE)?;
        units.unit(meta, meta.events.find(raw)?.0)
    }

    /// Writes which file of a directory contains the next records.
    fn switch_to(&mut self, source: u32) -> Result<()> {
        while self.source < source {
            self.source += 1;
            self.write(&SourceObject { file: self.source })?;
        }
        Ok(())
    }

    /// Writes the other files of a directory recording.
    fn write_extra_files(&mut self, meta: &Meta) -> Result<()> {
        let Some(directory) = &meta.directory else { return Ok(()) };
        let (files, skipped) = directory_files::list(directory)?;
        self.skipped = skipped;
        for file in files {
            file.pieces(|piece| self.write(&DirectoryPiece { other: &file.name, bytes: Base64::new(piece) }))?;
        }
        Ok(())
    }

    /// Counts bytes of the main file.
    fn count(&mut self, source: u32, origin: Origin, len: usize) {
        if source == 0 && origin == Origin::File {
            self.data += len as u64;
        }
    }

    fn layout<'a>(&'a self, meta: &Meta) -> Layout<'a> {
        let (events, event_types) = (&*self.events, &*self.event_types);
        Layout { container: meta.container, endian: meta.endian, events, event_types }
    }

    fn feature(&mut self, meta: &Meta, id: FeatureId, bytes: &[u8]) -> Result<()> {
        let section = FeatureSection::read(id, bytes, meta.endian, &meta.feature_context());
        let (room, tail) = left_over(bytes.len() - section.tail.len(), &section.tail, |covered| covered);
        match &section.feature {
            Feature::Opaque(bytes) => {
                let raw = Some(Base64::new(bytes));
                self.write(&FeatureObject::<()> { feature: id, content: None, raw, room: None, tail: None })
            }
            Feature::Auxtrace(index) => {
                let content = self.index(index);
                self.write(&FeatureObject { feature: id, content: Some(&content), raw: None, room, tail })
            }
            content => self.write(&FeatureObject { feature: id, content: Some(content), raw: None, room, tail }),
        }
    }

    fn index(&self, index: &AuxtraceIndex) -> Index {
        let entry = |entry: &perf_data::abi::feature::auxtrace::AuxtraceIndexEntry| {
            let nr = self.auxtrace.get(&entry.file_offset).copied();
            IndexEntry { nr, file_offset: nr.is_none().then_some(entry.file_offset), sz: entry.sz }
        };
        let counted = matches!(index, AuxtraceIndex::Counted { .. });
        Index { counted, entries: index.entries().iter().map(entry).collect() }
    }
}

/// Text before and after each object but the first.
fn between(is_document: bool) -> (&'static [u8], &'static [u8]) {
    if is_document { (b",\n", b"") } else { (b"", b"\n") }
}

impl<W: Write> Converter for Export<W> {
    fn pre_scan(&mut self) -> Option<Box<dyn Sink + '_>> {
        let sources = self.symbol_sources.as_ref()?;
        let read = ReadOptions::default().with_spool_dir(self.spool_dir.clone());
        Some(Box::new(Unwinding::in_time_order(sources, StackScan::new(sources, &mut self.symbols), read)))
    }

    fn unnamed(&self) -> Option<Unsymbolized> {
        self.symbols.unnamed.clone()
    }

    fn account(&self, ledger: &mut Ledger) {
        let read = ledger.entries().iter().map(|(&kind, entry)| (kind, entry.unaccounted()));
        for (kind, count) in read.collect::<Vec<_>>() {
            ledger.emitted(kind, count);
        }
        if !self.skipped.is_empty() {
            ledger.missing(format!(
                "skipped files with names that are not UTF-8, and entries that are not regular files: {}",
                self.skipped.join(", ")
            ));
        }
    }

    fn converts_other_files(&self) -> bool {
        self.writes_extra_files
    }
}

impl<W: Write> Sink for Export<W> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        let names = meta.files.iter().map(|file| {
            let name = Path::new(file).file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        });
        let files = (meta.container == Container::Directory).then(|| names.collect());
        let (container, endian) = (meta.container.into(), meta.endian.into());
        self.write(&FileObject { perfconv: VERSION, container, endian, files })?;
        self.events = events(meta);
        self.event_types = meta.event_types.list().to_vec();
        self.features = meta.features.clone();
        self.know_tracepoints(meta);
        self.queue.set_symbols(&self.symbols);
        for event in std::mem::take(&mut self.events) {
            self.write(&AttrObject { attr: &event.attr, ids: &event.ids })?;
            self.events.push(event);
        }
        for event_type in meta.event_types.list() {
            self.write(&EventTypeObject { event_type })?;
        }
        match self.layout(meta).change_before(&meta.image)? {
            Some(before) => self.write(&BeforeObject { before }),
            None => Ok(()),
        }
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        // The original bytes of frames that were reframed are written instead.
        if raw.block().origin == Origin::Reframed {
            return Ok(());
        }
        self.switch_to(raw.block().source)?;
        self.count(raw.block().source, raw.block().origin, raw.header().len() + raw.payload_len());
        let kind = raw.header().kind;
        let is_frame = kind.is_frame();
        let is_in_frame = raw.block().origin == Origin::Frame;
        self.frames += u64::from(is_frame && !is_in_frame);
        let mut nr = None;
        if kind == RecordType::AUXTRACE && !is_in_frame {
            let number = self.auxtrace.len() as u64;
            self.auxtrace.insert(raw.offset(), number);
            nr = Some(number);
        }
        // If a pass removed the frames, their records are written like any other.
        let frame = (is_frame || is_in_frame && self.frames > 0).then_some(self.frames);
        let (tracepoint, stack) = (self.tracepoint(meta, raw), self.symbols.sample_stack(raw));
        let ibs = self.ibs_unit(meta, raw);
        let info = RecordInfo { context: meta.context(raw), nr, frame, tracepoint, stack, ibs };
        if kind == RecordType::HEADER_FEATURE {
            let context = meta.feature_context();
            return self.write_with(|out| render::feature_record(out, raw, &info, &context));
        }
        self.queue.push(raw, info, &mut self.out)?;
        // Without a payload there are no formats.
        if kind == RecordType::HEADER_TRACING_DATA && raw.payload_len() > 0 {
            self.queue.flush(&mut self.out)?;
            self.know_tracepoints(meta);
        }
        Ok(())
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        let bytes = &gap.block.bytes[gap.at..gap.at + gap.len];
        if gap.block.origin == Origin::Reframed || bytes.is_empty() {
            return Ok(());
        }
        self.switch_to(gap.block.source)?;
        self.count(gap.block.source, gap.block.origin, gap.len);
        let is_misframed = perf_data::container::misframed::size(bytes, meta.endian) == Some(gap.len as u64);
        let is_in_frame = gap.block.origin == Origin::Frame;
        self.frames += u64::from(is_misframed && !is_in_frame);
        self.write(&GapObject {
            gap: Base64::new(bytes),
            frame: (is_misframed || is_in_frame && self.frames > 0).then_some(self.frames),
            misframed: (is_misframed && !is_in_frame).then_some(true),
        })
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.switch_to(meta.files.len().saturating_sub(1) as u32)?;
        if meta.container == Container::Directory && self.writes_extra_files {
            self.write_extra_files(meta)?;
        }
        let features = if meta.container == Container::Pipe { BTreeMap::new() } else { self.features.clone() };
        for (&id, bytes) in &features {
            self.feature(meta, id, bytes)?;
        }
        let features = features.into_iter().map(|(id, bytes)| (id, bytes.to_vec())).collect();
        let end = match self.is_rewritten {
            true => FileEnd::default(),
            false => self.layout(meta).change_behind(&meta.image, self.data, &features)?,
        };
        self.write(&EndObject { end })?;
        if self.is_document {
            self.out.write_all(b"\n]\n").map_err(Error::Output)?;
        }
        self.out.flush().map_err(Error::Output)
    }
}
