//! Writes a stream of records as messages, one record at a time.

use super::attr::describe_event;
use super::build_ids::SeenBuildIds;
use super::chunks::Pieces;
use super::event_writer::{EventWriter, is_modelled};
use super::proto::PerfDataProto;
use super::proto::perf_data_proto::{File, Layout, Record};
use super::record_builder::{add_event, file_events};
use super::unknown::UnknownFields;
use super::unrepresented::{UnrepresentedRecords, spool};
use super::{Fidelity, features};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::wire::Fields;
use crate::protobuf::put_bytes;
use bytes::Bytes;
use hashbrown::HashSet;
use perf_data::abi::Endian;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::container::block::Origin;
use perf_data::container::read::Container;
use perf_data::container::read::file::FileAttr;
use perf_data::container::spool::Spool;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::{Gap, Raw};
use prost::Message;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes of messages per write, as many as a pipe holds.
const BUFFER: usize = 1 << 16;

/// Field numbers.
pub(super) mod field {
    /// `PerfDataProto.events`.
    pub(crate) const EVENTS: u32 = 2;
    /// `PerfDataProto.records`, an extension.
    pub(crate) const RECORDS: u32 = 1001;
    /// First number of perfconv's extensions.
    pub(crate) const FIRST_EXTENSION: u32 = 1000;
}

/// Writes records as they come, followed by the metadata.
pub(super) struct Encoder<W> {
    out: W,
    spool_dir: Option<PathBuf>,
    unknown: UnknownFields,
    /// Number of events so far.
    events: u64,
    /// Number of messages into which unknown fields were merged.
    merged: usize,
    is_lossless: bool,
    /// Whether a pass changed the records, so that the layout of the file is not written.
    is_rewritten: bool,
    /// Spooled records that precede the events: of a pipe, whose events are among them, or of a file with unsupported
    /// sample fields.
    spooled: Option<BufWriter<Spool>>,
    /// Records that the schema has no event for.
    unrepresented: UnrepresentedRecords,
    /// Converts the other records.
    event_writer: EventWriter,
    /// Encoded messages to be written.
    buffer: Vec<u8>,
    build_ids: SeenBuildIds,
    /// Number of records and gaps so far.
    items: u64,
    /// Header records, with their numbers.
    headers: Vec<(u64, Bytes)>,
    files: Vec<File>,
    source: u32,
    /// Bytes of records in the main file.
    data_size: u64,
    /// Records by type that were written, and that the schema has no place for.
    counts: BTreeMap<RecordType, (u64, u64)>,
}

impl<W: Write> Encoder<W> {
    /// Begins a message.
    pub(super) fn new(out: W, fidelity: Fidelity, options: &ConvertOptions) -> Self {
        Self {
            out,
            spool_dir: options.spool_dir.clone(),
            unknown: options.retained.get().cloned().unwrap_or_default(),
            events: 0,
            merged: 0,
            is_lossless: fidelity.is_lossless(),
            is_rewritten: options.passes.any(),
            spooled: None,
            unrepresented: UnrepresentedRecords::new(fidelity, options),
            event_writer: EventWriter::new(fidelity, options),
            buffer: Vec::new(),
            build_ids: SeenBuildIds::default(),
            items: 0,
            headers: Vec::new(),
            files: Vec::new(),
            source: 0,
            data_size: 0,
            counts: BTreeMap::new(),
        }
    }

    /// Writes the buffered messages.
    fn flush(&mut self) -> Result<()> {
        let written = match &mut self.spooled {
            Some(spooled) => spooled.write_all(&self.buffer),
            None => self.out.write_all(&self.buffer),
        };
        self.buffer.clear();
        written.map_err(Error::Output)
    }

    /// Writes the events of the recording.
    fn write_events(&mut self, meta: &Meta, events: &[FileAttr]) -> Result<()> {
        let listed =
            meta.events.list().iter().zip(self.event_writer.has_samples()).filter(|(_, has_samples)| **has_samples);
        let sampled: HashSet<_> = listed.map(|(event, _)| (&event.attr, &event.ids)).collect();
        let describe = |event: &FileAttr| {
            let has_samples = sampled.contains(&(&event.attr, &event.ids));
            describe_event(event, has_samples, self.is_lossless, meta.endian)
        };
        let message = PerfDataProto { file_attrs: events.iter().map(describe).collect(), ..PerfDataProto::default() };
        self.write_piece(&message)
    }

