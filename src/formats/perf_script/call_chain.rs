//! Prints the frames of a sample: addresses, functions, files and lines.

use super::fields::{DSO, DSOFF, FieldSet, SRCLINE, SYM, SYMOFF};
use super::printer::Printer;
use super::style::Style;
use crate::abi::sample_type::SampleType;
use crate::formats::named_frames::{NamedFrames, TextFrame};
use crate::formats::sample_writer::{ChainFrame, SampleState};
use crate::profile::symbols::{Line, Symbols};
use crate::session::map::{Map, MapId};
use std::io::Write;

/// Flags in the byte before the text of a frame whose function is looked up later.
mod flag {
    /// The printed address is that after the call.
    pub const RETURN: u8 = 1 << 0;
    /// Only the symbol is printed, without inlined functions.
    pub const SYMBOL: u8 = 1 << 1;
    /// The offset in the function is printed.
    pub const OFFSET: u8 = 1 << 2;
    /// File and line are printed.
    pub const LINE: u8 = 1 << 3;
}

/// The call chain on separate lines, or the instruction pointer on the line of the sample.
pub fn frames(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let (style, fields) = (printer.style, printer.fields);
    if let Some(chain) = printer.sample.chain() {
        out.push(b'\n');
        let state = &mut *printer.state;
        printer.cookie = chain.walk(|frame| chain_frame(state, frame, style, fields, out));
    } else if printer.sample.decoded.event.layout.sample_type().contains(SampleType::IP) {
        let ip = printer.sample.decoded.view.ip.unwrap_or(0);
        let (pid, space) = (printer.sample.pid(), printer.sample.space());
        out.push(b' ');
        let map = printer.state.session.map_at(pid, space, ip);
        frame(printer.state, Frame { ip, at: ip, printed: ip, map }, fields, out);
    }
}

/// Appends a frame of a call chain, on a line.
pub fn chain_frame(
    state: &mut SampleState,
    chain_frame: ChainFrame,
    style: Style,
    fields: FieldSet,
    out: &mut Vec<u8>,
) {
    let ChainFrame { pid, ip, at, space, .. } = chain_frame;
    let map = state.session.map_at(pid, space, ip);
    let printed = match map {
        Some(map) if !style.has_memory_addresses() => state.session.map(map).printed_address(ip),
        _ => ip,
    };
    out.push(b'\t');
    frame(state, Frame { ip, at, printed, map }, fields, out);
    out.push(b'\n');
}

/// A frame to print.
struct Frame {
    /// The recorded address.
    ip: u64,
    /// Address whose function is printed.
    at: u64,
    /// The printed address.
    printed: u64,
    /// Mapping of the address.
    map: Option<MapId>,
}

fn frame(state: &mut SampleState, frame: Frame, fields: FieldSet, out: &mut Vec<u8>) {
    let Frame { ip, at, printed, map } = frame;
    // Writing to a vector cannot fail.
    let mut address = Vec::new();
    let _ = write!(address, "{printed:16x}");
    let SampleState { named, session, .. } = state;
    let after = file_part(map.map(|id| session.map(id)), ip, fields);
    let Some((named, id)) = named.as_mut().zip(map).filter(|_| fields.has(SYM | SRCLINE)) else {
        out.append(&mut address);
        if fields.has(SYM) {
            out.extend_from_slice(b" [unknown]");
        }
        out.extend_from_slice(&after);
        return;
    };
    if fields.has(SYM) {
        address.push(b' ');
    }
    let mut before = vec![flags(fields) | if ip == at { 0 } else { flag::RETURN }];
    before.append(&mut address);
    named.begin_frame(out, &before, id, session.map(id), at);
    out.extend_from_slice(&after);
    NamedFrames::end_frame(out);
}

fn flags(fields: FieldSet) -> u8 {
    let set = |field, flag| if fields.has(field) { flag } else { 0 };
    set(SYMOFF, flag::OFFSET) | set(SRCLINE, flag::LINE)
}

/// The file of a frame with a leading space, if it is printed.
fn file_part(map: Option<&Map>, ip: u64, fields: FieldSet) -> Vec<u8> {
    if !fields.has(DSO | DSOFF) {
        return Vec::new();
    }
    match map {
        Some(map) if fields.has(DSOFF) => format!(" ({}+{:#x})", file(map), map.printed_address(ip)),
        Some(map) => format!(" ({})", file(map)),
        None => " ([unknown])".to_owned(),
    }
    .into_bytes()
}

