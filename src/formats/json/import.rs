//! Objects as the recording that they tell.

use super::de::{self, Later, Wrong};
use super::export::usual_room;
use super::frames::{Framed, Places};
use super::layout::{Layout, apply};
use super::objects::{Change, ContainerName, End, Index, Object, VERSION};
use super::split::{Failure, Objects};
use crate::abi::attr::Attr;
use crate::abi::feature::auxtrace::{AuxtraceIndex, AuxtraceIndexEntry};
use crate::abi::feature::compressed::Compression;
use crate::abi::feature::{Feature, FeatureId, FeatureSection};
use crate::abi::header::EventType;
use crate::abi::record::header_feature::HeaderFeature;
use crate::abi::record::{Body, Misc, Record, RecordHeader, RecordType};
use crate::abi::told::MOST_ZEROS;
use crate::abi::{self, Endian};
use crate::container::read::file::FileAttr;
use crate::container::read::{Container, ReadOptions};
use crate::container::spool::Spool;
use crate::container::write::frames::MMAP_LEN;
use crate::error::{Error, Result};
use crate::formats::import::Remade;
use binrw::BinResult;
use serde::Deserialize;
use serde_bytes::ByteBuf;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::result::Result as StdResult;
use tempfile::TempDir;

/// Makes the recording again that a stream of objects tells.
///
/// # Errors
/// Where the stream is not of this format and version, or tells what no recording can hold; with the line and the field.
pub fn import(stream: &mut dyn Read, name: &str, options: &ReadOptions) -> Result<Remade> {
    let mut objects = Objects::new(stream);
    let mut import = None;
    loop {
        let (line, object) = match objects.next() {
            Ok(Some(found)) => found,
            Ok(None) => break,
            Err(Failure::Io(e)) => return Err(Error::io(name, "cannot read")(e)),
            Err(Failure::Wrong(line, wrong)) => return Err(at(name, line, &wrong)),
        };
        let wrong = |wrong: Wrong| at(name, line, &wrong);
        let object = de::from_slice::<Object<'_>>(object).map_err(wrong)?;
        match &mut import {
            None => import = Some(Importer::begin(&object, name, options).map_err(|e| e.at(name, line))?),
            Some(import) => import.take(object).map_err(|e| e.at(name, line))?,
        }
    }
    match import {
        Some(import) if import.end.is_some() => import.finish(name),
        _ => Err(at(name, objects.line(), &Wrong::new("the last object, end, is missing: the file is cut short"))),
    }
}

fn at(name: &str, line: u64, wrong: &Wrong) -> Error {
    Error::input(name, None, format!("line {line}: {wrong}"))
}

/// What goes wrong with an object: what it tells, or writing it down.
enum Problem {
    Wrong(Wrong),
    Error(Error),
}

impl Problem {
    fn at(self, name: &str, line: u64) -> Error {
        match self {
            Self::Wrong(wrong) => at(name, line, &wrong),
            Self::Error(error) => error,
        }
    }
}

impl From<Wrong> for Problem {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

fn wrong<T>(what: impl Into<String>) -> StdResult<T, Problem> {
    Err(Wrong::new(what).into())
}

/// Bytes of a definition, where it can be written.
fn encoded(bytes: BinResult<Vec<u8>>) -> StdResult<Vec<u8>, Wrong> {
    bytes.map_err(|e| Wrong::new(e.to_string()))
}

/// Reads a field whose definition another field tells.
fn later<'de, T: Deserialize<'de>>(json: Later<'de>, field: &str) -> StdResult<T, Wrong> {
    de::from_slice(json.0).map_err(|wrong| wrong.within(field))
}

/// A file that is being written.
struct Out {
    file: BufWriter<Target>,
    /// Where the next byte goes.
    at: u64,
    /// Places of AUXTRACE records by their number.
    auxtrace: HashMap<u64, u64>,
}

/// Where a file is written.
enum Target {
    Spool(Spool),
    File(File),
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Spool(spool) => spool.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Spool(spool) => spool.flush(),
            Self::File(file) => file.flush(),
        }
    }
}

