//! From messages to the recording that they tell.

use super::attr::remake_event;
use super::chunks::Pieces;
use super::encode::field;
use super::proto::PerfDataProto;
use super::proto::perf_data_proto::{Layout, PerfEvent, Record};
use super::state::{events_of_file, take_event};
use super::text_format::from_text;
use super::wire::{Field, Fields};
use super::{plain, remake};
use crate::abi;
use crate::abi::Endian;
use crate::abi::header::FileHeader;
use crate::abi::record::{Misc, RecordHeader, RecordType};
use crate::container::read::ReadOptions;
use crate::container::read::file::FileAttr;
use crate::container::spool::Spool;
use crate::container::walk::Damage;
use crate::error::{Error, Result};
use crate::formats::import::Remade;
use crate::stream::events::Events;
use bytes::Bytes;
use md5::{Digest, Md5};
use prost::Message;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

/// Most warnings of events that cannot be records; there may be as many as events.
const WARNINGS: usize = 100;

/// Makes the recording again that a PerfDataProto tells.
///
/// # Errors
/// Where the input is none, or tells no recording.
pub fn import(stream: &mut dyn Read, name: &str, options: &ReadOptions) -> Result<Remade> {
    let kept = || Error::io(name, "cannot keep in a temporary file");
    let mut spool = Spool::new(options.spool_dir.as_deref()).map_err(kept())?;
    let (_, failure) = spool.fill(stream).map_err(kept())?;
    if let Some(failure) = failure {
        return Err(Error::io(name, "cannot read")(failure));
    }
    remade(name, &spool.into_bytes().map_err(kept())?, options)
}

/// Makes the recording again that a PerfDataProto in its text form tells.
///
/// # Errors
/// As [`import`].
pub fn import_text(stream: &mut dyn Read, name: &str, options: &ReadOptions) -> Result<Remade> {
    let mut spool = plain::buffered(name, options)?;
    from_text(stream, name, options, &mut spool)?;
    let bytes = plain::unbuffered(name, spool)?.into_bytes();
    remade(name, &bytes.map_err(Error::io(name, "cannot keep in a temporary file"))?, options)
}

fn remade(name: &str, bytes: &Bytes, options: &ReadOptions) -> Result<Remade> {
    let message = Told::read(name, bytes)?;
    match &message.rest.layout {
        Some(layout) => message.again(layout, options),
        None => message.anew(options),
    }
}

/// What a PerfDataProto tells.
pub struct Told<'a> {
    pub name: &'a str,
    bytes: &'a Bytes,
    /// All but the records.
    pub rest: PerfDataProto,
    pub endian: Endian,
    /// The events.
    pub attrs: Vec<FileAttr>,
}

impl<'a> Told<'a> {
    fn read(name: &'a str, bytes: &'a Bytes) -> Result<Self> {
        let mut rest = Vec::new();
        let mut records = 0_u64;
        for field in Fields::new(bytes) {
            let field = field.map_err(|at| Error::input(name, at, "this is not a PerfDataProto, or it is cut here"))?;
            match field.number {
                field::EVENTS | field::RECORDS => records += 1,
                _ => rest.extend_from_slice(field.whole),
            }
        }
        let rest = PerfDataProto::decode(&*rest)
            .map_err(|e| Error::input(name, None, format!("this is not a PerfDataProto: {e}")))?;
        if rest.file_attrs.is_empty() && records == 0 {
            return Err(Error::input(name, None, "this is not a PerfDataProto: it tells neither events nor records"));
        }
        let is_big = rest.layout.as_ref().is_some_and(Layout::is_big_endian);
        let endian = if is_big { Endian::Big } else { Endian::Little };
        let attrs = rest.file_attrs.iter().enumerate().map(|(index, event)| {
            remake_event(event, endian)
                .ok_or_else(|| Error::input(name, None, format!("file_attrs {index}: this cannot be an event")))
        });
        let attrs = attrs.collect::<Result<Vec<_>>>()?;
        Ok(Self { name, bytes, rest, endian, attrs })
    }

