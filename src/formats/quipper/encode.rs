//! Writing a stream of records as messages, each as it comes.

use super::attr::describe_event;
use super::build_ids::ToldBuildIds;
use super::chunks::{Pieces, raw};
use super::proto::PerfDataProto;
use super::proto::perf_data_proto::{EventHeader, File, Layout, PerfEvent, Record, SampleEvent, Splice};
use super::state::{events_of_file, take_event};
use super::stats::Stats;
use super::text_format::ToText;
use super::{Fidelity, describe, features, remake, sample};
use crate::abi::Endian;
use crate::abi::record::{self, RecordHeader, RecordType};
use crate::abi::sample_view::{SampleLayout, SampleView};
use crate::container::block::Origin;
use crate::container::read::Container;
use crate::container::read::file::FileAttr;
use crate::container::spool::Spool;
use crate::error::{Error, Result};
use crate::formats::carry::{Carry, CarryOptions};
use crate::stream::Sink;
use crate::stream::events::Events;
use crate::stream::ledger::Ledger;
use crate::stream::meta::{Meta, is_header};
use crate::stream::raw::{Gap, Raw};
use bytes::Bytes;
use hashbrown::HashSet;
use md5::{Digest, Md5};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, message};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Numbers of the fields of PerfDataProto that repeat without bound.
pub mod field {
    pub const EVENTS: u32 = 2;
    pub const RECORDS: u32 = 1001;
}

/// Begins a PerfDataProto.
pub fn begin<'a>(out: &'a mut dyn Write, options: &CarryOptions) -> Box<dyn Carry + 'a> {
    Box::new(Encoder::new(out, options))
}

/// Begins one in its text form.
pub fn begin_text<'a>(out: &'a mut dyn Write, options: &CarryOptions) -> Box<dyn Carry + 'a> {
    Box::new(Encoder::new(ToText::new(out), options))
}

/// Writes records as they come, and then what is known at the end.
struct Encoder<W> {
    out: W,
    spool_dir: Option<PathBuf>,
    is_lossless: bool,
    /// Whether the records are not those of the file, so that what stands around them has to be made anew.
    is_rewritten: bool,
    /// Records of a pipe, which wait for the events that are told among them.
    waiting: Option<BufWriter<Spool>>,
    /// Records that have no place among others.
    records: Option<BufWriter<Spool>>,
    /// What is known of the events by the records so far.
    events: Events,
    /// Which of them have samples.
    has_samples: Vec<bool>,
    /// The message at hand.
    event: PerfEvent,
    /// The part of it that samples need, while others do not.
    spare: Box<SampleEvent>,
    encoded: Vec<u8>,
    buffer: Vec<u8>,
    made: Vec<u8>,
    stats: Stats,
    build_ids: ToldBuildIds,
    /// How many records and gaps there were.
    items: u64,
    frame: Option<Frame>,
    /// Records that tell about the recording, and their places.
    headers: Vec<(u64, Bytes)>,
    files: Vec<File>,
    source: u32,
    /// Bytes of the records of the main file.
    data_size: u64,
    /// How many records of each type are in the output, and how many have no place in it.
    counts: BTreeMap<RecordType, (u64, u64)>,
}

/// Bytes that stand for the records that follow.
struct Frame {
    at: u64,
    bytes: Bytes,
    sum: Md5,
    /// Records inside that have no place among others.
    records: Vec<u8>,
}

impl<W: Write> Encoder<W> {
    fn new(out: W, options: &CarryOptions) -> Self {
        Self {
            out,
            spool_dir: options.spool_dir.clone(),
            is_lossless: options.quipper == Fidelity::Lossless,
            is_rewritten: options.passes.any(),
            waiting: None,
            records: None,
            events: Events::default(),
            has_samples: Vec::new(),
            event: PerfEvent::default(),
            spare: Box::default(),
            encoded: Vec::new(),
            buffer: Vec::new(),
            made: Vec::new(),
            stats: Stats::new(options.passes.remap),
            build_ids: ToldBuildIds::default(),
            items: 0,
            frame: None,
            headers: Vec::new(),
            files: Vec::new(),
            source: 0,
            data_size: 0,
            counts: BTreeMap::new(),
        }
    }

    /// Writes the message at hand.
    fn write_event(&mut self) -> Result<()> {
        // Encoded first, it need not be measured first.
        self.encoded.clear();
        self.event.encode_raw(&mut self.encoded);
        self.buffer.clear();
        encode_key(field::EVENTS, WireType::LengthDelimited, &mut self.buffer);
        encode_varint(self.encoded.len() as u64, &mut self.buffer);
        self.buffer.extend_from_slice(&self.encoded);
        let out: &mut dyn Write = match &mut self.waiting {
            Some(waiting) => waiting,
            None => &mut self.out,
        };
        out.write_all(&self.buffer).map_err(Error::Output)
    }

