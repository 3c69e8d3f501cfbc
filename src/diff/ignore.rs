//! Differences to ignore.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Differences to ignore: fields by name, and parts.
#[derive(Clone, Debug, Default)]
pub struct Ignore {
    parts: BTreeSet<IgnoredPart>,
    fields: BTreeMap<String, IgnoredField>,
}

/// A field to ignore. Clones share the flag.
#[derive(Clone, Debug, Default)]
struct IgnoredField {
    /// Whether it belongs to a [`Part`].
    belongs_to_part: bool,
    /// Whether it occurred.
    is_matched: Arc<AtomicBool>,
}

/// A named group of fields and differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IgnoredPart {
    /// Offsets in files, and unusual layouts of files.
    Offsets,
    /// Event IDs.
    Ids,
    /// Times.
    Times,
    /// Container, byte order, compression.
    Form,
}

impl IgnoredPart {
    /// All parts by name.
    pub const NAMED: [(&'static str, Self); 4] =
        [("offsets", Self::Offsets), ("ids", Self::Ids), ("times", Self::Times), ("form", Self::Form)];

    /// The fields that belong to it: in JSON a field has a name and no role. A test compares them with the roles of all record types.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Offsets => &["file_offset"],
            Self::Ids => &["id", "ids", "identifier", "stream_id"],
            Self::Times => &[
                "time",
                "timestamp",
                "time_enabled",
                "time_running",
                "wall_clock_ns",
                "clockid_ns",
                "time_shift",
                "time_mult",
                "time_zero",
                "time_cycles",
                "time_mask",
            ],
            Self::Form => &[],
        }
    }
}

impl Ignore {
    /// Ignores a part or a field of any record, event or feature: `times`, `period`.
    pub fn add(&mut self, name: &str) {
        match IgnoredPart::from_str(name) {
            Ok(part) => {
                self.parts.insert(part);
                for field in part.fields() {
                    self.fields.entry((*field).to_owned()).or_default().belongs_to_part = true;
                }
            }
            Err(()) => {
                self.fields.entry(name.to_owned()).or_default();
            }
        }
    }

    /// Whether nothing is ignored.
    pub fn is_nothing(&self) -> bool {
        self.parts.is_empty() && self.fields.is_empty()
    }

    /// Whether a part is ignored.
    pub fn has(&self, part: IgnoredPart) -> bool {
        self.parts.contains(&part)
    }

    /// The added fields that did not occur in what was compared.
    pub fn unmatched(&self) -> impl Iterator<Item = &str> {
        let is_unmatched = |field: &IgnoredField| !field.belongs_to_part && !field.is_matched.load(Ordering::Relaxed);
        self.fields.iter().filter(move |(_, field)| is_unmatched(field)).map(|(name, _)| name.as_str())
    }

    /// Whether a field is ignored.
    fn has_field(&self, name: &str) -> bool {
        let field = self.fields.get(name);
        field.into_iter().for_each(|field| field.is_matched.store(true, Ordering::Relaxed));
        field.is_some()
    }

    /// Removes the fields to ignore.
    pub fn strip(&self, value: &mut Value) {
        match value {
            Value::Object(fields) if !self.fields.is_empty() => {
                fields.retain(|name, _| !self.has_field(name));
                fields.values_mut().for_each(|value| self.strip(value));
            }
            Value::Array(elements) if !self.fields.is_empty() => {
                elements.iter_mut().for_each(|element| self.strip(element));
            }
            _ => {}
        }
    }
}

impl Ignore {
    /// Removes from a record the fields to ignore and its compressed frame, which is not a property of the record. The record is
    /// compact JSON as written by this program, and is not parsed: recordings have many records.
    pub fn strip_record(&self, json: &str) -> String {
        let mut out = String::with_capacity(json.len());
        let mut rest = json;
        // For each open group, from the outermost: whether it is an object.
        let mut open: Vec<bool> = Vec::new();
        let mut at_key = false;
        while let Some(&byte) = rest.as_bytes().first() {
            let mut len = 1;
            match byte {
                b'"' => {
                    len = string_len(rest);
                    let key = rest.get(1..len - 1).unwrap_or_default();
                    if at_key && (self.has_field(key) || open.len() == 1 && key == "frame") {
                        // After the key: a colon and the value.
                        rest = rest.get(len + 1..).unwrap_or_default();
                        rest = &rest[value_len(rest)..];
                        if out.ends_with(',') {
                            out.pop();
                        } else {
                            rest = rest.strip_prefix(',').unwrap_or(rest);
                        }
                        at_key = !out.ends_with('{') || rest.starts_with('"');
                        continue;
                    }
                }
                b'{' | b'[' => open.push(byte == b'{'),
                b'}' | b']' => drop(open.pop()),
                _ => {}
            }
            at_key = match byte {
                b'{' => true,
                b',' => open.last() == Some(&true),
                _ => false,
            };
            out.push_str(&rest[..len]);
            rest = &rest[len..];
        }
        out
    }
}

/// Length of the string at the start, with its quotes.
fn string_len(text: &str) -> usize {
    let mut at = 1;
    while let Some(offset) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest.as_bytes())) {
        at += offset;
        if text.as_bytes()[at] == b'"' {
            return at + 1;
        }
        // Skips the backslash and the character that it escapes.
        at += 2;
    }
    text.len()
}

