//! Decodes hardware traces to samples: `--itrace`, as perf inject does.
//!
//! * `trace_events`: the events that samples are of, by perf's letters.
//! * `context`: what a pre-scan finds out: clock, models of CPUs, which thread ran when.
//! * `buffer`: what the samples of a buffer have in common.
//! * `spe_samples`, `bts_samples`: records of Arm SPE, and branches of Intel BTS, as samples.

mod bts_samples;
mod buffer;
mod context;
mod spe_samples;
mod trace_events;

pub use trace_events::TraceEvents;

use super::framework::pass::{Pass, PreScan};
use super::framework::pass_options::{PassContext, PassOptions, PassOrder, RequestedPass, is_requested};
use super::framework::replacement::RecordBuffer;
use super::header::Header;
use bts_samples::BtsSamples;
use bytes::Bytes;
use context::{TraceContext, TraceQueue, TraceScan};
use hashbrown::HashMap;
use perf_data::abi;
use perf_data::abi::Endian;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::event_desc::{EventDesc, EventDescs};
use perf_data::abi::feature::string::PerfStr;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::auxtrace::Auxtrace;
use perf_data::abi::record::auxtrace_info::AuxtraceType;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::Container;
use perf_data::container::read::file::FileAttr;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::{Before, Stage};
use perf_data::stream::traces::{TraceBytes, Traces};
use spe_samples::SpeSamples;

/// Decodes hardware traces to samples.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Itrace {
    /// Decode traces of Arm SPE and Intel BTS to samples, as outputs that show samples do by default, and drop the traces. Each record of
    /// Arm SPE is a sample of the event memory, branch or other; with perf's letters, of each of their events: f, m, t, a, b, M, i (and l
    /// for branch stacks). Of Intel BTS, each is a sample of branches.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "LETTERS", num_args = 0..=1, require_equals = true, default_missing_value = "")
    )]
    pub itrace: Option<TraceEvents>,

    /// With --itrace, drop the samples that are not from traces.
    #[cfg_attr(feature = "cli", arg(long))]
    pub strip: bool,
}

impl PassOptions for Itrace {
    fn pass(&self, _: &PassContext) -> Box<dyn Pass> {
        Box::new(ItracePass::new(self.itrace.clone().unwrap_or_default(), self.strip))
    }

    fn order(&self) -> PassOrder {
        PassOrder::Decoding
    }
}

/// Leaves hardware traces as they are, which outputs of samples decode by default.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct NoItrace {}

impl PassOptions for NoItrace {
    fn pass(&self, _: &PassContext) -> Box<dyn Pass> {
        Box::new(Unchanged)
    }
}

/// A pass that does nothing.
struct Unchanged;

impl Pass for Unchanged {
    fn name(&self) -> String {
        "--no-itrace".to_owned()
    }
}

/// Whether one of these passes decides how traces are decoded.
pub fn decides_decoding(requested: &RequestedPass) -> bool {
    is_requested::<Itrace>(requested) || is_requested::<NoItrace>(requested)
}

/// The pass that decodes traces.
pub struct ItracePass {
    events: TraceEvents,
    strips: bool,
    context: TraceContext,
    traces: Traces,
}

impl ItracePass {
    /// Creates the pass, whose samples are of these events; `strips` drops other samples.
    pub fn new(events: TraceEvents, strips: bool) -> Self {
        Self { events, strips, context: TraceContext::default(), traces: Traces::default() }
    }

    /// The events of the samples with their names.
    fn new_events(&self) -> Vec<(&'static str, FileAttr)> {
        let has_branches = self.events.has_branch_stacks();
        let names: Vec<_> = match self.context.source() {
            AuxtraceType::INTEL_BTS => self.events.kinds().iter().filter_map(|kind| kind.name_in_bts()).collect(),
            _ => self.events.kinds().iter().map(|kind| kind.name()).collect(),
        };
        let event = |(name, id)| Some((name, FileAttr { attr: self.context.attr(has_branches)?, ids: vec![id] }));
        names.into_iter().zip(self.context.first_id..).filter_map(event).collect()
    }
}

