//! A profile as a recording.

use super::functions::is_made_up;
use super::proto::{self, Profile};
use super::valid::{self, Ids};
use crate::abi::hex;
use crate::error::{Error, Result};
use crate::formats::import::told::{Told, ToldEvent, ToldFrame, ToldMapping, ToldSample};
use crate::formats::import::{ImportOptions, Remade, record};
use crate::profile::labels::Label;
use crate::session::map::Map;
use bytes::Bytes;
use hashbrown::HashMap;
use prost::Message;
use std::io::Read;

/// Makes a recording of a profile.
///
/// # Errors
/// Where it is none or not valid, or has no place in a recording.
pub fn import(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<Remade> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).map_err(Error::io(name, "cannot read"))?;
    let wrong = |what: String| Error::input(name, None, format!("it is no valid pprof: {what}"));
    if bytes.is_empty() {
        return Err(wrong("it is empty".to_owned()));
    }
    let profile = Profile::decode(&bytes[..]).map_err(|e| wrong(e.to_string()))?;
    drop(bytes);
    let ids = valid::check(&profile).map_err(wrong)?;
    if profile.sample_type.is_empty() {
        return Err(wrong("it has no sample types".to_owned()));
    }
    record(name, told(&profile, &ids), options)
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

/// What a profile tells.
fn told(profile: &Profile, ids: &Ids) -> Told {
    let mut reader = Reader { profile, ids, told: Told::default(), frames: HashMap::new(), texts: HashMap::new() };
    let columns = reader.events();
    reader.mappings();
    let stacks: Vec<Vec<u32>> = profile.location.iter().map(|location| reader.frames_of(location)).collect();
    let mut stack = Vec::new();
    let (mut negative, mut repeated) = (0_u64, 0_u64);
    for sample in &profile.sample {
        stack.clear();
        let locations = sample.location_id.iter().filter_map(|id| ids.locations.get(id));
        stack.extend(locations.flat_map(|&location| &stacks[location]));
        let mut told = reader.labels(sample, &mut repeated);
        told.stack = reader.told.stacks.id(&stack);
        for &Column { event, count, value } in &columns {
            let count = count.map(|column| sample.value[column]);
            let value = sample.value[value];
            if value < 0 || count.is_some_and(|count| count < 0) {
                negative += 1;
                continue;
            }
            let count = count.map(|count| count as u64);
            if value > 0 || count.is_some_and(|count| count > 0) {
                reader.told.samples.push(ToldSample { event, count, value: value as u64, ..told });
            }
        }
    }
    reader.head(negative, repeated);
    reader.told
}

struct Reader<'a> {
    profile: &'a Profile,
    ids: &'a Ids,
    told: Told,
    frames: HashMap<ToldFrame, u32>,
    /// Numbers of names, by those of strings.
    texts: HashMap<i64, u32>,
}