/// The file of a mapping.
pub fn file(map: &Map) -> String {
    String::from_utf8_lossy(&map.printed_file()).into_owned()
}

/// Symbol and file of a data address, after `before`.
pub fn symbol(printer: &mut Printer<'_>, address: u64, before: &[u8], out: &mut Vec<u8>) {
    let (pid, space) = (printer.sample.pid(), printer.sample.space());
    let map = printer.state.session.map_at(pid, space, address);
    if printer.fields.has(SYM) {
        symbol_at(printer, address, map, before, out);
    }
    out.extend_from_slice(&file_part(map.map(|id| printer.state.session.map(id)), address, printer.fields));
}

/// The symbol of an address, after `before`.
pub fn symbol_at(printer: &mut Printer<'_>, address: u64, map: Option<MapId>, before: &[u8], out: &mut Vec<u8>) {
    let SampleState { named, session, .. } = &mut *printer.state;
    let Some((named, id)) = named.as_mut().zip(map) else {
        out.extend_from_slice(before);
        out.extend_from_slice(b"[unknown]");
        return;
    };
    let before = [&[(flags(printer.fields) & flag::OFFSET) | flag::SYMBOL], before].concat();
    named.begin_frame(out, &before, id, session.map(id), address);
    NamedFrames::end_frame(out);
}

/// Writes a frame whose function is known now, on one line for each function at its address, innermost first.
pub fn named_frame(out: &mut Vec<u8>, frame: TextFrame<'_>, symbols: &Symbols) {
    let Some((&flags, address)) = frame.before.split_first() else { return };
    let has = |flag| flags & flag != 0;
    let lines = symbols.lines(frame.id);
    let has_name = address.last() == Some(&b' ') || has(flag::SYMBOL);
    let offset = symbols.symbol_offset(frame.id).filter(|_| has(flag::OFFSET));
    let offset = offset.map(|offset| offset + u64::from(has(flag::RETURN)));
    for (index, line) in lines.iter().enumerate() {
        let is_inlined = index + 1 < lines.len();
        if is_inlined && (has(flag::SYMBOL) || !has_name) {
            continue;
        }
        let name = symbols.function(line.function).map_or(&b""[..], |function| symbols.name(function.name));
        out.extend_from_slice(address);
        if has_name {
            let name = if name.is_empty() { "[unknown]".into() } else { String::from_utf8_lossy(name) };
            out.extend_from_slice(name.as_bytes());
            if let Some(offset) = offset {
                // Writing to a vector cannot fail.
                let _ = write!(out, "+{offset:#x}");
            }
        }
        if !is_inlined {
            out.extend_from_slice(frame.after);
        }
        if has(flag::LINE) {
            source_line(out, line, address, frame, symbols);
        }
        if is_inlined {
            // The line break and the tab of the next function.
            out.extend_from_slice(b" (inlined)\n\t");
        }
    }
    if lines.is_empty() {
        out.extend_from_slice(address);
        if has_name {
            out.extend_from_slice(b"[unknown]");
        }
        out.extend_from_slice(frame.after);
        if has(flag::LINE) {
            object_address(out, address, frame);
        }
    }
}

/// File and line, on a separate line.
fn source_line(out: &mut Vec<u8>, line: &Line, address: &[u8], frame: TextFrame<'_>, symbols: &Symbols) {
    let file = symbols.function(line.function).map_or(&b""[..], |function| symbols.name(function.file));
    if file.is_empty() || line.line == 0 {
        return object_address(out, address, frame);
    }
    let _ = write!(out, "\n  {}:{}", String::from_utf8_lossy(file), line.line);
}

/// Name of the file and the address in it, which perf prints if the line is unknown.
fn object_address(out: &mut Vec<u8>, address: &[u8], frame: TextFrame<'_>) {
    let file = frame.after.strip_prefix(b" (").and_then(|file| file.strip_suffix(b")")).unwrap_or(frame.after);
    let short = file.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let address = String::from_utf8_lossy(address);
    let _ = write!(out, "\n  {}[{}]", String::from_utf8_lossy(short), address.trim());
}
