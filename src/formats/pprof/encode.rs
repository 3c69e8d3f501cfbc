//! Writes a profile, one message at a time.

use super::columns::{Columns, EventColumns};
use super::encoded_labels::EncodedLabels;
use super::functions::Functions;
use super::messages::{Messages, field};
use super::proto;
use super::strings::Strings;
use crate::formats::framework::output::Streamed;
use crate::profile::collect::sample_sink::{ResolvedSample, SampleSink};
use crate::profile::event::ProfileEvent;
use crate::profile::imported::{ProfileHeader, SampleType};
use crate::profile::intern::stacks::FrameId;
use crate::profile::labels::{LabelValue, LabelsId};
use crate::profile::symbolize::symbols::{Origin, Symbols};
use crate::profile::{MappingId, Profile, Tables};
use hashbrown::HashMap;
use perf_data::abi::hex::to_hex;
use perf_data::error::{Error, Result};
use perf_data::session::map::Map;
use perf_data::session::names::Names;
use perf_data::session::slices::Slices;
use perf_data::stream::events::EventIndex;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Writes an uncompressed profile.
///
/// # Errors
/// Errors of `out`.
pub fn write(profile: &Profile, out: &mut dyn Write) -> Result<()> {
    let tables = &profile.tables;
    let mut encoder = PprofEncoder::new(out, &tables.events, &profile.has_samples, Some(&tables.symbols));
    for rows in profile.rows.chunk_by(|a, b| (a.stack, a.labels) == (b.stack, b.labels)) {
        encoder.begin(tables.stacks.stack(rows[0].stack));
        rows.iter().for_each(|row| encoder.value(row.event, row.samples, row.value));
        encoder.end_with_set(rows[0].labels, tables).map_err(Error::Output)?;
    }
    encoder.rest(profile).map_err(Error::Output)
}

/// Begins a profile whose samples are written one by one.
pub fn begin<'a>(
    out: &'a mut dyn Write,
    events: &[ProfileEvent],
    has_samples: &BTreeSet<EventIndex>,
) -> Box<dyn Streamed + 'a> {
    Box::new(PprofEncoder::new(out, events, has_samples, None))
}

/// Writes samples as they come, then everything that they refer to.
struct PprofEncoder<'a> {
    messages: Messages<'a>,
    columns: Columns,
    /// Which frames are inlined into others; `None` if samples are written before symbols are looked up: then none is.
    symbols: Option<&'a Symbols>,
    /// Location IDs of the current sample.
    stack: Vec<u64>,
    /// Values of the current sample.
    values: Vec<i64>,
    /// Number of samples by event.
    samples: Vec<u64>,
    labels: EncodedLabels,
    /// Location IDs of single frames, 0 if not yet used.
    location_ids: Vec<u32>,
    /// The used locations, as frames. The last frame is the function that contains the code, the others are inlined
    /// into it.
    locations: Slices<FrameId>,
}

impl<'a> PprofEncoder<'a> {
    fn new(
        out: &'a mut dyn Write,
        events: &[ProfileEvent],
        has_samples: &BTreeSet<EventIndex>,
        symbols: Option<&'a Symbols>,
    ) -> Self {
        Self {
            messages: Messages::new(out),
            columns: Columns::new(events, has_samples),
            symbols,
            stack: Vec::new(),
            values: Vec::new(),
            samples: vec![0; events.len()],
            labels: EncodedLabels::default(),
            location_ids: Vec::new(),
            locations: Slices::default(),
        }
    }

    fn begin(&mut self, frames: &[FrameId]) {
        self.stack.clear();
        let mut rest = frames;
        while !rest.is_empty() {
            let len = self.symbols.map_or(1, |symbols| symbols.location_len(rest));
            let (location, callers) = rest.split_at(len);
            let id = self.location(location);
            self.stack.push(id);
            rest = callers;
        }
        self.values.clear();
        self.values.resize(self.columns.len(), 0);
    }

    /// Returns the ID of a location, assigning one if needed.
    fn location(&mut self, frames: &[FrameId]) -> u64 {
        let Self { locations, location_ids, .. } = self;
        // Most locations are single frames, which are found by index instead of by hash.
        let &[frame] = frames else { return u64::from(locations.id(frames)) + 1 };
        let index = frame as usize;
        if location_ids.len() <= index {
            location_ids.resize(index + 1, 0);
        }
        if location_ids[index] == 0 {
            location_ids[index] = locations.push(frames) + 1;
        }
        location_ids[index].into()
    }

