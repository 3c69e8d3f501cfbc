//! A stream of records as objects.

use super::layout::Layout;
use super::objects::{
    AttrObject, BeforeObject, End, EndObject, EventTypeObject, FeatureObject, FileObject, GapObject, Index, IndexEntry,
    NamedMisc, RecordObject, SourceObject, VERSION,
};
use super::ser;
use crate::abi::feature::auxtrace::AuxtraceIndex;
use crate::abi::feature::{Feature, FeatureContext, FeatureId, FeatureSection};
use crate::abi::header::EventType;
use crate::abi::record::{Body, Misc, Record, RecordType};
use crate::abi::sample_id::SampleId;
use crate::abi::told::MOST_ZEROS;
use crate::container::block::Origin;
use crate::container::read::Container;
use crate::container::read::file::FileAttr;
use crate::error::{Error, Result};
use crate::formats::carry::{Carry, CarryOptions};
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::raw::{Gap, Raw};
use crate::stream::write::form::events;
use bytes::Bytes;
use serde::Serialize;
use serde_bytes::Bytes as Base64;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::Path;

/// Writes objects: one a line, or all in a list.
pub struct Export<W> {
    out: W,
    is_document: bool,
    /// Whether the records are not those of the file, so that what stands behind them has to be made anew.
    is_rewritten: bool,
    /// The object that is being written.
    line: Vec<u8>,
    is_first: bool,
    /// Events, names of tracepoints and features as they were before the first record, which may tell more.
    events: Vec<FileAttr>,
    event_types: Vec<EventType>,
    features: BTreeMap<FeatureId, Bytes>,
    /// The file that the last record was in.
    source: u32,
    /// Bytes of records in the main file.
    data: u64,
    frames: u64,
    /// Number of each AUXTRACE record by its place.
    auxtrace: HashMap<u64, u64>,
}

impl<W: Write> Export<W> {
    /// Takes the output; writes a list if it is to be one document.
    pub fn new(out: W, is_document: bool, options: &CarryOptions) -> Self {
        Self {
            out,
            is_document,
            is_rewritten: options.passes.any(),
            line: Vec::new(),
            is_first: true,
            events: Vec::new(),
            event_types: Vec::new(),
            features: BTreeMap::new(),
            source: 0,
            data: 0,
            frames: 0,
            auxtrace: HashMap::new(),
        }
    }

    fn write(&mut self, object: &impl Serialize) -> Result<()> {
        let is_first = std::mem::take(&mut self.is_first);
        self.line.clear();
        if self.is_document {
            self.line.extend_from_slice(if is_first { b"[\n" } else { b",\n" });
        }
        ser::append(&mut self.line, object).map_err(|e| Error::Output(io::Error::other(e)))?;
        if !self.is_document {
            self.line.push(b'\n');
        }
        self.out.write_all(&self.line).map_err(Error::Output)
    }

    /// Tells in which file of a folder the next records are.
    fn switch_to(&mut self, source: u32) -> Result<()> {
        while self.source < source {
            self.source += 1;
            self.write(&SourceObject { file: self.source })?;
        }
        Ok(())
    }

    /// Counts bytes of the file.
    fn count(&mut self, source: u32, origin: Origin, len: usize) {
        if source == 0 && origin == Origin::File {
            self.data += len as u64;
        }
    }

    fn layout<'a>(&'a self, meta: &Meta) -> Layout<'a> {
        let (events, event_types) = (&*self.events, &*self.event_types);
        Layout { container: meta.container, endian: meta.endian, events, event_types }
    }

    /// A feature that a record tells, if it is one: as a section of a file.
    fn told_feature(meta: &Meta, body: &Body, tail: &[u8]) -> Option<FeatureSection> {
        let Body::HeaderFeature(told) = body else { return None };
        let is_told = !told.data.is_empty() && tail.is_empty();
        let id = told.id().filter(|_| is_told)?;
        let section = FeatureSection::read(id, &told.data, meta.endian, &feature_context(meta));
        Some(section).filter(|section| !matches!(section.feature, Feature::Opaque(_)))
    }

    fn feature(&mut self, meta: &Meta, id: FeatureId, bytes: &[u8]) -> Result<()> {
        let section = FeatureSection::read(id, bytes, meta.endian, &feature_context(meta));
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
        let entry = |entry: &crate::abi::feature::auxtrace::AuxtraceIndexEntry| {
            let nr = self.auxtrace.get(&entry.file_offset).copied();
            IndexEntry { nr, file_offset: nr.is_none().then_some(entry.file_offset), sz: entry.sz }
        };
        let counted = matches!(index, AuxtraceIndex::Counted { .. });
        Index { counted, entries: index.entries().iter().map(entry).collect() }
    }
}

fn feature_context(meta: &Meta) -> FeatureContext {
    FeatureContext::new(meta.features.get(&FeatureId::NRCPUS).map(AsRef::as_ref), meta.endian)
}

