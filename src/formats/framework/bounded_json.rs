//! JSON of a report or of information on a recording with a limited size, for programs that pay for what they read.

use perf_data::error::{Error, Result};
use serde_json::{Map, Value};
use std::io::Write;

/// The lists of a report. What else it contains is short.
const LISTS: [&str; 7] = ["entries", "lines", "callers", "callees", "wakeups", "blocks", "loops"];

/// Least number of bytes of a limit: an object without entries, and a few of them.
pub(crate) const MIN_BYTES: u32 = 500;

/// Least number of bytes of a limit of information on a recording: an event has about 700.
pub const MIN_INFO_BYTES: u32 = 3000;

/// A name may have so much of the limit: those of templates have thousands of characters.
const TEXT_SHARE: usize = 8;

/// Writes a report from an offset on, in a line of at most so many bytes.
///
/// # Errors
/// Errors of `out`.
pub(crate) fn write(report: Value, offset: Option<u32>, max_bytes: Option<u32>, out: &mut dyn Write) -> Result<()> {
    let max_bytes = max_bytes.map_or(usize::MAX, |bytes| bytes.max(MIN_BYTES) as usize - "\n".len());
    let part = bounded(report, offset.unwrap_or(0) as usize, max_bytes);
    writeln!(out, "{part}").map_err(Error::Output)
}

/// Omits the entries of lists before an offset, and as many at their ends as exceed the limit. The number of those that follow is in
/// `omitted`, the offset at which they begin, the same in all lists, in `next_offset`. Facts of the recording are omitted if they exceed half of the limit,
/// events a third, and annotated functions a sixth of it.
fn bounded(report: Value, offset: usize, max_bytes: usize) -> Value {
    bounded_lists(report, &LISTS, offset, max_bytes)
}

/// As for reports, of information on a recording: its lists are `events`, `groups` and `build_ids`. Of `features` and `stats`, the
/// longest members are omitted that exceed a quarter and a fifth of the limit; `omitted` has their names.
pub fn bounded_info(info: Value, offset: Option<u32>, max_bytes: Option<u32>) -> Value {
    let Value::Object(mut object) = info else { return info };
    let max_bytes = max_bytes.map_or(usize::MAX, |bytes| bytes.max(MIN_INFO_BYTES) as usize - "\n".len());
    let mut omitted = Map::new();
    for (name, share) in [("features", 4), ("stats", 5)] {
        let Some(members) = object.get_mut(name).and_then(Value::as_object_mut) else { continue };
        let mut removed = Vec::new();
        while size(&Value::from(members.clone())) > max_bytes / share {
            let longest = members.iter().max_by_key(|(_, value)| size(value)).map(|(name, _)| name.clone());
            let Some(longest) = longest else { break };
            members.remove(&longest);
            removed.push(Value::from(longest));
        }
        if !removed.is_empty() {
            omitted.insert(name.to_owned(), removed.into());
        }
    }
    if !omitted.is_empty() {
        object.insert("omitted".to_owned(), omitted.into());
    }
    bounded_lists(object.into(), &["events", "groups", "build_ids"], offset.unwrap_or(0) as usize, max_bytes)
}

fn bounded_lists(report: Value, lists: &[&str], offset: usize, max_bytes: usize) -> Value {
    let Value::Object(mut object) = report else { return report };
    let lists: Vec<_> = lists.iter().filter_map(|name| Some((*name, object.remove(*name)?))).collect();
    let mut omitted = match object.remove("omitted") {
        Some(Value::Object(omitted)) => omitted,
        _ => Map::new(),
    };
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
    let other = size(&Value::from(object.clone())) + size(&Value::from(omitted.clone()));
    let room = max_bytes.saturating_sub(other + 130);
    let is_list = |(name, list)| match list {
        Value::Array(entries) => Some((name, entries)),
        _ => None,
    };
    let mut lists: Vec<(&str, Vec<Value>)> = lists.into_iter().filter_map(is_list).collect();
    let longest = lists.iter().map(|(_, entries)| entries.len()).max().unwrap_or(0);
    let (mut used, mut end) = (0, offset);
    while end < longest {
        for entry in lists.iter_mut().filter_map(|(_, entries)| entries.get_mut(end)) {
            shorten(entry, max_bytes / TEXT_SHARE);
            used += size(entry) + 1;
        }
        if used > room && end > offset {
            break;
        }
        end += 1;
    }
    for (name, mut entries) in lists {
        if end < entries.len() {
            omitted.insert(name.to_owned(), (entries.len() - end).into());
        }
        entries.truncate(end);
        let shown = entries.split_off(offset.min(entries.len()));
        object.insert(name.to_owned(), shown.into());
    }
    if !omitted.is_empty() {
        object.insert("omitted".to_owned(), omitted.into());
    }
    if end < longest {
        object.insert("next_offset".to_owned(), end.into());
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
    fn lists_of_different_lengths_end_at_the_same_offset() {
        let list = |count: usize| -> Vec<_> {
            (0..count).map(|at| json!({ "address": at, "text": "x".repeat(40) })).collect()
        };
        let report = json!({ "lines": list(50), "blocks": list(9), "loops": [] });
        let (mut offset, mut shown) = (0, [0, 0]);
        loop {
            let part = bounded(report.clone(), offset, 1200);
            assert!(size(&part) <= 1200, "{} bytes", size(&part));
            for (name, shown) in ["lines", "blocks"].iter().zip(&mut shown) {
                for entry in part[name].as_array().unwrap() {
                    assert_eq!(entry["address"], *shown);
                    *shown += 1;
                }
            }
            let Some(next) = part["next_offset"].as_u64() else { break };
            offset = next as usize;
            assert_eq!(shown, [offset, offset.min(9)]);
        }
        assert_eq!(shown, [50, 9]);
    }

    #[test]
    fn many_events_are_omitted() {
        let mut report = report(10, 10);
        report["events"] = (0..500).map(|event| json!({ "event": event })).collect();
        let part = bounded(report, 0, 1000);
        assert!(size(&part) <= 1000 && part["omitted"]["events"].as_u64() > Some(450), "{part}");
    }

    #[test]
    fn information_on_a_recording_is_limited() {
        let ids: Vec<_> =
            (0..500).map(|id| json!({ "build_id": format!("{id:040}"), "file": "/usr/bin/app" })).collect();
        let features = json!({ "HOSTNAME": "host", "CPU_TOPOLOGY": "x".repeat(5000), "CMDLINE": "y".repeat(400) });
        let info = json!({ "file": "perf.data", "features": features, "stats": { "threads": 3 }, "build_ids": ids });
        let (mut offset, mut shown) = (Some(0), 0);
        while let Some(at) = offset {
            let part = bounded_info(info.clone(), Some(at), Some(3000));
            assert!(size(&part) < 3000, "{} bytes", size(&part));
            assert_eq!(part["omitted"]["features"], json!(["CPU_TOPOLOGY"]));
            assert!(part["features"]["HOSTNAME"] == "host" && part["stats"]["threads"] == 3);
            shown += part["build_ids"].as_array().unwrap().len();
            offset = part.get("next_offset").and_then(Value::as_u64).map(|offset| offset as u32);
        }
        assert_eq!(shown, 500);
        assert_eq!(bounded_info(info.clone(), None, None), info);
    }

    #[test]
    fn long_facts_are_omitted_first() {
        let mut report = report(10, 10);
        report["facts"]["command"] = "x".repeat(2000).into();
        let part = bounded(report, 0, 1000);
        assert!(part.get("facts").is_none() && part["entries"].as_array().is_some_and(|list| list.len() > 5));
    }
}
