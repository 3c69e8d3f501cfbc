//! Imports the output of perf script as a recording.

use super::frame::Frame;
use super::sample_line::SampleLine;
use crate::error::{Error, Result};
use crate::formats::import::source::{SourceEvent, SourceFrame, SourceMapping, SourceProfile, SourceSample};
use crate::formats::import::{ImportOptions, ImportedRecording, record};
use crate::formats::recognize::lines;
use crate::session::map::PAGE;
use bytes::Bytes;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};

/// Maximum distance of offsets in one map; beyond it, a file gets another map.
const MAX_GAP: u64 = 1 << 30;

/// Addresses for files; those that do not fit are all mapped at its end.
const SPACE: std::ops::Range<u64> = 0x10_0000_0000..1 << 46;

/// Converts the output of perf script to a recording.
///
/// # Errors
/// If a line is not part of a sample, with line number and field, or a recording cannot represent it.
pub fn import(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording> {
    let mut reader = Reader::default();
    let mut input = BufReader::new(stream);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(Error::io(name, "cannot read"))? == 0 {
            break;
        }
        // Nearly all lines are valid, which this finds out faster.
        let text = std::str::from_utf8(&line).map_or_else(|_| String::from_utf8_lossy(&line), Cow::Borrowed);
        let text = text.trim_end_matches(['\n', '\r']);
        let invalid = |what: String| Error::input(name, None, format!("line {number}: {what}"));
        reader.line(text).map_err(invalid)?;
    }
    reader.end();
    if reader.profile.samples.is_empty() {
        return Err(Error::input(name, None, "it has no samples as perf script prints them"));
    }
    record(name, reader.finish(), options)
}

/// Whether an input with these first bytes is output of perf script: after comments, the first line of a sample, with
/// a time, a CPU or a frame, or followed by a frame.
pub fn recognizes(start: &[u8]) -> bool {
    let mut lines = lines(start).map(String::from_utf8_lossy);
    let head = lines.find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let Some(head) = head.as_deref().filter(|line| !line.starts_with('\t')) else { return false };
    let mut has_frame = || lines.next().is_some_and(|line| line.starts_with([' ', '\t']) && is_frame(&line));
    SampleLine::parse(head).is_ok_and(|head| {
        let is_in_file = |frame: Frame<'_>| frame.dso.is_some();
        let has_own_frame = || is_frame(head.rest) && Frame::parse(head.rest).is_ok_and(is_in_file);
        let is_sample = head.time.is_some() || head.cpu.is_some() || has_own_frame() || has_frame();
        !head.comm.is_empty() && is_sample
    })
}

/// A frame as printed. Its mapping is determined when all frames are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PrintedFrame {
    dso: Option<u32>,
    address: u64,
    /// Whether it is the recorded address, not an offset in the file.
    is_absolute: bool,
    function: Option<u32>,
    offset: Option<u64>,
    /// Whether it is inlined into the next frame, with which it shares file and address.
    is_inlined: bool,
}

#[derive(Default)]
struct Reader {
    profile: SourceProfile,
    events: HashMap<String, u32>,
    frames: HashMap<PrintedFrame, u32>,
    printed: Vec<PrintedFrame>,
    /// The sample whose frames are being read.
    sample: Option<SourceSample>,
    stack: Vec<u32>,
    /// Functions of inlined frames, until the frame that they are inlined into.
    inlined: Vec<Option<u32>>,
    /// Number of inlined frames.
    inlined_frames: u64,
}

