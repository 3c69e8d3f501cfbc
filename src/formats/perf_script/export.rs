//! Writes samples, and other records on request, as perf script does.

use super::PerfScript;
#[cfg(feature = "disassembly")]
use super::branch_blocks::BlockCode;
use super::call_chain::{self, ScriptFrames};
use super::fields::{self, CPU, FRAMES, FieldSet, Needs, TIME, TIME_OF_DAY, TYPES, TypeFields, type_index};
use super::printer::{Head, Printer};
use super::records;
use super::selection::SampleSelector;
use super::style::Style;
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::frame_lookup::FrameRenderer;
use crate::formats::framework::sample_writer;
use crate::formats::framework::sample_writer::{ChainFrame, SampleFormat, SampleState, SampleText, WrittenSample};
use crate::profile::perf_event_name::perf_event_names;
use perf_data::abi::attr::{AttrType, SoftwareEvent};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::clock_data::ClockData;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::header::Misc;
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::container::read::Container;
use perf_data::error::{Error, Result};
use perf_data::session::kernel_names::ListedKernel;
use perf_data::stream::event_name::event_name;
use perf_data::stream::events::Event;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::Arc;

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
    times: PrintedTimes,
    clock: Option<ClockData>,
    arch: Option<String>,
    longest_source: usize,
    selector: SampleSelector,
    hides_call_graph: bool,
    max_frames: Option<NonZeroUsize>,
    has_short_source_paths: bool,
    has_perf_errors: bool,
    #[cfg(feature = "disassembly")]
    block_code: BlockCode,
}

/// The times that are printed: those of the recording's clock, or since the first or the previous printed record.
struct PrintedTimes {
    is_since_first: bool,
    is_since_previous: bool,
    /// The time that others are printed relative to; 0 if there is none yet, as in perf.
    origin: u64,
}

impl PrintedTimes {
    fn new(format: &PerfScript) -> Self {
        Self { is_since_first: format.reltime, is_since_previous: format.deltatime, origin: 0 }
    }

    /// How a time is printed.
    fn printed(&mut self, time: u64) -> u64 {
        if !self.is_since_first && !self.is_since_previous {
            return time;
        }
        let origin = if self.origin == 0 { time } else { self.origin };
        self.origin = if self.is_since_previous { time } else { origin };
        time.wrapping_sub(origin)
    }
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
        times: PrintedTimes::new(format),
        clock: None,
        arch: None,
        longest_source: 0,
        selector: SampleSelector::new(&format.selection),
        hides_call_graph: format.hides_call_graph,
        max_frames: format.max_frames,
        has_short_source_paths: format.has_short_source_paths,
        has_perf_errors: format.has_perf_errors,
        #[cfg(feature = "disassembly")]
        block_code: BlockCode::new(&options.symbols, format.has_short_source_paths),
    };
    sample_writer::begin(script, true, out, options)
}

impl SampleFormat for Script {
    fn begin(&mut self, _: &mut SampleState, meta: &Meta, _out: &mut Vec<u8>) -> Result<()> {
        self.update(meta)
    }

    fn sample(
        &mut self,
        state: &mut SampleState,
        sample: &WrittenSample<'_>,
        text: &mut SampleText,
    ) -> Result<Option<u64>> {
        if !self.selector.keeps(sample)? {
            return Ok(None);
        }
        self.update(sample.decoded.meta)?;
        let fields = self.fields[sample.decoded.index as usize];
        let (view, tid) = (sample.decoded.view, sample.tid());
        let comm = state.comm(tid);
        let time = view.time.unwrap_or(u64::MAX);
        let head = Head {
            comm: &comm,
            task: (sample.pid(), tid),
            cpu: view.cpu.map_or(u32::MAX, |(cpu, _)| cpu),
            time,
            printed_time: self.printed_time(time, fields),
            clock: self.clock,
            flags: "",
            misc: sample.decoded.raw.header().misc,
            has_chain: view.callchain.is_some() && fields.has(fields::IP) && !self.hides_call_graph,
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
            hides_call_graph: self.hides_call_graph,
            max_frames: self.max_frames,
            cookie: None,
            #[cfg(feature = "disassembly")]
            block_code: &mut self.block_code,
        };
        printer.print(&mut text.before, &mut text.behind);
        text.behind.push(b'\n');
        Ok(printer.cookie)
    }

    fn frame(&mut self, state: &mut SampleState, frame: ChainFrame, out: &mut Vec<u8>) {
        call_chain::chain_frame(state, frame, self.style, self.fields[frame.event as usize], out);
    }

    fn renderer(&self, listed_kernel: &Arc<ListedKernel>, _: &Meta) -> Box<dyn FrameRenderer> {
        Box::new(ScriptFrames::new(self.has_short_source_paths, Arc::clone(listed_kernel)))
    }