/// Length of the value at the start.
fn value_len(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while let Some(&byte) = text.as_bytes().get(at) {
        match byte {
            b'"' => {
                at += string_len(&text[at..]);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b',' | b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

impl FromStr for IgnoredPart {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::NAMED.iter().find(|(named, _)| *named == name).map(|(_, part)| *part).ok_or(())
    }
}

#[cfg(test)]
mod role_tests {
    use super::*;
    use crate::synth::Scenario;
    use perf_data::abi::fields::{FieldVisitor, ignore_roles};
    use perf_data::abi::record::{Record, RecordType};
    use perf_data::container::read::input::Input;
    use perf_data::container::read::{Container, ReadOptions};
    use perf_data::error::Result;
    use perf_data::stream::Sink;
    use perf_data::stream::meta::Meta;
    use perf_data::stream::raw::Raw;
    use perf_data::stream::source::Source;
    use perf_data::stream::write::form::Form;
    use std::fs;

    /// Changes the fields of a part.
    struct IgnoredChange(IgnoredPart);

    impl IgnoredChange {
        fn change(&self, part: IgnoredPart, number: &mut u64) {
            *number = number.wrapping_add((self.0 == part).into());
        }
    }

    impl perf_data::abi::fields::InWorkspace for IgnoredChange {}

    impl FieldVisitor for IgnoredChange {
        fn time(&mut self, time: &mut u64) {
            self.change(IgnoredPart::Times, time);
        }

        fn elapsed(&mut self, time: &mut u64) {
            self.change(IgnoredPart::Times, time);
        }

        fn clock_origin(&mut self, time: &mut u64) {
            self.change(IgnoredPart::Times, time);
        }

        fn own_event_id(&mut self, id: &mut u64) {
            self.change(IgnoredPart::Ids, id);
        }

        fn event_id(&mut self, id: &mut u64) {
            self.change(IgnoredPart::Ids, id);
        }

        ignore_roles! {
            task, own_process, guest, attr, text, command_line, mapping, address, code, callchain, inode, namespace, build_id, file_build_id, cgroup_id, bpf_tag, feature, tracing_data, opaque, unknown
        }
    }

    /// Collects the names of fields that differ.
    fn differing(a: &Value, b: &Value, name: &str, names: &mut BTreeSet<String>) {
        match (a, b) {
            (Value::Object(a), Value::Object(b)) => a.iter().for_each(|(name, a)| differing(a, &b[name], name, names)),
            (Value::Array(a), Value::Array(b)) => a.iter().zip(b).for_each(|(a, b)| differing(a, b, name, names)),
            _ if a != b => drop(names.insert(name.to_owned())),
            _ => {}
        }
    }

    /// The names of changed fields, and the types with such fields.
    #[derive(Default)]
    struct Changed([(BTreeSet<String>, BTreeSet<RecordType>); 2]);

    impl Sink for Changed {
        fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
            let record = Record::read(raw.bytes(), &meta.context(raw)).unwrap();
            for (part, (names, types)) in [IgnoredPart::Times, IgnoredPart::Ids].into_iter().zip(&mut self.0) {
                let mut changed = record.body.clone();
                changed.visit_fields(&mut IgnoredChange(part));
                if changed != record.body {
                    types.insert(raw.header().kind);
                    let [a, b] = [&record.body, &changed].map(|body| serde_json::to_value(body).unwrap());
                    differing(&a, &b, "", names);
                }
            }
            Ok(())
        }
    }

    #[test]
    fn parts_contain_the_fields_with_their_roles() {
        let mut changed = Changed::default();
        for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios")).unwrap() {
            let path = entry.unwrap().path();
            let Ok(scenario) = Scenario::parse("scenario", &fs::read_to_string(&path).unwrap_or_default()) else {
                continue;
            };
            let Ok((bytes, ..)) = scenario.to_bytes(1, Container::File, Form::default()) else { continue };
            let input = Input::Bytes { name: "scenario".into(), bytes: bytes.into() };
            let Ok(source) = Source::open(input, ReadOptions::default()) else { continue };
            source.run(&mut changed).unwrap();
        }
        for ((names, types), (part, least)) in changed.0.iter().zip([(IgnoredPart::Times, 9), (IgnoredPart::Ids, 8)]) {
            assert!(types.len() >= least, "{part:?}: compared too few types: {types:?}");
            let missing: Vec<_> = names.iter().filter(|name| !part.fields().contains(&name.as_str())).collect();
            assert!(missing.is_empty(), "{part:?} lacks {missing:?}, of {types:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Map;

    /// Keys that are ignored and others, among strings that look like parts of JSON.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-c]",
            Just("time".to_owned()),
            Just("id".to_owned()),
            Just("frame".to_owned()),
            "[{}\\[\\]\",:\\\\é]{0,4}"
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<u64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            Just(Value::Null),
            text().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(text(), inner, 0..4)
                    .prop_map(|fields| Value::Object(Map::from_iter(fields))),
            ]
        })
    }

    proptest! {
        #[test]
        fn removes_ignored_fields_and_nothing_else(
            fields in prop::collection::btree_map("[a-z]{1,5}|id|ids|time|frame", value(), 0..6)
        ) {
            let mut value = Value::Object(Map::from_iter(fields));
            let mut ignore = Ignore::default();
            ["ids", "times", "b"].iter().for_each(|name| ignore.add(name));
            let stripped = ignore.strip_record(&value.to_string());
            if let Some(fields) = value.as_object_mut() {
                fields.remove("frame");
            }
            ignore.strip(&mut value);
            prop_assert_eq!(serde_json::from_str::<Value>(&stripped).unwrap(), value, "{}", stripped);
        }
    }
}