    /// The records in their order.
    pub fn items(&self) -> Items<'_> {
        Items {
            told: self,
            events: Fields::new(self.bytes),
            records: Fields::new(self.bytes),
            next_record: None,
            headers: self.rest.headers.iter().peekable(),
            at: 0,
            index: 0,
        }
    }

    /// Makes the recording that was told again.
    fn again(&self, layout: &Layout, options: &ReadOptions) -> Result<Remade> {
        let Some(pieces) = Pieces::of_messages(&self.rest, &self.attrs, self.endian) else { return self.anew(options) };
        let resolved = pieces.resolve(&layout.before).zip(pieces.resolve(&layout.behind));
        let Some((before, behind)) = resolved else { return self.anew(options) };
        let folder = if layout.files.is_empty() { None } else { Some(self.folder(options)?) };
        let first = match &folder {
            Some(folder) => Out::file(&folder.path().join("data"))?,
            None => Out::spool(self.name, options)?,
        };
        let mut writer =
            Writer::new(self, first, if layout.is_pipe() { Events::default() } else { events_of_file(&self.attrs) });
        writer.is_pipe = layout.is_pipe();
        writer.put(&before)?;
        let mut files = layout.files.iter().peekable();
        let mut main = None;
        let mut records = 0;
        let mut items = self.items();
        loop {
            while let Some(file) = files.next_if(|file| file.at() <= items.at) {
                let name = String::from_utf8_lossy(file.name()).into_owned();
                let folder = folder.as_ref().filter(|_| is_part(&name));
                let Some(folder) = folder else {
                    return Err(Error::input(self.name, None, format!("{name}: is no name of a recording's file")));
                };
                writer.is_torn = false;
                let done = std::mem::replace(&mut writer.out, Out::file(&folder.path().join(name))?);
                match &main {
                    None => main = Some(done),
                    Some(_) => done.finish()?,
                }
            }
            if main.is_none() {
                records = writer.written - before.len() as u64;
            }
            let Some(item) = items.next(&mut writer.damage)? else { break };
            writer.item(item, &mut items, &pieces)?;
        }
        if main.is_none() {
            records = writer.written - before.len() as u64;
        }
        let is_changed = !layout.is_pipe() && !is_laid_out(&before, &behind, records, self.endian);
        if is_changed && folder.is_none() {
            return self.anew(options);
        }
        match &mut main {
            Some(main) => main.write(&behind)?,
            None => writer.put(&behind)?,
        }
        if let Some(main) = main {
            main.finish()?;
        }
        let damage = std::mem::take(&mut writer.damage);
        match (folder, writer.out) {
            (Some(folder), out) => {
                out.finish()?;
                Ok(Remade::from_folder(folder, damage))
            }
            (None, Out::Spool(spool)) => Remade::from_file(self.name, plain::unbuffered(self.name, spool)?, damage),
            (None, Out::File(_)) => Err(Error::input(self.name, None, "the recording is in no file")),
        }
    }

    fn folder(&self, options: &ReadOptions) -> Result<tempfile::TempDir> {
        let made = match &options.spool_dir {
            Some(dir) => tempfile::tempdir_in(dir),
            None => tempfile::tempdir(),
        };
        made.map_err(Error::io(self.name, "cannot keep in a temporary folder"))
    }

    /// Makes a file of the usual layout.
    fn anew(&self, options: &ReadOptions) -> Result<Remade> {
        plain::file(self, options)
    }
}

