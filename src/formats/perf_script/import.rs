//! Imports the output of perf script as a recording.

use super::frame::ParsedFrame;
use super::sample_line::{Certainty, SampleLine, begins_with_address};
use crate::formats::framework::recognize::lines;
use crate::formats::import::source::{
    SourceEvent, SourceFrame, SourceFunction, SourceMapping, SourceProfile, SourceSample,
};
use crate::formats::import::{ImportOptions, ImportedRecording, quoted, record};
use bytes::Bytes;
use hashbrown::HashMap;
use perf_data::error::{Error, Result};
use perf_data::session::map::PAGE;
use perf_data::session::names::{MAX_NAME, truncated};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};

/// Maximum distance of offsets in one map; beyond it, a file gets another map.
const MAX_GAP: u64 = 1 << 30;

/// Addresses for files; those that do not fit are all mapped at its end.
const SPACE: std::ops::Range<u64> = 0x10_0000_0000..1 << 46;

/// How the lines of records other than samples begin, after the fields that samples have, too.
const RECORD: &str = "PERF_RECORD_";

/// Name of the event where the text does not have it.
const UNNAMED_EVENT: &str = "samples";

/// Converts the output of perf script to a recording. Lines that are not part of a sample are skipped and counted.
///
/// # Errors
/// If no line is a sample, or a recording cannot represent the samples.
pub fn import(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording> {
    let mut reader = Reader::default();
    let mut input = BufReader::new(stream);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(Error::io(name, "cannot read"))? == 0 {
            break;
        }
        reader.profile.input_size += line.len();
        // Nearly all lines are valid, which this finds out faster.
        let text = std::str::from_utf8(&line).map_or_else(|_| String::from_utf8_lossy(&line), Cow::Borrowed);
        reader.line(number, text.trim_end_matches(['\n', '\r']));
    }
    reader.end();
    if reader.profile.samples.is_empty() {
        let first = reader.skipped.first.map(|first| format!("; {first}")).unwrap_or_default();
        return Err(Error::input(name, None, format!("it has no samples as perf script prints them{first}")));
    }
    record(name, reader.finish(), options)
}

/// Whether an input with these first bytes is output of perf script: after comments, the first line of a sample, with a time, a CPU
/// or a frame, or followed by a frame; after other lines, such as messages of perf, one with a thread and a time.
pub fn recognizes(start: &[u8]) -> bool {
    let lines: Vec<_> = lines(start).map(String::from_utf8_lossy).filter(|line| !line.trim().is_empty()).collect();
    let first = lines.iter().position(|line| !line.starts_with('#')).unwrap_or(lines.len());
    let is_frame_line = |line: &str| line.starts_with([' ', '\t']) && begins_with_address(line);
    (first..lines.len()).any(|at| {
        let Some((head, certainty)) = SampleLine::parse(&lines[at]).filter(|_| !lines[at].starts_with('\t')) else {
            return false;
        };
        let followed = |is_followed: fn(&ParsedFrame<'_>) -> bool| {
            let line = lines.get(at + 1).filter(|line| is_frame_line(line));
            line.is_some_and(|line| ParsedFrame::parse(line).is_ok_and(|frame| is_followed(&frame)))
        };
        let has_named_frame = |frame: &ParsedFrame<'_>| frame.dso.is_some() || frame.function.is_some();
        let has_own_frame =
            || head.has_frame() && ParsedFrame::parse(head.frame_text()).is_ok_and(|frame| frame.dso.is_some());
        match certainty {
            Certainty::High if at > first => head.time.is_some() && head.tid.is_some(),
            Certainty::High => head.time.is_some() || head.cpu.is_some() || has_own_frame() || followed(|_| true),
            Certainty::Low => {
                at == first
                    && lines[at + 1..].first().is_some_and(|line| line.starts_with('\t'))
                    && followed(has_named_frame)
            }
        }
    })
}

/// Lines that are not part of a sample.
#[derive(Debug, Default)]
struct SkippedLines {
    count: u64,
    /// The first of them, with its number.
    first: Option<String>,
    /// Lines of other records, of `--show-mmap-events` and similar options.
    records: u64,
    /// Lines with the source lines of frames, of `-F srcline`.
    source_lines: u64,
    /// Lines with instructions and the names of their functions, of `-F brstackinsn`.
    instructions: u64,
}

impl SkippedLines {
    fn add(&mut self, number: u64, text: &str) {
        self.count += 1;
        self.first.get_or_insert_with(|| format!("line {number} is no part of a sample: {}", quoted(text.trim())));
    }