impl Pass for ItracePass {
    fn name(&self) -> String {
        "--itrace".to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        self.context = TraceContext::default();
        Some(PreScan::in_file_order(TraceScan::new(&mut self.context)))
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        let new = self.new_events();
        if new.is_empty() {
            let source = self.context.source().title();
            return Err(Error::invalid(format!("--itrace: no letter is of events of {source}")));
        }
        let descs = header.features.get(&FeatureId::EVENT_DESC);
        let descs = descs.and_then(|section| abi::parse::<EventDescs>(section, header.endian, ()).ok());
        let mut descs = descs.map_or_else(|| self.context.described_events(header), |(descs, _)| descs);
        for (name, event) in new {
            let attr = event.attr.resized(descs.attr_size as usize);
            descs.events.push(EventDesc { attr, name: PerfStr::new(name.as_bytes()), ids: event.ids.clone() });
            header.events.push(Some(event));
        }
        header.set(FeatureId::EVENT_DESC, &descs)?;
        header.features.remove(&FeatureId::AUXTRACE);
        // It has no contents, which a pipe cannot store.
        if self.events.has_branch_stacks() && header.container != Container::Pipe {
            header.features.insert(FeatureId::BRANCH_STACK, Vec::new().into());
        }
        Ok(())
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        self.traces = Traces::default();
        let stage = ItraceStage {
            strips: self.strips,
            source: self.context.source(),
            samples: match self.context.source() {
                AuxtraceType::INTEL_BTS => Box::new(BtsSamples::new(&self.context, &self.events)),
                _ => Box::new(SpeSamples::new(&self.context, &self.events)),
            },
            traces: &mut self.traces,
            buffer: RecordBuffer::default(),
            latest: HashMap::new(),
        };
        Box::new(Before::new(stage, sink))
    }

    fn report(&self, ledger: &mut Ledger) {
        ledger.traces.merge(&self.traces);
        self.traces.decoded_messages().for_each(|message| ledger.change(message));
    }
}

/// Replaces traces by samples.
struct ItraceStage<'a> {
    strips: bool,
    source: AuxtraceType,
    samples: Box<dyn TraceSamples + 'a>,
    traces: &'a mut Traces,
    /// Encoded samples that have not been passed on.
    buffer: RecordBuffer,
    /// The latest buffer of each queue, by its number, and where it begins in the AUX area.
    latest: HashMap<(u32, TraceQueue), (u64, Bytes)>,
}

/// Size at which encoded samples are passed on: a block of its own for each would cost as much as the decoding.
const BLOCK: usize = 256 << 10;

/// Decodes buffers of traces to samples.
trait TraceSamples {
    /// Decodes the bytes of a buffer from an offset on. Returns what they were.
    ///
    /// # Errors
    /// If samples cannot be passed on.
    fn decode(
        &mut self,
        trace: &Auxtrace,
        bytes: (&[u8], usize),
        endian: Endian,
        out: &mut DecodedBlocks<'_>,
    ) -> Result<TraceBytes>;
}

/// Encoded samples on their way to the next stage.
struct DecodedBlocks<'a> {
    buffer: &'a mut RecordBuffer,
    pass: &'a mut dyn FnMut(&mut RecordBuffer) -> Result<()>,
}

impl DecodedBlocks<'_> {
    /// Samples are appended here.
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer.record
    }

    /// Passes the samples on if they are many.
    fn pass_full(&mut self) -> Result<()> {
        if self.buffer.record.len() >= BLOCK { self.pass() } else { Ok(()) }
    }

    fn pass(&mut self) -> Result<()> {
        (self.pass)(self.buffer)
    }
}

