//! Labels without a field in samples, stored as fields of a synthetic tracepoint.

use super::source::{SourceProfile, SourceSample};
use crate::synth::tracepoint::Tracepoint;
use hashbrown::{HashMap, HashSet};
use perf_data::abi::Endian;

/// The labels of a profile as tracepoint fields: each event with labels becomes a tracepoint.
#[derive(Debug, Default)]
pub(super) struct LabelFields {
    /// Key numbers, with the size of a string field, or 0 for a number.
    sizes: Vec<(u32, u64)>,
    /// By event number.
    tracepoints: Vec<Option<Tracepoint>>,
}

impl LabelFields {
    /// Maximum size of a string. Every sample has room for the longest of its event, so that one long label would enlarge all.
    const MAX_STRING: u64 = 1024;
    /// Maximum size of all fields of an event: the call chain must fit into the record of at most 64 KiB, too.
    const MAX_SIZE: u64 = 48 << 10;
    /// Maximum number of fields of all events: each event has a format file that lists all fields.
    const MAX_FIELDS: usize = 1 << 18;

    /// Determines the fields for the labels of a profile.
    pub(super) fn new(profile: &SourceProfile, lost: &mut Vec<String>) -> Self {
        let keys = profile.labels.keys.list();
        if keys.is_empty() {
            return Self { sizes: Vec::new(), tracepoints: vec![None; profile.events.len()] };
        }
        let mut longest = vec![8; keys.len()];
        let mut truncated = HashSet::new();
        for &(key, value) in profile.labels.sets.iter().flatten() {
            if keys[key as usize].1.is_none() {
                let len = profile.names.get(value as u32).len() as u64 + 1;
                let size = &mut longest[key as usize];
                *size = (*size).max(len.next_multiple_of(8).min(Self::MAX_STRING));
                if len > Self::MAX_STRING {
                    truncated.insert((key, value));
                }
            }
        }
        let mut has_labels = vec![false; profile.events.len()];
        profile.samples.iter().for_each(|sample| has_labels[sample.event as usize] |= sample.labels > 0);
        let events = has_labels.iter().filter(|has_labels| **has_labels).count();
        // Each event with labels has a field for each key, so that events share the limit.
        let limit = Self::MAX_FIELDS / events.max(1);
        let mut used = 0;
        let mut names = HashMap::new();
        let (mut fields, mut sizes) = (Vec::new(), Vec::new());
        for (key, (&(name, unit), takes)) in (0..).zip(keys.iter().zip(longest)) {
            if used + takes > Self::MAX_SIZE || fields.len() == limit {
                continue;
            }
            used += takes;
            let name = identifier(&String::from_utf8_lossy(profile.names.get(name)), &mut names);
            fields.push(match unit {
                None => (format!("char {name}[{takes}]"), takes, false),
                Some(_) => (format!("s64 {name}"), takes, true),
            });
            sizes.push((key, if unit.is_none() { takes } else { 0 }));
        }
        let omitted = keys.len() - fields.len();
        if omitted > 0 {
            lost.push(format!("{omitted} label keys are omitted: a sample cannot store them"));
        }
        let is_stored = |(key, _): &&(u32, u64)| sizes.binary_search_by_key(key, |(stored, _)| *stored).is_ok();
        let truncated = truncated.iter().filter(is_stored).count();
        if truncated > 0 {
            lost.push(format!("{truncated} label strings are truncated to {} bytes", Self::MAX_STRING - 1));
        }
        let tracepoint = |(event, _): (usize, _)| {
            let name = identifier(&profile.events[event].name, &mut HashMap::new());
            let point = Tracepoint::new("imported", name);
            has_labels[event].then(|| {
                let point = if profile.events[event].is_printed { printed(&profile.events[event].name) } else { point };
                fields.iter().fold(point, |point, (declaration, size, signed)| point.field(declaration, *size, *signed))
            })
        };
        let tracepoints = profile.events.iter().enumerate().map(tracepoint).collect();
        Self { sizes, tracepoints }
    }

    /// Key numbers of the fields, with the size of a string field, or 0 for a number.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (u32, u64)> {
        self.sizes.iter().copied()
    }

    /// The ID of an event's tracepoint.
    pub(super) fn id(event: u32) -> u64 {
        1000 + u64::from(event)
    }

    /// The tracepoint of an event, if its samples have labels.
    pub(super) fn tracepoint(&self, event: u32) -> Option<&Tracepoint> {
        self.tracepoints.get(event as usize)?.as_ref()
    }

    /// Size of the RAW data of an event's samples.
    pub(super) fn size(&self, event: u32) -> u64 {
        self.tracepoint(event).map_or(0, Tracepoint::size)
    }

    /// Encodes the RAW data of a sample.
    pub(super) fn raw(&self, profile: &SourceProfile, sample: &SourceSample, pid: u32, raw: &mut Vec<u8>) {
        raw.clear();
        if self.tracepoint(sample.event).is_none() {
            return;
        }
        let labels = profile.labels.sets.get(sample.labels);
        let mut own = Vec::new();
        for &(key, size) in &self.sizes {
            let value = labels.binary_search_by_key(&key, |(stored, _)| *stored).ok().map(|index| labels[index].1);
            if size == 0 {
                own.extend(value.unwrap_or(0).to_le_bytes());
                continue;
            }
            let text = value.map_or(&b""[..], |name| profile.names.get(name as u32));
            let end = own.len() + size as usize;
            // A string is terminated by at least one NUL.
            own.extend(&text[..text.len().min(size as usize - 1)]);
            own.resize(end, 0);
        }
        *raw = Tracepoint::raw(Self::id(sample.event), pid, &own, Endian::Little);
    }
}

/// A tracepoint whose only field is the text that perf printed. The event keeps its name; in the format file it must
/// be one word.
fn printed(name: &str) -> Tracepoint {
    let (system, name) = name.split_once(':').unwrap_or(("imported", name));
    Tracepoint { print: Some("%s".to_owned()), ..Tracepoint::new(word(system), word(name)) }
}

/// Maximum length of a name, without the number that makes it unique.
const NAME: usize = 128;

/// Converts a name to letters, digits and '_'. It may begin with a digit, as in `9p_client_req`.
fn word(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let word: String = name.chars().take(NAME).map(letter).collect();
    if word.is_empty() { "_".to_owned() } else { word }
}

/// Converts a name to a unique C identifier. `used` has the next suffix for each name.
fn identifier(name: &str, used: &mut HashMap<String, u32>) -> String {
    let mut identifier = word(name);
    if !identifier.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        identifier.insert(0, '_');
    }
    let stem = identifier.clone();
    while used.contains_key(&identifier) {
        let number = used.entry_ref(&stem).or_insert(2);
        identifier = format!("{stem}_{number}");
        *number += 1;
    }
    used.insert(identifier.clone(), 2);
    identifier
}
