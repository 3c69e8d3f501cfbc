//! Imports pprof profiles as recordings.

use super::functions::is_synthetic;
use super::parts;
use super::proto::{self, Profile};
use super::validate::{self, Ids};
use crate::formats::import::source::{
    SourceEvent, SourceFrame, SourceFunction, SourceMapping, SourceProfile, SourceSample,
};
use crate::formats::import::{
    ImportOptions, ImportedRecording, MAX_FRAMES, MAX_PARTS, max_total_frames, read_all, record,
};
use crate::profile::imported::{ProfileHeader, SampleType, SampleTypes, totals};
use crate::profile::labels::Label;
use bytes::Bytes;
use hashbrown::HashMap;
use perf_data::abi::hex;
use perf_data::abi::record::RecordType;
use perf_data::error::{Error, Result};
use perf_data::session::map::Map;
use perf_data::stream::ledger::{Aggregated, Ledger};
use prost::{DecodeError, Message};
use std::io::{Read, Write};

/// Converts a profile to a recording.
///
/// # Errors
/// If the input is not a valid profile, or exceeds a limit.
pub fn import(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording> {
    let bytes = read_all(stream, name)?;
    let size = bytes.len();
    let (profile, ids) = decode(&bytes, name)?;
    // Frees the input before the recording takes memory.
    drop(bytes);
    let too_large = |problem: String| Error::input(name, None, problem);
    check_event_names(&profile, options.read.limits.about).map_err(too_large)?;
    record(name, source_profile(&profile, &ids, size, max_total_frames(size)).map_err(too_large)?, options)
}

/// Copies a profile unchanged, after validating it.
///
/// # Errors
/// If the input is not a valid profile, and errors of `out`.
pub fn copy(stream: &mut (dyn Read + Send), name: &str, out: &mut dyn Write) -> Result<Ledger> {
    let bytes = read_all(stream, name)?;
    let (profile, _) = decode(&bytes, name)?;
    out.write_all(&bytes).map_err(Error::Output)?;
    let sum = |column: usize| profile.sample.iter().fold(0_i64, |sum, sample| sum.saturating_add(sample.value[column]));
    let column = |(number, kind): (usize, &proto::ValueType)| {
        let text = |index| text(&profile, index).to_owned();
        (SampleType { kind: text(kind.r#type), unit: text(kind.unit) }, sum(number).max(0) as u64)
    };
    let sums: Vec<_> = profile.sample_type.iter().enumerate().map(column).collect();
    let mut ledger = Ledger::default();
    ledger.read(RecordType::SAMPLE, profile.sample.len() as u64);
    ledger.emitted(RecordType::SAMPLE, profile.sample.len() as u64);
    ledger.aggregated(Aggregated { noun: "stack", totals: totals(&sums) });
    Ok(ledger)
}

/// Decodes and validates a profile.
fn decode(bytes: &[u8], name: &str) -> Result<(Profile, Ids)> {
    let invalid = |problem: String| Error::input(name, None, format!("not a valid pprof profile: {problem}"));
    if bytes.is_empty() {
        return Err(invalid("it is empty".to_owned()));
    }
    let parts = parts::count(bytes, parts::PROFILE).map_err(|e| invalid(undecodable(&e)))?;
    if parts > MAX_PARTS {
        let problem = format!("it has {parts} messages and strings; at most {MAX_PARTS} are supported");
        return Err(Error::input(name, None, problem));
    }
    let profile = Profile::decode(bytes).map_err(|e| invalid(undecodable(&e)))?;
    let ids = validate::check(&profile).map_err(invalid)?;
    if profile.sample_type.is_empty() {
        return Err(invalid("it has no sample types".to_owned()));
    }
    Ok((profile, ids))
}

/// Reason of a decoding error, without prost's common prefix.
pub(in crate::formats) fn undecodable(error: &DecodeError) -> String {
    let error = error.to_string();
    let reason = error.strip_prefix("failed to decode Protobuf message: ").unwrap_or(&error);
    format!("not a protobuf message ({reason})")
}

/// Checks the total size of event names: many sample types may refer to one long string.
pub(in crate::formats) fn check_event_names(profile: &Profile, max: u64) -> std::result::Result<(), String> {
    let len = |index: i64| text(profile, index).len() as u64;
    let bytes = profile.sample_type.iter().map(|kind| len(kind.r#type) + len(kind.unit)).sum::<u64>();
    let problem = || format!("the names of its sample types take {bytes} bytes; at most {max} are supported");
    (bytes <= max).then_some(()).ok_or_else(problem)
}

fn text(profile: &Profile, index: i64) -> &str {
    usize::try_from(index).ok().and_then(|index| profile.string_table.get(index)).map_or("", |text| text)
}

/// The columns that form one event.
#[derive(Clone, Copy)]
pub(in crate::formats) struct ValueColumn {
    /// Event index.
    pub event: u32,
    /// The column with the sample count, if there is one.
    pub count: Option<usize>,
    /// The column with the values.
    pub value: usize,
}

/// Decodes a profile, if its stacks have at most `max_frames` frames in total.
fn source_profile(
    profile: &Profile,
    ids: &Ids,
    input_size: usize,
    max_frames: usize,
) -> std::result::Result<SourceProfile, String> {
    let mut reader = PprofReader::new(profile, ids, input_size);
    let columns = reader.events(true);
    reader.mappings();
    let stacks: Vec<Vec<u32>> =
        profile.location.iter().map(|location| reader.location_frames(location, false)).collect();
    let mut stack = Vec::new();
    let (mut negative, mut repeated) = (0_u64, 0_u64);
    for sample in &profile.sample {
        stack.clear();
        let locations = sample.location_id.iter().filter_map(|id| ids.locations.get(id));
        stack.extend(locations.flat_map(|&location| &stacks[location]).take(MAX_FRAMES));
        let mut built = reader.labels(sample, &mut repeated);
        built.stack = reader.built.stacks.id(&stack);
        if reader.built.stacks.elements() > max_frames {
            return Err(format!("its stacks have more than {max_frames} frames in total"));
        }
        for &ValueColumn { event, count, value } in &columns {
            let count = count.map(|column| sample.value[column]);
            let value = sample.value[value];
            if value < 0 || count.is_some_and(|count| count < 0) {
                negative += 1;
                continue;
            }
            let count = count.map(|count| count as u64);
            if value > 0 || count.is_some_and(|count| count > 0) {
                reader.built.samples.push(SourceSample { event, count, value: value as u64, ..built });
            }
        }
    }
    reader.head(negative, repeated);
    Ok(reader.built)
}

/// Converts the tables of a profile.
pub(in crate::formats) struct PprofReader<'a> {
    profile: &'a Profile,
    ids: &'a Ids,
    /// The result.
    pub built: SourceProfile,
    frames: HashMap<SourceFrame, u32>,
    /// Name IDs by string index.
    texts: HashMap<i64, u32>,
}

impl<'a> PprofReader<'a> {
    /// Creates a reader of a valid profile, of an input of `input_size` bytes.
    pub(in crate::formats) fn new(profile: &'a Profile, ids: &'a Ids, input_size: usize) -> Self {
        let built = SourceProfile { input_size, ..SourceProfile::default() };
        Self { profile, ids, built, frames: HashMap::new(), texts: HashMap::new() }
    }

    fn text(&self, index: i64) -> &'a str {
        text(self.profile, index)
    }

    /// Interns a string as a name.
    fn name(&mut self, index: i64) -> u32 {
        let text = self.text(index);
        *self.texts.entry(index).or_insert_with(|| self.built.name(text))
    }

    /// Defines the events: a column of sample counts and the one of their values form one event, if the only two columns do.
    pub(in crate::formats) fn events(&mut self, are_two_one: bool) -> Vec<ValueColumn> {
        let types: Vec<_> =
            self.profile.sample_type.iter().map(|kind| (self.text(kind.r#type), self.text(kind.unit))).collect();
        let period_type = self.profile.period_type.as_ref();
        let period_type = period_type.map(|kind| (self.text(kind.r#type), self.text(kind.unit)));
        let mut columns = Vec::new();
        let mut at = 0;
        while let Some(&(name, unit)) = types.get(at) {
            let is_count = |value: &&(&str, &str)| {
                let stem = name.strip_suffix("_samples").unwrap_or_default();
                unit == "count" && (name == "samples" && types.len() == 2 && are_two_one || stem == value.0)
            };
            let paired = types.get(at + 1).filter(is_count);
            let (count, value, (name, unit)) = match paired {
                Some(&value) => (Some(at), at + 1, value),
                None => (None, at, (name, unit)),
            };
            let period = if period_type == Some((name, unit)) { self.profile.period.max(0) as u64 } else { 0 };
            columns.push(ValueColumn { event: self.built.events.len() as u32, count, value });
            let kind = |(kind, unit): (&str, &str)| SampleType { kind: kind.to_owned(), unit: unit.to_owned() };
            let sample_types = SampleTypes { samples: count.map(|at| kind(types[at])), value: kind((name, unit)) };
            let (name, unit) = (name.to_owned(), unit.to_owned());
            let event = SourceEvent { name, unit, period, sample_types: Some(sample_types), ..SourceEvent::default() };
            self.built.events.push(event);
            at = value + 1;
        }
        columns
    }

    pub(in crate::formats) fn mappings(&mut self) {
        let mut invalid = 0;
        // Any number of mappings may have the same long path, which is stored once.
        let mut paths: HashMap<i64, Bytes> = HashMap::new();
        for mapping in &self.profile.mapping {
            let built = self.text(mapping.build_id);
            let build_id = hex::from_hex(built.as_bytes()).filter(|id| (1..=20).contains(&id.len()));
            invalid += u64::from(build_id.is_none() && !built.is_empty());
            let path = paths.entry(mapping.filename);
            let path = path.or_insert_with(|| Bytes::from(self.text(mapping.filename).replace('\0', ""))).clone();
            let is_upper = mapping.memory_start >= 1 << 63 && !path.starts_with(b"[vsyscall]");
            self.built.mappings.push(SourceMapping {
                is_kernel: is_upper || SourceMapping::is_kernel_name(&path),
                start: mapping.memory_start,
                limit: mapping.memory_limit,
                pgoff: mapping.file_offset,
                build_id: build_id.map(Bytes::from),
                path,
            });
        }
        if invalid > 0 {
            self.built.lost.push(format!("{invalid} build IDs that are not those of ELF files are omitted"));
        }
    }

    /// The frames of a location, leaf first: inlined functions are separate frames. `is_kernel` is for formats that say so.
    pub(in crate::formats) fn location_frames(&mut self, location: &proto::Location, is_kernel: bool) -> Vec<u32> {
        let mapping = self.ids.mappings.get(&location.mapping_id).map(|&index| index as u32);
        let is_kernel = is_kernel || mapping.is_none() && self.is_kernel(location);
        let base = SourceFrame {
            mapping,
            address: Some(location.address).filter(|&address| address != 0 || mapping.is_none()),
            is_kernel,
            ..SourceFrame::default()
        };
        let Some((physical, inlined)) = location.line.split_last() else { return vec![self.frame(base)] };
        let mut frames = Vec::new();
        for line in inlined {
            let function = self.function(line);
            let inlined = SourceFrame { address: None, function, is_inlined: true, ..base };
            frames.push(self.frame(SourceFrame { line: line.line, column: line.column, ..inlined }));
        }
        let function = self.function(physical);
        let is_named = function.is_some_and(|function| !self.is_synthetic(function, mapping, location.address));
        let function = function.filter(|_| is_named);
        let address = base.address.filter(|&address| address != 0 || function.is_none());
        let (line, column) = if is_named { (physical.line, physical.column) } else { (0, 0) };
        frames.push(self.frame(SourceFrame { address, function, line, column, ..base }));
        frames
    }

    /// Whether an address outside any mapping is the kernel's: by its synthetic function name, or else by the
    /// address.
    fn is_kernel(&self, location: &proto::Location) -> bool {
        let function = location.line.last().and_then(|line| self.ids.functions.get(&line.function_id));
        let name = function.map_or("", |&index| self.text(self.profile.function[index].name));
        match name.split('+').next() {
            Some("[kernel]") => true,
            Some("[unknown]") => false,
            _ => location.address >= 1 << 63,
        }
    }

    /// Whether a function's name is synthetic.
    fn is_synthetic(&self, function: u32, mapping: Option<u32>, address: u64) -> bool {
        let name = self.built.functions.list()[function as usize].name;
        let Ok(name) = std::str::from_utf8(self.built.names.get(name)) else { return false };
        let map = mapping.map(|mapping| &self.built.mappings[mapping as usize]);
        let map = map.map(|map| Map::new(map.start, map.limit.saturating_sub(map.start), map.pgoff, &map.path, None));
        is_synthetic(name, map.as_ref(), address)
    }

    /// Interns the function of a line.
    fn function(&mut self, line: &proto::Line) -> Option<u32> {
        let function = self.profile.function[*self.ids.functions.get(&line.function_id)?];
        let name = if function.name == 0 { function.system_name } else { function.name };
        if self.text(name).is_empty() {
            return None;
        }
        let name = self.name(name);
        let mut optional = |index| (!self.text(index).is_empty()).then(|| self.name(index));
        let (system_name, file) = (optional(function.system_name), optional(function.filename));
        Some(self.built.function(SourceFunction { name, system_name, file, start_line: function.start_line }))
    }

    fn frame(&mut self, frame: SourceFrame) -> u32 {
        let frames = &mut self.built.frames;
        *self.frames.entry(frame).or_insert_with(|| {
            frames.push(frame);
            frames.len() as u32 - 1
        })
    }

    /// Converts the labels of a sample.
    pub(in crate::formats) fn labels(&mut self, sample: &proto::Sample, repeated: &mut u64) -> SourceSample {
        let mut built = SourceSample::default();
        let mut others: Vec<(u32, u64)> = Vec::new();
        for label in &sample.label {
            let key = self.text(label.key);
            let number = || u32::try_from(label.num).ok().filter(|_| label.str == 0);
            let text = label.str != 0;
            let was_empty = match Label::by_key(key) {
                Some(Label::Pid) if number().is_some() => set(&mut built.pid, number()),
                Some(Label::Tid) if number().is_some() => set(&mut built.tid, number()),
                Some(Label::Cpu) if number().is_some() => set(&mut built.cpu, number()),
                Some(Label::Comm) if text => set(&mut built.comm, Some(self.name(label.str))),
                Some(Label::ThreadComm) if text => set(&mut built.thread_comm, Some(self.name(label.str))),
                Some(Label::Cgroup) if text => set(&mut built.cgroup, Some(self.name(label.str))),
                Some(Label::TimestampNs) if !text && label.num >= 0 => built.time.replace(label.num as u64).is_none(),
                // Derived from the leaf frame.
                Some(Label::ExecutionMode) => {
                    self.built.has_execution_modes = true;
                    true
                }
                _ => {
                    let (name, unit) = (self.name(label.key), (!text).then(|| self.name(label.num_unit)));
                    let value = if text { self.name(label.str).into() } else { label.num as u64 };
                    others.push((self.built.labels.keys.id((name, unit)), value));
                    true
                }
            };
            *repeated += u64::from(!was_empty);
        }
        // Of labels with the same key, the first one is kept.
        let all = others.len();
        others.sort_by_key(|(key, _)| *key);
        others.dedup_by_key(|(key, _)| *key);
        *repeated += (all - others.len()) as u64;
        built.labels = self.built.labels.sets.id(&others);
        built
    }

    /// Converts the header of the profile.
    pub(in crate::formats) fn head(&mut self, negative: u64, repeated: u64) {
        let profile = self.profile;
        self.built.wall_clock_start = u64::try_from(profile.time_nanos).ok().filter(|&time| time > 0);
        self.built.duration = u64::try_from(profile.duration_nanos).unwrap_or(0);
        let text = |index| self.text(index).to_owned();
        let period_type = profile.period_type.as_ref();
        self.built.header = Some(ProfileHeader {
            period_type: period_type.map(|kind| SampleType { kind: text(kind.r#type), unit: text(kind.unit) }),
            period: profile.period,
            default_sample_type: text(profile.default_sample_type),
            comments: profile.comment.iter().map(|&comment| text(comment)).collect(),
            drop_frames: text(profile.drop_frames),
            keep_frames: text(profile.keep_frames),
            doc_url: text(profile.doc_url),
            time_nanos: profile.time_nanos,
            duration_nanos: profile.duration_nanos,
        });
        let mut comments = 0;
        for &comment in &profile.comment {
            let text = self.text(comment);
            if let Some(version) = text.strip_prefix("perf-version:") {
                self.built.perf_version = Some(version.to_owned());
            } else if let Some(command) = text.strip_prefix("perf-command:") {
                self.built.command = Some(command.to_owned());
            } else {
                comments += 1;
            }
        }
        let inlined = profile.location.iter().map(|location| location.line.len().saturating_sub(1)).sum::<usize>();
        let note = |lost: &mut Vec<String>, count: u64, description: &str| {
            if count > 0 {
                lost.push(format!("{count} {description}"));
            }
        };
        note(&mut self.built.lost, negative, "negative values are omitted");
        note(&mut self.built.lost, repeated, "duplicate labels of a key are omitted");
        let lost = &mut self.built.lost_in_recording;
        note(lost, inlined as u64, "inlined frames became ordinary frames");
        note(lost, comments, "comments are omitted: a recording cannot store them");
        if profile.drop_frames != 0 || profile.keep_frames != 0 {
            lost.push("drop_frames and keep_frames are omitted: a recording cannot store them".to_owned());
        }
    }
}

fn set(field: &mut Option<u32>, value: Option<u32>) -> bool {
    std::mem::replace(field, value).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(profile: &Profile, max_frames: usize) -> std::result::Result<SourceProfile, String> {
        source_profile(profile, &validate::check(profile)?, profile.encoded_len(), max_frames)
    }

    /// A profile whose samples have the value 1 each.
    fn profile(strings: &[&str], samples: Vec<proto::Sample>) -> Profile {
        Profile {
            string_table: strings.iter().map(|text| (*text).to_owned()).collect(),
            sample_type: vec![proto::ValueType { r#type: 1, unit: 1 }],
            sample: samples.into_iter().map(|sample| proto::Sample { value: vec![1], ..sample }).collect(),
            ..Profile::default()
        }
    }

    /// Without the limit, these frames would take gigabytes.
    #[test]
    fn stacks_and_their_total_are_limited() {
        let deep = |locations| proto::Sample { location_id: vec![1; locations], ..proto::Sample::default() };
        let mut profile = profile(&["", "x"], vec![deep(50_000), deep(1)]);
        let line = vec![proto::Line::default(); 25_000];
        profile.location.push(proto::Location { id: 1, line, ..proto::Location::default() });
        let built = read(&profile, MAX_FRAMES).unwrap();
        assert_eq!(built.stacks.get(built.samples.get(0).stack).len(), MAX_FRAMES);
        let refused = read(&profile, MAX_FRAMES - 1).unwrap_err();
        assert_eq!(refused, format!("its stacks have more than {} frames in total", MAX_FRAMES - 1));
    }

    #[test]
    fn keeps_the_first_label_of_a_key() {
        let label = |key, num| proto::Label { key, num, ..proto::Label::default() };
        let labels = vec![label(3, 30), label(2, 20), label(3, 31), label(2, 20)];
        let built = read(&profile(&["", "x", "b", "a"], vec![proto::Sample { label: labels, ..<_>::default() }]), 1);
        let built = built.unwrap();
        assert_eq!(built.labels.sets.get(built.samples.get(0).labels), [(0, 30), (1, 20)]);
        assert!(built.lost.contains(&"2 duplicate labels of a key are omitted".to_owned()), "{:?}", built.lost);
    }

    #[test]
    fn event_names_are_limited_in_total() {
        let mut profile = profile(&["", "abcd"], Vec::new());
        assert_eq!(check_event_names(&profile, 8), Ok(()));
        profile.sample_type.push(proto::ValueType { r#type: 1, unit: 0 });
        let refused = check_event_names(&profile, 8).unwrap_err();
        assert_eq!(refused, "the names of its sample types take 12 bytes; at most 8 are supported");
    }

    #[test]
    fn mappings_of_one_file_share_its_path() {
        let mut profile = profile(&["", "/lib/a.so"], Vec::new());
        profile.mapping = (1..=2).map(|id| proto::Mapping { id, filename: 1, ..proto::Mapping::default() }).collect();
        let built = read(&profile, 0).unwrap();
        let [one, other] = [0, 1].map(|number| built.mappings[number].path.as_ptr());
        assert_eq!(one, other);
    }
}