    /// Counts bytes of a file, and notes where the next file begins.
    fn file_bytes(&mut self, meta: &Meta, source: u32, len: usize) -> Result<()> {
        self.unrepresented.end_frame(self.items)?;
        if source == 0 {
            self.data_size += len as u64;
        }
        while self.source < source {
            self.source += 1;
            let name = meta.files.get(self.source as usize).map(|name| Path::new(name).file_name().unwrap_or_default());
            let name = name.unwrap_or_default().to_string_lossy().into_owned();
            self.files.push(File { name: Some(name.into()), at: Some(self.items) });
        }
        Ok(())
    }

    /// Writes unknown fields; those of extensions only if lossless.
    fn write_unknown(&mut self) -> Result<()> {
        let Self { unknown, out, is_lossless, .. } = self;
        unknown.message.own(*is_lossless).try_for_each(|field| out.write_all(field)).map_err(Error::Output)
    }

    /// Writes a part of the message, with unknown fields merged into its submessages.
    fn write_piece(&mut self, piece: &PerfDataProto) -> Result<()> {
        let mut bytes = piece.encode_to_vec();
        if !self.unknown.message.is_empty() {
            let (merged, count) = self.unknown.message.nested().merge(&bytes, self.is_lossless);
            bytes = merged;
            self.merged += count;
        }
        self.out.write_all(&bytes).map_err(Error::Output)
    }

    /// Merges unknown fields into the last event, which begins at `start` in the buffer.
    fn merge_event(&mut self, start: usize) {
        let number = self.events;
        self.events += 1;
        // With changed records, the numbers of events no longer match.
        let Some(unknown) = self.unknown.events.get(&number).filter(|_| !self.is_rewritten) else { return };
        let Some(Ok(event)) = Fields::new(&self.buffer[start..]).next() else { return };
        let (event, _) = unknown.merge(event.value, self.is_lossless);
        self.merged += 1;
        self.buffer.truncate(start);
        put_bytes(&mut self.buffer, field::EVENTS, &event);
    }

    /// The metadata that the schema places after the records.
    fn message(&mut self, meta: &Meta) -> PerfDataProto {
        let mut message = PerfDataProto {
            timestamp_sec: Some(0),
            stats: Some(self.event_writer.stats.finish()),
            ..PerfDataProto::default()
        };
        features::describe(meta, &mut message);
        message.build_ids.extend(self.build_ids.in_file_order());
        message
    }

    /// The layout of the rest of the recording.
    fn layout(&mut self, meta: &Meta, pieces: &Pieces) -> Layout {
        if self.is_rewritten && meta.container != Container::Pipe {
            return Layout { is_big_endian: (meta.endian == Endian::Big).then_some(true), ..Layout::default() };
        }
        let (before, behind) = pieces.layout(&meta.image.before, &meta.image.behind, self.data_size);
        // Files without records are listed, too.
        let left = meta.files.iter().skip(self.source as usize + 1);
        let left = left.map(|name| Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned());
        let left: Vec<_> = left.map(|name| File { name: Some(name.into()), at: Some(self.items) }).collect();
        self.files.extend(left);
        Layout {
            is_big_endian: (meta.endian == Endian::Big).then_some(true),
            is_pipe: (meta.container == Container::Pipe).then_some(true),
            before,
            behind,
            files: std::mem::take(&mut self.files),
        }
    }

    fn copy(&mut self, spooled: Option<BufWriter<Spool>>) -> Result<()> {
        let Some(spooled) = spooled else { return Ok(()) };
        let bytes = spooled.into_inner().map_err(io::IntoInnerError::into_error).and_then(Spool::into_bytes);
        bytes.and_then(|bytes| self.out.write_all(&bytes)).map_err(Error::Output)
    }
}

