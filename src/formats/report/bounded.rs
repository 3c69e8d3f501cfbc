//! JSON of a report with a limited size, for programs that pay for what they read.

use perf_data::error::{Error, Result};
use serde_json::{Map, Value};
use std::io::Write;

/// The lists of a report. What else it contains is short.
const LISTS: [&str; 7] = ["entries", "lines", "callers", "callees", "wakeups", "blocks", "loops"];

/// Least number of bytes of a limit: an object without entries, and a few of them.
pub(super) const MIN_BYTES: u32 = 500;

/// A name may have so much of the limit: those of templates have thousands of characters.
const TEXT_SHARE: usize = 8;

/// Writes a report from an offset on, in a line of at most so many bytes.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write(report: Value, offset: Option<u32>, max_bytes: Option<u32>, out: &mut dyn Write) -> Result<()> {
    let max_bytes = max_bytes.map_or(usize::MAX, |bytes| bytes.max(MIN_BYTES) as usize - "\n".len());
    let part = bounded(report, offset.unwrap_or(0) as usize, max_bytes);
    writeln!(out, "{part}").map_err(Error::Output)
}

/// Omits the entries of lists before an offset, and as many at their ends as exceed the limit. The number of those that follow is in
/// `omitted`, the offset at which they begin in `next_offset`. Facts of the recording are omitted if they exceed half of the limit,
/// events a third, and annotated functions a sixth of it.
pub(super) fn bounded(report: Value, offset: usize, max_bytes: usize) -> Value {
    let Value::Object(mut object) = report else { return report };
    let lists: Vec<_> = LISTS.iter().filter_map(|name| Some((*name, object.remove(*name)?))).collect();
    let (mut omitted, mut next_offset) = (Map::new(), None);
    for name in ["facts", "warnings"] {
        if size(&Value::from(object.clone())) > max_bytes / 2
            && let Some(removed) = object.remove(name)
        {
            let count = removed.as_array().map(Vec::len).or(removed.as_object().map(Map::len)).unwrap_or(1);
            omitted.insert(name.to_owned(), count.into());
        }
    }
    for (name, share) in [("events", 3), ("functions", 6)] {
        let Some(list) = object.get_mut(name).and_then(Value::as_array_mut) else { continue };
        let mut used = 0;
        let fitting = list.iter().take_while(|entry| {
            used += size(entry) + 1;
            used <= max_bytes / share
        });
        let (count, shown) = (list.len(), fitting.count());
        list.truncate(shown);
        if shown < count {
            omitted.insert(name.to_owned(), (count - shown).into());
        }
    }
    let mut room = max_bytes.saturating_sub(size(&Value::from(object.clone())) + 130);
    let mut left = lists.len();
    for (name, list) in lists {
        let Value::Array(entries) = list else { continue };
        let (count, share) = (entries.len(), room / left);
        let mut used = 0;
        let mut shown = Vec::new();
        for mut entry in entries.into_iter().skip(offset) {
            shorten(&mut entry, max_bytes / TEXT_SHARE);
            used += size(&entry) + 1;
            if used > share && !shown.is_empty() {
                break;
            }
            shown.push(entry);
        }
        let end = count.min(offset + shown.len());
        if end < count {
            omitted.insert(name.to_owned(), (count - end).into());
            next_offset = Some(next_offset.map_or(end, |other: usize| other.min(end)));
        }
        room = room.saturating_sub(used);
        left -= 1;
        object.insert(name.to_owned(), shown.into());
    }
    if !omitted.is_empty() {
        object.insert("omitted".to_owned(), omitted.into());
    }
    if let Some(next_offset) = next_offset {
        object.insert("next_offset".to_owned(), next_offset.into());
    }
    object.into()
}

/// Number of bytes of a value as text.
fn size(value: &Value) -> usize {
    value.to_string().len()
}

/// Cuts the texts of an entry.
fn shorten(value: &mut Value, max_bytes: usize) {
    match value {
        Value::String(text) if text.len() > max_bytes => {
            *text =
                text.char_indices().take_while(|(at, _)| *at < max_bytes).map(|(_, char)| char).chain(['…']).collect();
        }
        Value::Array(values) => values.iter_mut().for_each(|value| shorten(value, max_bytes)),
        Value::Object(members) => members.values_mut().for_each(|value| shorten(value, max_bytes)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(names: usize, length: usize) -> Value {
        let entry = |index: usize| json!({ "sym": format!("{index}{}", "x".repeat(length)), "total": 1 });
        let entries: Vec<_> = (0..names).map(entry).collect();
        json!({ "entries": entries, "events": [{ "event": "cycles", "samples": 3 }], "facts": { "arch": "x86_64" } })
    }

    #[test]
    fn all_entries_follow_each_other_within_the_limit() {
        for (names, length, limit) in [(1000, 10, 2000), (3, 5, 2000), (40, 5000, 1000), (0, 0, 500)] {
            let (mut offset, mut shown) = (0, Vec::new());
            loop {
                let part = bounded(report(names, length), offset, limit);
                assert!(size(&part) <= limit, "{} bytes", size(&part));
                let entries = part["entries"].as_array().unwrap();
                shown.extend(entries.iter().map(|entry| entry["sym"].as_str().unwrap().to_owned()));
                let Some(next) = part.get("next_offset") else { break };
                assert_eq!(part["omitted"]["entries"], names - shown.len());
                offset = next.as_u64().unwrap() as usize;
                assert_eq!(offset, shown.len());
            }
            assert_eq!(shown.len(), names);
            assert!((0..).zip(&shown).all(|(index, name): (usize, _)| name.starts_with(&index.to_string())));
        }
    }

    #[test]
    fn many_events_are_omitted() {
        let mut report = report(10, 10);
        report["events"] = (0..500).map(|event| json!({ "event": event })).collect();
        let part = bounded(report, 0, 1000);
        assert!(size(&part) <= 1000 && part["omitted"]["events"].as_u64() > Some(450), "{part}");
    }

    #[test]
    fn long_facts_are_omitted_first() {
        let mut report = report(10, 10);
        report["facts"]["command"] = "x".repeat(2000).into();
        let part = bounded(report, 0, 1000);
        assert!(part.get("facts").is_none() && part["entries"].as_array().is_some_and(|list| list.len() > 5));
    }
}
