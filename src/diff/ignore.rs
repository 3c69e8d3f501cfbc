//! What does not count when recordings are compared.

use serde_json::Value;
use std::collections::BTreeSet;
use std::str::FromStr;

/// What does not count.
#[derive(Clone, Debug, Default)]
pub struct Ignore {
    parts: BTreeSet<Part>,
    fields: BTreeSet<String>,
}

/// What belongs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Where things lie in a file, and how a file is laid out where not as perf does.
    Offsets,
    /// The numbers that events have in a recording.
    Ids,
    /// When things happened.
    Times,
    /// Container, byte order, compression.
    Form,
}

impl Part {
    /// All of them, by their names.
    pub const NAMED: [(&'static str, Self); 4] =
        [("offsets", Self::Offsets), ("ids", Self::Ids), ("times", Self::Times), ("form", Self::Form)];

    /// The fields that belong to it.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Offsets => &["file_offset"],
            Self::Ids => &["id", "ids", "identifier", "stream_id"],
            Self::Times => &[
                "time",
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
    /// Has a part, or a field of any record, event or feature, not count: `times`, `period`.
    pub fn add(&mut self, name: &str) {
        match Part::from_str(name) {
            Ok(part) => {
                self.parts.insert(part);
                self.fields.extend(part.fields().iter().map(|&field| field.to_owned()));
            }
            Err(()) => {
                self.fields.insert(name.to_owned());
            }
        }
    }

    /// Whether everything counts.
    pub fn is_nothing(&self) -> bool {
        self.parts.is_empty() && self.fields.is_empty()
    }

    /// Whether a part does not count.
    pub fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    /// Takes out what does not count.
    pub fn strip(&self, told: &mut Value) {
        match told {
            Value::Object(fields) if !self.fields.is_empty() => {
                fields.retain(|name, _| !self.fields.contains(name));
                fields.values_mut().for_each(|value| self.strip(value));
            }
            Value::Array(elements) if !self.fields.is_empty() => {
                elements.iter_mut().for_each(|element| self.strip(element));
            }
            _ => {}
        }
    }
}

impl FromStr for Part {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::NAMED.iter().find(|(named, _)| *named == name).map(|(_, part)| *part).ok_or(())
    }
}
