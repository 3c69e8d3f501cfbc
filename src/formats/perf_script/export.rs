//! Writer samples as perf script does by default.

use super::SOURCE_LINES;
use crate::abi;
use crate::abi::attr::AttrType;
use crate::abi::bytes::Words;
use crate::abi::feature::FeatureId;
use crate::abi::record::RecordType;
use crate::abi::sample_type::SampleType;
use crate::abi::sample_view::SampleView;
use crate::error::{Error, Result};
use crate::formats::converter::{ConvertOptions, Converter};
use crate::formats::named_frames::{NamedFrames, TextFrame};
use crate::profile::deferred::{UserFrames, Waiting};
use crate::profile::dispatch::{DecodedSample, SampleConsumer, dispatch};
use crate::profile::event::ProfileEvent;
use crate::profile::frames::walk_chain;
use crate::profile::symbols::{Line, Symbols};
use crate::profile::weights::Weights;
use crate::session::Session;
use crate::session::map::Map;
use crate::session::space::Space;
use crate::stream::Sink;
use crate::stream::events::{Event, EventIndex};
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use crate::tracepoint::tracepoints::Tracepoints;
use crate::tracepoint::value::Value;
use std::io::Write;

/// Writer samples as text.
pub struct Export<W> {
    out: W,
    named: Option<NamedFrames>,
    has_source_lines: bool,
    session: Session,
    ledger: Ledger,
    /// Read at the first sample of a tracepoint.
    tracepoints: Option<Tracepoints>,
    /// Names of events, and the length of the longest.
    events: Vec<String>,
    event_width: usize,
    weights: Weights,
    waiting: Waiting<Incomplete>,
    /// Scratch buffers: the text of the current sample, and the events that it counts for.
    text: Vec<u8>,
    found: Vec<(EventIndex, u64)>,
}

/// The text of a sample whose user frames are deferred, and its process.
struct Incomplete {
    text: Vec<u8>,
    pid: u32,
}

/// A frame to print.
#[derive(Clone, Copy)]
struct ChainFrame {
    /// Recorded address.
    ip: u64,
    /// Address whose function is printed: for a caller, in the call before the return address.
    at: u64,
    space: Space,
}

