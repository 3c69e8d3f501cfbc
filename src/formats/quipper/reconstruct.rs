//! Reconstructs the recording from messages and its original layout.

use super::chunks::Pieces;
use super::messages::{Item, Items, ProtoContents};
use super::plain;
use super::proto::perf_data_proto::Layout;
use super::record_builder::RecordBuilder;
use super::record_builder::{add_event, file_events};
use super::unknown::UnknownInEvents;
use crate::formats::import::ImportedRecording;
use md5::{Digest, Md5};
use perf_data::abi::Endian;
use perf_data::abi::header::FileHeader;
use perf_data::container::limits::Limits;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::directory::number;
use perf_data::container::spool::Spool;
use perf_data::container::temp_directory::TempDirectory;
use perf_data::container::walk::Damage;
use perf_data::error::{Error, Result};
use perf_data::stream::events::Events;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

impl ProtoContents<'_> {
    /// Reconstructs the recording with its original layout, if that still fits.
    pub(super) fn to_layout(
        &self,
        layout: &Layout,
        options: &ReadOptions,
    ) -> Result<(ImportedRecording, UnknownInEvents)> {
        let Some(pieces) = Pieces::from_messages(&self.rest, &self.attrs, self.endian) else {
            return self.to_recording(options);
        };
        let resolved = pieces.resolve(&layout.before).zip(pieces.resolve(&layout.behind));
        let Some((before, behind)) = resolved else { return self.to_recording(options) };
        let directory = if layout.files.is_empty() { None } else { Some(self.directory(options)?) };
        let first = match &directory {
            Some(directory) => Out::file(&directory.path().join("data"))?,
            None => Out::spool(self.name, options)?,
        };
        let events = if layout.is_pipe() { Events::default() } else { file_events(&self.attrs) };
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
                let directory = directory.as_ref().filter(|_| number(&name).is_some());
                let Some(directory) = directory else {
                    return Err(Error::input(
                        self.name,
                        None,
                        format!("{name}: is not the name of a file in a directory recording"),
                    ));
                };
                // Each file has its own zstd stream.
                writer.is_uncompressed = false;
                let finished = std::mem::replace(&mut writer.out, Out::file(&directory.path().join(name))?);
                match &main {
                    None => main = Some(finished),
                    Some(_) => finished.finish()?,
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
        if is_changed && directory.is_none() {
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
        let recording = match (directory, writer.out) {
            (Some(directory), out) => {
                out.finish()?;
                ImportedRecording::from_directory(directory, damage)
            }
            (None, Out::Spool(spool)) => {
                ImportedRecording::from_file(self.name, plain::unbuffered(self.name, spool)?, damage)?
            }
            (None, Out::File(_)) => return Err(Error::input(self.name, None, "the recording has no file")),
        };
        Ok((recording, items.unknown))
    }

    fn directory(&self, options: &ReadOptions) -> Result<TempDirectory> {
        TempDirectory::new(options.spool_dir.as_deref())
            .map_err(Error::io(self.name, "cannot write to a temporary directory"))
    }

    /// Builds a file of the standard layout.
    pub(super) fn to_recording(&self, options: &ReadOptions) -> Result<(ImportedRecording, UnknownInEvents)> {
        plain::build_file(self, options)
    }
}

/// Whether these parts form a valid file: the header locates the records, or has no size because perf was
/// interrupted.
fn is_laid_out(before: &[u8], behind: &[u8], records: u64, endian: Endian) -> bool {
    let Ok(header) = FileHeader::read_from(before, endian) else { return false };
    let is_complete =
        header.data.size == records || behind.is_empty() && header.data.end() >= before.len() as u64 + records;
    header.data.offset == before.len() as u64 && (is_complete || header.data.size == 0)
}

/// A file of the recording being written.
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

/// Writes the records of a reconstructed recording.
struct Writer<'a> {
    contents: &'a ProtoContents<'a>,
    out: Out,
    /// Bytes of the main file, and of the files after it.
    written: u64,
    builder: RecordBuilder,
    is_pipe: bool,
    /// Whether a frame of the file was written uncompressed.
    is_uncompressed: bool,
    /// Limit for the decompressed size of a frame.
    max_frame: usize,
    damage: Vec<Damage>,
}

impl<'a> Writer<'a> {
    fn new(contents: &'a ProtoContents<'a>, out: Out, events: Events, limits: &Limits) -> Self {
        let builder = RecordBuilder::new(events, contents.endian);
        let max_frame = usize::try_from(limits.frame).unwrap_or(usize::MAX);
        Self {
            contents,
            out,
            written: 0,
            builder,
            is_pipe: false,
            is_uncompressed: false,
            max_frame,
            damage: Vec::new(),
        }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        self.out.write(bytes)
    }

    /// Puts the bytes of one item into `builder.record`; false if it is skipped.
    fn bytes(&mut self, item: Item, items: &mut Items<'_>, pieces: &Pieces) -> Result<bool> {
        match item {
            Item::Event(event, index) => {
                if let Err(why) = self.builder.build(&event) {
                    self.contents.warn(&mut self.damage, 0, format!("events {index}: {why}; skipped"));
                    items.skip_last();
                    return Ok(false);
                }
            }
            Item::Record(record) => {
                let Some(bytes) = pieces.resolve(&record.chunks) else {
                    let problem = format!("record {}: it refers to missing data; skipped", record.at());
                    self.contents.warn(&mut self.damage, 0, problem);
                    return Ok(false);
                };
                if self.is_pipe {
                    add_event(&bytes, &mut self.builder.events, self.contents.endian);
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
            if plain.len() > self.max_frame {
                self.is_uncompressed = true;
                self.put(&plain)?;
                plain.clear();
            }
        }
        let digest: [u8; 16] = digest.finalize().into();
        let is_same = digest.first_chunk().is_some_and(|prefix| u64::from_be_bytes(*prefix) == sum);
        // Frames continue one zstd stream: after a missing one, none can be decompressed.
        self.is_uncompressed |= !is_same;
        self.put(if self.is_uncompressed { &plain } else { &record })
    }
}
