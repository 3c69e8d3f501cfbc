//! The text of perf script as a recording.

use super::frame::Frame;
use super::head::Head;
use crate::error::{Error, Result};
use crate::formats::import::source::{SourceEvent, SourceFrame, SourceMapping, SourceProfile, SourceSample};
use crate::formats::import::{ImportOptions, ImportedRecording, record};
use crate::formats::recognize::lines;
use bytes::Bytes;
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};

/// Pages, as which files are mapped.
const PAGE: u64 = 0x1000;

/// How far apart places may be in one map: what is further apart is mapped apart.
const FAR: u64 = 1 << 30;

/// Where files are mapped: from here on, and, where there is no room before its end, at that.
const SPACE: std::ops::Range<u64> = 0x10_0000_0000..1 << 46;

/// Makes a recording of what perf script printed.
///
/// # Errors
/// Where a line is none of a sample, with its number and the field; and where it has no place in a recording.
pub fn import(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording> {
    let mut reader = Reader::default();
    let mut input = BufReader::new(stream);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(Error::io(name, "cannot read"))? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        let wrong = |what: String| Error::input(name, None, format!("line {number}: {what}"));
        reader.line(text).map_err(wrong)?;
    }
    reader.end();
    if reader.told.samples.is_empty() {
        return Err(Error::input(name, None, "it has no line of a sample, as perf script prints them"));
    }
    record(name, reader.finish(), options)
}

/// Whether an input that begins like this is the text of perf script: behind comments, the line of a sample, which has a time, a
/// CPU or a frame, or frames behind it.
pub fn recognises(start: &[u8]) -> bool {
    let mut lines = lines(start).map(String::from_utf8_lossy);
    let head = lines.find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let Some(head) = head.as_deref().filter(|line| !line.starts_with('\t')) else { return false };
    let mut has_frame = || lines.next().is_some_and(|line| line.starts_with([' ', '\t']) && is_frame(&line));
    Head::parse(head).is_ok_and(|head| {
        let is_in_file = |frame: Frame<'_>| frame.dso.is_some();
        let has_own_frame = || is_frame(head.rest) && Frame::parse(head.rest).is_ok_and(is_in_file);
        let is_sample = head.time.is_some() || head.cpu.is_some() || has_own_frame() || has_frame();
        !head.comm.is_empty() && is_sample
    })
}

/// What is known of a frame until all frames are there: where files are mapped depends on all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Known {
    dso: Option<u32>,
    address: u64,
    /// Whether the address is that of the recording, not the place in the file.
    is_absolute: bool,
    function: Option<u32>,
    offset: Option<u64>,
    /// Whether it is inlined into the frame that follows, whose file and address these are.
    is_inlined: bool,
}

#[derive(Default)]
struct Reader {
    told: SourceProfile,
    events: HashMap<String, u32>,
    frames: HashMap<Known, u32>,
    known: Vec<Known>,
    /// The sample whose frames are being read.
    sample: Option<SourceSample>,
    stack: Vec<u32>,
    /// Functions of inlined frames, of which the frame that they are inlined into has not come yet.
    inlined: Vec<Option<u32>>,
    /// How many inlined frames there are.
    inlined_frames: u64,
}

impl Reader {
    fn line(&mut self, text: &str) -> std::result::Result<(), String> {
        // Words cannot hold it, and names must not.
        if text.contains('\0') {
            return Err("it has a NUL".to_owned());
        }
        if text.trim().is_empty() {
            // An empty chain is one.
            let empty = self.sample.filter(|_| self.stack.is_empty());
            if let Some(sample) = empty.filter(|sample| sample.labels == 0) {
                self.told.events[sample.event as usize].has_no_chain = false;
            }
            self.end();
        } else if text.starts_with('#') && self.sample.is_none() {
            // What perf script --header prints.
        } else if text.starts_with('\t') || self.sample.is_some() && text.starts_with("        ") && is_frame(text) {
            if self.sample.is_none() {
                return Err("ip: it is a frame of no sample".to_owned());
            }
            let frame = Frame::parse(text)?;
            if let Some(sample) = &self.sample {
                self.told.events[sample.event as usize].has_no_chain = false;
            }
            self.frame(&frame, false);
        } else {
            self.end();
            self.head(&Head::parse(text)?)?;
        }
        Ok(())
    }