    /// Messages about them.
    fn messages(self) -> impl Iterator<Item = String> {
        let lines = self.first.map(|first| match self.count {
            1 => format!("{first}; it is skipped"),
            count => format!("{first}; {count} such lines are skipped"),
        });
        let records =
            (self.records > 0).then(|| format!("lines of records other than samples are skipped: {}", self.records));
        let source_lines =
            (self.source_lines > 0).then(|| format!("source lines of frames are skipped: {}", self.source_lines));
        let instructions = (self.instructions > 0)
            .then(|| format!("lines of instructions between branches are skipped: {}", self.instructions));
        lines.into_iter().chain(records).chain(source_lines).chain(instructions)
    }
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
    /// Whether the only frame is in the line of the sample.
    has_own_frame: bool,
    /// A line that begins a sample if a frame follows, and its number.
    uncertain: Option<(u64, String)>,
    skipped: SkippedLines,
    /// Number of samples with fields that are not read.
    unread_fields: u64,
}

impl Reader {
    fn line(&mut self, number: u64, text: &str) {
        let is_indented = text.starts_with([' ', '\t']);
        let is_frame = is_indented && begins_with_address(text);
        if let Some((uncertain, line)) = self.uncertain.take() {
            match SampleLine::parse(&line).filter(|_| is_frame) {
                Some((head, _)) => {
                    self.end();
                    self.head(&head);
                }
                None => self.skipped.add(uncertain, &line),
            }
        }
        if text.contains('\0') {
            // Formats cannot store it.
            self.skipped.add(number, &text.replace('\0', "\\0"));
        } else if text.trim().is_empty() {
            // An empty call chain is one, too.
            let empty = self.sample.filter(|_| self.stack.is_empty());
            if let Some(sample) = empty.filter(|sample| sample.labels == 0) {
                self.profile.events[sample.event as usize].has_no_chain = false;
            }
            self.end();
        } else if self.is_instruction_line(text, is_frame) {
            self.skipped.instructions += 1;
        } else if text.starts_with('\t') && is_frame && self.sample.is_some() {
            self.frame_line(text);
        } else {
            self.other_line(number, text, is_frame);
        }
    }

    /// Whether a line has an instruction between branches, or is one of those around them.
    fn is_instruction_line(&self, text: &str, is_frame: bool) -> bool {
        let Some(rest) = text.strip_prefix('\t') else { return false };
        if is_frame {
            rest.contains('\t')
        } else {
            rest.ends_with(':') || rest.contains(":\t") || self.skipped.instructions > 0
        }
    }

    /// A line that does not have the form of a frame of a call chain.
    fn other_line(&mut self, number: u64, text: &str, is_frame: bool) {
        match SampleLine::parse(text) {
            Some((head, _)) if head.event.starts_with(RECORD) || head.rest.starts_with(RECORD) => {
                self.end();
                self.skipped.records += 1;
            }
            Some((head, Certainty::High)) => {
                self.end();
                self.head(&head);
            }
            // Tabs may have become spaces.
            _ if is_frame && self.sample.is_some() => self.frame_line(text),
            // Indented below a frame.
            _ if text.starts_with("  ") && !self.stack.is_empty() => self.skipped.source_lines += 1,
            // Output of perf script --header.
            _ if text.starts_with('#') && self.sample.is_none() => {}
            // Registers after a call chain are not followed by an empty line.
            Some((head, Certainty::Low)) if self.sample.is_none() || self.events.contains_key(head.event) => {
                self.uncertain = Some((number, text.to_owned()));
            }
            _ => self.skipped.add(number, text),
        }
    }

    fn frame_line(&mut self, text: &str) {
        let (Some(sample), Ok(frame)) = (&self.sample, ParsedFrame::parse(text)) else { return };
        self.profile.events[sample.event as usize].has_no_chain = false;
        if std::mem::take(&mut self.has_own_frame) {
            // It was the address of the data, which `addr` prints before the chain.
            self.stack.clear();
        }
        self.frame(&frame, false);
    }