    fn value(&mut self, event: u32, samples: u64, value: u64) {
        if let Some((count_index, value_index)) = self.columns.event_columns(event).map(EventColumns::indexes) {
            // A sample of a group may have values of several events that are added up.
            for (index, added) in [(value_index, value)].into_iter().chain(count_index.map(|index| (index, samples))) {
                self.values[index] = self.values[index].saturating_add(to_i64(added));
            }
            let counted = &mut self.samples[event as usize];
            *counted = counted.saturating_add(samples);
        }
    }

    /// Writes the current sample with labels of the profile.
    fn end_with_set(&mut self, labels: LabelsId, tables: &Tables) -> io::Result<()> {
        let Self { messages, stack, values, .. } = self;
        let labels = self.labels.encode_set(labels, tables, &mut messages.strings);
        messages.sample(stack, values, labels)
    }

    /// Writes the current sample with these labels.
    fn end(&mut self, labels: &[LabelValue], names: &Names) -> io::Result<()> {
        let Self { messages, stack, values, .. } = self;
        let labels = self.labels.encode_labels(labels, names, &mut messages.strings);
        messages.sample(stack, values, labels)
    }

    /// Writes everything that samples refer to.
    fn rest(&mut self, profile: &Profile) -> io::Result<()> {
        let order = self.mapping_order(profile);
        self.mappings(profile, &order)?;
        self.locations(profile, &order)?;
        self.head(profile)?;
        // Comes last, since all other messages add strings.
        self.messages.string_table()
    }

    /// The columns of the event with the most samples, the first of several.
    fn main_columns(&self) -> Option<&EventColumns> {
        let samples = |event: EventIndex| self.samples.get(event as usize).copied().unwrap_or(0);
        let by_event = self.columns.by_event().map(|(event, columns)| (Reverse(samples(event)), columns));
        by_event.min_by_key(|(samples, _)| *samples).map(|(_, columns)| columns)
    }

    /// Writes the fields that are not repeated per sample.
    fn head(&mut self, profile: &Profile) -> io::Result<()> {
        let main = self.main_columns().cloned();
        let strings = &mut self.messages.strings;
        let mut head = proto::Profile::default();
        for EventColumns { types, .. } in &self.columns.events {
            for kind in types.samples.iter().chain([&types.value]) {
                head.sample_type.push(value_type(kind, strings));
            }
        }
        match profile.tables.imported.as_ref().and_then(|imported| imported.header.as_ref()) {
            Some(header) => imported_header(header, &mut head, strings),
            None => recording_header(profile, main.as_ref(), &mut head, strings),
        }
        self.messages.head(&head)
    }

    /// The mappings to write, in order. Consumers treat the first one as the main binary; if that is unknown, an
    /// unnamed mapping stands in for it, so that pprof shows no file name.
    fn mapping_order(&self, profile: &Profile) -> MappingOrder {
        let mut order = MappingOrder::default();
        let is_from_recording = !profile.tables.has_own_header();
        if let Some(main) = profile.main_mapping.filter(|_| is_from_recording) {
            order.id(MappingSource::Recording(main));
        }
        for location in self.locations.iter() {
            let (mapping, _) = self.locate(profile, location);
            if let Some(mapping) = mapping {
                if is_from_recording && order.list.is_empty() {
                    order.id(MappingSource::Nothing);
                }
                order.id(mapping);
            }
        }
        order
    }

    /// Mapping and address of a location.
    fn locate(&self, profile: &Profile, location: &[FrameId]) -> (Option<MappingSource>, u64) {
        let Some(&last) = location.last() else { return (None, 0) };
        let frame = profile.tables.stacks.frames()[last as usize];
        match profile.tables.symbols.origin(last) {
            Some(Origin { mapping, address }) => (mapping.map(MappingSource::Imported), address),
            None => (frame.mapping().map(MappingSource::Recording), frame.address),
        }
    }

