//! Imports folded stacks as a recording.

use crate::error::{Error, Result};
use crate::formats::import::source::{SourceEvent, SourceFrame, SourceProfile, SourceSample};
use crate::formats::import::{ImportOptions, ImportedRecording, MAX_PARTS, quoted, record};
use crate::formats::recognize::lines;
use crate::profile::imported::{ProfileHeader, SampleType, SampleTypes};
use hashbrown::HashMap;
use std::io::{BufRead, BufReader, Read};

/// Suffix of kernel functions in the output of stackcollapse.
const KERNEL: &[u8] = b"_[k]";

/// Converts folded stacks to a recording: one value per line, with the count as its value.
///
/// # Errors
/// If a line is invalid, with its number, or a recording cannot represent it.
pub fn import(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording> {
    let samples = SampleType { kind: "samples".to_owned(), unit: "count".to_owned() };
    let types = SampleTypes { samples: None, value: samples.clone() };
    let header = ProfileHeader { period_type: Some(samples), period: 1, ..ProfileHeader::default() };
    let mut profile = SourceProfile { header: Some(header), ..SourceProfile::default() };
    profile.events.push(SourceEvent {
        name: "samples".to_owned(),
        unit: "count".to_owned(),
        period: 1,
        sample_types: Some(types),
        ..<_>::default()
    });
    let mut frames: HashMap<(u32, bool), u32> = HashMap::new();
    let mut input = BufReader::new(stream);
    let (mut line, mut stack) = (Vec::new(), Vec::new());
    for number in 1_u64.. {
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(Error::io(name, "cannot read"))? == 0 {
            break;
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        let invalid = |what: &str| Err(Error::input(name, None, format!("line {number}: {what}")));
        let Some((names, count)) = split(text) else {
            return invalid("count: missing; expected FRAME;FRAME;... COUNT");
        };
        let Some(value) = count_of(count) else {
            return invalid(&format!("count: {} is not an unsigned integer", quoted(&String::from_utf8_lossy(count))));
        };
        if profile.samples.len() == MAX_PARTS {
            return invalid(&format!("more than {MAX_PARTS} stacks"));
        }
        if names.contains(&0) {
            return invalid("frame: the name contains a NUL");
        }
        stack.clear();
        for name in names.split(|&byte| byte == b';') {
            let (name, is_kernel) = name.strip_suffix(KERNEL).map_or((name, false), |name| (name, true));
            let name = profile.names.id(name);
            let SourceProfile { functions, frames: all, .. } = &mut profile;
            stack.push(*frames.entry((name, is_kernel)).or_insert_with(|| {
                let function = Some(functions.named(name));
                all.push(SourceFrame { function, is_kernel, ..SourceFrame::default() });
                all.len() as u32 - 1
            }));
        }
        stack.reverse();
        let stack = profile.stacks.id(&stack);
        profile.samples.push(SourceSample { stack, value, ..SourceSample::default() });
    }
    if profile.samples.is_empty() {
        return Err(Error::input(name, None, "it has no stacks; expected lines of FRAME;FRAME;... COUNT"));
    }
    record(name, profile, options)
}

/// Splits a line into frames and count.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = line.iter().rposition(u8::is_ascii_whitespace)?;
    Some((line[..space].trim_ascii_end(), &line[space + 1..]))
}

fn count_of(count: &[u8]) -> Option<u64> {
    std::str::from_utf8(count).ok()?.parse().ok()
}

/// Whether an input with these first bytes is folded stacks: lines with a count, and at least one with several
/// frames.
pub fn recognizes(start: &[u8]) -> bool {
    let mut has_stack = false;
    let mut lines = lines(start).map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let are_stacks = lines.all(|line| {
        has_stack |= line.contains(&b';');
        split(line).is_some_and(|(names, count)| !names.is_empty() && count_of(count).is_some())
    });
    are_stacks && has_stack
}
