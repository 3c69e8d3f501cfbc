//! Writes samples, and other records on request, as perf script does.

use super::PerfScript;
use super::call_chain;
use super::event_name::printed_name;
use super::fields::{self, CPU, FRAMES, FieldSet, Needs, TYPES, TypeFields, type_index};
use super::printer::{Head, Printer};
use super::records;
use super::style::Style;
use crate::formats::converter::{ConvertOptions, Converter};
use crate::formats::named_frames::TextFrame;
use crate::formats::sample_writer::{self, ChainFrame, Sample, SampleFormat, SampleState, SampleText};
use crate::profile::symbols::Symbols;
use perf_data::abi::attr::{AttrType, SoftwareEvent};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::header::Misc;
use perf_data::abi::sample_type::SampleType;
use perf_data::error::{Error, Result};
use perf_data::stream::event_name::event_name;
use perf_data::stream::events::Event;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::io::Write;

/// Samples as text.
struct Script {
    /// Fields by type of event, as they were asked for.
    requested: [TypeFields; TYPES.len()],
    /// Fields by event.
    fields: Vec<FieldSet>,
    /// Names of all events.
    names: Vec<String>,
    /// Length of the longest of them.
    longest_event: usize,
    /// Types of records that are printed besides samples.
    shown: Vec<RecordType>,
    style: Style,
    /// Whether times have nine decimals.
    is_exact: bool,
    arch: Option<String>,
    longest_source: usize,
}

/// Begins writing samples as text.
pub(super) fn begin<'a>(
    format: &PerfScript,
    out: &'a mut dyn Write,
    options: &ConvertOptions,
) -> Box<dyn Converter + 'a> {
    let script = Script {
        // The arguments of a command line have been checked.
        requested: fields::parse(&format.fields).unwrap_or_default(),
        fields: Vec::new(),
        names: Vec::new(),
        longest_event: 0,
        shown: format.shown_records(),
        style: format.perf_style,
        is_exact: format.nanoseconds,
        arch: None,
        longest_source: 0,
    };
    sample_writer::begin(script, true, out, options)
}

impl SampleFormat for Script {
    fn begin(&mut self, state: &mut SampleState, meta: &Meta, _out: &mut Vec<u8>) -> Result<()> {
        self.update(state, meta)
    }

    fn sample(&mut self, state: &mut SampleState, sample: &Sample<'_>, text: &mut SampleText) -> Result<Option<u64>> {
        self.update(state, sample.decoded.meta)?;
        let fields = self.fields[sample.decoded.index as usize];
        let (view, tid) = (sample.decoded.view, sample.tid());
        let comm = state.comm(tid);
        let head = Head {
            comm: &comm,
            task: (sample.pid(), tid),
            cpu: view.cpu.map_or(u32::MAX, |(cpu, _)| cpu),
            time: view.time.unwrap_or(u64::MAX),
            flags: "",
            misc: sample.decoded.raw.header().misc,
            has_chain: view.callchain.is_some() && fields.has(fields::IP),
            is_exact: self.is_exact,
            style: self.style,
        };
        head.print(fields, &mut text.before);
        // It borrows the state, which the printer changes.
        drop(comm);
        let mut printer = Printer {
            state,
            sample,
            fields,
            style: self.style,
            event: &self.names[sample.event as usize],
            longest_event: self.longest_event,
            arch: self.arch.as_deref().unwrap_or_default(),
            longest_source: &mut self.longest_source,
            cookie: None,
        };
        printer.print(&mut text.before, &mut text.behind);
        text.behind.push(b'\n');
        Ok(printer.cookie)
    }

    fn frame(&mut self, state: &mut SampleState, frame: ChainFrame, out: &mut Vec<u8>) {
        call_chain::chain_frame(state, frame, self.style, self.fields[frame.event as usize], out);
    }

    fn named_frame(&self, out: &mut Vec<u8>, frame: TextFrame<'_>, symbols: &Symbols) {
        call_chain::named_frame(out, frame, symbols);
    }

