//! The formats of tracepoints of several recordings.

use crate::abi::feature::tracing_data::{TraceFile, TraceSystem, TracingData};
use crate::abi::{self, Endian};
use crate::container::write::encoded;
use crate::error::Result;
use bytes::Bytes;

/// The formats of several recordings together; `None` where they contradict each other.
///
/// # Errors
/// None in practice: the bytes go to memory.
pub fn merged(all: &[Bytes]) -> Result<Option<Bytes>> {
    let [first, others @ ..] = all else { return Ok(None) };
    if others.iter().all(|other| other == first) {
        return Ok(Some(first.clone()));
    }
    let Some(mut whole) = read(first) else { return Ok(None) };
    for other in others {
        if other == first {
            continue;
        }
        let Some(other) = read(other) else { return Ok(None) };
        if !is_of_one_kernel(&whole, &other) || add(&mut whole, other).is_none() {
            return Ok(None);
        }
    }
    encoded(abi::to_bytes(&whole, Endian::Little)).map(|bytes| Some(bytes.into()))
}

/// All of it; `None` where there is more than can be read. It tells its byte order itself.
fn read(bytes: &Bytes) -> Option<TracingData> {
    let (data, len) = abi::parse::<TracingData>(bytes, Endian::Little, ()).ok()?;
    bytes[len..].iter().all(|&byte| byte == 0).then_some(data)
}

fn is_of_one_kernel(one: &TracingData, other: &TracingData) -> bool {
    let machine = |data: &TracingData| {
        let files = &data.files;
        (data.version.clone(), data.byte_order, data.long_size, files.page_size)
    };
    let pages = |data: &TracingData| (data.files.header_page.clone(), data.files.header_event.clone());
    machine(one) == machine(other) && pages(one) == pages(other)
}

/// Adds what is not there; `None` where the same tracepoint, or the same number, has another format.
fn add(whole: &mut TracingData, other: TracingData) -> Option<()> {
    let files = &mut whole.files;
    add_files(&mut files.ftrace, other.files.ftrace)?;
    for system in other.files.systems {
        match files.systems.iter_mut().find(|known| known.name == system.name) {
            Some(known) => add_files(&mut known.formats, system.formats)?,
            None => files.systems.push(system),
        }
    }
    let formats = |system: &TraceSystem| system.formats.iter().filter_map(TraceFile::format).collect::<Vec<_>>();
    let mut ids: Vec<_> = files.systems.iter().flat_map(formats).map(|format| format.id).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    if ids.len() != count {
        return None;
    }
    let names = other.files.saved_cmdlines.map(|names| names.text).unwrap_or_default();
    if let Some(known) = &mut files.saved_cmdlines {
        add_lines(&mut known.text, &names);
    }
    add_lines(&mut files.printk_formats, &other.files.printk_formats);
    Some(())
}

fn add_files(known: &mut Vec<TraceFile>, more: Vec<TraceFile>) -> Option<()> {
    for file in more {
        let format = file.format();
        let name = |file: &TraceFile| file.format().map(|format| format.name);
        let is_alike =
            |other: &&TraceFile| format.is_some() && name(other) == format.as_ref().map(|format| format.name.clone());
        match known.iter().find(is_alike) {
            Some(other) if *other != file => return None,
            Some(_) => {}
            None if known.contains(&file) => {}
            None => known.push(file),
        }
    }
    Some(())
}

/// Adds lines that are not there.
fn add_lines(text: &mut Vec<u8>, more: &[u8]) {
    let known: hashbrown::HashSet<Vec<u8>> = text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    for line in more.split(|&byte| byte == b'\n').filter(|line| !line.is_empty() && !known.contains(*line)) {
        if text.last().is_some_and(|&byte| byte != b'\n') {
            text.push(b'\n');
        }
        text.extend_from_slice(line);
        text.push(b'\n');
    }
}
