//! Formats the JSON of an ordinary sample from its bytes.

use super::ORDINARY;
use crate::formats::json::digits::{append_hex, append_integer};
use crate::formats::json::render::RecordInfo;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use perf_data::abi::record::{CpuMode, Misc};
use perf_data::abi::sample::view::SampleView;
use perf_data::stream::raw::Raw;

/// Appends the object of an ordinary sample; otherwise appends nothing and returns false.
#[inline]
pub(crate) fn append(out: &mut Vec<u8>, raw: &Raw<'_>, info: &RecordInfo) -> bool {
    let misc = raw.header().misc;
    let cpumode = misc.cpu_mode();
    let flags = Misc::from_bits_retain(misc.bits() & !7);
    let is_exact = flags == Misc::EXACT_IP;
    let mode = cpumode.name();
    let is_ordinary = ORDINARY.contains(info.context.layout.sample_type())
        && (flags.is_empty() || is_exact)
        && mode.is_some()
        && info.tracepoint.is_none()
        && info.stack.is_none()
        && info.ibs.is_none()
        && raw.body().len().is_multiple_of(8)
        && raw.header().len() <= u16::MAX.into()
        && raw.payload_len() == 0;
    let (true, Some(mode)) = (is_ordinary, mode) else { return false };
    let mut view = SampleView::default();
    if view.fill(raw.body(), &info.context.layout, raw.endian()).is_err() || !view.tail.is_empty() {
        return false;
    }
    out.extend_from_slice(b"{\"record\":\"SAMPLE\"");
    if let Some(frame) = info.frame {
        out.extend_from_slice(b",\"frame\":");
        append_integer(out, frame);
    }
    if cpumode != CpuMode::UNKNOWN {
        out.extend_from_slice(b",\"cpumode\":\"");
        out.extend_from_slice(mode.as_bytes());
        out.push(b'"');
    }
    if is_exact {
        out.extend_from_slice(b",\"misc\":[\"EXACT_IP\"]");
    }
    out.extend_from_slice(b",\"body\":{");
    let before = out.len();
    append_fields(out, &view);
    if out.len() > before {
        // The comma after the last field is replaced by the brace.
        out.pop();
    }
    out.extend_from_slice(b"}}");
    true
}

/// Appends the fields, each followed by a comma.
#[inline]
fn append_fields(out: &mut Vec<u8>, view: &SampleView<'_>) {
    let integer = |out: &mut Vec<u8>, name: &[u8], value: Option<u64>| {
        if let Some(value) = value {
            out.extend_from_slice(name);
            append_integer(out, value);
            out.push(b',');
        }
    };
    let address = |out: &mut Vec<u8>, name: &[u8], value: Option<u64>| {
        if let Some(value) = value {
            out.extend_from_slice(name);
            append_hex(out, value);
            out.extend_from_slice(b"\",");
        }
    };
    let pair = |out: &mut Vec<u8>, names: [&[u8]; 2], value: Option<(u32, u32)>| {
        if let Some((first, second)) = value {
            out.extend_from_slice(names[0]);
            append_integer(out, first.into());
            out.extend_from_slice(names[1]);
            append_integer(out, second.into());
            out.extend_from_slice(b"},");
        }
    };
    integer(out, b"\"identifier\":", view.identifier);
    address(out, b"\"ip\":\"", view.ip);
    pair(out, [b"\"task\":{\"pid\":", b",\"tid\":"], view.task);
    integer(out, b"\"time\":", view.time);
    address(out, b"\"addr\":\"", view.addr);
    integer(out, b"\"id\":", view.id);
    integer(out, b"\"stream_id\":", view.stream_id);
    pair(out, [b"\"cpu\":{\"cpu\":", b",\"res\":"], view.cpu);
    integer(out, b"\"period\":", view.period);
    if let Some(chain) = view.callchain {
        out.extend_from_slice(b"\"callchain\":{\"ips\":[");
        for ip in chain.iter() {
            out.push(b'"');
            append_hex(out, ip);
            out.extend_from_slice(b"\",");
        }
        if !chain.is_empty() {
            out.pop();
        }
        out.extend_from_slice(b"]},");
    }
    if let Some(raw) = view.raw {
        out.extend_from_slice(b"\"raw\":{\"data\":\"");
        let start = out.len();
        out.resize(start + raw.len().div_ceil(3) * 4, 0);
        // The buffer has exactly the encoded size.
        let _ = BASE64.encode_slice(raw, &mut out[start..]);
        out.extend_from_slice(b"\"},");
    }
}