    /// Begins a sample.
    fn head(&mut self, head: &SampleLine<'_>) {
        let (event, value) = (self.event(head), head.period.unwrap_or(1));
        let mut sample = SourceSample { event, count: Some(1), value, ..SourceSample::default() };
        sample.tid = head.tid.map(|tid| tid as u32);
        sample.pid = head.pid.map(|pid| pid as u32);
        sample.cpu = head.cpu.map(|cpu| cpu as u32);
        sample.time = head.time;
        // perf prints this for a thread without a comm.
        let is_id = head.comm.strip_prefix(':').is_some_and(|id| id.parse().ok() == head.tid);
        sample.thread_comm = (!is_id && !head.comm.is_empty()).then(|| self.profile.names.id(head.comm.as_bytes()));
        if head.tid.is_none() {
            sample.comm = sample.thread_comm;
        }
        self.has_own_frame = false;
        self.sample = Some(sample);
        if head.rest.contains("|OP ") {
            self.unread_fields += 1;
        } else if !head.rest.is_empty() {
            match ParsedFrame::parse(head.frame_text()) {
                Ok(frame) if frame.dso.is_some() || frame.function.is_some() || head.has_frame() => {
                    self.has_own_frame = true;
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
    }

    fn event(&mut self, head: &SampleLine<'_>) -> u32 {
        let Self { profile, events, .. } = self;
        let name = if head.event.is_empty() { UNNAMED_EVENT } else { head.event };
        let event = *events.entry_ref(name).or_insert_with(|| {
            let unit = "count".to_owned();
            let name = name.to_owned();
            let has_no = SourceEvent { has_no_period: true, has_no_chain: true, ..SourceEvent::default() };
            profile.events.push(SourceEvent { name, unit, ..has_no });
            profile.events.len() as u32 - 1
        });
        profile.events[event as usize].has_no_period &= head.period.is_none();
        event
    }

    fn frame(&mut self, frame: &ParsedFrame<'_>, is_absolute: bool) {
        let names = &mut self.profile.names;
        let function = frame.function.map(|function| names.id(&truncated(function.as_bytes(), MAX_NAME)));
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
        if let Some((number, line)) = self.uncertain.take() {
            self.skipped.add(number, &line);
        }
        let Some(mut sample) = self.sample.take() else { return };
        // The frame that they are inlined into is missing.
        self.inlined.clear();
        sample.stack = self.profile.stacks.id(&self.stack);
        self.stack.clear();
        self.profile.samples.push(sample);
    }

    /// Determines where files are mapped, since the text has only the offsets of frames.
    fn finish(mut self) -> SourceProfile {
        let mut addresses: HashMap<(u32, bool), BTreeSet<u64>> = HashMap::new();
        let mut elsewhere = BTreeSet::new();
        for printed in &self.printed {
            match printed.dso {
                None => {
                    elsewhere.insert(printed.address);
                }
                Some(dso) => {
                    let file_addresses = addresses.entry((dso, printed.is_absolute)).or_default();
                    file_addresses.insert(printed.address);
                    // perf looks up kernel functions by their start.
                    if is_kernel(self.profile.names.get(dso), printed.address) {
                        file_addresses.insert(printed.address - printed.offset.unwrap_or(0).min(printed.address));
                    }
                }
            }
        }
        let mut keys: Vec<_> = addresses.keys().copied().collect();
        keys.sort_unstable();
        let mut maps: HashMap<(u32, bool), Vec<u32>> = HashMap::new();
        // Files are not mapped over addresses of frames without a file.
        let mut base = SPACE.start;
        for key in keys {
            let path = Bytes::copy_from_slice(self.profile.names.get(key.0));
            let is_kernel = is_kernel(&path, addresses[&key].last().copied().unwrap_or(0));
            // The kernel has one map.
            let max_gap = if path.starts_with(b"[kernel.kallsyms]") { u64::MAX } else { MAX_GAP };
            for (first, last) in ranges(&addresses[&key], max_gap) {
                // Callers are looked up in the call before their address, which can be in the page before it.
                let call = u64::from(!is_kernel && !key.1);
                let pgoff = first.saturating_sub(call) / PAGE * PAGE;
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
            let function = printed.function.map(|name| self.profile.function(SourceFunction::named(name)));
            let mut frame = SourceFrame { function, offset: printed.offset, ..SourceFrame::default() };
            frame.address = Some(printed.address);
            frame.is_kernel = printed.dso.is_none() && printed.address >= 1 << 63;
            let dso_maps =
                printed.dso.and_then(|dso| maps.get(&(dso, printed.is_absolute))).map_or(&[][..], Vec::as_slice);
            // They are sorted by offset, and do not overlap.
            let preceding =
                dso_maps.partition_point(|&map| self.profile.mappings[map as usize].first_address() <= printed.address);
            if let Some(&map) = dso_maps[..preceding].last() {
                let mapping = &self.profile.mappings[map as usize];
                let into = printed.address - mapping.first_address();
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
            let message = format!("{} inlined frames became ordinary frames", self.inlined_frames);
            self.profile.lost_in_recording.push(message);
        }
        self.profile.lost.extend(self.skipped.messages());
        if self.unread_fields > 0 {
            let description = "samples whose data_src and weight are not read";
            self.profile.lost.push(format!("{description}: {}", self.unread_fields));
        }
        self.profile.as_recorded = true;
        self.profile.set_mean_periods();
        self.profile
    }
}

impl SourceMapping {
    /// The first offset in the file as perf prints it; for the kernel, the first address.
    fn first_address(&self) -> u64 {
        if self.is_kernel { self.start } else { self.pgoff }
    }
}

/// Whether an address belongs to the kernel.
fn is_kernel(path: &[u8], address: u64) -> bool {
    SourceMapping::is_kernel_name(path) || address >= 1 << 63 && path != b"[vsyscall]"
}

/// Groups offsets into ranges without large gaps.
fn ranges(addresses: &BTreeSet<u64>, max_gap: u64) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &address in addresses {
        match ranges.last_mut() {
            Some((_, last)) if address - *last < max_gap => *last = address,
            _ => ranges.push((address, address)),
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
        reader.line(1, "a 7 1.000000: cycles: ");
        frames.zip(2..).for_each(|(frame, number)| reader.line(number, &frame));
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