    fn record(&mut self, state: &mut SampleState, meta: &Meta, raw: &Raw<'_>, out: &mut Vec<u8>) -> Result<()> {
        self.selector.other(meta, raw)?;
        if !self.shown.contains(&raw.header().kind) {
            return Ok(());
        }
        self.update(meta)?;
        let (body, trailer) = meta.events.split(raw);
        let Some(record) = records::describe(raw, body) else { return Ok(()) };
        let index = meta.events.find(raw).map_or(0, |(index, _)| index as usize);
        let Some(&fields) = self.fields.get(index) else { return Ok(()) };
        let has_chain = meta.events.list()[index].attr.sample_type.contains(SampleType::CALLCHAIN);
        let task = trailer.and_then(|trailer| trailer.task);
        let task = task.unwrap_or(record.task.unwrap_or((u32::MAX, u32::MAX)));
        let cpu = trailer.and_then(|trailer| trailer.cpu).map_or(0, |(cpu, _)| cpu);
        if !self.selector.has_cpu(cpu) {
            return Ok(());
        }
        let comm = state.comm(record.task.unwrap_or(task).1);
        let time = trailer.and_then(|trailer| trailer.time).unwrap_or(record.time);
        let head = Head {
            comm: &comm,
            task,
            cpu: trailer.and_then(|trailer| trailer.cpu).map_or(0, |(cpu, _)| cpu),
            time,
            printed_time: self.printed_time(time, fields),
            clock: self.clock,
            flags: record.flags,
            misc: raw.header().misc & Misc::from_bits_retain(7),
            has_chain: has_chain && fields.has(fields::IP) && !self.hides_call_graph,
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
    /// The printed time of a record. As in perf, records without a printed time are not counted from.
    fn printed_time(&mut self, time: u64, fields: FieldSet) -> u64 {
        if fields.has(TIME) { self.times.printed(time) } else { time }
    }

    /// Notes the events known so far.
    fn update(&mut self, meta: &Meta) -> Result<()> {
        let events = meta.events.list();
        if self.names.len() == events.len() {
            return Ok(());
        }
        if self.arch.is_none() {
            self.arch = meta.string(FeatureId::ARCH);
            self.clock = meta.clock_data();
        }
        self.names = perf_event_names(meta);
        self.longest_event = self.names.iter().map(String::len).max().unwrap_or(0);
        // As in perf, one event of each type decides for all events of the type.
        let mut by_type = [None; TYPES.len()];
        for event in events {
            let slot = &mut by_type[type_index(event.attr.kind)];
            // Neither a dummy nor an event that writes a trace has samples.
            let is_sampled =
                !event.attr.is_software(SoftwareEvent::DUMMY) && !event_name(event).starts_with("arm_spe_");
            if slot.is_none() && is_sampled {
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
        // As perf, which opens a pipe before its features: it prints that the clock is disabled.
        if kept.has(TIME_OF_DAY) && self.clock.is_none() && meta.container != Container::Pipe {
            let file = meta.files.first().map_or("", |file| file);
            let problem =
                "the field tod needs clock data, which the recording lacks; record with perf record -k CLOCK_MONOTONIC";
            return Err(Error::not_found(format!("{file}: {problem}")));
        }
        let traced = |event: &Event| {
            event.attr.kind == AttrType::TRACEPOINT && event.attr.sample_type.contains(SampleType::CALLCHAIN)
        };
        let shows_frames = event.attr.kind == AttrType::TRACEPOINT && !is_requested && !self.hides_call_graph;
        if shows_frames && meta.events.list().iter().any(traced) {
            kept = kept | FRAMES;
        }
        for (this, field) in kept.fields() {
            let is_missing = match field.needs {
                Needs::Nothing => false,
                Needs::Sample(needed) => !sample_type.intersects(needed),
                Needs::Field(other) => !kept.has(FieldSet::from_names(&[other])),
                Needs::Address => !sample_type.intersects(SampleType::IP | SampleType::ADDR),
                // Blocks of branches of other kinds would not have been executed as a whole.
                Needs::AllBranches => !event.attr.branch_sample_type.contains(BranchSampleType::ANY),
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
                return Err(if self.has_perf_errors { missing_in_perf(field, event) } else { missing(field, event) });
            }
            kept = kept.without(this);
        }
        Ok(kept)
    }
}

/// The error that an event lacks what a requested field needs.
fn missing(field: &fields::ScriptField, event: &Event) -> Error {
    let (name, event) = (field.name, event_name(event));
    Error::invalid(match field.needs {
        Needs::Field(other) => format!("--fields: '{name}' needs '{other}'; add it, or omit '{name}'"),
        Needs::AllBranches => format!(
            "--fields: '{name}' needs branch stacks of all taken branches, which event '{event}' has not recorded; record with perf record -b"
        ),
        _ => format!("--fields: samples of event '{event}' have no '{name}'; omit it, or choose events with --event"),
    })
}

/// The error in the words of perf: perf2bolt goes on without the field only if it finds them.
fn missing_in_perf(field: &fields::ScriptField, event: &Event) -> Error {
    if !matches!(field.needs, Needs::Sample(_)) {
        return missing(field, event);
    }
    let (name, attribute, event) = (field.name, field.name.to_uppercase(), event_name(event));
    Error::invalid(format!(
        "Samples for '{event}' event do not have {attribute} attribute set. Cannot print '{name}' field."
    ))
}
