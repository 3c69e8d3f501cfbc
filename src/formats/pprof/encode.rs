//! Writing a profile, a message at a time.

use super::columns::Columns;
use super::functions::Functions;
use super::messages::{Messages, field};
use super::proto;
use crate::abi::hex::to_hex;
use crate::error::{Error, Result};
use crate::formats::Streamed;
use crate::profile::event::ProfileEvent;
use crate::profile::labels::LabelValue;
use crate::profile::stacks::FrameId;
use crate::profile::taken::{TakeSamples, TakenSample};
use crate::profile::{MappingId, Profile};
use crate::session::names::{NameId, Names};
use crate::stream::events::EventIndex;
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Writes a profile, bare.
///
/// # Errors
/// What `out` says.
pub fn write(profile: &Profile, out: &mut dyn Write) -> Result<()> {
    let tables = &profile.tables;
    let mut encoder = Encoder::new(out, &tables.events, &profile.has_samples);
    for rows in profile.rows.chunk_by(|a, b| (a.stack, a.labels) == (b.stack, b.labels)) {
        encoder.begin(tables.stacks.stack(rows[0].stack), tables.labels.labels(rows[0].labels), &tables.names);
        rows.iter().for_each(|row| encoder.value(row.event, row.samples, row.value));
        encoder.end().map_err(Error::Output)?;
    }
    encoder.rest(profile).map_err(Error::Output)
}

/// Begins a profile that takes samples one by one.
pub fn begin<'a>(
    out: &'a mut dyn Write,
    events: &[ProfileEvent],
    has_samples: &BTreeSet<EventIndex>,
) -> Box<dyn Streamed + 'a> {
    Box::new(Encoder::new(out, events, has_samples))
}

/// Writes samples as they come, and then what they refer to.
struct Encoder<'a> {
    messages: Messages<'a>,
    columns: Columns,
    /// The sample at hand.
    sample: proto::Sample,
    /// Numbers of the frames that samples have referred to, 0 where none has.
    location_ids: Vec<u64>,
    /// These frames.
    locations: Vec<FrameId>,
    /// Numbers of labels' texts.
    texts: HashMap<NameId, i64>,
}

impl<'a> Encoder<'a> {
    fn new(out: &'a mut dyn Write, events: &[ProfileEvent], has_samples: &BTreeSet<EventIndex>) -> Self {
        Self {
            messages: Messages::new(out),
            columns: Columns::new(events, has_samples),
            sample: proto::Sample::default(),
            location_ids: Vec::new(),
            locations: Vec::new(),
            texts: HashMap::new(),
        }
    }

    fn begin(&mut self, frames: &[FrameId], labels: &[LabelValue], names: &Names) {
        self.sample.location_id.clear();
        for &frame in frames {
            let index = frame as usize;
            if self.location_ids.len() <= index {
                self.location_ids.resize(index + 1, 0);
            }
            if self.location_ids[index] == 0 {
                self.locations.push(frame);
                self.location_ids[index] = self.locations.len() as u64;
            }
            self.sample.location_id.push(self.location_ids[index]);
        }
        self.sample.label.clear();
        for label in labels {
            let label = self.label(label, names);
            self.sample.label.push(label);
        }
        self.sample.value.clear();
        self.sample.value.resize(2 * self.columns.events.len(), 0);
    }

    fn label(&mut self, label: &LabelValue, names: &Names) -> proto::Label {
        let Self { messages: Messages { strings, .. }, texts, .. } = self;
        let key = strings.id(label.label.key());
        match label.label.unit() {
            Some(unit) => {
                proto::Label { key, num: to_i64(label.value), num_unit: strings.id(unit), ..Default::default() }
            }
            None => {
                let name = NameId(label.value as u32);
                let text = || strings.id(&String::from_utf8_lossy(names.name(name)));
                proto::Label { key, str: *texts.entry(name).or_insert_with(text), ..Default::default() }
            }
        }
    }

