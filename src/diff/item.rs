//! Records and other parts of a recording as JSON values to compare.

use super::ignore::{Ignore, IgnoredPart};
use hashbrown::{DefaultHashBuilder, HashMap};
use perf_data::error::{Error, Result};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::io;
use std::sync::OnceLock;

/// A record as JSON.
#[derive(Clone, Debug)]
pub struct DiffItem {
    /// Hash of the JSON: equal records have equal keys.
    pub key: u64,
    /// Number of the record in its recording, from 1, counting also those that are not compared as records.
    pub number: u64,
    /// The record as JSON.
    pub json: Box<str>,
}

impl DiffItem {
    /// The fields of the record.
    ///
    /// # Errors
    /// Never: the JSON was parsed before.
    pub fn value(&self) -> Result<Value> {
        serde_json::from_str(&self.json).map_err(unreadable)
    }
}

/// A part other than a record, with its position. Parts are compared in the order of the variants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKey {
    /// Container, byte order, compression.
    Form,
    /// An event, by its index.
    Event(usize),
    /// A tracepoint name in the event types of very old recordings, by its index.
    EventType(usize),
    /// A feature, by its name.
    Feature(String),
    /// The build ID of a file, by the file's name and the number of earlier ones with that name.
    BuildId(String, usize),
    /// A piece of another file in the directory of the recording, by name and number.
    Other(String, usize),
    /// A gap between records, by its number.
    Gap(usize),
    /// An unusual layout of what is before or after the records.
    Layout(&'static str),
}

/// The parts of a recording other than records.
#[derive(Debug, Default)]
pub struct NonRecordItems {
    /// Parts by position.
    pub list: BTreeMap<ItemKey, Value>,
    records: u64,
    /// Number of build IDs of each file so far.
    build_ids: HashMap<String, usize>,
    events: usize,
    event_types: usize,
    pieces: usize,
    gaps: usize,
}

/// Parses a line: returns a record to compare, or adds another part to `others`.
///
/// # Errors
/// If the line is not part of a recording in JSON.
pub fn read(line: &[u8], ignore: &Ignore, others: &mut NonRecordItems) -> Result<Option<DiffItem>> {
    let text = std::str::from_utf8(line).map_err(|e| Error::Output(io::Error::other(e)))?;
    let is_record = text.starts_with("{\"record\":");
    others.records += u64::from(is_record);
    if is_record && !describes_recording(text) {
        let is_unchanged = ignore.is_nothing() && !is_framed(text);
        let json = if is_unchanged { text.into() } else { ignore.strip_record(text).into() };
        return Ok(Some(others.item(json)));
    }
    let Value::Object(object) = serde_json::from_str(text).map_err(unreadable)? else { return Ok(None) };
    if is_record {
        others.record(object, ignore)
    } else {
        others.other(object, ignore)
    }
    Ok(None)
}

/// Whether a record in a pipe has the contents of a header or section in a file.
fn describes_recording(text: &str) -> bool {
    text.starts_with("{\"record\":\"HEADER_") || text.starts_with("{\"record\":\"COMPRESSED")
}

/// Whether it was in a compressed frame, which is not a property of the record.
fn is_framed(text: &str) -> bool {
    let start = &text.as_bytes()[..text.len().min(64)];
    memchr::memmem::find(start, b"\"frame\":").is_some()
}

impl NonRecordItems {
    fn item(&self, json: Box<str>) -> DiffItem {
        // The records of both recordings are compared by their hashes, so all hashes need the same seed.
        static HASHER: OnceLock<DefaultHashBuilder> = OnceLock::new();
        let key = HASHER.get_or_init(Default::default).hash_one(&*json);
        DiffItem { key, number: self.records, json }
    }

    /// Adds a record that describes the recording.
    fn record(&mut self, mut object: Map<String, Value>, ignore: &Ignore) {
        let kind = object.get("record").and_then(Value::as_str).unwrap_or_default().to_owned();
        let body = object.remove("body").unwrap_or_default();
        match &*kind {
            "COMPRESSED" | "COMPRESSED2" => self.keep_form("compressed", true.into(), ignore),
            "HEADER_ATTR" => self.keep_event(body, ignore),
            "HEADER_EVENT_TYPE" => self.keep_event_type(body, ignore),
            "HEADER_BUILD_ID" => self.keep_build_id(body, mode_and_flags(&object), ignore),
            "HEADER_TRACING_DATA" => {
                let names = [("tracing_data", "content"), ("payload", "raw")];
                let content = names.into_iter().find_map(|(name, named)| Some((named, object.remove(name)?)));
                if let Some((name, formats)) = content {
                    let fields = Map::from_iter([(name.to_owned(), formats)]);
                    self.keep_feature("TRACING_DATA".into(), Value::Object(fields), ignore);
                }
            }
            _ => {
                // The record after the last feature has no contents.
                if let Some(Value::String(name)) = object.remove("feature") {
                    object.remove("record");
                    object.remove("frame");
                    self.keep_feature(name, Value::Object(object), ignore);
                }
            }
        }
    }

