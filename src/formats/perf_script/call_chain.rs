//! Prints the frames of a sample: addresses, functions, files and lines.

use super::fields::{DSO, DSOFF, FieldSet, SRCLINE, SYM, SYMOFF};
use super::number;
use super::printer::Printer;
use super::style::Style;
use crate::formats::framework::frame_lookup::{FrameRenderer, NamedFrame};
use crate::formats::framework::named_frames::FrameKey;
use crate::formats::framework::printed_maps::{PrintedMap, PrintedMaps};
use crate::formats::framework::sample_writer::{Chain, ChainFrame, SampleState};
use crate::profile::intern::stacks::FrameId;
use crate::profile::symbolize::function_name::with_version;
use crate::profile::symbolize::symbols::{Line, Symbols};
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample_type::SampleType;
use perf_data::session::kernel_names::ListedKernel;
use perf_data::session::map::MapId;
use perf_data::session::space::Space;
use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Bits of the form of a frame.
mod form {
    /// The printed address is that after the call.
    pub(super) const RETURN: u8 = 1 << 0;
    /// Only the symbol is printed, without address and inlined functions. Without [`NAME`], it is that of a function of the kernel
    /// in the text of a tracepoint.
    pub(super) const SYMBOL: u8 = 1 << 1;
    /// The name of the function is printed.
    pub(super) const NAME: u8 = 1 << 2;
    /// The offset in the function is printed.
    pub(super) const OFFSET: u8 = 1 << 3;
    /// File and line are printed.
    pub(super) const LINE: u8 = 1 << 4;
    /// The file of the mapping is printed.
    pub(super) const FILE: u8 = 1 << 5;
    /// The address in the file of the mapping is printed.
    pub(super) const FILE_OFFSET: u8 = 1 << 6;
    /// The address is printed as one of the mapped file.
    pub(super) const RELATIVE: u8 = 1 << 7;
}

/// The call chain on separate lines, or the instruction pointer on the line of the sample.
pub(super) fn frames(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let (style, fields) = (printer.style, printer.fields);
    if let Some(chain) = printer.sample.chain().filter(|_| !printer.hides_call_graph) {
        out.push(b'\n');
        let state = &mut *printer.state;
        // perf adds no frame to a recorded chain, such as one with `--user-callchains`. Readers of the text omit samples without
        // any frame, so that one is added to a chain without addresses.
        let is_unwound = printer.sample.decoded.event.layout.sample_type().contains(SampleType::STACK_USER);
        let has_addresses = chain.words.iter().any(|word| Context::of(word).is_none());
        let chain = if is_unwound || !has_addresses { chain } else { Chain { ip: None, ..chain } };
        let max_frames = printer.max_frames.map_or(usize::MAX, NonZeroUsize::get);
        // perf unwinds user frames by themselves, each part up to the maximum.
        let (mut recorded_frames, mut user_frames) = (0, 0);
        printer.cookie = chain.walk(|frame| {
            let is_from_dump = is_unwound && frame.space == Space::User;
            let frames = if is_from_dump { &mut user_frames } else { &mut recorded_frames };
            *frames += 1;
            if *frames <= max_frames {
                chain_frame(state, frame, style, fields, out);
            }
        });
    } else if printer.sample.decoded.event.layout.sample_type().contains(SampleType::IP) {
        let ip = printer.sample.decoded.view.ip.unwrap_or(0);
        let (pid, space) = (printer.sample.pid(), printer.sample.space());
        out.push(b' ');
        frame(printer.state, PrintedFrame { pid, ip, at: ip, space, is_relative: false }, fields, out);
    }
}

/// Appends a frame of a call chain, on a line.
pub(super) fn chain_frame(
    state: &mut SampleState,
    chain_frame: ChainFrame,
    style: Style,
    fields: FieldSet,
    out: &mut Vec<u8>,
) {
    let ChainFrame { pid, ip, at, space, .. } = chain_frame;
    out.push(b'\t');
    frame(state, PrintedFrame { pid, ip, at, space, is_relative: !style.has_memory_addresses() }, fields, out);
    out.push(b'\n');
}

/// A frame to print.
struct PrintedFrame {
    /// Process.
    pid: u32,
    /// The recorded address.
    ip: u64,
    /// Address whose function is printed.
    at: u64,
    /// Address space.
    space: Space,
    /// Whether the address is printed as one of the mapped file.
    is_relative: bool,
}

