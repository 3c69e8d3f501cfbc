//! Writes samples as perf script does by default.

use super::SOURCE_LINES;
use crate::abi::attr::AttrType;
use crate::abi::sample_type::SampleType;
use crate::error::Result;
use crate::formats::converter::{ConvertOptions, Converter};
use crate::formats::named_frames::{NamedFrames, TextFrame};
use crate::formats::sample_writer::{self, ChainFrame, Sample, SampleFormat, SampleState, SampleText};
use crate::profile::symbols::{Line, Symbols};
use crate::session::map::Map;
use std::io::Write;

/// Samples as text.
struct Script {
    has_source_lines: bool,
    /// Number of known events, and the length of the longest name.
    events: (usize, usize),
}

/// Begins writing samples as text.
pub fn begin<'a>(out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
    let has_source_lines = options.values.word(&SOURCE_LINES).is_some();
    sample_writer::begin(Script { has_source_lines, events: (0, 0) }, true, out, options)
}

impl SampleFormat for Script {
    fn sample(&mut self, state: &mut SampleState, sample: &Sample<'_>, text: &mut SampleText) -> Result<Option<u64>> {
        let out = &mut text.before;
        text.behind.push(b'\n');
        self.head(state, sample, out);
        let (event, view) = (sample.decoded.event, sample.decoded.view);
        let is_tracepoint = event.attr.kind == AttrType::TRACEPOINT;
        if is_tracepoint {
            tracepoint(state, sample, out);
        }
        match sample.chain() {
            Some(chain) => {
                out.push(b'\n');
                return Ok(self.chain(state, chain, out));
            }
            None if event.layout.sample_type().contains(SampleType::IP) && !is_tracepoint => {
                let ip = view.ip.unwrap_or(0);
                out.push(b' ');
                frame(state, ChainFrame { pid: sample.pid(), ip, at: ip, space: sample.space() }, out);
            }
            None => {}
        }
        Ok(None)
    }

    fn frame(&mut self, state: &mut SampleState, chain_frame: ChainFrame, out: &mut Vec<u8>) {
        out.push(b'\t');
        frame(state, chain_frame, out);
        out.push(b'\n');
    }

    fn named_frame(&self, out: &mut Vec<u8>, frame: TextFrame<'_>, symbols: &Symbols) {
        named_frame(out, frame, symbols, self.has_source_lines);
    }
}

impl Script {
    /// Thread, CPU, time, period and event.
    fn head(&mut self, state: &mut SampleState, sample: &Sample<'_>, text: &mut Vec<u8>) {
        let names = state.event_names(sample.decoded.meta);
        if self.events.0 < names.len() {
            self.events = (names.len(), names.iter().map(String::len).max().unwrap_or(0));
        }
        let (event, view, tid) = (sample.decoded.event, sample.decoded.view, sample.tid());
        let comm = state.comm(tid);
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
        if let Some(period) = sample.period.filter(|_| !is_tracepoint) {
            let _ = write!(text, "{period:10} ");
        }
        let width = self.events.1;
        let _ = write!(text, "{:>width$}: ", state.event_names(sample.decoded.meta)[sample.event as usize]);
    }
}

/// Fields of a tracepoint, by name.
fn tracepoint(state: &mut SampleState, sample: &Sample<'_>, text: &mut Vec<u8>) {
    let (meta, event, view) = (sample.decoded.meta, sample.decoded.event, sample.decoded.view);
    let (Some(tracepoint), Some(payload)) = (state.tracepoint(meta, event), view.raw) else { return };
    for (found, value) in tracepoint.values(payload).filter(|(found, _)| !found.name.starts_with("common_")) {
        if text.last() != Some(&b' ') {
            text.push(b' ');
        }
        let _ = write!(text, "{}={value}", found.name);
    }
}

/// A frame: address, function and file.
fn frame(state: &mut SampleState, frame: ChainFrame, text: &mut Vec<u8>) {
    let SampleState { named, session, .. } = state;
    let ChainFrame { pid, ip, at, space } = frame;
    let Some(id) = session.map_at(pid, space, ip) else {
        let _ = write!(text, "{ip:16x} [unknown] ([unknown])");
        return;
    };
    let map = session.map(id);
    let Some(named) = named else {
        let _ = write!(text, "{:16x} [unknown] ({})", map.printed_address(ip), file(map));
        return;
    };
    let mut before = vec![(ip - at) as u8];
    let _ = write!(before, "{:16x} ", map.printed_address(ip));
    named.begin_frame(text, &before, id, map, at);
    let _ = write!(text, "({})", file(map));
    NamedFrames::end_frame(text);
}

/// The file of a mapping.
fn file(map: &Map) -> String {
    String::from_utf8_lossy(&map.printed_file()).into_owned()
}

/// Writes a frame, on one line for each function at its address, innermost first.
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

/// File and line, on a separate line.
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
