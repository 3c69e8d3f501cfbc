//! Prints records as text.

use super::{hex, text};
use crate::profile::event::ProfileEvent;
use perf_data::abi;
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::abi::record::auxtrace_info::{AuxtraceInfo, AuxtraceType};
use perf_data::abi::record::named_misc::NamedMisc;
use perf_data::abi::record::{Body, Misc, Record, RecordType};
use perf_data::abi::sample::id::SampleId;
use perf_data::abi::serde::tokens::Unsupported;
use perf_data::container::block::{Block, Origin};
use perf_data::container::read::Container;
use perf_data::error::{Error, Result};
use perf_data::ibs::{IbsSample, IbsUnits};
use perf_data::printable;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::{Gap, Raw};
use perf_data::trace::bts::{BtsRecord, bts_records};
use perf_data::trace::spe::packet::SpePackets;
use serde::Serialize;
use serde_bytes::Bytes;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

/// Which records to print, and how much of them.
#[derive(Clone, Debug, Default)]
pub struct DumpOptions {
    /// Whether to print their bytes too.
    pub raw: bool,
    /// Types to print; all if empty.
    pub types: Vec<RecordType>,
    /// Number of records to print.
    pub head: Option<u64>,
    /// Number of the file in a directory; all files if `None`.
    pub file: Option<u32>,
    /// Offset in the file: printing starts with the record that contains it.
    pub offset: u64,
}

/// Prints records as text in the order in which they arrive.
pub struct Dumper<W> {
    out: W,
    options: DumpOptions,
    /// Names of the events, escaped.
    names: Vec<String>,
    shown: u64,
    /// The source of the next hardware trace.
    trace_source: AuxtraceType,
    ibs_units: IbsUnits,
    /// Text of the current record; the buffer is reused.
    text: String,
}

/// What follows the fields of a record.
#[derive(Serialize)]
struct AfterFields<'a> {
    tail: Option<&'a Bytes>,
    sample_id: Option<SampleId>,
    payload: Option<&'a Bytes>,
}

/// A feature in a record.
#[derive(Serialize)]
struct DecodedFeature {
    feature: FeatureId,
    content: Feature,
}

/// Fields of a record without a definition.
#[derive(Serialize)]
struct Opaque<'a> {
    raw: &'a Bytes,
}

impl<W: Write> Dumper<W> {
    /// Creates a dumper that writes to `out`.
    pub fn new(out: W, options: DumpOptions) -> Self {
        Self {
            out,
            options,
            names: Vec::new(),
            shown: 0,
            trace_source: AuxtraceType::UNKNOWN,
            ibs_units: IbsUnits::default(),
            text: String::new(),
        }
    }

    /// Number of printed records.
    pub fn shown(&self) -> u64 {
        self.shown
    }

    fn is_wanted(&self, raw: &Raw<'_>) -> bool {
        let end = raw.block().offset(raw.at() + raw.header().len() + raw.payload_len());
        let is_wanted_type = self.options.types.is_empty() || self.options.types.contains(&raw.header().kind);
        let is_after = end > self.options.offset || raw.offset() >= self.options.offset;
        is_wanted_type && is_after && self.is_wanted_file(raw.block()) && !self.is_done()
    }

    fn is_wanted_file(&self, block: &Block) -> bool {
        self.options.file.is_none_or(|file| file == block.source)
    }

    /// Appends an offset: `0x1f8`, in a directory `data.1:0x1f8`; with `+` if it is in the compressed frame there.
    fn append_offset(&mut self, meta: &Meta, block: &Block, at: usize) {
        if meta.container == Container::Directory {
            let name = Path::new(&meta.files[block.source as usize]).file_name().unwrap_or_default();
            let _ = write!(self.text, "{}:", name.to_string_lossy());
        }
        let plus = if block.origin == Origin::File { "" } else { "+" };
        let _ = write!(self.text, "{:#x}{plus}", block.offset(at));
    }