impl Reader {
    fn line(&mut self, text: &str) -> std::result::Result<(), String> {
        // Formats cannot store it.
        if text.contains('\0') {
            return Err("it has a NUL".to_owned());
        }
        if text.trim().is_empty() {
            // An empty call chain is one, too.
            let empty = self.sample.filter(|_| self.stack.is_empty());
            if let Some(sample) = empty.filter(|sample| sample.labels == 0) {
                self.profile.events[sample.event as usize].has_no_chain = false;
            }
            self.end();
        } else if text.starts_with('#') && self.sample.is_none() {
            // Output of perf script --header.
        } else if text.starts_with('\t') || self.sample.is_some() && text.starts_with("        ") && is_frame(text) {
            if self.sample.is_none() {
                return Err("ip: a frame outside a sample".to_owned());
            }
            let frame = Frame::parse(text)?;
            if let Some(sample) = &self.sample {
                self.profile.events[sample.event as usize].has_no_chain = false;
            }
            self.frame(&frame, false);
        } else {
            self.end();
            self.head(&SampleLine::parse(text)?)?;
        }
        Ok(())
    }

    fn head(&mut self, head: &SampleLine<'_>) -> std::result::Result<(), String> {
        let (event, value) = (self.event(head), head.period.unwrap_or(1));
        let mut sample = SourceSample { event, count: Some(1), value, ..SourceSample::default() };
        sample.tid = Some(head.tid as u32);
        sample.pid = head.pid.map(|pid| pid as u32);
        sample.cpu = head.cpu.map(|cpu| cpu as u32);
        sample.time = head.time;
        // perf prints this for a thread without a comm.
        let is_named = head.comm.strip_prefix(':').and_then(|tid| tid.parse().ok()) != Some(head.tid);
        sample.thread_comm = is_named.then(|| self.profile.names.id(head.comm.as_bytes()));
        self.sample = Some(sample);
        if head.rest.contains("|OP ") {
            let fields = "comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso";
            return Err(format!("addr, data_src, weight: unsupported fields; use perf script -F {fields}"));
        }
        if !head.rest.is_empty() {
            match Frame::parse(head.rest) {
                Ok(frame) if frame.dso.is_some() || frame.function.is_some() || is_frame(head.rest) => {
                    self.frame(&frame, true);
                }
                _ => {
                    let key = self.profile.names.id(b"trace");
                    let key = self.profile.labels.keys.id((key, None));
                    let text = self.profile.names.id(head.rest.as_bytes());
                    sample.labels = self.profile.labels.sets.id(&[(key, text.into())]);
                    self.sample = Some(sample);
                    self.profile.events[event as usize].is_printed = true;
                }
            }
        }
        Ok(())
    }

    fn event(&mut self, head: &SampleLine<'_>) -> u32 {
        let Self { profile, events, .. } = self;
        let event = *events.entry_ref(head.event).or_insert_with(|| {
            let unit = "count".to_owned();
            let name = head.event.to_owned();
            let has_no = SourceEvent { has_no_period: true, has_no_chain: true, ..SourceEvent::default() };
            profile.events.push(SourceEvent { name, unit, ..has_no });
            profile.events.len() as u32 - 1
        });
        profile.events[event as usize].has_no_period &= head.period.is_none();
        event
    }

    fn frame(&mut self, frame: &Frame<'_>, is_absolute: bool) {
        let names = &mut self.profile.names;
        let function = frame.function.map(|function| names.id(function.as_bytes()));
        if frame.is_inlined {
            self.inlined.push(function);
            self.inlined_frames += 1;
            return;
        }
        let printed = PrintedFrame {
            dso: frame.dso.map(|dso| names.id(dso.as_bytes())),
            address: frame.address,
            is_absolute: is_absolute && !frame.dso.is_some_and(|dso| is_kernel(dso.as_bytes(), frame.address)),
            function,
            offset: frame.offset,
            is_inlined: false,
        };
        for function in std::mem::take(&mut self.inlined) {
            self.push(PrintedFrame { function, offset: None, is_inlined: true, ..printed });
        }
        self.push(printed);
    }

    /// Adds a frame to the stack.
    fn push(&mut self, printed: PrintedFrame) {
        let all = &mut self.printed;
        self.stack.push(*self.frames.entry(printed).or_insert_with(|| {
            all.push(printed);
            all.len() as u32 - 1
        }));
    }

