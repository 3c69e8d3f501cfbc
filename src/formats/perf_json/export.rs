//! Writes samples in time order, with the state of their threads.

use super::headers::headers;
use super::objects::Objects;
use super::text::{field, key, number, recorded_field};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::frame_lookup::{FrameRenderer, NamedFrame};
use crate::formats::framework::named_frames::FrameKey;
use crate::formats::framework::sample_writer;
use crate::formats::framework::sample_writer::{
    Chain, ChainFrame, SampleFormat, SampleState, SampleText, WrittenSample,
};
use crate::formats::json::append_hex;
use crate::profile::intern::stacks::FrameId;
use crate::profile::symbolize::function_name::with_version;
use crate::profile::symbolize::symbols::Symbols;
use perf_data::abi;
use perf_data::abi::attr::AttrType;
use perf_data::abi::record::CpuMode;
use perf_data::abi::sample::{self, SampleArgs};
use perf_data::abi::sample_type::SampleType;
use perf_data::abi::serde::tokens::Unsupported;
use perf_data::error::{Error, Result};
use perf_data::session::kernel_names::ListedKernel;
use perf_data::stream::events::Event;
use perf_data::stream::meta::Meta;
use perf_data::tracepoint::field::TracepointKind;
use std::io::{self, Write};
use std::sync::Arc;

type WriteResult = std::result::Result<(), Unsupported>;

/// Samples as JSON.
struct Json {
    is_exact: bool,
    with_time: bool,
    /// Files of frames if no names are looked up; created at the first sample, when build IDs are known.
    objects: Option<Objects>,
}

/// Begins writing a recording as perf's JSON. The time when the file was written is omitted from anonymized recordings.
pub(super) fn begin<'a>(is_exact: bool, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
    let format = Json { is_exact, with_time: !options.passes.disclosure.is_anonymized(), objects: None };
    sample_writer::begin(format, true, out, options)
}

impl SampleFormat for Json {
    const SEPARATOR: &'static [u8] = b",\n";
    const END: &'static [u8] = b"\n]}\n";

    fn begin(&mut self, _state: &mut SampleState, meta: &Meta, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(b"{\"linux-perf-json-version\":1,\n\"headers\":{");
        headers(out, meta, self.with_time).map_err(failed)?;
        out.extend_from_slice(b"},\n\"samples\":[\n");
        Ok(())
    }

    fn sample(
        &mut self,
        state: &mut SampleState,
        sample: &WrittenSample<'_>,
        text: &mut SampleText,
    ) -> Result<Option<u64>> {
        let SampleText { before, behind } = text;
        // Otherwise files are written with the names; perf writes none without a name.
        if state.named.is_none() && !self.is_exact {
            self.objects.get_or_insert_with(|| Objects::new(sample.decoded.meta, true));
        }
        before.push(b'{');
        thread_fields(state, sample, before).map_err(failed)?;
        let cookie = self.stack(state, sample, before);
        behind.push(b']');
        if !self.is_exact {
            extra_fields(state, sample, behind).map_err(failed)?;
        }
        if sample.decoded.event.attr.kind == AttrType::TRACEPOINT {
            self.tracepoint(state, sample, behind).map_err(failed)?;
        }
        behind.push(b'}');
        Ok(cookie)
    }

    /// Writes a frame by its recorded address and the address to symbolize.
    fn frame(&mut self, state: &mut SampleState, frame: ChainFrame, out: &mut Vec<u8>) {
        let ChainFrame { pid, ip, at, space, .. } = frame;
        if out.last() != Some(&b'[') {
            out.push(b',');
        }
        // perf writes the file only where it finds a symbol, and looks up all addresses as they were recorded.
        let at = if self.is_exact { ip } else { at };
        let SampleState { named, session, .. } = state;
        let map = session.map_at(pid, space, ip);
        if let Some((named, map)) = named.as_mut().zip(map) {
            return named.append_stack_frame(out, FrameKey { map, ip, at, form: 0 });
        }
        named.iter_mut().for_each(|named| named.count_outside(space));
        append_ip(out, ip);
        if let Some((id, objects)) = map.zip(self.objects.as_mut()) {
            out.extend_from_slice(objects.file_fields(id, session.map(id)));
        }
        out.push(b'}');
    }