    /// Appends the line for the header.
    fn append_header(&mut self, meta: &Meta, raw: &Raw<'_>) -> std::result::Result<(), Unsupported> {
        let kind = raw.header().kind;
        self.append_offset(meta, raw.block(), raw.at());
        let _ = write!(self.text, " {kind} size={}", raw.header().len());
        // In the headers of simpleperf's own records, `misc` contains a part of the size.
        let misc =
            if raw.header().len() > u16::MAX.into() || kind.0 >= 32768 { Misc::empty() } else { raw.header().misc };
        let mode = misc.cpu_mode();
        if mode.0 != 0 {
            let _ = write!(self.text, " cpumode={mode}");
        }
        // The lowest 3 bits are the CPU mode, which is printed above.
        let misc = Misc::from_bits_retain(misc.bits() & !7);
        if misc.bits() != 0 {
            self.text.push_str(" misc=");
            text::append_inline(&mut self.text, &NamedMisc { kind, misc })?;
        }
        if kind == RecordType::SAMPLE {
            match meta.events.find(raw) {
                Some((index, _)) => {
                    // Events of a pipe arrive among the records, so names are added when they are needed.
                    let list = meta.events.list();
                    let new = list[self.names.len().min(list.len())..].iter();
                    let name = |event| printable::escape(&ProfileEvent::from(event).name).into_owned();
                    self.names.extend(new.map(name));
                    let _ = write!(self.text, " event={}", self.names[index as usize]);
                }
                None => self.text.push_str(" event=?"),
            }
        }
        self.text.push('\n');
        Ok(())
    }

    fn append_fields(&mut self, meta: &Meta, raw: &Raw<'_>) -> std::result::Result<(), Unsupported> {
        let Some(record) = Record::read(raw.bytes(), &meta.context(raw)) else { return Ok(()) };
        let (out, all) = (&mut self.text, self.options.raw);
        match (&record.body, decoded_feature(meta, &record.body)) {
            (_, Some(feature)) => text::append(out, &feature, all)?,
            (Body::Opaque(bytes), _) => text::append(out, &Opaque { raw: Bytes::new(bytes) }, all)?,
            (body, None) => text::append(out, body, all)?,
        }
        let some = |bytes| Some(Bytes::new(bytes)).filter(|bytes| !bytes.is_empty());
        // The bytes of the record include the payload in full.
        let rest = AfterFields { tail: some(&record.tail), sample_id: record.id, payload: some(raw.payload()) };
        text::append(out, &rest, false)
    }

    /// Appends the registers in a sample of AMD IBS.
    fn append_ibs(&mut self, meta: &Meta, raw: &Raw<'_>) {
        let Some((index, event)) = meta.events.find(raw) else { return };
        let Some(unit) = self.ibs_units.unit(meta, index) else { return };
        let Ok(view) = event.sample(raw) else { return };
        let Some(sample) = view.raw.and_then(|raw| IbsSample::decode(unit, raw)) else { return };
        let _ = writeln!(self.text, "  ibs: capabilities {:#x}", sample.capabilities);
        for (register, word) in sample.registers() {
            let _ = write!(self.text, "    {} {word:#x}", register.name);
            for (name, value) in register.fields {
                let _ = write!(self.text, " {name}={}", value(word));
            }
            self.text.push('\n');
        }
    }

    /// Prints the packets or records of a hardware trace, each with its offset in the trace.
    fn write_packets(&mut self, raw: &Raw<'_>) -> Result<()> {
        match self.trace_source {
            _ if raw.payload_len() == 0 => Ok(()),
            AuxtraceType::ARM_SPE => self.write_spe_packets(raw),
            AuxtraceType::INTEL_BTS => self.write_branches(raw),
            _ => Ok(()),
        }
    }

