//! Labels for which samples have no field: fields of a tracepoint that is made up.

use super::told::{Told, ToldSample};
use crate::abi::Endian;
use crate::synth::tracepoint::Tracepoint;
use hashbrown::HashSet;

/// The labels of a profile as fields of tracepoints: each event that has some is one.
#[derive(Debug, Default)]
pub struct Fields {
    /// By the numbers of the keys: bytes that a text takes; 0 for a number.
    sizes: Vec<u64>,
    /// By the numbers of the events.
    tracepoints: Vec<Option<Tracepoint>>,
}

impl Fields {
    /// The longest text that is kept.
    const LONGEST: u64 = 1024;
    /// What fields may take in all.
    const MOST: u64 = 48 << 10;

    /// The fields that a profile's labels need.
    pub fn new(told: &Told, lost: &mut Vec<String>) -> Self {
        let keys = &told.labels.keys;
        if keys.is_empty() {
            return Self { sizes: Vec::new(), tracepoints: vec![None; told.events.len()] };
        }
        let mut sizes = vec![0; keys.len()];
        for &(key, value) in told.labels.sets.iter().flatten() {
            if keys[key as usize].1.is_none() {
                let len = told.names.get(value as u32).len() as u64 + 1;
                let size = &mut sizes[key as usize];
                *size = (*size).max(len.next_multiple_of(8).min(Self::LONGEST));
            }
        }
        let (mut used, mut left_out) = (0, 0);
        let mut names = HashSet::new();
        let mut fields = Vec::new();
        for ((key, unit), size) in keys.iter().zip(&mut sizes) {
            let takes = if unit.is_none() { (*size).max(8) } else { 8 };
            if used + takes > Self::MOST {
                left_out += 1;
                *size = u64::MAX;
                continue;
            }
            used += takes;
            let name = identifier(key, &mut names);
            fields.push(match unit {
                None => (format!("char {name}[{takes}]"), takes, false),
                Some(_) => (format!("s64 {name}"), takes, true),
            });
            if unit.is_none() {
                *size = takes;
            }
        }
        if left_out > 0 {
            lost.push(format!("{left_out} keys of labels are left out: a sample has no room for them"));
        }
        let has_labels =
            |event: usize| told.samples.iter().any(|sample| sample.event as usize == event && sample.labels > 0);
        let tracepoint = |(event, _): (usize, _)| {
            let name = identifier(&told.events[event].name, &mut HashSet::new());
            let point = Tracepoint::new("imported", name);
            has_labels(event).then(|| {
                let point = if told.events[event].is_printed { printed(&told.events[event].name) } else { point };
                fields.iter().fold(point, |point, (declaration, size, signed)| point.field(declaration, *size, *signed))
            })
        };
        let tracepoints = told.events.iter().enumerate().map(tracepoint).collect();
        Self { sizes, tracepoints }
    }

    /// The number of an event's tracepoint.
    pub fn id(event: u32) -> u64 {
        1000 + u64::from(event)
    }

    /// The tracepoint that an event is, if its samples have labels.
    pub fn tracepoint(&self, event: u32) -> Option<&Tracepoint> {
        self.tracepoints.get(event as usize)?.as_ref()
    }

    /// The raw bytes of a sample.
    pub fn raw(&self, told: &Told, sample: &ToldSample, pid: u32, raw: &mut Vec<u8>) {
        raw.clear();
        if self.tracepoint(sample.event).is_none() {
            return;
        }
        let labels = told.labels.sets.get(sample.labels);
        let mut own = Vec::new();
        for (key, &size) in self.sizes.iter().enumerate().filter(|(_, size)| **size != u64::MAX) {
            let value = labels.iter().find(|(of, _)| *of as usize == key).map(|(_, value)| *value);
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

/// A tracepoint of that name, whose only field is what perf prints of it.
fn printed(name: &str) -> Tracepoint {
    let (system, name) = name.split_once(':').unwrap_or(("imported", name));
    Tracepoint { print: Some("%s".to_owned()), ..Tracepoint::new(system, name) }
}

/// A name as C has it, that no other one has.
fn identifier(name: &str, taken: &mut HashSet<String>) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut identifier: String = name.chars().map(word).collect();
    if !identifier.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        identifier.insert(0, '_');
    }
    let stem = identifier.clone();
    for number in 2.. {
        if taken.insert(identifier.clone()) {
            break;
        }
        identifier = format!("{stem}_{number}");
    }
    identifier
}