    fn mappings(&mut self, profile: &Profile, order: &MappingOrder) -> io::Result<()> {
        let known_symbols = self.known_symbols(profile, order);
        let nameless = Map::new(0, 1, 0, b"", None);
        for (number, (&mapping, symbols)) in order.list.iter().zip(known_symbols).enumerate() {
            let map = match mapping {
                MappingSource::Recording(mapping) => &profile.tables.mappings[mapping as usize],
                MappingSource::Imported(mapping) => &profile.tables.symbols.mappings()[mapping as usize],
                MappingSource::Nothing => &nameless,
            };
            let hex = to_hex(map.build_id.as_deref().unwrap_or_default());
            let mapping = proto::Mapping {
                id: number as u64 + 1,
                memory_start: map.start,
                memory_limit: map.limit,
                file_offset: map.pgoff,
                filename: self.messages.strings.id(&String::from_utf8_lossy(&map.filename)),
                build_id: self.messages.strings.id(&hex),
                has_functions: symbols.functions,
                has_filenames: symbols.files,
                has_line_numbers: symbols.lines,
                // Inlined functions come from the same debug info as lines.
                has_inline_frames: symbols.lines && !profile.tables.symbols.omits_inlined,
            };
            self.messages.message(field::MAPPING, &mapping)?;
        }
        Ok(())
    }

    /// The symbol information available for the frames of each mapping.
    fn known_symbols(&self, profile: &Profile, order: &MappingOrder) -> Vec<KnownSymbols> {
        let symbols = &profile.tables.symbols;
        let mut known_symbols = vec![KnownSymbols::default(); order.list.len()];
        for location in self.locations.iter() {
            let Some(id) = self.locate(profile, location).0.and_then(|mapping| order.known_id(mapping)) else {
                continue;
            };
            let entry = &mut known_symbols[id as usize - 1];
            for &frame in location {
                for line in symbols.lines(frame) {
                    let is_known = |name| !symbols.name(name).is_empty();
                    let function = symbols.function(line.function);
                    entry.functions |= function.is_some_and(|function| is_known(function.name));
                    entry.files |= function.is_some_and(|function| is_known(function.file));
                    entry.lines |= line.line > 0;
                }
            }
        }
        known_symbols
    }

    fn locations(&mut self, profile: &Profile, order: &MappingOrder) -> io::Result<()> {
        let tables = &profile.tables;
        let mut functions = Functions::default();
        let mut location = proto::Location::default();
        for (number, frames) in std::mem::take(&mut self.locations).iter().enumerate() {
            location.line.clear();
            for &frame in frames {
                let lines = tables.symbols.lines(frame);
                if tables.symbols.frame_function(frame).is_none() {
                    let line = lines.first().map_or(0, |line| line.line);
                    let frame = tables.stacks.frames()[frame as usize];
                    let function = functions.id(frame, tables, &mut self.messages.strings);
                    self.line(&mut location, function, line, 0)?;
                    continue;
                }
                for line in lines {
                    let function = functions.symbolized_id(line.function, &tables.symbols, &mut self.messages.strings);
                    self.line(&mut location, function, line.line, line.column)?;
                }
            }
            let (mapping, address) = self.locate(profile, frames);
            location.id = number as u64 + 1;
            location.mapping_id = mapping.and_then(|mapping| order.known_id(mapping)).unwrap_or(0);
            location.address = address;
            self.messages.location(&location)?;
        }
        Ok(())
    }

    /// Adds a line in a function to a location, and writes the function if it is new.
    fn line(
        &mut self,
        location: &mut proto::Location,
        (function_id, new): (u64, Option<proto::Function>),
        line: i64,
        column: i64,
    ) -> io::Result<()> {
        location.line.push(proto::Line { function_id, line, column });
        new.map_or(Ok(()), |function| self.messages.message(field::FUNCTION, &function))
    }
}

/// Sets the header of a profile converted from a recording.
fn recording_header(profile: &Profile, main: Option<&EventColumns>, head: &mut proto::Profile, strings: &mut Strings) {
    if let Some(main) = main {
        head.period_type = head.sample_type.get(main.indexes().1).copied();
        head.period = to_i64(main.period);
        head.default_sample_type = strings.id(&main.types.value.kind);
    }
    head.time_nanos = to_i64(profile.wall_clock_start.unwrap_or(0));
    head.duration_nanos = profile.times.map_or(0, |(first, last)| to_i64(last - first));
    let comments = [("perf-version:", &profile.tables.perf_version), ("perf-command:", &profile.tables.command)];
    for (prefix, text) in comments {
        head.comment.extend(text.as_ref().map(|text| strings.id(&format!("{prefix}{text}"))));
    }
}