fn frame(state: &mut SampleState, frame: PrintedFrame, fields: FieldSet, out: &mut Vec<u8>) {
    let PrintedFrame { pid, ip, at, space, is_relative } = frame;
    let form = frame_form(fields) | bit(ip != at, form::RETURN) | bit(is_relative, form::RELATIVE);
    let map = state.session.map_at(pid, space, ip);
    let SampleState { named, session, listed_kernel, printed_maps, .. } = state;
    if let Some((named, map)) = named.as_mut().zip(map).filter(|_| form & (form::NAME | form::LINE) != 0) {
        return named.append_stack_frame(out, FrameKey { map, ip, at, form });
    }
    named.iter_mut().for_each(|named| named.count_outside(space));
    let map = map.map(|id| printed_maps.map(id, session.map(id), listed_kernel.as_deref()));
    number::address(out, map.filter(|_| is_relative).map_or(ip, |map| map.address(ip)));
    if form & form::NAME != 0 {
        out.extend_from_slice(b" [unknown]");
    }
    file_part(map, ip, form, out);
}

/// The form of frames with these fields.
fn frame_form(fields: FieldSet) -> u8 {
    bit(fields.has(SYM), form::NAME)
        | bit(fields.has(SYMOFF), form::OFFSET)
        | bit(fields.has(SRCLINE), form::LINE)
        | bit(fields.has(DSO), form::FILE)
        | bit(fields.has(DSOFF), form::FILE_OFFSET)
}

fn bit(is_set: bool, bit: u8) -> u8 {
    if is_set { bit } else { 0 }
}

/// The file of a frame with a leading space, if it is printed.
fn file_part(map: Option<&PrintedMap>, ip: u64, form: u8, out: &mut Vec<u8>) {
    if form & (form::FILE | form::FILE_OFFSET) == 0 {
        return;
    }
    out.extend_from_slice(b" (");
    match map {
        Some(map) => {
            out.extend_from_slice(map.file.as_bytes());
            if form & form::FILE_OFFSET != 0 {
                // Writing to a vector cannot fail.
                let _ = write!(out, "+{:#x}", map.address(ip));
            }
        }
        None => out.extend_from_slice(b"[unknown]"),
    }
    out.push(b')');
}

/// Symbol and file of a data address, after a space.
pub(super) fn symbol(printer: &mut Printer<'_>, address: u64, out: &mut Vec<u8>) {
    let (pid, space) = (printer.sample.pid(), printer.sample.space());
    let map = printer.state.session.map_at(pid, space, address);
    if printer.fields.has(SYM) {
        out.push(b' ');
        symbol_at(printer, address, map, out);
    }
    let SampleState { session, listed_kernel, printed_maps, .. } = &mut *printer.state;
    let printed = map.map(|id| printed_maps.map(id, session.map(id), listed_kernel.as_deref()));
    file_part(printed, address, frame_form(printer.fields), out);
}

/// The symbol of an address.
pub(super) fn symbol_at(printer: &mut Printer<'_>, address: u64, map: Option<MapId>, out: &mut Vec<u8>) {
    let Some((named, map)) = printer.state.named.as_mut().zip(map) else {
        return out.extend_from_slice(b"[unknown]");
    };
    let form = frame_form(printer.fields) & form::OFFSET | form::SYMBOL | form::NAME;
    let key = FrameKey { map, ip: address, at: address, form };
    named.append(out, key);
}

/// A function of the kernel by its address: its name, or else the address.
pub(super) fn kernel_function(state: &mut SampleState, address: u64, has_offset: bool, out: &mut Vec<u8>) {
    let map = state.session.map_at(0, Space::Kernel, address);
    match state.named.as_mut().zip(map) {
        Some((named, map)) => {
            let form = form::SYMBOL | bit(has_offset, form::OFFSET);
            named.append(out, FrameKey { map, ip: address, at: address, form });
        }
        // Writing to a vector cannot fail.
        None => drop(write!(out, "{address:#x}")),
    }
}

/// Writes frames whose functions have been looked up.
pub(super) struct ScriptFrames {
    has_short_source_paths: bool,
    listed_kernel: Arc<ListedKernel>,
    printed_maps: PrintedMaps,
    /// Scratch buffer: the texts before and after the name.
    texts: Vec<u8>,
}