/// What must be told of the bytes behind what a definition covers: how many bytes there are in all, where that is not as
/// usual, and which these are, where they are not zeros.
fn left_over(covered: usize, tail: &[u8], usual: fn(usize) -> usize) -> (Option<usize>, Option<&Base64>) {
    let room = covered + tail.len();
    let is_zero = tail.len() <= MOST_ZEROS && tail.iter().all(|&byte| byte == 0);
    ((room != usual(covered)).then_some(room), (!is_zero).then(|| Base64::new(tail)))
}

/// How many bytes the body of a record takes with what is behind its fields.
pub fn usual_room(kind: RecordType) -> fn(usize) -> usize {
    match kind {
        RecordType::HEADER_FEATURE | RecordType::COMPRESSED => |covered| covered,
        _ => |covered| covered.next_multiple_of(8),
    }
}

/// Bytes of a trailer.
fn size_of_id(id: &SampleId) -> usize {
    let fields = [
        id.task.is_some(),
        id.time.is_some(),
        id.id.is_some(),
        id.stream_id.is_some(),
        id.cpu.is_some(),
        id.identifier.is_some(),
    ];
    8 * fields.into_iter().filter(|&is_there| is_there).count()
}

impl<W: Write> Carry for Export<W> {
    fn account(&self, ledger: &mut Ledger) {
        let read = ledger.entries().iter().map(|(&kind, entry)| (kind, entry.read - entry.dropped() - entry.consumed));
        for (kind, count) in read.collect::<Vec<_>>() {
            ledger.emitted(kind, count);
        }
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
        // Frames that were put right are in the bytes that were wrong.
        if raw.block.origin == Origin::Reframed {
            return Ok(());
        }
        self.switch_to(raw.block.source)?;
        self.count(raw.block.source, raw.block.origin, raw.header.len() + raw.payload);
        let kind = raw.header.kind;
        let is_frame = matches!(kind, RecordType::COMPRESSED | RecordType::COMPRESSED2);
        let is_in_frame = raw.block.origin == Origin::Frame;
        self.frames += u64::from(is_frame && !is_in_frame);
        let mut nr = None;
        if kind == RecordType::AUXTRACE && !is_in_frame {
            let number = self.auxtrace.len() as u64;
            self.auxtrace.insert(raw.offset(), number);
            nr = Some(number);
        }
        let context = meta.context(raw);
        let Some(record) = Record::read(raw.bytes(), &context) else { return Ok(()) };
        let misc = if raw.header.len() > u16::MAX.into() || kind.0 >= 32768 { Misc::empty() } else { raw.header.misc };
        let cpumode = misc.cpu_mode();
        let misc = Misc::from_bits_retain(misc.bits() & !7);
        let id_size = record.id.as_ref().map_or(0, size_of_id);
        let covered = raw.body().len() - id_size - record.tail.len();
        let mut object = RecordObject {
            record: kind,
            nr,
            frame: (is_frame || is_in_frame).then_some(self.frames),
            cpumode: (cpumode.0 != 0).then_some(cpumode),
            misc: (misc.bits() != 0).then_some(NamedMisc { kind, misc }),
            body: None,
            raw: None,
            feature: None,
            content: None,
            room: None,
            tail: None,
            sample_id: record.id,
            payload: (raw.payload > 0).then(|| Base64::new(raw.payload())),
        };
        if let Some(section) = Self::told_feature(meta, &record.body, &record.tail) {
            let covered = raw.body().len() - 8 - section.tail.len();
            (object.room, object.tail) = left_over(covered, &section.tail, |covered| covered);
            (object.feature, object.content) = (Some(section.id), Some(&section.feature));
            return self.write(&object);
        }
        match &record.body {
            Body::Opaque(bytes) => object.raw = Some(Base64::new(bytes)),
            body => {
                object.body = Some(body);
                (object.room, object.tail) = left_over(covered, &record.tail, usual_room(kind));
            }
        }
        self.write(&object)
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        let bytes = &gap.block.bytes[gap.at..gap.at + gap.len];
        if gap.block.origin == Origin::Reframed || bytes.is_empty() {
            return Ok(());
        }
        self.switch_to(gap.block.source)?;
        self.count(gap.block.source, gap.block.origin, gap.len);
        let is_misframed = crate::container::misframed::size(bytes, meta.endian) == Some(gap.len as u64);
        let is_in_frame = gap.block.origin == Origin::Frame;
        self.frames += u64::from(is_misframed && !is_in_frame);
        self.write(&GapObject {
            gap: Base64::new(bytes),
            frame: (is_misframed || is_in_frame).then_some(self.frames),
            misframed: (is_misframed && !is_in_frame).then_some(true),
        })
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.switch_to(meta.files.len().saturating_sub(1) as u32)?;
        let features = if meta.container == Container::Pipe { BTreeMap::new() } else { self.features.clone() };
        for (&id, bytes) in &features {
            self.feature(meta, id, bytes)?;
        }
        let features = features.into_iter().map(|(id, bytes)| (id, bytes.to_vec())).collect();
        let end = match self.is_rewritten {
            true => End::default(),
            false => self.layout(meta).change_behind(&meta.image, self.data, &features)?,
        };
        self.write(&EndObject { end })?;
        if self.is_document {
            self.out.write_all(b"\n]\n").map_err(Error::Output)?;
        }
        self.out.flush().map_err(Error::Output)
    }
}