    fn head(&mut self, head: &Head<'_>) -> std::result::Result<(), String> {
        let (event, value) = (self.event(head), head.period.unwrap_or(1));
        let mut sample = SourceSample { event, count: Some(1), value, ..SourceSample::default() };
        sample.tid = Some(head.tid as u32);
        sample.pid = head.pid.map(|pid| pid as u32);
        sample.cpu = head.cpu.map(|cpu| cpu as u32);
        sample.time = head.time;
        // What perf calls a thread without a name.
        let is_named = head.comm != format!(":{}", head.tid);
        sample.thread_comm = is_named.then(|| self.told.names.id(head.comm.as_bytes()));
        self.sample = Some(sample);
        if head.rest.contains("|OP ") {
            let fields = "comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso";
            return Err(format!("addr, data_src, weight: they are not read: print it with perf script -F {fields}"));
        }
        if !head.rest.is_empty() {
            match Frame::parse(head.rest) {
                Ok(frame) if frame.dso.is_some() || frame.function.is_some() || is_frame(head.rest) => {
                    self.frame(&frame, true);
                }
                _ => {
                    let key = self.told.names.id(b"trace");
                    let key = self.told.labels.key(key, None);
                    let text = self.told.names.id(head.rest.as_bytes());
                    sample.labels = self.told.labels.sets.id(&[(key, text.into())]);
                    self.sample = Some(sample);
                    self.told.events[event as usize].is_printed = true;
                }
            }
        }
        Ok(())
    }

    fn event(&mut self, head: &Head<'_>) -> u32 {
        let Self { told, events, .. } = self;
        let event = *events.entry_ref(head.event).or_insert_with(|| {
            let unit = "count".to_owned();
            let name = head.event.to_owned();
            let has_no = SourceEvent { has_no_period: true, has_no_chain: true, ..SourceEvent::default() };
            told.events.push(SourceEvent { name, unit, ..has_no });
            told.events.len() as u32 - 1
        });
        told.events[event as usize].has_no_period &= head.period.is_none();
        event
    }

    fn frame(&mut self, frame: &Frame<'_>, is_absolute: bool) {
        let names = &mut self.told.names;
        let function = frame.function.map(|function| names.id(function.as_bytes()));
        if frame.is_inlined {
            self.inlined.push(function);
            self.inlined_frames += 1;
            return;
        }
        let known = Known {
            dso: frame.dso.map(|dso| names.id(dso.as_bytes())),
            address: frame.address,
            is_absolute: is_absolute && !frame.dso.is_some_and(|dso| is_kernel(dso.as_bytes(), frame.address)),
            function,
            offset: frame.offset,
            is_inlined: false,
        };
        for function in std::mem::take(&mut self.inlined) {
            self.push(Known { function, offset: None, is_inlined: true, ..known });
        }
        self.push(known);
    }

    /// Adds a frame to the stack.
    fn push(&mut self, known: Known) {
        let all = &mut self.known;
        self.stack.push(*self.frames.entry(known).or_insert_with(|| {
            all.push(known);
            all.len() as u32 - 1
        }));
    }

    /// Ends a sample.
    fn end(&mut self) {
        let Some(mut sample) = self.sample.take() else { return };
        // What they are inlined into is missing.
        self.inlined.clear();
        sample.stack = self.told.stacks.id(&self.stack);
        self.stack.clear();
        self.told.samples.push(sample);
    }

    /// Says where files are mapped, of which the text tells but the places that frames are at.
    fn finish(mut self) -> SourceProfile {
        let mut places: HashMap<(u32, bool), BTreeSet<u64>> = HashMap::new();
        let mut elsewhere = BTreeSet::new();
        for known in &self.known {
            match known.dso {
                None => {
                    elsewhere.insert(known.address);
                }
                Some(dso) => {
                    let places = places.entry((dso, known.is_absolute)).or_default();
                    places.insert(known.address);
                    // perf looks for functions of the kernel where they begin.
                    if is_kernel(self.told.names.get(dso), known.address) {
                        places.insert(known.address - known.offset.unwrap_or(0).min(known.address));
                    }
                }
            }
        }
        let mut keys: Vec<_> = places.keys().copied().collect();
        keys.sort_unstable();
        let mut maps: HashMap<(u32, bool), Vec<u32>> = HashMap::new();
        // Nothing is mapped where frames are that are in no file.
        let mut base = SPACE.start;
        for key in keys {
            let path = Bytes::copy_from_slice(self.told.names.get(key.0));
            let is_kernel = is_kernel(&path, places[&key].last().copied().unwrap_or(0));
            // There is one map of the kernel.
            let far = if path.starts_with(b"[kernel.kallsyms]") { u64::MAX } else { FAR };
            for (first, last) in ranges(&places[&key], far) {
                let pgoff = first / PAGE * PAGE;
                let end = last.saturating_add(2).checked_next_multiple_of(PAGE).unwrap_or(u64::MAX);
                let len = end - pgoff;
                let start = if is_kernel || key.1 {
                    pgoff
                } else {
                    let before = |end: u64| end.min(SPACE.end);
                    while let Some(&taken) = elsewhere.range(base..before(base.saturating_add(len))).next_back() {
                        base = before((taken + 1).next_multiple_of(PAGE));
                    }
                    let next = before(base.saturating_add(len).saturating_add(PAGE));
                    std::mem::replace(&mut base, next)
                };
                maps.entry(key).or_default().push(self.told.mappings.len() as u32);
                let pgoff = if is_kernel { 0 } else { pgoff };
                let limit = start.saturating_add(len);
                let path = path.clone();
                self.told.mappings.push(SourceMapping { path, start, limit, pgoff, build_id: None, is_kernel });
            }
        }
        for known in &self.known {
            let function = known.function.map(|name| self.told.functions.named(name));
            let mut frame = SourceFrame { function, offset: known.offset, ..SourceFrame::default() };
            frame.address = Some(known.address);
            frame.is_kernel = known.dso.is_none() && known.address >= 1 << 63;
            let of_dso = known.dso.and_then(|dso| maps.get(&(dso, known.is_absolute))).map_or(&[][..], Vec::as_slice);
            // They are in the order of places, and none has those of another.
            let behind = of_dso.partition_point(|&map| self.told.mappings[map as usize].first_place() <= known.address);
            if let Some(&map) = of_dso[..behind].last() {
                let mapping = &self.told.mappings[map as usize];
                let into = known.address - mapping.first_place();
                if into < mapping.limit - mapping.start {
                    frame.mapping = Some(map);
                    frame.address = Some(mapping.start + into);
                }
            }
            if known.is_inlined {
                (frame.address, frame.is_inlined) = (None, true);
            }
            self.told.frames.push(frame);
        }
        if self.inlined_frames > 0 {
            let what = format!("{} inlined frames are frames of their own", self.inlined_frames);
            self.told.lost_in_recording.push(what);
        }
        self.told.as_recorded = true;
        self.periods();
        self.told
    }