impl Seek for Target {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Spool(spool) => spool.seek(to),
            Self::File(file) => file.seek(to),
        }
    }
}

impl Out {
    fn new(file: Target) -> Self {
        Self { file: BufWriter::with_capacity(1 << 17, file), at: 0, auxtrace: HashMap::new() }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Places for Out {
    fn auxtrace(&mut self, nr: u64) {
        self.auxtrace.insert(nr, self.at);
    }
}

/// A feature that waits for the places of records.
enum Section {
    Bytes(Vec<u8>),
    Index { index: Index, room: Option<usize>, tail: Option<ByteBuf> },
}

/// Makes a recording of objects.
struct Importer {
    container: Container,
    endian: Endian,
    folder: Option<TempDir>,
    files: Vec<String>,
    events: Vec<FileAttr>,
    event_types: Vec<EventType>,
    change_before: Option<Change>,
    /// The bytes before the records, as soon as the first one is there.
    before: Option<Vec<u8>>,
    features: BTreeMap<FeatureId, Section>,
    out: Out,
    framed: Framed,
    /// The main file of a folder and whether frames in it were compressed anew, once another file is
    /// being written.
    main: Option<(Out, bool)>,
    /// Which file is being written.
    source: u32,
    end: Option<End>,
}

/// Whether a name is one that a file of records has in a folder. Any other could be a path to somewhere else.
fn is_file_of_folder(index: usize, name: &str) -> bool {
    match index {
        0 => name == "data",
        _ => name
            .strip_prefix("data.")
            .is_some_and(|number| number.parse::<u32>().is_ok_and(|n| n.to_string() == number)),
    }
}

impl Importer {
    fn begin(object: &Object<'_>, name: &str, options: &ReadOptions) -> StdResult<Self, Problem> {
        let Some(version) = object.perfconv else {
            return wrong("the first object has no field perfconv: this is not the JSON of a recording");
        };
        if version != VERSION {
            return Err(Wrong::new(format!("version {version} is not read; {VERSION} is")).within("perfconv").into());
        }
        let missing = |field: &str| Wrong::new("the field is missing").within(field);
        let container = object.container.ok_or_else(|| missing("container"))?;
        let endian = object.endian.ok_or_else(|| missing("endian"))?.into();
        let failed = |e| Error::io(name, "cannot keep in a temporary file")(e);
        let mut files = Vec::new();
        let mut folder = None;
        let file = if container == ContainerName::Directory {
            files = object.files.clone().ok_or_else(|| missing("files"))?;
            if files.is_empty() || !files.iter().enumerate().all(|(index, name)| is_file_of_folder(index, name)) {
                return Err(Wrong::new("expected data, data.0, data.1 and so on").within("files").into());
            }
            let made = match &options.spool_dir {
                Some(dir) => TempDir::new_in(dir),
                None => TempDir::new(),
            };
            let made = made.map_err(failed)?;
            let main = File::create_new(made.path().join("data")).map_err(failed)?;
            folder = Some(made);
            Target::File(main)
        } else {
            Target::Spool(Spool::new(options.spool_dir.as_deref()).map_err(failed)?)
        };
        let container = match container {
            ContainerName::File => Container::File,
            ContainerName::Pipe => Container::Pipe,
            ContainerName::Directory => Container::Directory,
        };
        Ok(Self {
            container,
            endian,
            folder,
            files,
            events: Vec::new(),
            event_types: Vec::new(),
            change_before: None,
            before: None,
            features: BTreeMap::new(),
            out: Out::new(file),
            framed: Framed::new(endian),
            main: None,
            source: 0,
            end: None,
        })
    }

    fn layout(&self) -> Layout<'_> {
        let (events, event_types) = (&*self.events, &*self.event_types);
        Layout { container: self.container, endian: self.endian, events, event_types }
    }

    fn take(&mut self, object: Object<'_>) -> StdResult<(), Problem> {
        if self.end.is_some() {
            return wrong("there is something behind the last object");
        }
        let is_header = object.attr.is_some() || object.event_type.is_some() || object.before.is_some();
        if is_header && (self.before.is_some() || self.container == Container::Pipe) {
            // What comes too late would move all records; a pipe tells it in records.
            if object.before.is_none() || self.before.is_some() {
                return wrong("this must come before all records, and not in a pipe");
            }
        }
        if let Some(attr) = object.attr {
            let attr: Attr = later(attr, "attr")?;
            self.events.push(FileAttr { attr, ids: object.ids.unwrap_or_default() });
        } else if let Some(event_type) = object.event_type {
            self.event_types.push(event_type);
        } else if let Some(before) = object.before {
            self.change_before = Some(before);
        } else if let Some(file) = object.file {
            self.switch_to(file)?;
        } else if object.record.is_some() {
            self.record(object)?;
        } else if let Some(gap) = object.gap {
            self.begin_records()?;
            let misframed = object.misframed == Some(true);
            match object.frame {
                Some(_) if misframed => self.framed.frame(gap.into_vec(), true, &mut self.out)?,
                Some(_) => self.framed.inside(&gap),
                None => self.framed.plain(gap.into_vec(), None, &mut self.out)?,
            }
        } else if object.feature.is_some() {
            self.feature(object)?;
        } else if let Some(end) = object.end {
            self.end = Some(end);
        } else {
            return wrong("the object is none of this format: it has no field record, feature, attr, gap or end");
        }
        Ok(())
    }

    /// Leaves room for what lies before the records.
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

    fn switch_to(&mut self, file: u32) -> StdResult<(), Problem> {
        self.begin_records()?;
        let name = self.files.get(file as usize).filter(|_| file == self.source + 1);
        let (Some(name), Some(folder)) = (name, &self.folder) else {
            return Err(Wrong::new(format!("{file} is not the next of the files")).within("file").into());
        };
        let made = File::create_new(folder.path().join(name)).map_err(Error::Output)?;
        self.framed.finish(&mut self.out)?;
        let finished = std::mem::replace(&mut self.out, Out::new(Target::File(made)));
        let framed = std::mem::replace(&mut self.framed, Framed::new(self.endian));
        if self.main.is_none() {
            self.main = Some((finished, framed.is_changed()));
        } else {
            self.flushed(finished)?;
        }
        self.source = file;
        Ok(())
    }

    fn flushed(&self, mut out: Out) -> Result<()> {
        out.flush().map_err(Error::Output)
    }

    fn record(&mut self, object: Object<'_>) -> StdResult<(), Problem> {
        self.begin_records()?;
        let Some(kind) = object.record else { return Ok(()) };
        let (nr, frame) = (object.nr, object.frame);
        let bytes = self.record_bytes(kind, object)?;
        let is_frame = matches!(kind, RecordType::COMPRESSED | RecordType::COMPRESSED2);
        match frame {
            Some(_) if is_frame => self.framed.frame(bytes, false, &mut self.out)?,
            Some(_) => self.framed.inside(&bytes),
            None => self.framed.plain(bytes, nr.filter(|_| kind == RecordType::AUXTRACE), &mut self.out)?,
        }
        Ok(())
    }

    /// The bytes of a record with its payload.
    fn record_bytes(&self, kind: RecordType, object: Object<'_>) -> StdResult<Vec<u8>, Wrong> {
        let payload = object.payload.map(ByteBuf::into_vec).unwrap_or_default();
        let (body, usual): (Body, fn(usize) -> usize) = match (object.body, object.raw, object.content) {
            (Some(body), None, None) => {
                let read = de::with(body.0, |reader| Body::deserialize(kind, reader));
                (read.map_err(|wrong| wrong.within("body"))?, usual_room(kind))
            }
            (None, Some(raw), None) => (Body::Opaque(raw.into_vec()), |covered| covered),
            (None, None, Some(content)) => {
                let id = object.feature.ok_or_else(|| Wrong::new("the field is missing").within("feature"))?;
                let read = de::with(content.0, |reader| Feature::deserialize(id, reader));
                let feature = read.map_err(|wrong| wrong.within("content"))?;
                let tail = object.tail.as_deref().map(Vec::as_slice);
                let data = section(id, feature, object.room, tail, self.endian)?;
                let data = HeaderFeature { feat_id: id.0.into(), data };
                let header = RecordHeader { kind, misc: misc(object.cpumode, object.misc), size: 0 };
                let record = Record { header, body: Body::HeaderFeature(data), tail: Vec::new(), id: object.sample_id };
                return encoded(record.to_bytes(self.endian));
            }
            _ => return Err(Wrong::new("a record has a body, or raw bytes, or the content of a feature")),
        };
        let body = match body {
            Body::Auxtrace(mut auxtrace) => {
                auxtrace.size = payload.len() as u64;
                Body::Auxtrace(auxtrace)
            }
            Body::HeaderTracingData(mut told) if !payload.is_empty() => {
                told.size = payload.len() as u32;
                Body::HeaderTracingData(told)
            }
            body => body,
        };
        let mut written = io::Cursor::new(Vec::new());
        body.write(&mut written, self.endian).map_err(|e| Wrong::new(e.to_string()).within("body"))?;
        let covered = written.into_inner().len();
        let tail = left_over(covered, object.room, object.tail.as_deref().map(Vec::as_slice), usual)?;
        let header = RecordHeader { kind, misc: misc(object.cpumode, object.misc), size: 0 };
        let record = Record { header, body, tail, id: object.sample_id };
        let mut bytes = encoded(record.to_bytes(self.endian))?;
        bytes.extend_from_slice(&payload);
        Ok(bytes)
    }

    fn feature(&mut self, object: Object<'_>) -> StdResult<(), Problem> {
        let Some(id) = object.feature else { return Ok(()) };
        if id.0 >= 256 || self.container == Container::Pipe {
            return Err(Wrong::new("there is no place for it in this container").within("feature").into());
        }
        let (room, tail) = (object.room, object.tail);
        let told = match (object.content, object.raw) {
            (Some(content), None) if id == FeatureId::AUXTRACE => {
                Section::Index { index: later(content, "content")?, room, tail }
            }
            (Some(content), None) => {
                let read = de::with(content.0, |reader| Feature::deserialize(id, reader));
                let feature = read.map_err(|wrong| wrong.within("content"))?;
                Section::Bytes(section(id, feature, room, tail.as_deref().map(Vec::as_slice), self.endian)?)
            }
            (None, Some(raw)) => Section::Bytes(raw.into_vec()),
            _ => return wrong("a feature has content or raw bytes"),
        };
        if self.features.insert(id, told).is_some() {
            return Err(Wrong::new("the feature is told twice").within("feature").into());
        }
        Ok(())
    }

    fn finish(mut self, name: &str) -> Result<Remade> {
        self.begin_records()?;
        self.framed.finish(&mut self.out)?;
        let mut is_changed = self.framed.is_changed();
        if let Some((main, changed)) = self.main.take() {
            let last = std::mem::replace(&mut self.out, main);
            self.flushed(last)?;
            is_changed = changed;
        }
        let end = self.end.take().unwrap_or_default();
        let mut before = self.before.take().unwrap_or_default();
        let data = self.out.at - before.len() as u64;
        let features = std::mem::take(&mut self.features).into_iter();
        let features = features.map(|(id, told)| Ok((id, self.section(id, told, is_changed)?)));
        let features = features.collect::<Result<BTreeMap<_, _>>>()?;
        let behind = self.layout().finish(&mut before, data, &features, &end)?;
        let written: io::Result<()> = (|| {
            self.out.file.write_all(&behind)?;
            self.out.file.seek(SeekFrom::Start(0))?;
            self.out.file.write_all(&before)?;
            self.out.file.flush()
        })();
        written.map_err(Error::Output)?;
        let file = self.out.file.into_inner().map_err(|e| Error::Output(e.into_error()))?;
        match (self.folder, file) {
            (Some(folder), _) => Ok(Remade::from_folder(folder, Vec::new())),
            (None, Target::Spool(spool)) => Remade::from_file(name, spool, Vec::new()),
            (None, Target::File(_)) => Err(Error::input(name, None, "a folder has no files")),
        }
    }

    /// The bytes of a feature, now that it is known where records are.
    fn section(&self, id: FeatureId, told: Section, is_changed: bool) -> Result<Vec<u8>> {
        match told {
            Section::Bytes(bytes) if id == FeatureId::COMPRESSED && is_changed => {
                // Readers make room for frames by what is told here.
                match abi::parse::<Compression>(&bytes, self.endian, ()) {
                    Ok((told, _)) if (told.mmap_len as usize) < MMAP_LEN => {
                        let told = Compression { mmap_len: MMAP_LEN as u32, ..told };
                        crate::container::write::encoded(abi::to_bytes(&told, self.endian))
                    }
                    _ => Ok(bytes),
                }
            }
            Section::Bytes(bytes) => Ok(bytes),
            Section::Index { index, room, tail } => {
                let place = |entry: &super::objects::IndexEntry| {
                    let place = entry.nr.and_then(|nr| self.out.auxtrace.get(&nr).copied());
                    // A record that was deleted is in the index no more.
                    let file_offset = place.or(entry.file_offset.filter(|_| entry.nr.is_none()))?;
                    Some(AuxtraceIndexEntry { file_offset, sz: entry.sz })
                };
                let entries = index.entries.iter().filter_map(place).collect();
                let index = match index.counted {
                    true => AuxtraceIndex::Counted { entries },
                    false => AuxtraceIndex::Uncounted { entries },
                };
                section(id, Feature::Auxtrace(index), room, tail.as_deref().map(Vec::as_slice), self.endian)
                    .map_err(|wrong| Error::Output(io::Error::new(io::ErrorKind::InvalidData, wrong)))
            }
        }
    }
}

fn misc(cpumode: Option<abi::record::CpuMode>, misc: Option<Misc>) -> Misc {
    let (cpumode, misc) = (cpumode.unwrap_or_default(), misc.unwrap_or_default());
    Misc::from_bits_retain(misc.bits() | cpumode.0 & 7)
}

/// The bytes of a feature section.
fn section(
    id: FeatureId,
    feature: Feature,
    room: Option<usize>,
    tail: Option<&[u8]>,
    endian: Endian,
) -> StdResult<Vec<u8>, Wrong> {
    let section = FeatureSection { id, feature, tail: Vec::new() };
    let mut bytes = encoded(section.to_bytes(endian))?;
    bytes.extend(left_over(bytes.len(), room, tail, |covered| covered)?);
    Ok(bytes)
}

/// The bytes behind `covered` bytes, of as many in all as are told. Where the fields have outgrown these, there are as many
/// words of 8 bytes more as they need; bytes that are told stay only as long as they fill the room.
fn left_over(
    covered: usize,
    room: Option<usize>,
    tail: Option<&[u8]>,
    usual: fn(usize) -> usize,
) -> StdResult<Vec<u8>, Wrong> {
    let mut room = room.unwrap_or_else(|| usual(covered).max(covered));
    if room < covered {
        room += (covered - room).next_multiple_of(8);
    }
    match tail {
        Some(tail) if covered.checked_add(tail.len()) == Some(room) => Ok(tail.to_vec()),
        _ if room - covered > MOST_ZEROS => {
            Err(Wrong::new(format!("room for more than {MOST_ZEROS} zeros")).within("room"))
        }
        _ => Ok(vec![0; room - covered]),
    }
}