impl ItraceStage<'_> {
    /// Passes on the samples of a buffer.
    fn decode<S: Sink + ?Sized>(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        let Ok((trace, _)) = abi::parse::<Auxtrace>(raw.body(), raw.endian(), ()) else {
            self.traces.record(meta, raw);
            return Ok(());
        };
        let payload = raw.block().bytes.slice_ref(raw.payload());
        let repeated = self.repeated(&trace, &payload);
        let mut blocks =
            DecodedBlocks { buffer: &mut self.buffer, pass: &mut |buffer| buffer.pass_all(sink, meta, raw) };
        let mut bytes = self.samples.decode(&trace, (&payload, repeated), meta.endian, &mut blocks)?;
        blocks.pass()?;
        (bytes.bytes, bytes.repeated) = (payload.len() as u64, repeated as u64);
        self.traces.add_decoded(self.source, &bytes);
        Ok(())
    }

    /// How many bytes of a buffer are those at the end of the buffer before, as in snapshots that were taken in quick succession.
    fn repeated(&mut self, trace: &Auxtrace, payload: &Bytes) -> usize {
        let queue = (trace.idx, TraceQueue::from(trace));
        let before = self.latest.insert(queue, (trace.offset, payload.clone()));
        let overlap = before.and_then(|(offset, before)| {
            let start = usize::try_from(trace.offset.checked_sub(offset)?).ok()?;
            let end = before.get(start..)?;
            let len = end.len().min(payload.len());
            (end[..len] == payload[..len]).then_some(len)
        });
        overlap.unwrap_or(0)
    }
}

impl<S: Sink + ?Sized> Stage<S> for ItraceStage<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        match raw.header().kind {
            RecordType::AUXTRACE => self.decode(meta, raw, sink),
            RecordType::AUXTRACE_INFO | RecordType::AUX => {
                self.traces.record(meta, raw);
                Ok(())
            }
            // Samples of a trace are older than the records around it, which the ends of rounds exclude.
            RecordType::ITRACE_START | RecordType::FINISHED_ROUND => Ok(()),
            RecordType::SAMPLE if self.strips => Ok(()),
            _ => sink.record(meta, raw),
        }
    }
}

/// The error of recordings without a trace that can be decoded.
fn nothing_to_decode(source: Option<AuxtraceType>) -> Error {
    Error::not_found(match source {
        Some(source) => {
            let source = source.title();
            format!("--itrace: traces of {source} are not decoded; use perf inject --itrace to convert them to samples")
        }
        None => "--itrace: the recording has no hardware trace".to_owned(),
    })
}

/// The fields that samples of a trace have in addition to those of the AUX event.
fn added_fields(source: AuxtraceType) -> SampleType {
    if source == AuxtraceType::INTEL_BTS { ADDED_FIELDS } else { ADDED_FIELDS | SPE_FIELDS }
}

/// The fields that samples of all traces have in addition to those of the AUX event.
const ADDED_FIELDS: SampleType =
    SampleType::IP.union(SampleType::TID).union(SampleType::ADDR).union(SampleType::PERIOD);

/// The same of Arm SPE.
const SPE_FIELDS: SampleType =
    SampleType::RAW.union(SampleType::WEIGHT_STRUCT).union(SampleType::PHYS_ADDR).union(SampleType::DATA_SRC);

/// The fields of the AUX event that they keep.
const KEPT_FIELDS: SampleType = SampleType::TIME
    .union(SampleType::ID)
    .union(SampleType::STREAM_ID)
    .union(SampleType::CPU)
    .union(SampleType::IDENTIFIER);

/// The flags of the AUX event that they keep.
const KEPT_FLAGS: AttrFlags = AttrFlags::SAMPLE_ID_ALL
    .union(AttrFlags::EXCLUDE_USER)
    .union(AttrFlags::EXCLUDE_KERNEL)
    .union(AttrFlags::EXCLUDE_HV)
    .union(AttrFlags::EXCLUDE_HOST)
    .union(AttrFlags::EXCLUDE_GUEST);
