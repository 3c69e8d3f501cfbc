//! Imports files of speedscope as recordings.

use super::document::{
    Document, FrameEvent, FrameEventKind, ImportedFrame, ImportedTrack, ProfileKind, Stacks, ValueUnit,
};
use crate::formats::framework::tracks::{ALL_THREADS, NamedThread};
use crate::formats::import::json_document::{Number, parse};
use crate::formats::import::source::{SourceFrame, SourceFunction, SourceMapping, SourceProfile, SourceSample};
use crate::formats::import::weighted_events::WeightedEvents;
use crate::formats::import::{
    ImportOptions, ImportedRecording, MAX_FRAMES, MAX_PARTS, START, max_total_frames, read_all, record,
};
use crate::profile::event::Unit;
use bytes::Bytes;
use hashbrown::HashMap;
use perf_data::error::{Error, Result};
use std::io::Read;

/// Converts a file of speedscope to a recording.
///
/// # Errors
/// If the input is not a valid file, with the place, or exceeds a limit.
pub fn import(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording> {
    let bytes = read_all(stream, name)?;
    let document = parse(&bytes, name)?;
    let profile = source_profile(document, bytes.len(), max_total_frames(bytes.len()));
    let profile = profile.map_err(|problem| Error::input(name, None, problem))?;
    // Frees the input before the recording takes memory.
    drop(bytes);
    record(name, profile, options)
}

/// Whether an input with these first bytes is a file of speedscope.
pub fn recognizes(start: &[u8]) -> bool {
    const SCHEMA: &[u8] = b"www.speedscope.app/file-format-schema.json\"";
    start.trim_ascii_start().starts_with(b"{") && start.windows(SCHEMA.len()).any(|part| part == SCHEMA)
}

/// Converts a file, if its stacks have at most `max_frames` frames in total.
fn source_profile(
    document: Document<'_>,
    input_size: usize,
    max_frames: usize,
) -> std::result::Result<SourceProfile, String> {
    let Document { exporter, name, shared, profiles } = document;
    let is_own = exporter.is_some_and(|exporter| exporter.starts_with("perfconv@"));
    let profile = SourceProfile { input_size, ..SourceProfile::default() };
    let mut reader = SpeedscopeReader { is_own, max_frames, profile, ..SpeedscopeReader::default() };
    reader.frames(&shared.frames.0).map_err(|problem| format!("shared.frames{problem}"))?;
    let name = name.as_deref().filter(|name| !is_own && !name.is_empty());
    let program = name.map(|name| reader.profile.name(name));
    for (number, track) in profiles.iter().enumerate() {
        reader.track(track, program).map_err(|problem| format!("profiles[{number}]{problem}"))?;
    }
    let SpeedscopeReader { mut profile, rounded, .. } = reader;
    if profile.samples.is_empty() {
        return Err("profiles: they have no samples".to_owned());
    }
    if rounded > 0 {
        profile.lost.push(format!("{rounded} weights are rounded to integers"));
    }
    profile.set_mean_periods();
    Ok(profile)
}

#[derive(Default)]
struct SpeedscopeReader {
    /// Whether perfconv wrote the file.
    is_own: bool,
    max_frames: usize,
    /// Number of frames in the stacks so far.
    total_frames: usize,
    /// Number of weights that are not integers.
    rounded: u64,
    events: WeightedEvents,
    profile: SourceProfile,
    /// Scratch buffer.
    stack: Vec<u32>,
}

impl SpeedscopeReader {
    /// Adds the frames. Errors begin with the place.
    fn frames(&mut self, frames: &[ImportedFrame<'_>]) -> std::result::Result<(), String> {
        let lines = first_lines(frames);
        let mut mappings = HashMap::new();
        for (number, frame) in frames.iter().enumerate() {
            let coordinate = |field: &str, value: Option<Number>| match value {
                Some(value) => value
                    .scaled(1)
                    .and_then(|value| i64::try_from(value).ok())
                    .ok_or_else(|| format!("[{number}].{field}: not a {field} number")),
                None => Ok(0),
            };
            let (line, column) = (coordinate("line", frame.line)?, coordinate("column", frame.col)?);
            let file = frame.file.as_deref().filter(|file| !file.is_empty());
            // If the source file is unknown, perfconv writes the name of the mapped one.
            let mapped = file.filter(|file| self.is_own && line == 0 && !file.contains('/'));
            let mapping = mapped.map(|file| {
                *mappings.entry(file).or_insert_with(|| {
                    let path = Bytes::from(file.replace('\0', ""));
                    let is_kernel = SourceMapping::is_kernel_name(&path);
                    self.profile.mappings.push(SourceMapping { path, is_kernel, ..SourceMapping::default() });
                    self.profile.mappings.len() as u32 - 1
                })
            });
            let name = self.profile.name(frame.full_name());
            let file = file.filter(|_| mapped.is_none()).map(|file| self.profile.name(file));
            let is_first_line = lines.get(&(frame.full_name(), frame.file.as_deref())) == Some(&frame.line);
            let start_line = if is_first_line { line } else { 0 };
            let function = SourceFunction { name, system_name: Some(name), file, start_line };
            let function = Some(self.profile.function(function));
            self.profile.frames.push(SourceFrame { mapping, function, line, column, ..SourceFrame::default() });
        }
        Ok(())
    }

    /// Adds the samples of a profile.
    fn track(&mut self, track: &ImportedTrack<'_>, program: Option<u32>) -> std::result::Result<(), String> {
        let mut sample = SourceSample { comm: program, ..SourceSample::default() };
        let event = track.event.as_deref();
        let name = event.and_then(|event| track.name.strip_suffix(event)?.strip_suffix(' ')).unwrap_or(&track.name);
        let mut in_name = None;
        match NamedThread::parse(name).filter(|_| self.is_own) {
            Some(NamedThread { comm, id, rest }) => {
                (sample.pid, sample.tid) = (Some(id.0), Some(id.1));
                sample.thread_comm = comm.map(|comm| self.profile.name(comm));
                in_name = Some(rest).filter(|rest| !rest.is_empty());
            }
            None if name.is_empty() || self.is_own && name == ALL_THREADS => {}
            None => sample.thread_comm = Some(self.profile.name(name)),
        }
        sample.event = self.events.id(&mut self.profile, event.or(in_name), track.unit.unit());
        match (track.kind, &track.samples, &track.weights, &track.events) {
            (ProfileKind::Sampled, Some(stacks), Some(weights), _) => self.samples(track, sample, stacks, weights),
            (ProfileKind::Evented, _, _, Some(events)) => self.events(track, sample, events),
            (ProfileKind::Sampled, None, ..) => Err(": missing field `samples`".to_owned()),
            (ProfileKind::Sampled, ..) => Err(": missing field `weights`".to_owned()),
            (ProfileKind::Evented, ..) => Err(": missing field `events`".to_owned()),
        }
    }

    /// Adds the samples of a sampled profile.
    fn samples(
        &mut self,
        track: &ImportedTrack<'_>,
        sample: SourceSample,
        stacks: &Stacks,
        weights: &[Number],
    ) -> std::result::Result<(), String> {
        if stacks.len() != weights.len() {
            return Err(format!(".weights: {} values for {} samples", weights.len(), stacks.len()));
        }
        let mut at = track.start_value.and_then(|start| start.scaled(track.unit.factor())).unwrap_or(0);
        let mut stack = std::mem::take(&mut self.stack);
        for (number, (frames, weight)) in stacks.iter().zip(weights).enumerate() {
            let Some(value) = weight.scaled(track.unit.factor()) else {
                return Err(format!(".weights[{number}]: it is negative"));
            };
            self.rounded += u64::from(track.unit.factor() == 1 && !weight.is_integer());
            if let Some(invalid) = frames.iter().find(|&&frame| frame as usize >= self.profile.frames.len()) {
                return Err(format!(".samples[{number}]: frame {invalid} does not exist"));
            }
            stack.clear();
            stack.extend(frames.iter().rev().take(MAX_FRAMES));
            let time = track.unit.is_time().then(|| START.saturating_add(at));
            let sample = SourceSample { count: Some(1), value, time, ..sample };
            self.push(sample, &stack).map_err(|problem| format!(".samples[{number}]: {problem}"))?;
            at = at.saturating_add(value);
        }
        self.stack = stack;
        Ok(())
    }

    /// Adds a sample for each interval between events in which a frame is open.
    fn events(
        &mut self,
        track: &ImportedTrack<'_>,
        sample: SourceSample,
        events: &[FrameEvent],
    ) -> std::result::Result<(), String> {
        let mut open: Vec<u32> = Vec::new();
        let mut stack = std::mem::take(&mut self.stack);
        let mut latest = 0;
        for (number, event) in events.iter().enumerate() {
            let invalid = |problem: String| Err(format!(".events[{number}]: {problem}"));
            let Some(at) = event.at.scaled(track.unit.factor()) else {
                return invalid("at: it is negative".to_owned());
            };
            if at < latest {
                return invalid("at: it is before the preceding event".to_owned());
            }
            if at > latest && !open.is_empty() {
                stack.clear();
                stack.extend(open.iter().rev().take(MAX_FRAMES));
                let time = track.unit.is_time().then(|| START.saturating_add(latest));
                let sample = SourceSample { value: at - latest, time, ..sample };
                self.push(sample, &stack).map_err(|problem| format!(".events[{number}]: {problem}"))?;
            }
            latest = at;
            match (event.kind, open.last()) {
                (FrameEventKind::Open, _) if event.frame as usize >= self.profile.frames.len() => {
                    return invalid(format!("frame {} does not exist", event.frame));
                }
                (FrameEventKind::Open, _) => open.push(event.frame),
                (FrameEventKind::Close, Some(&last)) if last == event.frame => drop(open.pop()),
                (FrameEventKind::Close, Some(last)) => {
                    return invalid(format!("it closes frame {}, but frame {last} is open", event.frame));
                }
                (FrameEventKind::Close, None) => {
                    return invalid(format!("it closes frame {}, but none is open", event.frame));
                }
            }
        }
        self.stack = stack;
        match open.last() {
            Some(last) => Err(format!(".events: frame {last} is still open at the end")),
            None => Ok(()),
        }
    }

    fn push(&mut self, sample: SourceSample, stack: &[u32]) -> std::result::Result<(), String> {
        self.total_frames += stack.len();
        if self.total_frames > self.max_frames {
            return Err(format!("the stacks so far have more than {} frames in total", self.max_frames));
        }
        if self.profile.samples.len() == MAX_PARTS {
            return Err(format!("more than {MAX_PARTS} samples"));
        }
        let stack = self.profile.stacks.id(stack);
        self.profile.samples.push(SourceSample { stack, ..sample });
        Ok(())
    }
}

/// The line of each function, if all of its frames have the same: then it is that of the function, not of a place in it.
fn first_lines<'a>(frames: &'a [ImportedFrame<'_>]) -> HashMap<(&'a str, Option<&'a str>), Option<Number>> {
    let mut lines = HashMap::new();
    for frame in frames {
        let line = lines.entry((frame.full_name(), frame.file.as_deref())).or_insert(frame.line);
        if *line != frame.line {
            *line = None;
        }
    }
    lines
}

impl ValueUnit {
    fn unit(self) -> Unit {
        match self {
            Self::None => Unit::Count,
            Self::Bytes => Unit::Bytes,
            Self::Nanoseconds | Self::Microseconds | Self::Milliseconds | Self::Seconds => Unit::Nanoseconds,
        }
    }

    fn is_time(self) -> bool {
        self.unit() == Unit::Nanoseconds
    }

    /// Factor that converts values to nanoseconds, bytes or counts.
    fn factor(self) -> u32 {
        match self {
            Self::None | Self::Bytes | Self::Nanoseconds => 1,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
        }
    }
}