    /// Ends a sample.
    fn end(&mut self) {
        let Some(mut sample) = self.sample.take() else { return };
        // The frame that they are inlined into is missing.
        self.inlined.clear();
        sample.stack = self.profile.stacks.id(&self.stack);
        self.stack.clear();
        self.profile.samples.push(sample);
    }

    /// Determines where files are mapped, since the text has only the offsets of frames.
    fn finish(mut self) -> SourceProfile {
        let mut places: HashMap<(u32, bool), BTreeSet<u64>> = HashMap::new();
        let mut elsewhere = BTreeSet::new();
        for printed in &self.printed {
            match printed.dso {
                None => {
                    elsewhere.insert(printed.address);
                }
                Some(dso) => {
                    let places = places.entry((dso, printed.is_absolute)).or_default();
                    places.insert(printed.address);
                    // perf looks up kernel functions by their start.
                    if is_kernel(self.profile.names.get(dso), printed.address) {
                        places.insert(printed.address - printed.offset.unwrap_or(0).min(printed.address));
                    }
                }
            }
        }
        let mut keys: Vec<_> = places.keys().copied().collect();
        keys.sort_unstable();
        let mut maps: HashMap<(u32, bool), Vec<u32>> = HashMap::new();
        // Files are not mapped over addresses of frames without a file.
        let mut base = SPACE.start;
        for key in keys {
            let path = Bytes::copy_from_slice(self.profile.names.get(key.0));
            let is_kernel = is_kernel(&path, places[&key].last().copied().unwrap_or(0));
            // The kernel has one map.
            let max_gap = if path.starts_with(b"[kernel.kallsyms]") { u64::MAX } else { MAX_GAP };
            for (first, last) in ranges(&places[&key], max_gap) {
                let pgoff = first / PAGE * PAGE;
                let end = last.saturating_add(2).checked_next_multiple_of(PAGE).unwrap_or(u64::MAX);
                let len = end - pgoff;
                let start = if is_kernel || key.1 {
                    pgoff
                } else {
                    let before = |end: u64| end.min(SPACE.end);
                    while let Some(&occupied) = elsewhere.range(base..before(base.saturating_add(len))).next_back() {
                        base = before((occupied + 1).next_multiple_of(PAGE));
                    }
                    let next = before(base.saturating_add(len).saturating_add(PAGE));
                    std::mem::replace(&mut base, next)
                };
                maps.entry(key).or_default().push(self.profile.mappings.len() as u32);
                let pgoff = if is_kernel { 0 } else { pgoff };
                let limit = start.saturating_add(len);
                let path = path.clone();
                self.profile.mappings.push(SourceMapping { path, start, limit, pgoff, build_id: None, is_kernel });
            }
        }
        for printed in &self.printed {
            let function = printed.function.map(|name| self.profile.functions.named(name));
            let mut frame = SourceFrame { function, offset: printed.offset, ..SourceFrame::default() };
            frame.address = Some(printed.address);
            frame.is_kernel = printed.dso.is_none() && printed.address >= 1 << 63;
            let of_dso =
                printed.dso.and_then(|dso| maps.get(&(dso, printed.is_absolute))).map_or(&[][..], Vec::as_slice);
            // They are sorted by offset, and do not overlap.
            let preceding =
                of_dso.partition_point(|&map| self.profile.mappings[map as usize].first_place() <= printed.address);
            if let Some(&map) = of_dso[..preceding].last() {
                let mapping = &self.profile.mappings[map as usize];
                let into = printed.address - mapping.first_place();
                if into < mapping.limit - mapping.start {
                    frame.mapping = Some(map);
                    frame.address = Some(mapping.start + into);
                }
            }
            if printed.is_inlined {
                (frame.address, frame.is_inlined) = (None, true);
            }
            self.profile.frames.push(frame);
        }
        if self.inlined_frames > 0 {
            let what = format!("{} inlined frames became ordinary frames", self.inlined_frames);
            self.profile.lost_in_recording.push(what);
        }
        self.profile.as_recorded = true;
        self.profile.set_mean_periods();
        self.profile
    }
}