    /// Says what lies between two samples of each event: on average, where that changes from sample to sample.
    fn periods(&mut self) {
        let mut sums = vec![(0_u128, 0_u128); self.told.events.len()];
        for sample in &self.told.samples {
            let (sum, samples) = &mut sums[sample.event as usize];
            (*sum, *samples) = (*sum + u128::from(sample.value), *samples + 1);
        }
        for (event, (sum, samples)) in self.told.events.iter_mut().zip(sums) {
            event.period = sum.checked_div(samples).and_then(|mean| u64::try_from(mean).ok()).unwrap_or(0).max(1);
        }
    }
}

impl SourceMapping {
    /// The place in the file, as perf prints it, of the first address; of the kernel that is the address.
    fn first_place(&self) -> u64 {
        if self.is_kernel { self.start } else { self.pgoff }
    }
}

/// Whether a text begins with an address.
fn is_frame(text: &str) -> bool {
    let word = text.split_ascii_whitespace().next().unwrap_or_default();
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit()) && u64::from_str_radix(word, 16).is_ok()
}

/// Whether what is at an address is of the kernel.
fn is_kernel(path: &[u8], address: u64) -> bool {
    SourceMapping::is_kernel_name(path) || address >= 1 << 63 && path != b"[vsyscall]"
}

/// From where to where places are that are not far apart.
fn ranges(places: &BTreeSet<u64>, far: u64) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &place in places {
        match ranges.last_mut() {
            Some((_, last)) if place - *last < far => *last = place,
            _ => ranges.push((place, place)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of one stack with these frames.
    fn told(frames: impl Iterator<Item = String>) -> SourceProfile {
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
    fn files_are_mapped_where_no_frame_is_that_is_in_none() {
        let told = told([frame(0x123, "/a"), frame(SPACE.start + 7, "[unknown]"), frame(0x4123, "/b")].into_iter());
        let starts: Vec<_> = told.mappings.iter().map(|mapping| mapping.start - SPACE.start).collect();
        assert_eq!(starts, [PAGE, 3 * PAGE]);
        assert_eq!(told.frames[0].address, Some(SPACE.start + PAGE + 0x123));
        assert_eq!(told.frames[1].mapping, None);
        assert_eq!((told.frames[2].mapping, told.frames[2].address), (Some(1), Some(SPACE.start + 3 * PAGE + 0x123)));
    }

    /// If all that is beyond the end of the space were looked at for each file, this would take minutes; if what is mapped began
    /// again from its beginning, it would not end.
    #[test]
    fn what_has_no_room_is_mapped_at_the_end() {
        const MANY: u64 = 50_000;
        let large = (0..SPACE.end / FAR + 2).map(|number| frame(number * (FAR - 1), "/large"));
        let others = (0..MANY).map(|number| frame(number, &format!("/{number}")));
        let elsewhere = (1..=MANY).map(|number| frame(SPACE.end + number * PAGE, "[unknown]"));
        let last = (0..1).map(|_| frame(u64::MAX - 0xfff, "[unknown]"));
        let told = told(large.chain(others).chain(elsewhere).chain(last));
        assert_eq!(told.mappings.len() as u64, 1 + MANY);
        assert!(told.mappings[1..].iter().all(|mapping| mapping.start == SPACE.end));
    }

    /// If all maps of the file were tried for each frame, this would take minutes.
    #[test]
    fn each_of_many_frames_of_a_file_is_in_its_map() {
        const MANY: u64 = 400_000;
        let told = told((0..MANY).map(|number| frame(number * FAR + 5, "/a")));
        assert_eq!(told.mappings.len() as u64, MANY);
        for (number, frame) in told.frames.iter().enumerate() {
            assert_eq!(frame.mapping, Some(number as u32));
            assert_eq!(frame.address, Some(told.mappings[number].start + 5));
        }
    }
}