    fn renderer(&self, _: &Arc<ListedKernel>, meta: &Meta) -> Box<dyn FrameRenderer> {
        Box::new(JsonFrames { is_exact: self.is_exact, objects: Objects::new(meta, !self.is_exact), texts: Vec::new() })
    }
}

/// Writes frames whose functions have been looked up.
struct JsonFrames {
    is_exact: bool,
    objects: Objects,
    /// Scratch buffer: the texts before and after the name.
    texts: Vec<u8>,
}

impl FrameRenderer for JsonFrames {
    fn render(&mut self, out: &mut Vec<u8>, frame: NamedFrame<'_>) {
        let Self { is_exact, objects, texts } = self;
        let NamedFrame { key, map, id, symbols } = frame;
        texts.clear();
        append_ip(texts, key.ip);
        let before = texts.len();
        texts.extend_from_slice(objects.file_fields(key.map, map));
        texts.push(b'}');
        let frame = TextFrame { id, before: &texts[..before], after: &texts[before..] };
        if *is_exact { exact_frame(out, frame, symbols) } else { named_frame(out, frame, symbols) }
    }
}

/// A frame, and the texts around its names.
struct TextFrame<'a> {
    id: FrameId,
    before: &'a [u8],
    after: &'a [u8],
}

impl Json {
    /// Writes the call chain without context markers, or else the instruction pointer, up to where further frames can
    /// follow. Returns the cookie of deferred user frames, if any.
    fn stack(&mut self, state: &mut SampleState, sample: &WrittenSample<'_>, out: &mut Vec<u8>) -> Option<u64> {
        let (pid, space, ip) = (sample.pid(), sample.space(), sample.decoded.view.ip);
        key(out, "callchain");
        out.push(b'[');
        if let Some(chain) = sample.chain() {
            return self.chain(state, Chain { ip: ip.filter(|_| !self.is_exact), ..chain }, out);
        }
        let ip = ip.unwrap_or(0);
        self.frame(state, ChainFrame { event: sample.decoded.index, pid, ip, at: ip, space }, out);
        None
    }

    /// Writes the fields of the tracepoint.
    fn tracepoint(&self, state: &mut SampleState, sample: &WrittenSample<'_>, out: &mut Vec<u8>) -> WriteResult {
        let (meta, event, view) = (sample.decoded.meta, sample.decoded.event, sample.decoded.view);
        let (Some(tracepoint), Some(payload)) = (state.tracepoint(meta, event), view.raw) else { return Ok(()) };
        // Keys of the sample: a tracepoint field of the same name gets a prefix, since an object must not have a key twice.
        const SAMPLE_FIELDS: [&str; 13] = [
            "timestamp",
            "pid",
            "tid",
            "cpu",
            "comm",
            "callchain",
            "event",
            "cpumode",
            "period",
            "addr",
            "weight",
            "data_src",
            "branch_stack",
        ];
        for (field, value) in tracepoint.values(payload) {
            if self.is_exact && field.kind == TracepointKind::EventHeader {
                continue;
            }
            if !self.is_exact && SAMPLE_FIELDS.contains(&&*field.name) {
                recorded_field(out, &format!("_{}", field.name), &format_args!("{value}"))?;
            } else {
                recorded_field(out, &field.name, &format_args!("{value}"))?;
            }
        }
        Ok(())
    }
}

/// Begins a frame with its address.
fn append_ip(out: &mut Vec<u8>, ip: u64) {
    out.extend_from_slice(b"{\"ip\":\"");
    append_hex(out, ip);
    out.push(b'"');
}

