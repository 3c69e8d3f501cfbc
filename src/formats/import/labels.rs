//! Labels for which samples have no field: fields of a tracepoint that is made up.

use super::source::{SourceProfile, SourceSample};
use crate::abi::Endian;
use crate::synth::tracepoint::Tracepoint;
use hashbrown::{HashMap, HashSet};

/// The labels of a profile as fields of tracepoints: each event that has some is one.
#[derive(Debug, Default)]
pub struct Fields {
    /// Numbers of the keys, and the bytes that a text takes; 0 for a number.
    sizes: Vec<(u32, u64)>,
    /// By the numbers of the events.
    tracepoints: Vec<Option<Tracepoint>>,
}

impl Fields {
    /// The longest text that is kept.
    const LONGEST: u64 = 1024;
    /// What fields may take in all.
    const MOST: u64 = 48 << 10;
    /// How many fields all events may have together.
    const MOST_OF_ALL: usize = 1 << 18;

    /// The fields that a profile's labels need.
    pub fn new(told: &SourceProfile, lost: &mut Vec<String>) -> Self {
        let keys = &told.labels.keys;
        if keys.is_empty() {
            return Self { sizes: Vec::new(), tracepoints: vec![None; told.events.len()] };
        }
        let mut longest = vec![8; keys.len()];
        let mut cut = HashSet::new();
        for &(key, value) in told.labels.sets.iter().flatten() {
            if keys[key as usize].1.is_none() {
                let len = told.names.get(value as u32).len() as u64 + 1;
                let size = &mut longest[key as usize];
                *size = (*size).max(len.next_multiple_of(8).min(Self::LONGEST));
                if len > Self::LONGEST {
                    cut.insert((key, value));
                }
            }
        }
        let mut has_labels = vec![false; told.events.len()];
        told.samples.iter().for_each(|sample| has_labels[sample.event as usize] |= sample.labels > 0);
        let events = has_labels.iter().filter(|has_labels| **has_labels).count();
        let most = Self::MOST_OF_ALL / events.max(1);
        let mut used = 0;
        let mut names = HashMap::new();
        let (mut fields, mut sizes) = (Vec::new(), Vec::new());
        for (key, (&(name, unit), takes)) in (0..).zip(keys.iter().zip(longest)) {
            if used + takes > Self::MOST || fields.len() == most {
                continue;
            }
            used += takes;
            let name = identifier(&String::from_utf8_lossy(told.names.get(name)), &mut names);
            fields.push(match unit {
                None => (format!("char {name}[{takes}]"), takes, false),
                Some(_) => (format!("s64 {name}"), takes, true),
            });
            sizes.push((key, if unit.is_none() { takes } else { 0 }));
        }
        let left_out = keys.len() - fields.len();
        if left_out > 0 {
            lost.push(format!("{left_out} keys of labels are left out: a sample has no room for them"));
        }
        let is_kept = |(key, _): &&(u32, u64)| sizes.binary_search_by_key(key, |(kept, _)| *kept).is_ok();
        let cut = cut.iter().filter(is_kept).count();
        if cut > 0 {
            lost.push(format!("{cut} texts of labels are cut to {} bytes", Self::LONGEST - 1));
        }
        let tracepoint = |(event, _): (usize, _)| {
            let name = identifier(&told.events[event].name, &mut HashMap::new());
            let point = Tracepoint::new("imported", name);
            has_labels[event].then(|| {
                let point = if told.events[event].is_printed { printed(&told.events[event].name) } else { point };
                fields.iter().fold(point, |point, (declaration, size, signed)| point.field(declaration, *size, *signed))
            })
        };
        let tracepoints = told.events.iter().enumerate().map(tracepoint).collect();
        Self { sizes, tracepoints }
    }

    /// Numbers of the keys that are fields, and the bytes that a text takes; 0 for a number.
    pub fn sizes(&self) -> impl Iterator<Item = (u32, u64)> {
        self.sizes.iter().copied()
    }

    /// The number of an event's tracepoint.
    pub fn id(event: u32) -> u64 {
        1000 + u64::from(event)
    }

    /// The tracepoint that an event is, if its samples have labels.
    pub fn tracepoint(&self, event: u32) -> Option<&Tracepoint> {
        self.tracepoints.get(event as usize)?.as_ref()
    }

    /// How many bytes the raw bytes of an event's samples are.
    pub fn size(&self, event: u32) -> u64 {
        self.tracepoint(event).map_or(0, Tracepoint::size)
    }

    /// The raw bytes of a sample.
    pub fn raw(&self, told: &SourceProfile, sample: &SourceSample, pid: u32, raw: &mut Vec<u8>) {
        raw.clear();
        if self.tracepoint(sample.event).is_none() {
            return;
        }
        let labels = told.labels.sets.get(sample.labels);
        let mut own = Vec::new();
        for &(key, size) in &self.sizes {
            let value = labels.binary_search_by_key(&key, |(of, _)| *of).ok().map(|place| labels[place].1);
            if size == 0 {
                own.extend(value.unwrap_or(0).to_le_bytes());
                continue;
            }
            let text = value.map_or(&b""[..], |name| told.names.get(name as u32));
            let end = own.len() + size as usize;
            // Behind the text is at least one NUL.
            own.extend(&text[..text.len().min(size as usize - 1)]);
            own.resize(end, 0);
        }
        *raw = Tracepoint::raw(Self::id(sample.event), pid, &own, Endian::Little);
    }
}

/// A tracepoint whose only field is the text that perf printed. The event keeps its name; in the format file it is one word.
fn printed(name: &str) -> Tracepoint {
    let (system, name) = name.split_once(':').unwrap_or(("imported", name));
    Tracepoint { print: Some("%s".to_owned()), ..Tracepoint::new(word(system), word(name)) }
}

/// Maximum letters of a name, without the number that makes it unique.
const NAME: usize = 128;

/// A name of letters, digits and '_', which may begin with a digit, as in `9p_client_req`.
fn word(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let word: String = name.chars().take(NAME).map(letter).collect();
    if word.is_empty() { "_".to_owned() } else { word }
}

/// A name as C has it, that no other one has. Of those that are taken the next number is kept.
fn identifier(name: &str, taken: &mut HashMap<String, u32>) -> String {
    let mut identifier = word(name);
    if !identifier.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        identifier.insert(0, '_');
    }
    let stem = identifier.clone();
    while taken.contains_key(&identifier) {
        let number = taken.entry_ref(&stem).or_insert(2);
        identifier = format!("{stem}_{number}");
        *number += 1;
    }
    taken.insert(identifier.clone(), 2);
    identifier
}