    fn value(&mut self, event: u32, samples: u64, value: u64) {
        if let Some(at) = self.columns.of(event) {
            self.sample.value[at] = to_i64(samples);
            self.sample.value[at + 1] = to_i64(value);
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.messages.message(field::SAMPLE, &self.sample)
    }

    /// Writes what the samples refer to.
    fn rest(&mut self, profile: &Profile) -> io::Result<()> {
        let order = self.mapping_order(profile);
        self.mappings(profile, &order)?;
        self.locations(profile, &order)?;
        self.head(profile)?;
        self.messages.string_table()
    }

    /// All of the profile that does not repeat.
    fn head(&mut self, profile: &Profile) -> io::Result<()> {
        let strings = &mut self.messages.strings;
        let mut head = proto::Profile::default();
        for column in &self.columns.events {
            let (samples, count) = (strings.id(&column.samples), strings.id("count"));
            let (value, unit) = (strings.id(&column.value), strings.id(column.unit));
            head.sample_type.push(proto::ValueType { r#type: samples, unit: count });
            head.sample_type.push(proto::ValueType { r#type: value, unit });
        }
        if let Some(first) = self.columns.events.first() {
            head.period_type = head.sample_type.get(1).copied();
            head.period = to_i64(first.period);
            head.default_sample_type = strings.id(&first.value);
        }
        head.time_nanos = to_i64(profile.wall_clock_start.unwrap_or(0));
        head.duration_nanos = profile.times.map_or(0, |(first, last)| to_i64(last - first));
        let comments = [("perf-version:", &profile.tables.perf_version), ("perf-command:", &profile.tables.command)];
        for (what, text) in comments {
            head.comment.extend(text.as_ref().map(|text| strings.id(&format!("{what}{text}"))));
        }
        self.messages.head(&head)
    }

    /// The order in which mappings are written: the main program's first, where consumers look for it.
    fn mapping_order(&self, profile: &Profile) -> MappingOrder {
        let frames = profile.tables.stacks.frames();
        let used = self.locations.iter().filter_map(|&frame| frames[frame as usize].mapping());
        let mut order = MappingOrder { list: Vec::new(), ids: vec![0; profile.tables.mappings.len()] };
        for mapping in profile.main_mapping.into_iter().chain(used) {
            let id = &mut order.ids[mapping as usize];
            if *id == 0 {
                order.list.push(mapping);
                *id = order.list.len() as u64;
            }
        }
        order
    }

    fn mappings(&mut self, profile: &Profile, order: &MappingOrder) -> io::Result<()> {
        for (number, &mapping) in order.list.iter().enumerate() {
            let map = &profile.tables.mappings[mapping as usize];
            let hex = to_hex(map.build_id.as_deref().unwrap_or_default());
            let mapping = proto::Mapping {
                id: number as u64 + 1,
                memory_start: map.start,
                memory_limit: map.limit,
                file_offset: map.pgoff,
                filename: self.messages.strings.id(&String::from_utf8_lossy(&map.filename)),
                build_id: self.messages.strings.id(&hex),
                ..Default::default()
            };
            self.messages.message(field::MAPPING, &mapping)?;
        }
        Ok(())
    }

    fn locations(&mut self, profile: &Profile, order: &MappingOrder) -> io::Result<()> {
        let tables = &profile.tables;
        let mut functions = Functions::default();
        let mut location = proto::Location { line: vec![proto::Line::default()], ..Default::default() };
        for (number, frame) in std::mem::take(&mut self.locations).into_iter().enumerate() {
            let frame = tables.stacks.frames()[frame as usize];
            let (function_id, new) = functions.id(frame, tables, &mut self.messages.strings);
            if let Some(function) = new {
                self.messages.message(field::FUNCTION, &function)?;
            }
            location.id = number as u64 + 1;
            location.mapping_id = frame.mapping().map_or(0, |mapping| order.ids[mapping as usize]);
            location.address = frame.address;
            location.line[0].function_id = function_id;
            self.messages.message(field::LOCATION, &location)?;
        }
        Ok(())
    }
}

impl TakeSamples for Encoder<'_> {
    fn take(&mut self, sample: &TakenSample<'_>) -> Result<()> {
        self.begin(sample.frames, sample.labels, sample.names);
        for &(event, value) in sample.weights {
            self.value(event, sample.samples, value);
        }
        self.end().map_err(Error::Output)
    }
}

impl Streamed for Encoder<'_> {
    fn finish(mut self: Box<Self>, profile: &Profile) -> Result<()> {
        self.rest(profile).map_err(Error::Output)
    }
}

struct MappingOrder {
    list: Vec<MappingId>,
    /// Number of each mapping in the output, 0 where it is not in it.
    ids: Vec<u64>,
}

/// pprof's numbers are signed; what does not fit stays the largest that does.
fn to_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::event::Unit;
    use crate::profile::labels::Label;
    use crate::profile::{Frame, Place, Row, Tables};
    use crate::session::map::Map;
    use prost::Message;

    #[test]
    fn what_is_written_piece_by_piece_reads_as_one_profile() {
        let mut tables = Tables {
            events: vec![ProfileEvent { name: "cpu-clock".into(), unit: Unit::Nanoseconds, period: Some(250) }],
            mappings: vec![
                Map::new(0x7000, 0x1000, 0, b"/lib/libc.so.6", None),
                Map::new(0x4000, 0x1000, 0x200, b"/bin/cat", Some(&[0xab, 1])),
            ],
            perf_version: Some("6.1".into()),
            ..Tables::default()
        };
        let leaf = tables.stacks.frame_id(Frame { place: Place::In(0), address: 0x7010 });
        let caller = tables.stacks.frame_id(Frame { place: Place::In(1), address: 0x4010 });
        let stack = tables.stacks.stack_id(&[leaf, caller]);
        let comm = u64::from(tables.names.id(b"cat").0);
        let labels = [LabelValue { label: Label::Pid, value: 7 }, LabelValue { label: Label::Comm, value: comm }];
        let labels = tables.labels.id(&labels);
        let profile = Profile {
            tables: tables.into(),
            rows: vec![Row { stack, labels, event: 0, samples: 3, value: u64::MAX }],
            has_samples: [0].into(),
            main_mapping: Some(1),
            times: Some((100, 1100)),
            ..Profile::default()
        };
        let mut bytes = Vec::new();
        write(&profile, &mut bytes).unwrap();

        let read = proto::Profile::decode(&*bytes).unwrap();
        let string = |id: i64| read.string_table[id as usize].as_str();
        assert_eq!(string(0), "");
        let types: Vec<_> = read.sample_type.iter().map(|t| (string(t.r#type), string(t.unit))).collect();
        assert_eq!(types, [("samples", "count"), ("cpu", "nanoseconds")]);
        assert_eq!(read.period_type, Some(read.sample_type[1]));
        assert_eq!((read.period, read.duration_nanos, string(read.comment[0])), (250, 1000, "perf-version:6.1"));
        assert_eq!(read.sample[0].value, [3, i64::MAX]);
        let locations: Vec<_> = read.sample[0].location_id.iter().map(|&id| &read.location[id as usize - 1]).collect();
        let mappings: Vec<_> = locations.iter().map(|l| &read.mapping[l.mapping_id as usize - 1]).collect();
        let seen: Vec<_> = locations.iter().zip(&mappings).map(|(l, m)| (l.address, string(m.filename))).collect();
        assert_eq!(seen, [(0x7010, "/lib/libc.so.6"), (0x4010, "/bin/cat")]);
        assert_eq!((string(read.mapping[0].filename), string(read.mapping[0].build_id)), ("/bin/cat", "ab01"));
        let labels: Vec<_> = read.sample[0].label.iter().map(|l| (string(l.key), l.num, string(l.str))).collect();
        assert_eq!(labels, [("pid", 7, ""), ("comm", 0, "cat")]);
        let function = |l: &proto::Location| string(read.function[l.line[0].function_id as usize - 1].name);
        let functions: Vec<_> = read.location.iter().map(function).collect();
        assert_eq!(functions, ["libc.so.6+0x10", "cat+0x210"]);
    }
}
