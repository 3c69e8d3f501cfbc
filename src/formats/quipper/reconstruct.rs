//! The recording that was told, again: of the messages and of where its parts were.

use super::chunks::Pieces;
use super::messages::{Item, Items, ProtoContents};
use super::plain;
use super::proto::perf_data_proto::Layout;
use super::record_builder::RecordBuilder;
use super::record_builder::{add_event, events_of_file};
use super::unknown::UnknownInEvents;
use crate::abi::Endian;
use crate::abi::header::FileHeader;
use crate::container::limits::Limits;
use crate::container::read::ReadOptions;
use crate::container::read::directory::number;
use crate::container::spool::Spool;
use crate::container::temp_folder::TempFolder;
use crate::container::walk::Damage;
use crate::error::{Error, Result};
use crate::formats::import::ImportedRecording;
use crate::stream::events::Events;
use md5::{Digest, Md5};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

impl ProtoContents<'_> {
    /// Makes the recording that was told again.
    pub fn to_layout(&self, layout: &Layout, options: &ReadOptions) -> Result<(ImportedRecording, UnknownInEvents)> {
        let Some(pieces) = Pieces::of_messages(&self.rest, &self.attrs, self.endian) else {
            return self.to_recording(options);
        };
        let resolved = pieces.resolve(&layout.before).zip(pieces.resolve(&layout.behind));
        let Some((before, behind)) = resolved else { return self.to_recording(options) };
        let folder = if layout.files.is_empty() { None } else { Some(self.folder(options)?) };
        let first = match &folder {
            Some(folder) => Out::file(&folder.path().join("data"))?,
            None => Out::spool(self.name, options)?,
        };
        let events = if layout.is_pipe() { Events::default() } else { events_of_file(&self.attrs) };
        let mut writer = Writer::new(self, first, events, &options.limits);
        writer.is_pipe = layout.is_pipe();
        writer.put(&before)?;
        let mut files = layout.files.iter().peekable();
        let mut main = None;
        let mut records = 0;
        let mut items = self.items();
        loop {
            while let Some(file) = files.next_if(|file| file.at() <= items.at) {
                let name = String::from_utf8_lossy(file.name()).into_owned();
                let folder = folder.as_ref().filter(|_| number(&name).is_some());
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
            return self.to_recording(options);
        }
        match &mut main {
            Some(main) => main.write(&behind)?,
            None => writer.put(&behind)?,
        }
        if let Some(main) = main {
            main.finish()?;
        }
        let damage = std::mem::take(&mut writer.damage);
        let remade = match (folder, writer.out) {
            (Some(folder), out) => {
                out.finish()?;
                ImportedRecording::from_folder(folder, damage)
            }
            (None, Out::Spool(spool)) => {
                ImportedRecording::from_file(self.name, plain::unbuffered(self.name, spool)?, damage)?
            }
            (None, Out::File(_)) => return Err(Error::input(self.name, None, "the recording is in no file")),
        };
        Ok((remade, items.unknown))
    }

    fn folder(&self, options: &ReadOptions) -> Result<TempFolder> {
        TempFolder::new(options.spool_dir.as_deref()).map_err(Error::io(self.name, "cannot keep in a temporary folder"))
    }

    /// Makes a file of the usual layout.
    pub fn to_recording(&self, options: &ReadOptions) -> Result<(ImportedRecording, UnknownInEvents)> {
        plain::file(self, options)
    }
}

/// Whether a file of these parts is one: the header tells where the records are, unless they were not told how many.
fn is_laid_out(before: &[u8], behind: &[u8], records: u64, endian: Endian) -> bool {
    let Ok(header) = FileHeader::read_from(before, endian) else { return false };
    let is_whole =
        header.data.size == records || behind.is_empty() && header.data.end() >= before.len() as u64 + records;
    header.data.offset == before.len() as u64 && (is_whole || header.data.size == 0)
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

/// Writes the records of a recording that is made again.
struct Writer<'a> {
    told: &'a ProtoContents<'a>,
    out: Out,
    /// Bytes of the main file and those behind it.
    written: u64,
    builder: RecordBuilder,
    is_pipe: bool,
    /// Whether a frame of the file is written plain.
    is_torn: bool,
    /// The most plain bytes that a frame can hold.
    most: usize,
    damage: Vec<Damage>,
}

impl<'a> Writer<'a> {
    fn new(told: &'a ProtoContents<'a>, out: Out, events: Events, limits: &Limits) -> Self {
        let builder = RecordBuilder::new(events, told.endian);
        let most = usize::try_from(limits.frame).unwrap_or(usize::MAX);
        Self { told, out, written: 0, builder, is_pipe: false, is_torn: false, most, damage: Vec::new() }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        self.out.write(bytes)
    }

    /// The bytes of an item that holds no others.
    fn bytes(&mut self, item: Item, items: &mut Items<'_>, pieces: &Pieces) -> Result<bool> {
        match item {
            Item::Event(event, index) => {
                if let Err(why) = self.builder.make(&event) {
                    self.told.warn(&mut self.damage, 0, format!("events {index}: {why}; it is left out"));
                    items.leave_out();
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
                    add_event(&bytes, &mut self.builder.events, self.told.endian);
                }
                self.builder.record = bytes;
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
        if !self.bytes(item, items, pieces)? {
            return Ok(());
        }
        let record = std::mem::take(&mut self.builder.record);
        if inside == 0 {
            self.put(&record)?;
            self.builder.record = record;
            return Ok(());
        }
        let (mut plain, mut digest) = (Vec::new(), Md5::new());
        for _ in 0..inside {
            let Some(item) = items.next(&mut self.damage)? else { break };
            if self.bytes(item, items, pieces)? {
                digest.update(&self.builder.record);
                plain.extend_from_slice(&self.builder.record);
            }
            if plain.len() > self.most {
                self.is_torn = true;
                self.put(&plain)?;
                plain.clear();
            }
        }
        let digest: [u8; 16] = digest.finalize().into();
        let is_same = digest.first_chunk().is_some_and(|prefix| u64::from_be_bytes(*prefix) == sum);
        // Frames continue each other: behind one that is not there any more none can be read.
        self.is_torn |= !is_same;
        self.put(if self.is_torn { &plain } else { &record })
    }
}
