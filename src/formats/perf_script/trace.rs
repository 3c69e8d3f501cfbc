//! Prints what programs add to samples: fields of tracepoints, output of BPF programs; and cgroups.

use super::call_chain;
use super::printer::Printer;
use perf_data::abi::attr::{AttrType, SoftwareEvent};
use std::io::Write;

/// Number of bytes on a line of the output of a BPF program.
const LINE: usize = 16;

/// Fields of a tracepoint, and those that describe themselves.
pub(super) fn trace(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let Printer { state, sample, .. } = printer;
    let (meta, event) = (sample.decoded.meta, sample.decoded.event);
    if event.attr.kind != AttrType::TRACEPOINT {
        return;
    }
    let mut printed = std::mem::take(&mut state.printed);
    printed.text.clear();
    printed.functions.clear();
    if let (Some((tracepoint, strings)), Some(payload)) =
        (state.tracepoint_and_strings(meta, event), sample.decoded.view.raw)
    {
        tracepoint.print(payload, strings, &mut printed);
        if let Some(fields) = tracepoint.event_header(payload) {
            // perf prints the header alone. Writing to a vector cannot fail.
            let _ = write!(printed.text, " eventheader={fields}");
        }
    }
    let mut start = 0;
    for function in &printed.functions {
        state.append_text(&printed.text[start..function.at], out);
        call_chain::kernel_function(state, function.address, function.has_offset, out);
        start = function.at;
    }
    state.append_text(&printed.text[start..], out);
    state.printed = printed;
}

/// Output of a BPF program, as hexadecimal bytes and as text.
pub(super) fn bpf_output(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let (event, view) = (printer.sample.decoded.event, printer.sample.decoded.view);
    if !event.attr.is_software(SoftwareEvent::BPF_OUTPUT) {
        return;
    }
    out.push(b'\n');
    let bytes = view.raw.unwrap_or_default();
    let mut is_text = true;
    for (index, line) in bytes.chunks(LINE).enumerate() {
        // Writing to a vector cannot fail.
        let _ = write!(out, "{:>17}", if index == 0 { "BPF output:" } else { "" });
        let _ = write!(out, " {:04x}: ", index * LINE);
        for at in 0..LINE {
            let _ = match line.get(at) {
                Some(byte) => write!(out, "{byte:02x} "),
                None => write!(out, "   "),
            };
        }
        out.push(b' ');
        out.extend(line.iter().map(|&byte| if byte == b' ' || byte.is_ascii_graphic() { byte } else { b'.' }));
        out.resize(out.len() + LINE - line.len(), b' ');
        out.push(b'\n');
        is_text &= line.iter().all(|&byte| byte == 0 || byte == b' ' || byte.is_ascii_graphic());
    }
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    if is_text && !text.is_empty() && text.len() < bytes.len() && bytes[text.len()..].iter().all(|&byte| byte == 0) {
        let _ = write!(out, "{:>17} \"{}\"", "BPF string:", String::from_utf8_lossy(text));
        out.push(b'\n');
    }
}

/// Path of the cgroup.
pub(super) fn cgroup(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let session = &printer.state.session;
    let id = printer.sample.decoded.view.cgroup.unwrap_or(0);
    out.push(b' ');
    out.extend_from_slice(session.cgroup_path(id).map_or(b"unknown", |path| session.names.name(path)));
}