impl ScriptFrames {
    pub(super) fn new(has_short_source_paths: bool, listed_kernel: Arc<ListedKernel>) -> Self {
        Self { has_short_source_paths, listed_kernel, printed_maps: PrintedMaps::default(), texts: Vec::new() }
    }
}

impl FrameRenderer for ScriptFrames {
    fn render(&mut self, out: &mut Vec<u8>, frame: NamedFrame<'_>) {
        let Self { has_short_source_paths, listed_kernel, printed_maps, texts } = self;
        let NamedFrame { key: FrameKey { map, ip, form, .. }, id, symbols, .. } = frame;
        let has = |bit| form & bit != 0;
        texts.clear();
        let map = printed_maps.map(map, frame.map, Some(listed_kernel));
        if !has(form::SYMBOL) {
            number::address(texts, if has(form::RELATIVE) { map.address(ip) } else { ip });
            texts.extend_from_slice(if has(form::NAME) { b" " } else { b"" });
        } else if !has(form::NAME) {
            // Writing to a vector cannot fail.
            let _ = write!(texts, "{ip:#x}");
        }
        let before = texts.len();
        file_part(Some(map), ip, form, texts);
        let (before, after) = texts.split_at(before);
        named_frame(out, TextFrame { id, form, before, after }, symbols, *has_short_source_paths);
    }
}

/// A frame, and the texts around its name.
struct TextFrame<'a> {
    id: FrameId,
    form: u8,
    before: &'a [u8],
    after: &'a [u8],
}

/// The rendered function of the kernel; `before` is its address.
fn named_kernel_function(out: &mut Vec<u8>, frame: TextFrame<'_>, symbols: &Symbols) {
    let Some(function) = symbols.frame_function(frame.id) else { return out.extend_from_slice(frame.before) };
    out.extend_from_slice(with_version(function, symbols));
    if frame.form & form::OFFSET != 0 {
        let _ = write!(out, "+{:#x}", symbols.symbol_offset(frame.id).unwrap_or(0));
    }
}

/// Writes a frame whose function is known now, on one line for each function at its address, innermost first.
fn named_frame(out: &mut Vec<u8>, frame: TextFrame<'_>, symbols: &Symbols, has_short_paths: bool) {
    let address = frame.before;
    let has = |bit| frame.form & bit != 0;
    if has(form::SYMBOL) && !has(form::NAME) {
        return named_kernel_function(out, frame, symbols);
    }
    let lines = symbols.lines(frame.id);
    let has_name = has(form::NAME);
    let offset = symbols.symbol_offset(frame.id).filter(|_| has(form::OFFSET));
    // The symbol was looked up in the call, one byte before the printed return address.
    let offset = offset.map(|offset| offset + i64::from(has(form::RETURN)));
    for (index, line) in lines.iter().enumerate() {
        let is_inlined = index + 1 < lines.len();
        if is_inlined && (has(form::SYMBOL) || !has_name) {
            continue;
        }
        let name = symbols.function(line.function).map_or(&b""[..], |function| with_version(function, symbols));
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
        if has(form::LINE) {
            match source_file(line, symbols) {
                Some(path) => {
                    let path = if has_short_paths { last_component(path) } else { path };
                    let _ = write!(out, "\n  {}:{}", String::from_utf8_lossy(path), line.line);
                }
                None => object_address(out, address, &frame),
            }
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
        if has(form::LINE) {
            object_address(out, address, &frame);
        }
    }
}

/// The file of a source line, if it is known.
fn source_file<'a>(line: &Line, symbols: &'a Symbols) -> Option<&'a [u8]> {
    let file = symbols.function(line.function).map(|function| symbols.name(function.file));
    file.filter(|file| !file.is_empty() && line.line != 0)
}

pub(super) fn last_component(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

/// Name of the file and the address in it, which perf prints if the line is unknown.
fn object_address(out: &mut Vec<u8>, address: &[u8], frame: &TextFrame<'_>) {
    let file = frame.after.strip_prefix(b" (").and_then(|file| file.strip_suffix(b")")).unwrap_or(frame.after);
    let short = last_component(file);
    let address = String::from_utf8_lossy(address);
    let _ = write!(out, "\n  {}[{}]", String::from_utf8_lossy(short), address.trim());
}