/// Writes time, IDs and comm. As in perf, unknown values are -1.
fn thread_fields(state: &SampleState, sample: &WrittenSample<'_>, out: &mut Vec<u8>) -> WriteResult {
    let has_cpu = |event: &Event| event.attr.sample_type.contains(SampleType::CPU);
    let (meta, view) = (sample.decoded.meta, sample.decoded.view);
    number(out, "timestamp", view.time.unwrap_or(u64::MAX) as i64);
    number(out, "pid", (sample.pid() as i32).into());
    number(out, "tid", (sample.tid() as i32).into());
    // If one event records it, perf writes it for all.
    let cpu = view.cpu.map(|(cpu, _)| cpu).or_else(|| meta.events.list().iter().any(has_cpu).then_some(u32::MAX));
    if let Some(cpu) = cpu {
        number(out, "cpu", (cpu as i32).into());
    }
    field(out, "comm", &state.comm(sample.tid()))
}

/// Writes the fields that perf omits, for the event that the sample counts for.
fn extra_fields(state: &mut SampleState, sample: &WrittenSample<'_>, out: &mut Vec<u8>) -> WriteResult {
    let (raw, event) = (sample.decoded.raw, sample.decoded.event);
    field(out, "event", &state.event_names(sample.decoded.meta)[sample.event as usize])?;
    let mode = sample.decoded.cpu_mode();
    if mode != CpuMode::UNKNOWN {
        field(out, "cpumode", &mode)?;
    }
    if let Some(period) = sample.period {
        field(out, "period", &period)?;
    }
    let has = |fields| event.layout.sample_type().intersects(fields);
    let extra = SampleType::ADDR | SampleType::WEIGHT | SampleType::WEIGHT_STRUCT | SampleType::DATA_SRC;
    if !has(extra | SampleType::BRANCH_STACK) {
        return Ok(());
    }
    let args = SampleArgs::new(raw.body(), &event.layout, raw.endian());
    let Ok((decoded, _)) = abi::parse::<sample::Sample>(raw.body(), raw.endian(), args) else { return Ok(()) };
    if let Some(addr) = decoded.addr {
        field(out, "addr", &format_args!("{addr:#x}"))?;
    }
    if let Some(weight) = &decoded.weight {
        field(out, "weight", weight)?;
    }
    if let Some(data_src) = &decoded.data_src {
        field(out, "data_src", data_src)?;
    }
    if let Some(stack) = &decoded.branch_stack {
        field(out, "branch_stack", stack)?;
    }
    Ok(())
}

/// Writes a frame as perf does: with its outermost function and the file, if there is a function.
fn exact_frame(out: &mut Vec<u8>, frame: TextFrame<'_>, symbols: &Symbols) {
    out.extend_from_slice(frame.before);
    let function = symbols.lines(frame.id).last().and_then(|line| symbols.function(line.function));
    match function.map(|function| with_version(function, symbols)) {
        Some(name) if !name.is_empty() => {
            // Serializing strings cannot fail.
            let _ = field(out, "symbol", &String::from_utf8_lossy(name));
            out.extend_from_slice(frame.after);
        }
        _ => out.push(b'}'),
    }
}

/// Writes a frame for each function at its address, innermost first.
fn named_frame(out: &mut Vec<u8>, frame: TextFrame<'_>, symbols: &Symbols) {
    let lines = symbols.lines(frame.id);
    if lines.is_empty() {
        out.extend_from_slice(frame.before);
        out.extend_from_slice(frame.after);
    }
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(frame.before);
        if let Some(function) = symbols.function(line.function) {
            for (key, name) in [("symbol", function.name), ("file", function.file)] {
                let name = symbols.name(name);
                if !name.is_empty() {
                    // Serializing strings cannot fail.
                    let _ = field(out, key, &String::from_utf8_lossy(name));
                }
            }
        }
        if line.line > 0 {
            number(out, "line", line.line);
        }
        if index + 1 < lines.len() {
            let _ = field(out, "inlined", &true);
        }
        out.extend_from_slice(frame.after);
    }
}

fn failed(error: Unsupported) -> Error {
    Error::Output(io::Error::other(error))
}