    fn write_branches(&mut self, raw: &Raw<'_>) -> Result<()> {
        self.text.push_str("  branches:\n");
        let (records, rest) = bts_records(raw.payload());
        for (index, record) in records.enumerate() {
            let _ = writeln!(self.text, "    {:#x} {record}", index * BtsRecord::SIZE);
            self.flush_trace()?;
        }
        if rest > 0 {
            let _ = writeln!(self.text, "    {:#x} BAD record is truncated", raw.payload_len() - rest);
        }
        Ok(())
    }

    fn write_spe_packets(&mut self, raw: &Raw<'_>) -> Result<()> {
        self.text.push_str("  packets:\n");
        let mut packets = SpePackets::new(raw.payload());
        let mut at = 0;
        while let Some(packet) = packets.next() {
            let _ = match packet {
                Ok(packet) => writeln!(self.text, "    {at:#x} {packet}"),
                Err(error) => writeln!(self.text, "    {at:#x} BAD {error}"),
            };
            at = packets.offset();
            self.flush_trace()?;
        }
        Ok(())
    }

    /// Writes the current text if it is long: traces have megabytes.
    fn flush_trace(&mut self) -> Result<()> {
        if self.text.len() >= hex::CHUNK {
            self.out.write_all(self.text.as_bytes()).map_err(Error::Output)?;
            self.text.clear();
        }
        Ok(())
    }

    /// Writes the current text, followed by these bytes if they were requested.
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.shown += 1;
        self.out.write_all(self.text.as_bytes()).map_err(Error::Output)?;
        let shown = if self.options.raw { bytes } else { &[] };
        for (at, bytes) in shown.chunks(hex::CHUNK).enumerate() {
            self.text.clear();
            hex::append(&mut self.text, at * hex::CHUNK, bytes);
            self.out.write_all(self.text.as_bytes()).map_err(Error::Output)?;
        }
        Ok(())
    }
}

/// The feature in a record, decoded, if it contains one.
fn decoded_feature(meta: &Meta, body: &Body) -> Option<DecodedFeature> {
    let Body::HeaderFeature(record) = body else { return None };
    let id = record.id().filter(|_| !record.data.is_empty())?;
    let context = meta.feature_context();
    match Feature::read(id, &record.data, meta.endian, &context) {
        (Feature::Opaque(_), _) => None,
        (content, _) => Some(DecodedFeature { feature: id, content }),
    }
}

fn failed(error: Unsupported) -> Error {
    Error::Output(io::Error::other(error))
}

impl<W: Write> Sink for Dumper<W> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if raw.header().kind == RecordType::AUXTRACE_INFO {
            let info = abi::parse::<AuxtraceInfo>(raw.body(), raw.endian(), ());
            self.trace_source = info.map_or(AuxtraceType::UNKNOWN, |(info, _)| info.kind);
        }
        if !self.is_wanted(raw) {
            return Ok(());
        }
        self.text.clear();
        self.append_header(meta, raw).map_err(failed)?;
        self.append_fields(meta, raw).map_err(failed)?;
        match raw.header().kind {
            RecordType::SAMPLE => self.append_ibs(meta, raw),
            RecordType::AUXTRACE => self.write_packets(raw)?,
            _ => {}
        }
        self.write(&raw.block().bytes[raw.at()..raw.at() + raw.header().len() + raw.payload_len()])
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        let is_wanted = self.options.types.is_empty() && gap.block.offset(gap.at + gap.len) > self.options.offset;
        if !is_wanted || !self.is_wanted_file(gap.block) || self.is_done() || gap.len == 0 {
            return Ok(());
        }
        let bytes = &gap.block.bytes[gap.at..gap.at + gap.len];
        self.text.clear();
        self.append_offset(meta, gap.block, gap.at);
        let _ = writeln!(self.text, " (no record) size={}", gap.len);
        text::append(&mut self.text, &Opaque { raw: Bytes::new(bytes) }, false).map_err(failed)?;
        self.write(bytes)
    }

    fn is_done(&self) -> bool {
        self.options.head.is_some_and(|head| self.shown >= head)
    }

    fn end(&mut self, _: &Meta) -> Result<()> {
        self.out.flush().map_err(Error::Output)
    }
}