impl<'a> Reader<'a> {
    fn text(&self, index: i64) -> &'a str {
        usize::try_from(index).ok().and_then(|index| self.profile.string_table.get(index)).map_or("", |text| text)
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
            let event = ToldEvent { name: name.to_owned(), unit: unit.to_owned(), period, ..ToldEvent::default() };
            self.told.events.push(event);
            at = value + 1;
        }
        columns
    }

    fn mappings(&mut self) {
        let mut odd = 0;
        for mapping in &self.profile.mapping {
            let told = self.text(mapping.build_id);
            let build_id = hex::from_hex(told.as_bytes()).filter(|id| (1..=20).contains(&id.len()));
            odd += u64::from(build_id.is_none() && !told.is_empty());
            let path = Bytes::from(self.text(mapping.filename).replace('\0', ""));
            let is_upper = mapping.memory_start >= 1 << 63 && !path.starts_with(b"[vsyscall]");
            self.told.mappings.push(ToldMapping {
                is_kernel: is_upper || ToldMapping::is_kernel_name(&path),
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
        let whole = ToldFrame {
            mapping,
            address: Some(location.address).filter(|&address| address != 0 || mapping.is_none()),
            is_kernel,
            ..ToldFrame::default()
        };
        let Some((physical, inlined)) = location.line.split_last() else { return vec![self.frame(whole)] };
        let mut frames = Vec::new();
        for line in inlined {
            let (function, line) = self.line(line);
            frames.push(self.frame(ToldFrame { address: None, function, line, ..whole }));
        }
        let (function, line) = self.line(physical);
        let is_named = function.is_some_and(|name| !self.is_made_up(name, mapping, location.address));
        let function = function.filter(|_| is_named);
        let address = whole.address.filter(|&address| address != 0 || function.is_none());
        frames.push(self.frame(ToldFrame { address, function, line, ..whole }));
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
    fn is_made_up(&self, name: u32, mapping: Option<u32>, address: u64) -> bool {
        let Ok(name) = std::str::from_utf8(self.told.names.get(name)) else { return false };
        let map = mapping.map(|mapping| &self.told.mappings[mapping as usize]);
        let map = map.map(|map| Map::new(map.start, map.limit.saturating_sub(map.start), map.pgoff, &map.path, None));
        is_made_up(name, map.as_ref(), address)
    }

    fn line(&mut self, line: &proto::Line) -> (Option<u32>, Option<(u32, u32)>) {
        let Some(&place) = self.ids.functions.get(&line.function_id) else { return (None, None) };
        let function = self.profile.function[place];
        let name = if function.name == 0 { function.system_name } else { function.name };
        let told = (!self.text(name).is_empty()).then(|| self.name(name));
        let number = u32::try_from(line.line).ok().filter(|&line| line > 0);
        let line = number.filter(|_| !self.text(function.filename).is_empty());
        (told, line.map(|line| (self.name(function.filename), line)))
    }

    fn frame(&mut self, frame: ToldFrame) -> u32 {
        let frames = &mut self.told.frames;
        *self.frames.entry(frame).or_insert_with(|| {
            frames.push(frame);
            frames.len() as u32 - 1
        })
    }

    /// A sample of what labels tell.
    fn labels(&mut self, sample: &proto::Sample, repeated: &mut u64) -> ToldSample {
        let mut told = ToldSample::default();
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
                Some(Label::ExecutionMode) => true,
                _ => {
                    let unit = (!text).then(|| self.text(label.num_unit));
                    let key = self.told.labels.key(key, unit);
                    let value = if text { self.name(label.str).into() } else { label.num as u64 };
                    let is_new = others.iter().all(|(known, _)| *known != key);
                    others.extend(is_new.then_some((key, value)));
                    is_new
                }
            };
            *repeated += u64::from(!was_empty);
        }
        others.sort_unstable();
        told.labels = self.told.labels.sets.id(&others);
        told
    }

    /// What the profile tells of itself.
    fn head(&mut self, negative: u64, repeated: u64) {
        let profile = self.profile;
        self.told.wall_clock_start = u64::try_from(profile.time_nanos).ok().filter(|&time| time > 0);
        self.told.duration = u64::try_from(profile.duration_nanos).unwrap_or(0);
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
        let lost = &mut self.told.lost;
        let mut tell = |count: u64, what: &str| {
            if count > 0 {
                lost.push(format!("{count} {what}"));
            }
        };
        tell(inlined as u64, "inlined frames are frames of their own");
        tell(negative, "values are negative, which no sample can be");
        tell(repeated, "labels stand beside others of the same key");
        tell(comments, "comments have no place in a recording");
        if profile.drop_frames != 0 || profile.keep_frames != 0 {
            lost.push("the frames that pprof would drop are there: a recording cannot tell them".to_owned());
        }
    }
}

fn none_yet(field: &mut Option<u32>, value: Option<u32>) -> bool {
    std::mem::replace(field, value).is_none()
}