impl<W: Write> Sink for Encoder<W> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        if meta.container == Container::Pipe {
            self.spooled = Some(spool(self.spool_dir.as_deref())?);
            return Ok(());
        }
        let events = features::events(meta);
        self.event_writer.events = file_events(&events);
        if events.iter().any(|event| !is_modelled(&SampleLayout::from(&event.attr))) {
            // Whether it has samples must be known first.
            self.spooled = Some(spool(self.spool_dir.as_deref())?);
            return Ok(());
        }
        self.write_events(meta, &events)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let len = raw.header().len() + raw.payload_len();
        let bytes = || raw.block().bytes.slice(raw.at()..raw.at() + len);
        match raw.block().origin {
            Origin::File => self.file_bytes(meta, raw.block().source, len)?,
            // The bytes that it was derived from are already written.
            Origin::Reframed => return Ok(()),
            Origin::Frame => self.unrepresented.add_to_frame(&raw.block().bytes[raw.at()..raw.at() + len]),
        }
        let (kind, start) = (raw.header().kind, self.buffer.len());
        let counts = self.counts.entry(kind).or_default();
        if kind.is_frame() && raw.block().origin == Origin::File {
            counts.0 += 1;
            self.unrepresented.begin_frame(self.items, bytes());
            self.items += 1;
            return Ok(());
        }
        if kind.is_header() {
            counts.0 += 1;
            if meta.container == Container::Pipe {
                add_event(raw.bytes(), &mut self.event_writer.events, raw.endian());
                self.build_ids.add_record(meta, raw);
            }
            if self.is_lossless {
                self.headers.push((self.items, Bytes::copy_from_slice(&raw.block().bytes[raw.at()..raw.at() + len])));
            }
        } else if self.event_writer.write(meta, raw, &mut self.buffer).is_some() {
            counts.0 += 1;
            self.merge_event(start);
            if kind == RecordType::MMAP2 {
                self.build_ids.add_mapped(self.event_writer.event(), raw);
            }
            if self.buffer.len() >= BUFFER {
                self.flush()?;
            }
        } else {
            *if self.is_lossless { &mut counts.0 } else { &mut counts.1 } += 1;
            self.unrepresented.add(self.items, &raw.block().bytes[raw.at()..raw.at() + len])?;
        }
        self.items += 1;
        Ok(())
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        if gap.block.origin == Origin::File {
            self.file_bytes(meta, gap.block.source, gap.len)?;
            self.unrepresented.begin_frame(self.items, gap.block.bytes.slice(gap.at..gap.at + gap.len));
            self.items += 1;
        }
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.unrepresented.end_frame(self.items)?;
        self.flush()?;
        let events = features::events(meta);
        if let Some(spooled) = self.spooled.take() {
            self.write_events(meta, &events)?;
            self.copy(Some(spooled))?;
        }
        let message = self.message(meta);
        self.write_piece(&message)?;
        self.write_unknown()?;
        if !self.is_lossless {
            return self.out.flush().map_err(Error::Output);
        }
        let pieces = Pieces::new(&events, meta.features.clone(), meta.endian);
        let mut behind = PerfDataProto { features: pieces.differences(&message, &events), ..PerfDataProto::default() };
        let headers = std::mem::take(&mut self.headers);
        behind.headers = headers
            .into_iter()
            .map(|(at, bytes)| Record { at: Some(at), chunks: pieces.header_record(&bytes), ..Record::default() })
            .collect();
        let layout = PerfDataProto { layout: Some(self.layout(meta, &pieces)), ..PerfDataProto::default() };
        self.out.write_all(&layout.encode_to_vec()).map_err(Error::Output)?;
        let records = self.unrepresented.take();
        self.copy(records)?;
        self.out.write_all(&behind.encode_to_vec()).map_err(Error::Output)?;
        self.out.flush().map_err(Error::Output)
    }
}

impl<W: Write> Converter for Encoder<W> {
    fn account(&self, ledger: &mut Ledger) {
        for (&kind, &(emitted, without_place)) in &self.counts {
            ledger.emitted(kind, emitted);
            ledger.not_applicable(kind, without_place);
        }
        let unmerged = (self.unknown.events.len() + self.unknown.message.messages()).saturating_sub(self.merged);
        if unmerged > 0 {
            let description = "unknown fields of messages that are not in the output";
            ledger.missing(format!("{description}: {unmerged}"));
        }
    }
}
