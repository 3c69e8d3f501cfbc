//! Merges the tracepoint formats of several recordings.

use bytes::Bytes;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use perf_data::abi::feature::tracing_data::{TraceFile, TraceSystem, TracingData};
use perf_data::abi::{self, Endian};
use perf_data::container::write::encoded;
use perf_data::error::Result;

/// Merges tracepoint formats; `None` if they conflict.
///
/// # Errors
/// None in practice: writing to memory does not fail.
pub(crate) fn merged(all: &[Bytes]) -> Result<Option<Bytes>> {
    let [first, others @ ..] = all else { return Ok(None) };
    if others.iter().all(|other| other == first) {
        return Ok(Some(first.clone()));
    }
    let Some(mut merged) = read(first) else { return Ok(None) };
    for other in others {
        if other == first {
            continue;
        }
        let Some(other) = read(other) else { return Ok(None) };
        if !is_same_kernel(&merged, &other) || add(&mut merged, other).is_none() {
            return Ok(None);
        }
    }
    encoded(abi::to_bytes(&merged, Endian::Little)).map(|bytes| Some(bytes.into()))
}

/// Decodes tracepoint formats, which contain their byte order; `None` if any bytes other than padding remain.
fn read(bytes: &Bytes) -> Option<TracingData> {
    let (data, len) = abi::parse::<TracingData>(bytes, Endian::Little, ()).ok()?;
    bytes[len..].iter().all(|&byte| byte == 0).then_some(data)
}

fn is_same_kernel(one: &TracingData, other: &TracingData) -> bool {
    let machine = |data: &TracingData| {
        let files = &data.files;
        (data.version.clone(), data.byte_order, data.long_size, files.page_size)
    };
    let pages = |data: &TracingData| (data.files.header_page.clone(), data.files.header_event.clone());
    machine(one) == machine(other) && pages(one) == pages(other)
}

/// Adds missing formats; `None` if the same tracepoint or ID has another format.
fn add(merged: &mut TracingData, other: TracingData) -> Option<()> {
    let files = &mut merged.files;
    add_files(&mut files.ftrace, other.files.ftrace)?;
    let mut by_name = HashMap::new();
    for (at, system) in files.systems.iter().enumerate() {
        by_name.entry(system.name.0.clone()).or_insert(at);
    }
    for system in other.files.systems {
        match by_name.entry(system.name.0.clone()) {
            Entry::Occupied(at) => add_files(&mut files.systems[*at.get()].formats, system.formats)?,
            Entry::Vacant(free) => {
                free.insert(files.systems.len());
                files.systems.push(system);
            }
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
    if let Some(cmdlines) = &mut files.saved_cmdlines {
        add_lines(&mut cmdlines.text, &names);
    }
    add_lines(&mut files.printk_formats, &other.files.printk_formats);
    Some(())
}

fn add_files(files: &mut Vec<TraceFile>, more: Vec<TraceFile>) -> Option<()> {
    // Files that are not formats are identified by their text.
    let key = |file: &TraceFile| file.format().map(|format| format.name).ok_or_else(|| file.text.clone());
    let mut by_key = HashMap::new();
    for (at, file) in files.iter().enumerate() {
        by_key.entry(key(file)).or_insert(at);
    }
    for file in more {
        match by_key.entry(key(&file)) {
            Entry::Occupied(at) if files[*at.get()] != file => return None,
            Entry::Occupied(_) => {}
            Entry::Vacant(free) => {
                free.insert(files.len());
                files.push(file);
            }
        }
    }
    Some(())
}

/// Adds missing lines.
fn add_lines(text: &mut Vec<u8>, more: &[u8]) {
    let lines: hashbrown::HashSet<Vec<u8>> = text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    for line in more.split(|&byte| byte == b'\n').filter(|line| !line.is_empty() && !lines.contains(*line)) {
        if text.last().is_some_and(|&byte| byte != b'\n') {
            text.push(b'\n');
        }
        text.extend_from_slice(line);
        text.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_many_formats_by_name() {
        let file = |number: u32, fmt: &str| {
            let text = format!("name: e{number}\nID: {number}\nformat:\n\n\nprint fmt: {fmt}\n");
            TraceFile { text: text.into() }
        };
        let mut files: Vec<_> = (0..30_000).map(|number| file(number, "\"\"")).collect();
        assert!(files[0].format().is_some());
        assert_eq!(add_files(&mut files, (15_000..45_000).map(|number| file(number, "\"\"")).collect()), Some(()));
        assert_eq!(files.len(), 45_000);
        assert_eq!(add_files(&mut files, vec![file(7, "\"other\"")]), None);
        let text = TraceFile { text: b"no format".into() };
        assert_eq!(add_files(&mut files, vec![text.clone(), text]), Some(()));
        assert_eq!(files.len(), 45_001);
    }
}