    fn other(&mut self, mut object: Map<String, Value>, ignore: &Ignore) {
        if object.remove("perfconv").is_some() {
            for (name, value) in object {
                self.keep_form(&name, value, ignore);
            }
        } else if object.contains_key("attr") {
            self.keep_event(Value::Object(object), ignore);
        } else if let Some(event_type) = object.remove("event_type") {
            self.keep_event_type(event_type, ignore);
        } else if let Some(Value::String(name)) = object.remove("feature") {
            self.keep_feature(name, Value::Object(object), ignore);
        } else if let Some(Value::String(name)) = object.remove("other") {
            let key = ItemKey::Other(name, self.pieces);
            self.pieces += 1;
            self.keep(key, Value::Object(object), ignore);
        } else if object.contains_key("gap") {
            object.remove("frame");
            self.keep(ItemKey::Gap(self.gaps), Value::Object(object), ignore);
            self.gaps += 1;
        } else if let Some(before) = object.remove("before") {
            self.keep_layout("before", before, ignore);
        } else if let Some(end) = object.remove("end") {
            self.keep_layout("after", end, ignore);
        }
    }

    fn keep(&mut self, key: ItemKey, mut value: Value, ignore: &Ignore) {
        ignore.strip(&mut value);
        self.list.insert(key, value);
    }

    fn keep_form(&mut self, name: &str, value: Value, ignore: &Ignore) {
        if !ignore.has(IgnoredPart::Form) {
            let form = self.list.entry(ItemKey::Form).or_insert_with(|| Value::Object(Map::new()));
            form[name] = value;
        }
    }

    fn keep_layout(&mut self, name: &'static str, value: Value, ignore: &Ignore) {
        let is_usual = value.as_object().is_some_and(Map::is_empty);
        if !is_usual && !ignore.has(IgnoredPart::Offsets) && !ignore.has(IgnoredPart::Form) {
            self.keep(ItemKey::Layout(name), value, ignore);
        }
    }

    fn keep_event(&mut self, mut event: Value, ignore: &Ignore) {
        // Bytes after an attr that is larger than perf's are reflected by its size.
        if let Some(attr) = event.get_mut("attr").and_then(Value::as_object_mut) {
            attr.remove("stored");
        }
        self.keep(ItemKey::Event(self.events), event, ignore);
        self.events += 1;
    }

    fn keep_event_type(&mut self, event_type: Value, ignore: &Ignore) {
        self.keep(ItemKey::EventType(self.event_types), event_type, ignore);
        self.event_types += 1;
    }

    /// Adds a build ID: a record in a pipe, an entry of a feature in a file.
    fn keep_build_id(&mut self, mut build_id: Value, misc: Value, ignore: &Ignore) {
        let name = build_id["filename"]["text"].as_str().or(build_id["filename"].as_str()).unwrap_or_default();
        let name = name.to_owned();
        if let Some(fields) = build_id.as_object_mut() {
            // The padded size of the name is not a property of the file.
            fields.insert("filename".to_owned(), name.clone().into());
            fields.insert("misc".to_owned(), misc);
        }
        let count = self.build_ids.entry_ref(&*name).or_default();
        let key = ItemKey::BuildId(name, *count);
        *count += 1;
        self.keep(key, build_id, ignore);
    }

    fn keep_feature(&mut self, name: String, mut value: Value, ignore: &Ignore) {
        if name == "TRACING_DATA"
            && let Some(fields) = value.as_object_mut()
        {
            // Pipes pad this feature.
            fields.remove("room");
        }
        if name == "BUILD_ID"
            && let Some(entries) = value["content"]["entries"].as_array()
            && entries.iter().all(|entry| entry["content"]["build_id"].is_object())
        {
            for entry in entries {
                self.keep_build_id(entry["content"]["build_id"].clone(), entry["misc"].clone(), ignore);
            }
            return;
        }
        let part = match &*name {
            // Pipes lack the feature that marks a file of perf stat.
            "COMPRESSED" | "DIR_FORMAT" | "STAT" => Some(IgnoredPart::Form),
            "SAMPLE_TIME" | "CLOCK_DATA" => Some(IgnoredPart::Times),
            "AUXTRACE" => Some(IgnoredPart::Offsets),
            _ => None,
        };
        if !part.is_some_and(|part| ignore.has(part)) {
            self.keep(ItemKey::Feature(name), value, ignore);
        }
    }
}

/// CPU mode and flags of a record, as the BUILD_ID feature represents those of its entries.
fn mode_and_flags(object: &Map<String, Value>) -> Value {
    let modes = ["KERNEL", "USER", "HYPERVISOR", "GUEST_KERNEL", "GUEST_USER"];
    let mode = object.get("cpumode").and_then(Value::as_str);
    let mode = mode.and_then(|name| modes.iter().position(|mode| *mode == name)).map(|at| format!("{:#x}", at + 1));
    let flags = object.get("misc").and_then(Value::as_array).cloned().unwrap_or_default();
    flags.into_iter().chain(mode.map(Value::from)).collect()
}

fn unreadable(error: serde_json::Error) -> Error {
    Error::Output(io::Error::other(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_build_ids_of_the_same_file_name() {
        let mut others = NonRecordItems::default();
        for number in 0..60_000 {
            let build_id = serde_json::json!({"build_id": number, "filename": "/lib/libc.so.6"});
            others.keep_build_id(build_id, Value::Null, &Ignore::default());
        }
        assert_eq!(others.list.len(), 60_000);
        let last = &others.list[&ItemKey::BuildId("/lib/libc.so.6".into(), 59_999)];
        assert_eq!(last["build_id"], 59_999);
    }
}