impl<W: Write> Export<W> {
    /// Creates the sink.
    pub fn new(out: W, options: &ConvertOptions) -> Self {
        let has_source_lines = options.values.word(&SOURCE_LINES).is_some();
        Self {
            out,
            named: NamedFrames::new(&options.symbols),
            has_source_lines,
            session: Session::default(),
            ledger: Ledger::default(),
            tracepoints: None,
            events: Vec::new(),
            event_width: 0,
            weights: Weights::default(),
            waiting: Waiting::default(),
            text: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Writer the text of a sample.
    fn write(&mut self, meta: &Meta, text: &[u8]) -> Result<()> {
        let has_source_lines = self.has_source_lines;
        match &mut self.named {
            Some(named) => named.add(text, (meta, &self.session), &mut self.out, |out, frame, symbols| {
                named_frame(out, frame, symbols, has_source_lines);
            }),
            None => self.out.write_all(text).map_err(Error::Output),
        }
    }

    /// Thread, CPU, time, period and event.
    fn head(&mut self, meta: &Meta, event: &Event, view: &SampleView<'_>, of: EventIndex, period: Option<u64>) {
        let known = self.events.len();
        self.events.extend(meta.events.list().iter().skip(known).map(|event| ProfileEvent::from(event).name));
        if known < self.events.len() {
            self.event_width = self.events.iter().map(String::len).max().unwrap_or(0);
        }
        let Self { text, session, events, event_width, .. } = self;
        let tid = view.task.map_or(u32::MAX, |(_, tid)| tid);
        let comm = session.thread(tid).and_then(|thread| thread.comm);
        let comm = match comm {
            Some(comm) => String::from_utf8_lossy(session.names.name(comm)).into_owned(),
            None if tid == 0 => "swapper".to_owned(),
            None => format!(":{}", tid as i32),
        };
        // Writing to a vector cannot fail.
        let _ = match view.callchain {
            Some(_) => write!(text, "{comm} "),
            None => write!(text, "{comm:>16} "),
        };
        let _ = write!(text, "{:5} ", tid as i32);
        if let Some((cpu, _)) = view.cpu {
            let _ = write!(text, "[{cpu:03}] ");
        }
        if let Some(time) = view.time {
            let _ = write!(text, "{:5}.{:06}: ", time / 1_000_000_000, time / 1000 % 1_000_000);
        }
        let is_tracepoint = event.attr.kind == AttrType::TRACEPOINT;
        if let Some(period) = period.filter(|_| !is_tracepoint) {
            let _ = write!(text, "{period:10} ");
        }
        let width = *event_width;
        let _ = write!(text, "{:>width$}: ", events[of as usize]);
    }

    /// Fields of a tracepoint, by name.
    fn tracepoint(&mut self, meta: &Meta, event: &Event, view: &SampleView<'_>) {
        let tracepoints = self.tracepoints.get_or_insert_with(|| {
            let data = meta.features.get(&FeatureId::TRACING_DATA);
            data.map(|data| Tracepoints::read(data)).unwrap_or_default()
        });
        let (Some(tracepoint), Some(payload)) = (tracepoints.get(event.attr.config), view.raw) else { return };
        for (found, value) in tracepoint.values(payload).filter(|(found, _)| !found.name.starts_with("common_")) {
            if self.text.last() != Some(&b' ') {
                self.text.push(b' ');
            }
            let _ = write!(self.text, "{}=", found.name);
            let _ = match value {
                Value::Signed(number) => write!(self.text, "{number}"),
                Value::Unsigned(number) => write!(self.text, "{number}"),
                Value::Pointer(number) => write!(self.text, "{number:#x}"),
                Value::Text(bytes) => write!(self.text, "{}", String::from_utf8_lossy(bytes)),
                Value::Numbers(numbers) => write!(self.text, "{}", abi::hex::to_hex(numbers.bytes)),
                Value::Bytes(bytes) => write!(self.text, "{}", abi::hex::to_hex(bytes)),
            };
        }
    }

    /// The frames of a call chain, one on each line. Returns the cookie of deferred user frames, if any.
    /// As in perf, callers in unwound chains have the address of their call.
    fn chain(&mut self, pid: u32, space: Space, ip: Option<u64>, chain: Words<'_>, is_unwound: bool) -> Option<u64> {
        walk_chain(ip, chain, space, |ip, at, space| {
            self.text.push(b'\t');
            let ip = if is_unwound && space == Space::User { at } else { ip };
            self.frame(pid, ChainFrame { ip, at, space });
            self.text.push(b'\n');
        })
    }

    /// A frame: address, function and file.
    fn frame(&mut self, pid: u32, frame: ChainFrame) {
        let Self { text, named, session, .. } = self;
        let ChainFrame { ip, at, space } = frame;
        let Some(id) = session.map_at(pid, space, ip) else {
            let _ = write!(text, "{ip:16x} [unknown] ([unknown])");
            return;
        };
        let map = session.map(id);
        let Some(named) = named else {
            let _ = write!(text, "{:16x} [unknown] ({})", printed(map, ip), file(map));
            return;
        };
        let mut before = vec![(ip - at) as u8];
        let _ = write!(before, "{:16x} ", printed(map, ip));
        named.begin_frame(text, &before, id, map, at);
        let _ = write!(text, "({})", file(map));
        NamedFrames::end_frame(text);
    }
}

/// The address as perf prints it: in a file, as an address of the file.
fn printed(map: &Map, ip: u64) -> u64 {
    if map.is_of_kernel() || map.pid.is_some() { ip } else { ip.wrapping_sub(map.start).wrapping_add(map.pgoff) }
}

/// The file of a mapping; for memory with code of a process, the file that could name its functions.
fn file(map: &Map) -> String {
    match map.pid {
        _ if map.is_kernel() => "[kernel.kallsyms]".to_owned(),
        Some(pid) if !map.filename.starts_with(b"[") => format!("/tmp/perf-{pid}.map"),
        _ => String::from_utf8_lossy(&map.filename).into_owned(),
    }
}

/// Writer a frame, on one line for each function at its address, innermost first.
fn named_frame(out: &mut Vec<u8>, frame: TextFrame<'_>, symbols: &Symbols, has_source_lines: bool) {
    let Some((&return_size, address)) = frame.before.split_first() else { return };
    let lines = symbols.lines(frame.id);
    let offset = symbols.symbol_offset(frame.id).map(|offset| offset + u64::from(return_size));
    for (index, line) in lines.iter().enumerate() {
        let is_inlined = index + 1 < lines.len();
        let name = symbols.function(line.function).map_or(&b""[..], |function| symbols.name(function.name));
        out.extend_from_slice(address);
        let name = if name.is_empty() { "[unknown]".into() } else { String::from_utf8_lossy(name) };
        out.extend_from_slice(name.as_bytes());
        if let Some(offset) = offset {
            let _ = write!(out, "+{offset:#x}");
        }
        if !is_inlined {
            out.push(b' ');
            out.extend_from_slice(frame.after);
        }
        if has_source_lines {
            source_line(out, line, frame, symbols);
        }
        if is_inlined {
            // The line break and the tab of the next function.
            out.extend_from_slice(b" (inlined)\n\t");
        }
    }
    if lines.is_empty() {
        out.extend_from_slice(address);
        out.extend_from_slice(b"[unknown] ");
        out.extend_from_slice(frame.after);
        if has_source_lines {
            object_address(out, frame);
        }
    }
}

/// File and line, on a line of their own.
fn source_line(out: &mut Vec<u8>, line: &Line, frame: TextFrame<'_>, symbols: &Symbols) {
    let file = symbols.function(line.function).map_or(&b""[..], |function| symbols.name(function.file));
    if file.is_empty() || line.line == 0 {
        return object_address(out, frame);
    }
    let _ = write!(out, "\n  {}:{}", String::from_utf8_lossy(file), line.line);
}

/// Name of the file and the address in it, which perf prints if the line is unknown.
fn object_address(out: &mut Vec<u8>, frame: TextFrame<'_>) {
    let file = frame.after.strip_prefix(b"(").and_then(|file| file.strip_suffix(b")")).unwrap_or(frame.after);
    let short = file.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let address = String::from_utf8_lossy(&frame.before[1..]);
    let _ = write!(out, "\n  {}[{}]", String::from_utf8_lossy(short), address.trim());
}

impl<W: Write> Converter for Export<W> {
    fn account(&self, ledger: &mut Ledger) {
        ledger.account_for_stream();
        ledger.merge(self.ledger.clone());
    }
}

impl<W: Write> SampleConsumer for Export<W> {
    fn state(&mut self) -> (&mut Session, &mut Ledger) {
        (&mut self.session, &mut self.ledger)
    }

    fn sample(&mut self, sample: DecodedSample<'_>) -> Result<()> {
        let DecodedSample { meta, raw, index, event, view } = sample;
        self.found.clear();
        self.weights.of(view, index, &meta.events, &mut self.found);
        if self.found.is_empty() {
            self.ledger.not_applicable(RecordType::SAMPLE, 1);
            return Ok(());
        }
        let pid = view.task.map_or(u32::MAX, |(pid, _)| pid);
        let space: Space = raw.header().misc.cpu_mode().into();
        let found = std::mem::take(&mut self.found);
        for &(of, added) in &found {
            self.text.clear();
            self.head(meta, event, view, of, view.period.map(|_| added));
            let is_tracepoint = event.attr.kind == AttrType::TRACEPOINT;
            if is_tracepoint {
                self.tracepoint(meta, event, view);
            }
            let mut cookie = None;
            match view.callchain {
                Some(chain) => {
                    self.text.push(b'\n');
                    cookie = self.chain(pid, space, view.ip, chain, raw.call_chain().is_some());
                }
                None if event.layout.sample_type().contains(SampleType::IP) && !is_tracepoint => {
                    let ip = view.ip.unwrap_or(0);
                    self.text.push(b' ');
                    self.frame(pid, ChainFrame { ip, at: ip, space });
                }
                None => {}
            }
            let text = std::mem::take(&mut self.text);
            match (cookie, view.task) {
                (Some(cookie), Some((pid, tid))) => self.waiting.add(tid, cookie, Incomplete { text, pid }),
                _ => {
                    self.write(meta, &text)?;
                    self.write(meta, b"\n")?;
                    self.text = text;
                }
            }
        }
        self.found = found;
        self.ledger.emitted(RecordType::SAMPLE, 1);
        Ok(())
    }

    fn user_frames(&mut self, meta: &Meta, frames: UserFrames<'_>) -> Result<()> {
        let UserFrames { cookie, tid, chain, .. } = frames;
        for sample in self.waiting.take(tid, cookie) {
            self.text = sample.text;
            self.chain(sample.pid, Space::User, None, chain, false);
            self.text.push(b'\n');
            let text = std::mem::take(&mut self.text);
            self.write(meta, &text)?;
        }
        Ok(())
    }
}

impl<W: Write> Sink for Export<W> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        dispatch(self, meta, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        // Samples whose user frames never came.
        for mut sample in self.waiting.take_all() {
            sample.text.push(b'\n');
            self.write(meta, &sample.text)?;
        }
        let has_source_lines = self.has_source_lines;
        if let Some(named) = &mut self.named {
            named.write((meta, &self.session), &mut self.out, |out, frame, symbols| {
                named_frame(out, frame, symbols, has_source_lines);
            })?;
        }
        self.out.flush().map_err(Error::Output)
    }
}
