//! A profile as a recording.

use super::functions::is_made_up;
use super::parts;
use super::proto::{self, Profile};
use super::valid::{self, Ids};
use crate::abi::hex;
use crate::abi::record::RecordType;
use crate::error::{Error, Result};
use crate::formats::import::source::{
    SourceEvent, SourceFrame, SourceFunction, SourceMapping, SourceProfile, SourceSample,
};
use crate::formats::import::{ImportOptions, ImportedRecording, MOST_FRAMES, MOST_TOLD, record};
use crate::profile::imported::{ProfileHeader, SampleType, SampleTypes, totals};
use crate::profile::labels::Label;
use crate::session::map::Map;
use crate::stream::ledger::{Aggregated, Ledger};
use bytes::Bytes;
use hashbrown::HashMap;
use prost::{DecodeError, Message};
use std::io::{Read, Write};

/// Makes a recording of a profile.
///
/// # Errors
/// Where it is none or not valid, or has no place in a recording.
pub fn import(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording> {
    let bytes = read(stream, name)?;
    let most_frames = bytes.len().saturating_mul(FRAMES_OF_A_BYTE).max(MOST_FRAMES_OF_ALL);
    let (profile, ids) = decode(&bytes, name)?;
    drop(bytes);
    let too_large = |what: String| Error::input(name, None, what);
    demand_room(&profile, options.read.limits.about).map_err(too_large)?;
    record(name, source_profile(&profile, &ids, most_frames).map_err(too_large)?, options)
}

/// Copies a profile.
///
/// # Errors
/// Where it is none or not valid, and what `out` says.
pub fn copy(stream: &mut (dyn Read + Send), name: &str, out: &mut dyn Write) -> Result<Ledger> {
    let bytes = read(stream, name)?;
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
    ledger.aggregated(Aggregated { noun: "stacks", totals: totals(&sums) });
    Ok(ledger)
}

fn read(stream: &mut (dyn Read + Send), name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).map_err(Error::io(name, "cannot read"))?;
    Ok(bytes)
}

/// Decodes a profile, and validates it.
fn decode(bytes: &[u8], name: &str) -> Result<(Profile, Ids)> {
    let wrong = |what: String| Error::input(name, None, format!("not a valid pprof profile: {what}"));
    if bytes.is_empty() {
        return Err(wrong("it is empty".to_owned()));
    }
    let parts = parts::count(bytes).map_err(|e| wrong(undecodable(&e)))?;
    if parts > MOST_TOLD {
        let what =
            format!("it has {parts} samples, labels, lines, texts and others, and there is room for {MOST_TOLD}");
        return Err(Error::input(name, None, what));
    }
    let profile = Profile::decode(bytes).map_err(|e| wrong(undecodable(&e)))?;
    let ids = valid::check(&profile).map_err(wrong)?;
    if profile.sample_type.is_empty() {
        return Err(wrong("it has no sample types".to_owned()));
    }
    Ok((profile, ids))
}

/// Why bytes are no message, without the prefix that the decoder puts before all reasons.
fn undecodable(error: &DecodeError) -> String {
    let error = error.to_string();
    let reason = error.strip_prefix("failed to decode Protobuf message: ").unwrap_or(&error);
    format!("it is no protobuf message ({reason})")
}

/// How many frames all stacks may have together, and how many for each byte of the profile: locations of many inlined frames
/// may be in many stacks.
const MOST_FRAMES_OF_ALL: usize = 64 << 20;
const FRAMES_OF_A_BYTE: usize = 64;

