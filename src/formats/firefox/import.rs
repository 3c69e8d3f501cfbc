//! Imports processed profiles as recordings.

use super::document::{Document, ImportedThread, Meta, ProfileHead, SampleTable, WeightType};
use super::import_frames::ImportedFrames;
use super::import_tables::ImportedTables;
use crate::formats::framework::tracks::{ALL_THREADS, recorded_comm};
use crate::formats::import::json_document::{Number, parse};
use crate::formats::import::source::{SourceProfile, SourceSample};
use crate::formats::import::weighted_events::WeightedEvents;
use crate::formats::import::{ImportOptions, ImportedRecording, MAX_PARTS, START, max_total_frames, read_all, record};
use crate::profile::event::Unit;
use perf_data::error::{Error, Result};
use std::io::Read;
use std::ops::RangeInclusive;

/// Versions of the format: the first without libraries in threads, and the last one that is known.
const VERSIONS: RangeInclusive<u32> = 41..=75;

/// Nanoseconds in a millisecond.
const MILLISECOND: u32 = 1_000_000;

/// Converts a processed profile to a recording.
///
/// # Errors
/// If the input is not a valid profile, with the place, or exceeds a limit.
pub fn import(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording> {
    let bytes = read_all(stream, name)?;
    let invalid = |problem: String| Error::input(name, None, problem);
    // The version is checked first: a profile of another version may not have the expected fields.
    let ProfileHead { meta } = parse(&bytes, name)?;
    let problem = match meta.preprocessed_profile_version {
        Some(version) if VERSIONS.contains(&version) => None,
        Some(version) => Some(format!(
            "meta.preprocessedProfileVersion: version {version} is not supported; {} to {} are",
            VERSIONS.start(),
            VERSIONS.end()
        )),
        None => Some("meta: a Gecko profile, as Firefox records it, which is not supported".to_owned()),
    };
    if let Some(problem) = problem {
        return Err(invalid(format!(
            "{problem}; open it at profiler.firefox.com, and import the profile that it saves"
        )));
    }
    let profile =
        source_profile(&meta, &parse(&bytes, name)?, bytes.len(), max_total_frames(bytes.len())).map_err(invalid)?;
    // Frees the input before the recording takes memory.
    drop(bytes);
    record(name, profile, options)
}

/// Whether an input with these first bytes is a processed profile, or a Gecko profile.
pub fn recognizes(start: &[u8]) -> bool {
    let object = start.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    let has = |key: &[u8]| start.windows(key.len()).any(|part| part == key);
    let is_profile = || has(b"\"preprocessedProfileVersion\"") || has(b"\"interval\"") && has(b"\"startTime\"");
    object.trim_ascii_start().starts_with(b"\"meta\"") && is_profile()
}

/// Converts a profile, if its stacks have at most `max_frames` frames in total.
fn source_profile(
    meta: &Meta<'_>,
    document: &Document<'_>,
    input_size: usize,
    max_frames: usize,
) -> std::result::Result<SourceProfile, String> {
    let mut reader = FirefoxReader {
        frames: ImportedFrames::new(&document.libs, &meta.categories),
        events: WeightedEvents::default(),
        max_frames,
        total_frames: 0,
        negative: 0,
        rounded: 0,
    };
    reader.frames.profile.input_size = input_size;
    let mut shared = ImportedTables::shared(document)?;
    for (number, thread) in document.threads.iter().enumerate() {
        let within = |problem| format!("threads[{number}].{problem}");
        match &mut shared {
            Some(tables) => reader.thread(thread, tables).map_err(within)?,
            None => {
                let mut tables = ImportedTables::from_thread(document, thread).map_err(within)?;
                reader.thread(thread, &mut tables).map_err(within)?;
            }
        }
    }
    let is_own = document.threads.iter().any(|thread| thread.event.is_some());
    let mut profile = reader.frames.finish(is_own);
    if profile.samples.is_empty() {
        return Err("threads: they have no samples".to_owned());
    }
    let first = profile.samples.iter().filter_map(|sample| sample.time).min();
    let start = meta.start_time.and_then(|start| Number::Float(start).scaled(MILLISECOND)).filter(|&start| start > 0);
    profile.wall_clock_start = start.zip(first).map(|(start, first)| start.saturating_add(first).saturating_sub(START));
    profile.set_mean_periods();
    let sum = |count: fn(&ImportedThread<'_>) -> u64| document.threads.iter().map(count).fold(0, u64::saturating_add);
    let other_counters = document.counters.iter().flatten().filter(|counter| counter.event.is_none());
    for (count, description) in [
        (reader.negative, "negative weights are omitted"),
        (reader.rounded, "weights are rounded to integers"),
        (sum(|thread| thread.marker_count()), "markers are omitted: they are not samples"),
        (sum(|thread| thread.allocation_count()), "allocations are omitted"),
        (other_counters.count() as u64, "counters are omitted"),
    ] {
        if count > 0 {
            profile.lost.push(format!("{count} {description}"));
        }
    }
    Ok(profile)
}

struct FirefoxReader<'a> {
    frames: ImportedFrames<'a>,
    events: WeightedEvents,
    max_frames: usize,
    /// Number of frames in the stacks so far.
    total_frames: usize,
    negative: u64,
    /// Number of weights that are not integers.
    rounded: u64,
}

impl FirefoxReader<'_> {
    /// Adds the samples of a thread. Errors begin with the place.
    fn thread(
        &mut self,
        thread: &ImportedThread<'_>,
        tables: &mut ImportedTables<'_>,
    ) -> std::result::Result<(), String> {
        let SampleTable { stack, time, time_deltas, weight, weight_type } = &thread.samples;
        let columns = [("time", time), ("timeDeltas", time_deltas), ("weight", weight)];
        for (name, column) in columns.iter().filter_map(|(name, column)| Some((name, column.as_ref()?))) {
            if column.len() != stack.len() {
                return Err(format!("samples.{name}: {} values, expected {}", column.len(), stack.len()));
            }
        }
        if stack.len() == 0 {
            return Ok(());
        }
        let (unit, factor) = match (weight, weight_type) {
            (None, _) | (_, WeightType::Samples) => (Unit::Count, 1),
            (_, WeightType::TracingMs) => (Unit::Nanoseconds, MILLISECOND),
            (_, WeightType::Bytes) => (Unit::Bytes, 1),
        };
        let mut task = self.task(thread);
        task.event = self.events.id(&mut self.frames.profile, thread.event.as_deref(), unit);
        let mut elapsed = 0.0;
        for (index, row) in stack.iter().enumerate() {
            let weight = weight.as_ref().map_or(Number::Integer(1), |weights| weights[index]);
            let milliseconds = match (time, time_deltas) {
                (Some(times), _) => Some(times[index].to_f64()),
                (None, Some(deltas)) => {
                    elapsed += deltas[index].to_f64();
                    Some(elapsed)
                }
                (None, None) => None,
            };
            let stack = match row {
                Some(row) => tables.stack(row, &mut self.frames, &mut self.total_frames),
                None => Ok(self.frames.profile.stacks.id(&[])),
            };
            let stack = stack.map_err(|problem| format!("samples.stack[{index}]: {problem}"))?;
            if self.total_frames > self.max_frames {
                let problem = format!("the stacks so far have more than {} frames in total", self.max_frames);
                return Err(format!("samples.stack[{index}]: {problem}"));
            }
            let samples = &mut self.frames.profile.samples;
            if samples.len() == MAX_PARTS {
                return Err(format!("samples.stack[{index}]: more than {MAX_PARTS} samples"));
            }
            let Some(value) = weight.scaled(factor) else {
                self.negative += 1;
                continue;
            };
            self.rounded += u64::from(factor == 1 && !weight.is_integer());
            // The conversion saturates.
            let time =
                milliseconds.map(|time| START.saturating_add_signed((time * f64::from(MILLISECOND)).round() as i64));
            samples.push(SourceSample { stack, time, count: Some(1), value, ..task });
        }
        Ok(())
    }

    /// The process and thread of samples.
    fn task(&mut self, thread: &ImportedThread<'_>) -> SourceSample {
        let mut sample = SourceSample::default();
        let event = thread.event.as_deref();
        let name = event.and_then(|event| thread.name.strip_suffix(event)?.strip_suffix(' ')).unwrap_or(&thread.name);
        if event.is_some() && name == ALL_THREADS {
            return sample;
        }
        (sample.pid, sample.tid) = (thread.pid.and_then(|id| id.0), thread.tid.and_then(|id| id.0));
        let mut comm = |name: &str, id: Option<u32>| {
            let name = recorded_comm(name, id.unwrap_or(0)).filter(|name| !name.is_empty())?;
            Some(self.frames.profile.name(name))
        };
        sample.thread_comm = comm(name, sample.tid);
        sample.comm = thread.process_name.as_deref().and_then(|name| comm(name, sample.pid));
        sample
    }
}