/// Whether a name is that of a recording's further file.
fn is_part(name: &str) -> bool {
    name.strip_prefix("data.").is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a file of these parts is one: the header tells where the records are, unless they were not told how many.
fn is_laid_out(before: &[u8], behind: &[u8], records: u64, endian: Endian) -> bool {
    let Ok(header) = FileHeader::read_from(before, endian) else { return false };
    let is_whole =
        header.data.size == records || behind.is_empty() && header.data.end() >= before.len() as u64 + records;
    header.data.offset == before.len() as u64 && (is_whole || header.data.size == 0)
}

/// What comes next in a recording.
pub enum Item {
    /// A record that is told by a message, and the message's number.
    Event(Box<PerfEvent>, u64),
    /// Bytes.
    Record(Record),
}

/// The records of a recording in their order.
pub struct Items<'a> {
    told: &'a Told<'a>,
    events: Fields<'a>,
    records: Fields<'a>,
    next_record: Option<Record>,
    headers: std::iter::Peekable<std::slice::Iter<'a, Record>>,
    /// How many there were.
    pub at: u64,
    /// How many of them were events.
    index: u64,
}

impl<'a> Items<'a> {
    fn field(fields: &mut Fields<'a>, number: u32) -> Option<Field<'a>> {
        // That they are sound was seen when they were counted.
        fields.flatten().find(|field| field.number == number)
    }

    fn record(&mut self) -> Result<Option<&Record>> {
        if self.next_record.is_none()
            && let Some(field) = Self::field(&mut self.records, field::RECORDS)
        {
            let record = Record::decode(field.value)
                .map_err(|e| Error::input(self.told.name, field.at, format!("a record kept apart: {e}")))?;
            self.next_record = Some(record);
        }
        Ok(self.next_record.as_ref())
    }

    /// The next one.
    pub fn next(&mut self, damage: &mut Vec<Damage>) -> Result<Option<Item>> {
        loop {
            let at = self.at;
            if self.record()?.is_some_and(|record| record.at() <= at) {
                self.at += 1;
                return Ok(self.next_record.take().map(Item::Record));
            }
            if let Some(header) = self.headers.next_if(|header| header.at() <= at) {
                self.at += 1;
                return Ok(Some(Item::Record(header.clone())));
            }
            let Some(field) = Self::field(&mut self.events, field::EVENTS) else {
                // Where events were taken out, what was behind them is not.
                if self.next_record.is_none() && self.headers.peek().is_none() {
                    return Ok(None);
                }
                let next = [self.next_record.as_ref(), self.headers.peek().copied()];
                self.at = next.into_iter().flatten().map(Record::at).min().unwrap_or(at);
                continue;
            };
            let index = self.index;
            (self.index, self.at) = (index + 1, at + 1);
            match PerfEvent::decode(field.value) {
                Ok(event) => return Ok(Some(Item::Event(Box::new(event), index))),
                Err(e) => self.told.warn(damage, field.at, format!("events {index}: {e}; it is left out")),
            }
        }
    }
}

impl Told<'_> {
    /// Notes what of the messages could not be used.
    pub fn warn(&self, damage: &mut Vec<Damage>, offset: u64, what: String) {
        if damage.len() < WARNINGS {
            damage.push(Damage { file: self.name.to_owned(), offset, what });
        }
    }
}

/// Where a file of the recording goes.
enum Out {
    Spool(BufWriter<Spool>),
    File(BufWriter<File>),
}

impl Out {
    fn spool(name: &str, options: &ReadOptions) -> Result<Self> {
        plain::buffered(name, options).map(Self::Spool)
    }

    fn file(path: &Path) -> Result<Self> {
        let file = File::create_new(path).map_err(Error::io(path.display().to_string(), "cannot create"))?;
        Ok(Self::File(BufWriter::with_capacity(1 << 17, file)))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Spool(out) => out.write_all(bytes),
            Self::File(out) => out.write_all(bytes),
        }
        .map_err(Error::Output)
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Spool(mut out) => out.flush(),
            Self::File(mut out) => out.flush(),
        }
        .map_err(Error::Output)
    }
}

/// Makes records of messages.
pub struct Remaker {
    events: Events,
    endian: Endian,
    body: Vec<u8>,
    /// The record that was made last.
    pub record: Vec<u8>,
}

impl Remaker {
    /// Knows these events to begin with.
    pub fn new(events: Events, endian: Endian) -> Self {
        Self { events, endian, body: Vec::new(), record: Vec::new() }
    }