/// Whether the names of events have room in memory: strings may be those of many.
fn demand_room(profile: &Profile, most: u64) -> std::result::Result<(), String> {
    let len = |index: i64| text(profile, index).len() as u64;
    let bytes = profile.sample_type.iter().map(|kind| len(kind.r#type) + len(kind.unit)).sum::<u64>();
    let what = || format!("the names of its sample types take {bytes} bytes, and there is room for {most}");
    (bytes <= most).then_some(()).ok_or_else(what)
}

fn text(profile: &Profile, index: i64) -> &str {
    usize::try_from(index).ok().and_then(|index| profile.string_table.get(index)).map_or("", |text| text)
}

/// Where a sample type's values go.
#[derive(Clone, Copy)]
struct Column {
    /// Number of the event.
    event: u32,
    /// The column that counts its samples, if there is one.
    count: Option<usize>,
    value: usize,
}

/// What a profile tells, if its stacks have no more than so many frames together.
fn source_profile(profile: &Profile, ids: &Ids, most_frames: usize) -> std::result::Result<SourceProfile, String> {
    let mut reader =
        Reader { profile, ids, told: SourceProfile::default(), frames: HashMap::new(), texts: HashMap::new() };
    let columns = reader.events();
    reader.mappings();
    let stacks: Vec<Vec<u32>> = profile.location.iter().map(|location| reader.frames_of(location)).collect();
    let mut stack = Vec::new();
    let (mut negative, mut repeated) = (0_u64, 0_u64);
    for sample in &profile.sample {
        stack.clear();
        let locations = sample.location_id.iter().filter_map(|id| ids.locations.get(id));
        stack.extend(locations.flat_map(|&location| &stacks[location]).take(MOST_FRAMES));
        let mut told = reader.labels(sample, &mut repeated);
        told.stack = reader.told.stacks.id(&stack);
        if reader.told.stacks.elements() > most_frames {
            return Err(format!("its stacks have more than {most_frames} frames together"));
        }
        for &Column { event, count, value } in &columns {
            let count = count.map(|column| sample.value[column]);
            let value = sample.value[value];
            if value < 0 || count.is_some_and(|count| count < 0) {
                negative += 1;
                continue;
            }
            let count = count.map(|count| count as u64);
            if value > 0 || count.is_some_and(|count| count > 0) {
                reader.told.samples.push(SourceSample { event, count, value: value as u64, ..told });
            }
        }
    }
    reader.head(negative, repeated);
    Ok(reader.told)
}

struct Reader<'a> {
    profile: &'a Profile,
    ids: &'a Ids,
    told: SourceProfile,
    frames: HashMap<SourceFrame, u32>,
    /// Numbers of names, by those of strings.
    texts: HashMap<i64, u32>,
}

impl<'a> Reader<'a> {
    fn text(&self, index: i64) -> &'a str {
        text(self.profile, index)
    }

    /// The number of a string among the names. No name has a NUL.
    fn name(&mut self, index: i64) -> u32 {
        let text = self.text(index);
        let names = &mut self.told.names;
        *self.texts.entry(index).or_insert_with(|| match text.contains('\0') {
            true => names.id(text.replace('\0', "").as_bytes()),
            false => names.id(text.as_bytes()),
        })
    }

    /// The events: a column that counts samples and the one of their values are one.
    fn events(&mut self) -> Vec<Column> {
        let types: Vec<_> =
            self.profile.sample_type.iter().map(|kind| (self.text(kind.r#type), self.text(kind.unit))).collect();
        let period_type = self.profile.period_type.as_ref();
        let period_type = period_type.map(|kind| (self.text(kind.r#type), self.text(kind.unit)));
        let mut columns = Vec::new();
        let mut at = 0;
        while let Some(&(name, unit)) = types.get(at) {
            let is_count = |value: &&(&str, &str)| {
                let of = name.strip_suffix("_samples").unwrap_or_default();
                unit == "count" && (name == "samples" && types.len() == 2 || of == value.0)
            };
            let paired = types.get(at + 1).filter(is_count);
            let (count, value, (name, unit)) = match paired {
                Some(&value) => (Some(at), at + 1, value),
                None => (None, at, (name, unit)),
            };
            let period = if period_type == Some((name, unit)) { self.profile.period.max(0) as u64 } else { 0 };
            columns.push(Column { event: self.told.events.len() as u32, count, value });
            let kind = |(kind, unit): (&str, &str)| SampleType { kind: kind.to_owned(), unit: unit.to_owned() };
            let sample_types = SampleTypes { samples: count.map(|at| kind(types[at])), value: kind((name, unit)) };
            let (name, unit) = (name.to_owned(), unit.to_owned());
            let event = SourceEvent { name, unit, period, sample_types: Some(sample_types), ..SourceEvent::default() };
            self.told.events.push(event);
            at = value + 1;
        }
        columns
    }

    fn mappings(&mut self) {
        let mut odd = 0;
        let mut paths: HashMap<i64, Bytes> = HashMap::new();
        for mapping in &self.profile.mapping {
            let told = self.text(mapping.build_id);
            let build_id = hex::from_hex(told.as_bytes()).filter(|id| (1..=20).contains(&id.len()));
            odd += u64::from(build_id.is_none() && !told.is_empty());
            let path = paths.entry(mapping.filename);
            let path = path.or_insert_with(|| Bytes::from(self.text(mapping.filename).replace('\0', ""))).clone();
            let is_upper = mapping.memory_start >= 1 << 63 && !path.starts_with(b"[vsyscall]");
            self.told.mappings.push(SourceMapping {
                is_kernel: is_upper || SourceMapping::is_kernel_name(&path),
                start: mapping.memory_start,
                limit: mapping.memory_limit,
                pgoff: mapping.file_offset,
                build_id: build_id.map(Bytes::from),
                path,
            });
        }
        if odd > 0 {
            self.told.lost.push(format!("{odd} build ids are none of ELF files"));
        }
    }

    /// The frames that a location is, leaf first: what is inlined is a frame of its own.
    fn frames_of(&mut self, location: &proto::Location) -> Vec<u32> {
        let mapping = self.ids.mappings.get(&location.mapping_id).map(|&place| place as u32);
        let is_kernel = mapping.is_none() && self.is_kernel(location);
        let whole = SourceFrame {
            mapping,
            address: Some(location.address).filter(|&address| address != 0 || mapping.is_none()),
            is_kernel,
            ..SourceFrame::default()
        };
        let Some((physical, inlined)) = location.line.split_last() else { return vec![self.frame(whole)] };
        let mut frames = Vec::new();
        for line in inlined {
            let function = self.function(line);
            let inlined = SourceFrame { address: None, function, is_inlined: true, ..whole };
            frames.push(self.frame(SourceFrame { line: line.line, column: line.column, ..inlined }));
        }
        let function = self.function(physical);
        let is_named = function.is_some_and(|function| !self.is_made_up(function, mapping, location.address));
        let function = function.filter(|_| is_named);
        let address = whole.address.filter(|&address| address != 0 || function.is_none());
        let (line, column) = if is_named { (physical.line, physical.column) } else { (0, 0) };
        frames.push(self.frame(SourceFrame { address, function, line, column, ..whole }));
        frames
    }

    /// Whether an address that is in no mapping is the kernel's: as this program told it, else by the address.
    fn is_kernel(&self, location: &proto::Location) -> bool {
        let function = location.line.last().and_then(|line| self.ids.functions.get(&line.function_id));
        let name = function.map_or("", |&place| self.text(self.profile.function[place].name));
        match name.split_once('+') {
            Some(("[kernel]", _)) => true,
            Some(("[unknown]", _)) => false,
            _ => location.address >= 1 << 63,
        }
    }

    /// Whether a function's name is one that this program makes up.
    fn is_made_up(&self, function: u32, mapping: Option<u32>, address: u64) -> bool {
        let name = self.told.functions.list()[function as usize].name;
        let Ok(name) = std::str::from_utf8(self.told.names.get(name)) else { return false };
        let map = mapping.map(|mapping| &self.told.mappings[mapping as usize]);
        let map = map.map(|map| Map::new(map.start, map.limit.saturating_sub(map.start), map.pgoff, &map.path, None));
        is_made_up(name, map.as_ref(), address)
    }

    /// The number of the function that a line is in.
    fn function(&mut self, line: &proto::Line) -> Option<u32> {
        let function = self.profile.function[*self.ids.functions.get(&line.function_id)?];
        let name = if function.name == 0 { function.system_name } else { function.name };
        if self.text(name).is_empty() {
            return None;
        }
        let name = self.name(name);
        let mut optional = |index| (!self.text(index).is_empty()).then(|| self.name(index));
        let (system_name, file) = (optional(function.system_name), optional(function.filename));
        Some(self.told.functions.id(SourceFunction { name, system_name, file, start_line: function.start_line }))
    }

    fn frame(&mut self, frame: SourceFrame) -> u32 {
        let frames = &mut self.told.frames;
        *self.frames.entry(frame).or_insert_with(|| {
            frames.push(frame);
            frames.len() as u32 - 1
        })
    }

    /// A sample of what labels tell.
    fn labels(&mut self, sample: &proto::Sample, repeated: &mut u64) -> SourceSample {
        let mut told = SourceSample::default();
        let mut others: Vec<(u32, u64)> = Vec::new();
        for label in &sample.label {
            let key = self.text(label.key);
            let number = || u32::try_from(label.num).ok().filter(|_| label.str == 0);
            let text = label.str != 0;
            let was_empty = match Label::by_key(key) {
                Some(Label::Pid) if number().is_some() => none_yet(&mut told.pid, number()),
                Some(Label::Tid) if number().is_some() => none_yet(&mut told.tid, number()),
                Some(Label::Cpu) if number().is_some() => none_yet(&mut told.cpu, number()),
                Some(Label::Comm) if text => none_yet(&mut told.comm, Some(self.name(label.str))),
                Some(Label::ThreadComm) if text => none_yet(&mut told.thread_comm, Some(self.name(label.str))),
                Some(Label::Cgroup) if text => none_yet(&mut told.cgroup, Some(self.name(label.str))),
                Some(Label::TimestampNs) if !text && label.num >= 0 => told.time.replace(label.num as u64).is_none(),
                // It is that of the leaf.
                Some(Label::ExecutionMode) => {
                    self.told.has_execution_modes = true;
                    true
                }
                _ => {
                    let (name, unit) = (self.name(label.key), (!text).then(|| self.name(label.num_unit)));
                    let value = if text { self.name(label.str).into() } else { label.num as u64 };
                    others.push((self.told.labels.key(name, unit), value));
                    true
                }
            };
            *repeated += u64::from(!was_empty);
        }
        // The first of each key stays.
        let all = others.len();
        others.sort_by_key(|(key, _)| *key);
        others.dedup_by_key(|(key, _)| *key);
        *repeated += (all - others.len()) as u64;
        told.labels = self.told.labels.sets.id(&others);
        told
    }

    /// What the profile tells of itself.
    fn head(&mut self, negative: u64, repeated: u64) {
        let profile = self.profile;
        self.told.wall_clock_start = u64::try_from(profile.time_nanos).ok().filter(|&time| time > 0);
        self.told.duration = u64::try_from(profile.duration_nanos).unwrap_or(0);
        let text = |index| self.text(index).to_owned();
        let period_type = profile.period_type.as_ref();
        self.told.header = Some(ProfileHeader {
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
                self.told.perf_version = Some(version.to_owned());
            } else if let Some(command) = text.strip_prefix("perf-command:") {
                self.told.command = Some(command.to_owned());
            } else {
                comments += 1;
            }
        }
        let inlined = profile.location.iter().map(|location| location.line.len().saturating_sub(1)).sum::<usize>();
        let note = |lost: &mut Vec<String>, count: u64, what: &str| {
            if count > 0 {
                lost.push(format!("{count} {what}"));
            }
        };
        note(&mut self.told.lost, negative, "values are negative, which no sample can be");
        note(&mut self.told.lost, repeated, "labels stand beside others of the same key");
        let lost = &mut self.told.lost_in_recording;
        note(lost, inlined as u64, "inlined frames are frames of their own");
        note(lost, comments, "comments have no place in a recording");
        if profile.drop_frames != 0 || profile.keep_frames != 0 {
            lost.push("the frames that pprof would drop are kept: a recording has no place for drop_frames".to_owned());
        }
    }
}

fn none_yet(field: &mut Option<u32>, value: Option<u32>) -> bool {
    std::mem::replace(field, value).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(profile: &Profile, most_frames: usize) -> std::result::Result<SourceProfile, String> {
        source_profile(profile, &valid::check(profile)?, most_frames)
    }

    /// A profile with one value in each of these samples.
    fn profile(strings: &[&str], samples: Vec<proto::Sample>) -> Profile {
        Profile {
            string_table: strings.iter().map(|text| (*text).to_owned()).collect(),
            sample_type: vec![proto::ValueType { r#type: 1, unit: 1 }],
            sample: samples.into_iter().map(|sample| proto::Sample { value: vec![1], ..sample }).collect(),
            ..Profile::default()
        }
    }

    /// If all frames were kept, these would be gigabytes.
    #[test]
    fn of_a_stack_no_more_is_kept_than_there_is_room_for() {
        let deep = |locations| proto::Sample { location_id: vec![1; locations], ..proto::Sample::default() };
        let mut profile = profile(&["", "x"], vec![deep(50_000), deep(1)]);
        let line = vec![proto::Line::default(); 25_000];
        profile.location.push(proto::Location { id: 1, line, ..proto::Location::default() });
        let told = read(&profile, MOST_FRAMES).unwrap();
        assert_eq!(told.stacks.get(told.samples[0].stack).len(), MOST_FRAMES);
        let refused = read(&profile, MOST_FRAMES - 1).unwrap_err();
        assert_eq!(refused, format!("its stacks have more than {} frames together", MOST_FRAMES - 1));
    }

    #[test]
    fn of_labels_of_one_key_the_first_stays() {
        let label = |key, num| proto::Label { key, num, ..proto::Label::default() };
        let labels = vec![label(3, 30), label(2, 20), label(3, 31), label(2, 20)];
        let told = read(&profile(&["", "x", "b", "a"], vec![proto::Sample { label: labels, ..<_>::default() }]), 1);
        let told = told.unwrap();
        assert_eq!(told.labels.sets.get(told.samples[0].labels), [(0, 30), (1, 20)]);
        assert!(told.lost.contains(&"2 labels stand beside others of the same key".to_owned()), "{:?}", told.lost);
    }

    #[test]
    fn names_of_all_events_have_to_have_room() {
        let mut profile = profile(&["", "abcd"], Vec::new());
        assert_eq!(demand_room(&profile, 8), Ok(()));
        profile.sample_type.push(proto::ValueType { r#type: 1, unit: 0 });
        let refused = demand_room(&profile, 8).unwrap_err();
        assert_eq!(refused, "the names of its sample types take 12 bytes, and there is room for 8");
    }

    #[test]
    fn mappings_of_one_file_share_its_path() {
        let mut profile = profile(&["", "/lib/a.so"], Vec::new());
        profile.mapping = (1..=2).map(|id| proto::Mapping { id, filename: 1, ..proto::Mapping::default() }).collect();
        let told = read(&profile, 0).unwrap();
        let [one, other] = [0, 1].map(|number| told.mappings[number].path.as_ptr());
        assert_eq!(one, other);
    }
}