impl SourceMapping {
    /// The first offset in the file as perf prints it; for the kernel, the first address.
    fn first_place(&self) -> u64 {
        if self.is_kernel { self.start } else { self.pgoff }
    }
}

/// Whether a text begins with an address.
fn is_frame(text: &str) -> bool {
    let word = text.split_ascii_whitespace().next().unwrap_or_default();
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit()) && u64::from_str_radix(word, 16).is_ok()
}

/// Whether an address belongs to the kernel.
fn is_kernel(path: &[u8], address: u64) -> bool {
    SourceMapping::is_kernel_name(path) || address >= 1 << 63 && path != b"[vsyscall]"
}

/// Groups offsets into ranges without large gaps.
fn ranges(places: &BTreeSet<u64>, max_gap: u64) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &place in places {
        match ranges.last_mut() {
            Some((_, last)) if place - *last < max_gap => *last = place,
            _ => ranges.push((place, place)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Converts one stack with these frames.
    fn profile(frames: impl Iterator<Item = String>) -> SourceProfile {
        let mut reader = Reader::default();
        reader.line("a 7 1.000000: cycles: ").unwrap();
        frames.for_each(|frame| reader.line(&frame).unwrap());
        reader.end();
        reader.finish()
    }

    fn frame(address: u64, dso: &str) -> String {
        format!("\t{address:x} [unknown] ({dso})")
    }

    #[test]
    fn files_are_not_mapped_over_frames_without_a_file() {
        let profile =
            profile([frame(0x123, "/a"), frame(SPACE.start + 7, "[unknown]"), frame(0x4123, "/b")].into_iter());
        let starts: Vec<_> = profile.mappings.iter().map(|mapping| mapping.start - SPACE.start).collect();
        assert_eq!(starts, [PAGE, 3 * PAGE]);
        assert_eq!(profile.frames[0].address, Some(SPACE.start + PAGE + 0x123));
        assert_eq!(profile.frames[1].mapping, None);
        assert_eq!(
            (profile.frames[2].mapping, profile.frames[2].address),
            (Some(1), Some(SPACE.start + 3 * PAGE + 0x123))
        );
    }

    /// Scanning all addresses beyond the end for each file would take minutes, and restarting from the beginning
    /// would never end.
    #[test]
    fn files_that_do_not_fit_are_mapped_at_the_end() {
        const MANY: u64 = 50_000;
        let large = (0..SPACE.end / MAX_GAP + 2).map(|number| frame(number * (MAX_GAP - 1), "/large"));
        let others = (0..MANY).map(|number| frame(number, &format!("/{number}")));
        let elsewhere = (1..=MANY).map(|number| frame(SPACE.end + number * PAGE, "[unknown]"));
        let last = (0..1).map(|_| frame(u64::MAX - 0xfff, "[unknown]"));
        let profile = profile(large.chain(others).chain(elsewhere).chain(last));
        assert_eq!(profile.mappings.len() as u64, 1 + MANY);
        assert!(profile.mappings[1..].iter().all(|mapping| mapping.start == SPACE.end));
    }

    /// Trying all maps of the file for each frame would take minutes.
    #[test]
    fn handles_many_maps_of_one_file() {
        const MANY: u64 = 400_000;
        let profile = profile((0..MANY).map(|number| frame(number * MAX_GAP + 5, "/a")));
        assert_eq!(profile.mappings.len() as u64, MANY);
        for (number, frame) in profile.frames.iter().enumerate() {
            assert_eq!(frame.mapping, Some(number as u32));
            assert_eq!(frame.address, Some(profile.mappings[number].start + 5));
        }
    }
}