    fn record(&mut self, state: &mut SampleState, meta: &Meta, raw: &Raw<'_>, out: &mut Vec<u8>) -> Result<()> {
        if !self.shown.contains(&raw.header().kind) {
            return Ok(());
        }
        self.update(state, meta)?;
        let (body, trailer) = meta.events.split(raw);
        let Some(record) = records::describe(raw, body) else { return Ok(()) };
        let index = meta.events.of(raw).map_or(0, |(index, _)| index as usize);
        let Some(&fields) = self.fields.get(index) else { return Ok(()) };
        let has_chain = meta.events.list()[index].attr.sample_type.contains(SampleType::CALLCHAIN);
        let task = trailer.and_then(|trailer| trailer.task);
        let task = task.unwrap_or(record.task.unwrap_or((u32::MAX, u32::MAX)));
        let comm = state.comm(record.task.unwrap_or(task).1);
        let head = Head {
            comm: &comm,
            task,
            cpu: trailer.and_then(|trailer| trailer.cpu).map_or(0, |(cpu, _)| cpu),
            time: trailer.and_then(|trailer| trailer.time).unwrap_or(record.time),
            flags: record.flags,
            misc: raw.header().misc & Misc::from_bits_retain(7),
            has_chain: has_chain && fields.has(fields::IP),
            is_exact: self.is_exact,
            style: self.style,
        };
        head.print(fields, out);
        out.extend_from_slice(record.text.as_bytes());
        out.push(b'\n');
        Ok(())
    }
}

impl Script {
    /// Notes the events known so far.
    fn update(&mut self, state: &mut SampleState, meta: &Meta) -> Result<()> {
        let events = meta.events.list();
        if self.names.len() == events.len() {
            return Ok(());
        }
        if self.arch.is_none() {
            self.arch = meta.string(FeatureId::ARCH);
        }
        self.names = events.iter().map(|event| printed_name(event, state, meta)).collect();
        self.longest_event = self.names.iter().map(String::len).max().unwrap_or(0);
        // As in perf, one event of each type decides for all events of the type.
        let mut by_type = [None; TYPES.len()];
        for event in events {
            let slot = &mut by_type[type_index(event.attr.kind)];
            if slot.is_none() && !event.attr.is_software(SoftwareEvent::DUMMY) {
                *slot = Some(self.event_fields(event, meta)?);
            }
        }
        let type_fields = |kind: usize| by_type[kind].unwrap_or(self.requested[kind].fields);
        self.fields = events.iter().map(|event| type_fields(type_index(event.attr.kind))).collect();
        Ok(())
    }

    /// The fields of a type of events, by its first event.
    fn event_fields(&self, event: &Event, meta: &Meta) -> Result<FieldSet> {
        let TypeFields { fields, requested, is_requested } = self.requested[type_index(event.attr.kind)];
        let sample_type = event.attr.sample_type;
        let mut kept = fields;
        let traced = |event: &Event| {
            event.attr.kind == AttrType::TRACEPOINT && event.attr.sample_type.contains(SampleType::CALLCHAIN)
        };
        if event.attr.kind == AttrType::TRACEPOINT && !is_requested && meta.events.list().iter().any(traced) {
            kept = kept | FRAMES;
        }
        for (this, field) in kept.fields() {
            let is_missing = match field.needs {
                Needs::Nothing => false,
                Needs::Sample(needed) => !sample_type.intersects(needed),
                Needs::Field(other) => !kept.has(FieldSet::from_names(&[other])),
                Needs::Address => !sample_type.intersects(SampleType::IP | SampleType::ADDR),
            };
            if !is_missing {
                continue;
            }
            // Samples decoded from AUX area traces have the CPU of their buffer.
            if requested.has(this) && this == CPU && meta.features.contains_key(&FeatureId::AUXTRACE) {
                continue;
            }
            // Events of perf stat have no samples.
            let is_counted = SampleType::IDENTIFIER.contains(sample_type);
            if requested.has(this) && !is_counted {
                return Err(missing(field, event));
            }
            kept = kept.without(this);
        }
        Ok(kept)
    }
}

/// The error that an event lacks what a requested field needs.
fn missing(field: &fields::Field, event: &Event) -> Error {
    let (name, event) = (field.name, event_name(event));
    Error::invalid(match field.needs {
        Needs::Field(other) => format!("--fields: '{name}' needs '{other}'; add it, or omit '{name}'"),
        _ => format!("--fields: samples of event '{event}' have no '{name}'; omit it, or choose events with --event"),
    })
}