    /// Makes the record that a message tells, with its payload. A sentence where it tells none.
    pub fn make(&mut self, event: &PerfEvent) -> std::result::Result<(), String> {
        let header = event.header.as_ref().ok_or("it has no header")?;
        let kind = RecordType(header.r#type());
        remake::body(event, &self.events, self.endian, &mut self.body)
            .ok_or_else(|| format!("it does not tell a record of its type, {kind}"))?;
        if let Some(splice) = &event.splice {
            splice.apply(&mut self.body).ok_or("what was kept of the record does not fit it any more")?;
        }
        let head = RecordHeader { kind, misc: Misc::from_bits_retain(header.misc() as u16), size: 0 };
        let len = RecordHeader::SIZE + self.body.len();
        let head = head.with_len(len).ok_or_else(|| format!("it would be a record of {len} bytes"))?;
        self.record.clear();
        self.record.extend(abi::to_bytes(&head, self.endian).unwrap_or_default());
        self.record.extend_from_slice(&self.body);
        if let Some(aux) = &event.auxtrace_event {
            self.record.extend_from_slice(aux.trace_data());
        }
        Ok(())
    }
}

/// Writes the records of a recording that is made again.
struct Writer<'a> {
    told: &'a Told<'a>,
    out: Out,
    /// Bytes of the main file and those behind it.
    written: u64,
    remaker: Remaker,
    is_pipe: bool,
    /// Whether a frame of the file is written plain.
    is_torn: bool,
    damage: Vec<Damage>,
}

impl<'a> Writer<'a> {
    fn new(told: &'a Told<'a>, out: Out, events: Events) -> Self {
        let remaker = Remaker::new(events, told.endian);
        Self { told, out, written: 0, remaker, is_pipe: false, is_torn: false, damage: Vec::new() }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        self.out.write(bytes)
    }

    /// The bytes of an item that holds no others.
    fn bytes(&mut self, item: Item, pieces: &Pieces) -> Result<bool> {
        match item {
            Item::Event(event, index) => {
                if let Err(why) = self.remaker.make(&event) {
                    self.told.warn(&mut self.damage, 0, format!("events {index}: {why}; it is left out"));
                    return Ok(false);
                }
            }
            Item::Record(record) => {
                let Some(bytes) = pieces.resolve(&record.chunks) else {
                    let what = format!("record {}: what it refers to is not there; it is left out", record.at());
                    self.told.warn(&mut self.damage, 0, what);
                    return Ok(false);
                };
                if self.is_pipe {
                    take_event(&bytes, &mut self.remaker.events, self.told.endian);
                }
                self.remaker.record = bytes;
            }
        }
        Ok(true)
    }

    fn item(&mut self, item: Item, items: &mut Items<'_>, pieces: &Pieces) -> Result<()> {
        let inside = match &item {
            Item::Record(record) => record.inside(),
            Item::Event(..) => 0,
        };
        let sum = match &item {
            Item::Record(record) => record.inside_md5_prefix(),
            Item::Event(..) => 0,
        };
        if !self.bytes(item, pieces)? {
            return Ok(());
        }
        let record = std::mem::take(&mut self.remaker.record);
        if inside == 0 {
            self.put(&record)?;
            self.remaker.record = record;
            return Ok(());
        }
        let (mut plain, mut digest) = (Vec::new(), Md5::new());
        for _ in 0..inside {
            let Some(item) = items.next(&mut self.damage)? else { break };
            if self.bytes(item, pieces)? {
                digest.update(&self.remaker.record);
                plain.extend_from_slice(&self.remaker.record);
            }
        }
        let digest: [u8; 16] = digest.finalize().into();
        let is_same = digest.first_chunk().is_some_and(|prefix| u64::from_be_bytes(*prefix) == sum);
        // Frames continue each other: behind one that is not there any more none can be read.
        self.is_torn |= !is_same;
        self.put(if self.is_torn { &plain } else { &record })
    }
}