/// Sets the header of an imported profile.
fn imported_header(header: &ProfileHeader, head: &mut proto::Profile, strings: &mut Strings) {
    head.period_type = header.period_type.as_ref().map(|kind| value_type(kind, strings));
    head.period = header.period;
    head.default_sample_type = strings.id(&header.default_sample_type);
    (head.time_nanos, head.duration_nanos) = (header.time_nanos, header.duration_nanos);
    head.comment = header.comments.iter().map(|comment| strings.id(comment)).collect();
    head.drop_frames = strings.id(&header.drop_frames);
    head.keep_frames = strings.id(&header.keep_frames);
    head.doc_url = strings.id(&header.doc_url);
}

fn value_type(kind: &SampleType, strings: &mut Strings) -> proto::ValueType {
    proto::ValueType { r#type: strings.id(&kind.kind), unit: strings.id(&kind.unit) }
}

/// Which symbol information any frame of a mapping has. Code without it, such as that of the C runtime, is in every mapping: pprof
/// would symbolize all of the mapping again, without inlined functions.
#[derive(Clone, Copy, Debug, Default)]
struct KnownSymbols {
    functions: bool,
    files: bool,
    lines: bool,
}

impl SampleSink for PprofEncoder<'_> {
    fn sample(&mut self, sample: &ResolvedSample<'_>) -> Result<()> {
        self.begin(sample.frames);
        for &(event, value) in sample.weights {
            self.value(event, sample.samples, value);
        }
        self.end(sample.labels, sample.names).map_err(Error::Output)
    }
}

impl Streamed for PprofEncoder<'_> {
    fn finish(mut self: Box<Self>, profile: &Profile) -> Result<()> {
        self.rest(profile).map_err(Error::Output)
    }
}

/// A mapping of the recording, or of the imported profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum MappingSource {
    Recording(MappingId),
    Imported(u32),
    /// Placeholder for an unknown main binary.
    Nothing,
}

/// The mappings to write.
#[derive(Default)]
struct MappingOrder {
    list: Vec<MappingSource>,
    /// Mapping IDs in the output.
    ids: HashMap<MappingSource, u64>,
}

impl MappingOrder {
    /// Returns the ID of a mapping, adding it if needed.
    fn id(&mut self, mapping: MappingSource) -> u64 {
        let Self { list, ids } = self;
        *ids.entry(mapping).or_insert_with(|| {
            list.push(mapping);
            list.len() as u64
        })
    }

    /// Returns the ID of a mapping, if it was added.
    fn known_id(&self, mapping: MappingSource) -> Option<u64> {
        self.ids.get(&mapping).copied()
    }
}

/// Converts to signed integers, saturating.
pub(crate) fn to_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::event::Unit;
    use crate::profile::labels::{Label, LabelKey};
    use crate::profile::{Frame, Place, Row};
    use prost::Message;

    #[test]
    fn streamed_messages_decode_as_one_profile() {
        let mut tables = Tables {
            events: vec![ProfileEvent {
                name: "cpu-clock".into(),
                unit: Unit::Nanoseconds,
                is_cpu_time: true,
                is_tracepoint: false,
                period: Some(250),
                sample_types: None,
            }],
            mappings: vec![
                Map::new(0x7000, 0x1000, 0, b"/lib/libc.so.6", None),
                Map::new(0x4000, 0x1000, 0x200, b"/bin/cat", Some(&[0xab, 1])),
            ],
            perf_version: Some("6.1".into()),
            ..Tables::default()
        };
        let leaf = tables.stacks.frame_id(Frame { place: Place::In(0), address: 0x7010, is_caller: false });
        let caller = tables.stacks.frame_id(Frame { place: Place::In(1), address: 0x4010, is_caller: false });
        let stack = tables.stacks.stack_id(&[leaf, caller]);
        let comm = u64::from(tables.names.id(b"cat").0);
        let label = |label, value| LabelValue { key: LabelKey::Known(label), value };
        let labels = [label(Label::Pid, 7), label(Label::Comm, comm)];
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