    /// Writes the events of the recording.
    fn write_events(&mut self, meta: &Meta, events: &[FileAttr]) -> Result<()> {
        let listed = meta.events.list().iter().zip(&self.has_samples).filter(|(_, has_samples)| **has_samples);
        let sampled: HashSet<_> = listed.map(|(event, _)| (&event.attr, &event.ids)).collect();
        let describe = |event: &FileAttr| {
            let has_samples = sampled.contains(&(&event.attr, &event.ids));
            describe_event(event, has_samples, self.is_lossless, meta.endian)
        };
        let message = PerfDataProto { file_attrs: events.iter().map(describe).collect(), ..PerfDataProto::default() };
        self.out.write_all(&message.encode_to_vec()).map_err(Error::Output)
    }

    /// Tells a record by the message at hand; `None` where the schema has no place for it.
    fn describe(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<()> {
        let mut size = raw.header.size;
        let mut is_made = false;
        let header = |size: u16| {
            let misc = raw.header.misc.bits().into();
            Some(EventHeader { r#type: Some(raw.header.kind.0), misc: Some(misc), size: Some(size.into()) })
        };
        if raw.header.kind == RecordType::SAMPLE {
            let (index, owner) = meta.events.of(raw)?;
            let view = SampleView::read(raw.body(), &owner.layout, raw.endian).ok()?;
            if self.has_samples.len() <= index as usize {
                self.has_samples.resize(index as usize + 1, false);
            }
            self.has_samples[index as usize] = true;
            let mut fields = match self.event.sample_event.take() {
                Some(fields) => fields,
                None => std::mem::take(&mut self.spare),
            };
            sample::describe(&view, &owner.layout, raw.endian, &mut fields);
            let timestamp = Some(view.time.unwrap_or(0));
            self.event =
                PerfEvent { header: header(size), sample_event: Some(fields), timestamp, ..PerfEvent::default() };
            if !is_modelled(&owner.layout) {
                // What is left of the record is shorter.
                remake::body(&self.event, &self.events, raw.endian, &mut self.made)?;
                size = (RecordHeader::SIZE + self.made.len()) as u16;
                self.event.header = header(size);
                is_made = true;
            }
        } else {
            let context = meta.context(raw);
            let record = record::Record::read(raw.bytes(), &context)?;
            let event = describe::describe(&record, raw.payload(), &context)?;
            if let Some(fields) = self.event.sample_event.take() {
                self.spare = fields;
            }
            self.event = PerfEvent { header: header(size), ..event };
        }
        if self.is_lossless {
            if !is_made {
                remake::body(&self.event, &self.events, raw.endian, &mut self.made)?;
            }
            self.event.splice = Splice::between(&self.made, raw.body());
        }
        Some(())
    }

    /// Keeps a record for which there is no place among others.
    fn set_aside(&mut self, record: &Record) -> Result<()> {
        if !self.is_lossless {
            return Ok(());
        }
        if let Some(frame) = &mut self.frame {
            message::encode(field::RECORDS, record, &mut frame.records);
            return Ok(());
        }
        self.buffer.clear();
        message::encode(field::RECORDS, record, &mut self.buffer);
        let records = match &mut self.records {
            Some(records) => records,
            None => self.records.insert(spool(self.spool_dir.as_deref())?),
        };
        records.write_all(&self.buffer).map_err(Error::Output)
    }

    /// Begins a run of records that are in the file as these bytes.
    fn begin_frame(&mut self, bytes: Bytes) {
        self.frame = Some(Frame { at: self.items, bytes, sum: Md5::new(), records: Vec::new() });
        self.items += 1;
    }

    fn end_frame(&mut self) -> Result<()> {
        let Some(frame) = self.frame.take() else { return Ok(()) };
        let inside = self.items - frame.at - 1;
        let sum: [u8; 16] = frame.sum.finalize().into();
        let record = Record {
            at: Some(frame.at),
            chunks: raw(&frame.bytes).into_iter().collect(),
            inside: (inside > 0).then_some(inside),
            inside_md5_prefix: sum.first_chunk().filter(|_| inside > 0).map(|sum| u64::from_be_bytes(*sum)),
        };
        self.set_aside(&record)?;
        match &mut self.records {
            Some(records) => records.write_all(&frame.records).map_err(Error::Output),
            None => Ok(()),
        }
    }

    /// Takes note of bytes of a file.
    fn file_bytes(&mut self, meta: &Meta, source: u32, len: usize) -> Result<()> {
        self.end_frame()?;
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

    /// What the schema has behind the records.
    fn message(&mut self, meta: &Meta) -> PerfDataProto {
        let mut message =
            PerfDataProto { timestamp_sec: Some(0), stats: Some(self.stats.finish()), ..PerfDataProto::default() };
        features::describe(meta, &mut message);
        message.build_ids.extend(self.build_ids.in_file_order());
        message
    }

    /// Where the rest of the recording is.
    fn layout(&mut self, meta: &Meta, pieces: &Pieces) -> Layout {
        if self.is_rewritten && meta.container != Container::Pipe {
            return Layout { is_big_endian: (meta.endian == Endian::Big).then_some(true), ..Layout::default() };
        }
        let (before, behind) = pieces.layout(&meta.image.before, &meta.image.behind, self.data_size);
        // Files without records are there too.
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

fn is_modelled(layout: &SampleLayout) -> bool {
    let modelled = sample::modelled(layout);
    (modelled.sample_type, modelled.branch_sample_type) == (layout.sample_type, layout.branch_sample_type)
}

fn spool(dir: Option<&Path>) -> Result<BufWriter<Spool>> {
    Ok(BufWriter::with_capacity(
        1 << 17,
        Spool::new(dir).map_err(Error::io("the records", "cannot keep in a temporary file"))?,
    ))
}

impl<W: Write> Sink for Encoder<W> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        if meta.container == Container::Pipe {
            self.waiting = Some(spool(self.spool_dir.as_deref())?);
            return Ok(());
        }
        let events = features::events(meta);
        self.events = events_of_file(&events);
        if events.iter().any(|event| !is_modelled(&SampleLayout::from(&event.attr))) {
            // Whether there are samples of it must be known first.
            self.waiting = Some(spool(self.spool_dir.as_deref())?);
            return Ok(());
        }
        self.write_events(meta, &events)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let len = raw.header.len() + raw.payload;
        let bytes = || raw.block.bytes.slice(raw.at..raw.at + len);
        match raw.block.origin {
            Origin::File => self.file_bytes(meta, raw.block.source, len)?,
            // The bytes that it was made of are there already.
            Origin::Reframed => return Ok(()),
            Origin::Frame => {
                if let Some(frame) = &mut self.frame {
                    frame.sum.update(&raw.block.bytes[raw.at..raw.at + len]);
                }
            }
        }
        let kind = raw.header.kind;
        let counts = self.counts.entry(kind).or_default();
        if matches!(kind, RecordType::COMPRESSED | RecordType::COMPRESSED2) && raw.block.origin == Origin::File {
            counts.0 += 1;
            self.begin_frame(bytes());
            return Ok(());
        }
        if is_header(kind) {
            counts.0 += 1;
            if meta.container == Container::Pipe {
                take_event(raw.bytes(), &mut self.events, raw.endian);
                self.build_ids.take_record(meta, raw);
            }
            if self.is_lossless {
                self.headers.push((self.items, Bytes::copy_from_slice(&raw.block.bytes[raw.at..raw.at + len])));
            }
        } else if self.describe(meta, raw).is_some() {
            self.counts.entry(kind).or_default().0 += 1;
            self.stats.look(&self.event);
            self.build_ids.take_mapped(&self.event, raw);
            self.write_event()?;
        } else {
            let is_kept = self.is_lossless;
            let counts = self.counts.entry(kind).or_default();
            *if is_kept { &mut counts.0 } else { &mut counts.1 } += 1;
            let chunks = super::chunks::raw(&raw.block.bytes[raw.at..raw.at + len]).into_iter().collect();
            self.set_aside(&Record { at: Some(self.items), chunks, ..Record::default() })?;
        }
        self.items += 1;
        Ok(())
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        if gap.block.origin == Origin::File {
            self.file_bytes(meta, gap.block.source, gap.len)?;
            self.begin_frame(gap.block.bytes.slice(gap.at..gap.at + gap.len));
        }
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.end_frame()?;
        let events = features::events(meta);
        if let Some(waiting) = self.waiting.take() {
            self.write_events(meta, &events)?;
            self.copy(Some(waiting))?;
        }
        let mut message = self.message(meta);
        if !self.is_lossless {
            let written = self.out.write_all(&message.encode_to_vec()).and_then(|()| self.out.flush());
            return written.map_err(Error::Output);
        }
        let pieces = Pieces::new(&events, meta.features.clone(), meta.endian);
        let mut behind = PerfDataProto { features: pieces.differing(&message, &events), ..PerfDataProto::default() };
        let headers = std::mem::take(&mut self.headers);
        behind.headers = headers
            .into_iter()
            .map(|(at, bytes)| Record { at: Some(at), chunks: pieces.header_record(&bytes), ..Record::default() })
            .collect();
        message.layout = Some(self.layout(meta, &pieces));
        self.out.write_all(&message.encode_to_vec()).map_err(Error::Output)?;
        let records = self.records.take();
        self.copy(records)?;
        self.out.write_all(&behind.encode_to_vec()).map_err(Error::Output)?;
        self.out.flush().map_err(Error::Output)
    }
}

impl<W: Write> Carry for Encoder<W> {
    fn account(&self, ledger: &mut Ledger) {
        for (&kind, &(emitted, without_place)) in &self.counts {
            ledger.emitted(kind, emitted);
            ledger.not_applicable(kind, without_place);
        }
    }
}
