//! What the decoder of a trace needs to know about the recording.

use super::{KEPT_FIELDS, KEPT_FLAGS, added_fields, nothing_to_decode};
use crate::rewrite::header::Header;
use hashbrown::HashMap;
use perf_data::abi;
use perf_data::abi::attr::{Attr, AttrType, HardwareEvent};
use perf_data::abi::bytes::pair_at;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::event_desc::{EventDesc, EventDescs};
use perf_data::abi::feature::string::PerfStr;
use perf_data::abi::record::aux_area::Aux;
use perf_data::abi::record::auxtrace::Auxtrace;
use perf_data::abi::record::auxtrace_info::{AuxtraceInfo, AuxtraceType};
use perf_data::abi::record::switch::SwitchCpuWide;
use perf_data::abi::record::time_conv::TimeConv;
use perf_data::abi::record::{Misc, RecordType};
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::event_name::event_name;
use perf_data::stream::events::EventIndex;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::trace::is_decoded;
use perf_data::trace::spe::metadata::SpeMetadata;

/// Process and thread ID.
pub(super) type TaskIds = (u32, u32);

/// The queue that a buffer is of: that of a CPU, or of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct TraceQueue {
    pub cpu: Option<u32>,
    /// The thread, unless the queue is of a CPU.
    pub tid: Option<u32>,
}

impl TraceQueue {
    fn new(cpu: Option<u32>, tid: Option<u32>) -> Self {
        Self { cpu, tid: tid.filter(|_| cpu.is_none()) }
    }
}

impl From<&Auxtrace> for TraceQueue {
    fn from(trace: &Auxtrace) -> Self {
        Self::new(u32::try_from(trace.cpu).ok(), u32::try_from(trace.tid).ok())
    }
}

/// A change of the thread that runs on a CPU.
#[derive(Clone, Copy, Debug)]
struct ThreadSwitch {
    time: u64,
    /// The thread until then, if known.
    before: Option<TaskIds>,
    after: Option<TaskIds>,
}

/// What a pre-scan finds out.
#[derive(Default)]
pub(super) struct TraceContext {
    source: Option<AuxtraceType>,
    /// The type of the PMU that writes the trace.
    pmu_type: u32,
    pub metadata: SpeMetadata,
    /// The clock; `None` if times are not recorded.
    pub clock: Option<TimeConv>,
    /// The model of all CPUs, of recordings without metadata for each.
    midr: Option<u64>,
    /// Switches by CPU, sorted by time.
    switches: HashMap<u32, Vec<ThreadSwitch>>,
    /// Where pieces of a queue begin in the AUX area, with the times at which they were complete, sorted.
    pieces: HashMap<TraceQueue, Vec<(u64, u64)>>,
    /// Processes by thread.
    processes: HashMap<u32, u32>,
    /// The event that writes the trace.
    aux_event: Option<EventIndex>,
    /// Its attr.
    base: Option<Attr>,
    /// The ID of the first event of samples.
    pub first_id: u64,
    /// Names of the recorded events.
    names: Vec<String>,
}

impl TraceContext {
    /// The source of the trace.
    pub(super) fn source(&self) -> AuxtraceType {
        self.source.unwrap_or(AuxtraceType::UNKNOWN)
    }

    /// The fields of samples, of all events.
    pub(super) fn fields(&self, has_branch_stacks: bool) -> SampleType {
        let branches = if has_branch_stacks { SampleType::BRANCH_STACK } else { SampleType::empty() };
        self.base.as_ref().map_or(SampleType::empty(), |attr| attr.sample_type.intersection(KEPT_FIELDS))
            | added_fields(self.source())
            | branches
    }

    /// The attr of the events of samples: that of the AUX event without what configures the hardware or asks for other records.
    pub(super) fn attr(&self, has_branch_stacks: bool) -> Option<Attr> {
        let mut attr = self.base.clone()?;
        attr.kind = AttrType::HARDWARE;
        attr.flags = attr.flags.intersection(KEPT_FLAGS);
        (attr.config, attr.config3, attr.config4, attr.sample_period) = (0, 0, 0, 1);
        if self.source() == AuxtraceType::INTEL_BTS {
            attr.config = HardwareEvent::BRANCH_INSTRUCTIONS.0;
        }
        (attr.bp_addr, attr.bp_len) = (0, 0);
        (attr.wakeup_events, attr.aux_watermark) = (0, 0);
        attr.sample_type = self.fields(has_branch_stacks);
        attr.branch_sample_type = BranchSampleType::empty();
        if attr.sample_type.contains(SampleType::BRANCH_STACK) {
            attr.branch_sample_type = BranchSampleType::ANY;
        }
        Some(attr)
    }

    /// Descriptions of the recorded events, of recordings that have none.
    pub(super) fn described_events(&self, header: &Header) -> EventDescs {
        let events = header.events.iter().flatten().zip(&self.names);
        let events: Vec<_> = events
            .map(|(event, name)| EventDesc {
                attr: event.attr.clone(),
                name: PerfStr::new(name.as_bytes()),
                ids: event.ids.clone(),
            })
            .collect();
        let attr_size = events.iter().map(|event| event.attr.stored_size()).max().unwrap_or(0) as u32;
        EventDescs { attr_size, events }
    }

    /// The model of a CPU.
    pub(super) fn midr(&self, cpu: i32) -> Option<u64> {
        if self.metadata.midr.is_empty() { self.midr } else { self.metadata.midr(cpu) }
    }

    /// The thread that ran on a CPU at a time.
    pub(super) fn running(&self, cpu: u32, time: u64) -> Option<TaskIds> {
        let switches = self.switches.get(&cpu)?;
        match switches.partition_point(|switch| switch.time <= time) {
            0 => switches.first()?.before,
            next => switches[next - 1].after,
        }
    }

    /// When the byte before an offset of the AUX area of a queue was written, at the latest.
    pub(super) fn written(&self, queue: TraceQueue, offset: u64) -> Option<u64> {
        let pieces = self.pieces.get(&queue)?;
        let next = pieces.partition_point(|(start, _)| *start < offset);
        pieces.get(next.saturating_sub(1)).map(|(_, time)| *time)
    }

    /// A thread with its process.
    pub(super) fn task(&self, tid: u32) -> TaskIds {
        (self.processes.get(&tid).copied().unwrap_or(tid), tid)
    }
}

/// The pre-scan.
pub(super) struct TraceScan<'a> {
    context: &'a mut TraceContext,
}

impl<'a> TraceScan<'a> {
    pub(super) fn new(context: &'a mut TraceContext) -> Self {
        Self { context }
    }

    fn switch(&mut self, meta: &Meta, raw: &Raw<'_>) {
        let (body, trailer) = meta.events.split(raw);
        let Some(trailer) = trailer else { return };
        let (Some(own), Some(time), Some((cpu, _))) = (trailer.task, trailer.time, trailer.cpu) else { return };
        let other = abi::parse::<SwitchCpuWide>(body, raw.endian(), ()).ok().map(|(switch, _)| switch);
        let other = other.filter(|_| raw.header().kind == RecordType::SWITCH_CPU_WIDE);
        let other = other.map(|switch| (switch.next_prev_pid, switch.next_prev_tid));
        let (before, after) = match raw.header().misc.contains(Misc::SWITCH_OUT) {
            true => (Some(own), other),
            false => (other, Some(own)),
        };
        self.context.switches.entry(cpu).or_default().push(ThreadSwitch { time, before, after });
        self.context.processes.insert(own.1, own.0);
    }
}

impl Sink for TraceScan<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let context = &mut *self.context;
        let body = raw.body();
        match raw.header().kind {
            RecordType::AUXTRACE_INFO => {
                if let Ok((info, _)) = abi::parse::<AuxtraceInfo>(body, raw.endian(), ()) {
                    context.source = Some(info.kind);
                    if info.kind == AuxtraceType::ARM_SPE {
                        context.metadata = SpeMetadata::parse(&info.private);
                        context.pmu_type = context.metadata.pmu_type;
                    } else {
                        context.pmu_type = info.private.first().map_or(0, |word| *word as u32);
                    }
                }
            }
            RecordType::TIME_CONV => {
                context.clock = abi::parse(body, raw.endian(), ()).ok().map(|(conversion, _)| conversion);
            }
            RecordType::AUX => {
                let event = meta.events.find(raw).map(|(index, _)| index);
                context.aux_event = context.aux_event.or(event);
                let (body, trailer) = meta.events.split(raw);
                if let Ok((aux, _)) = abi::parse::<Aux>(body, raw.endian(), ())
                    && let Some((trailer, time)) = trailer.and_then(|trailer| Some((trailer, trailer.time?)))
                {
                    let (cpu, tid) = (trailer.cpu.map(|(cpu, _)| cpu), trailer.task.map(|(_, tid)| tid));
                    context.pieces.entry(TraceQueue::new(cpu, tid)).or_default().push((aux.aux_offset, time));
                }
            }
            RecordType::COMM => {
                pair_at(body, 0, raw.endian())
                    .into_iter()
                    .for_each(|(pid, tid)| _ = context.processes.insert(tid, pid));
            }
            RecordType::FORK => {
                // Fields: pid, ppid, tid, ptid.
                let both = pair_at(body, 0, raw.endian()).zip(pair_at(body, 8, raw.endian()));
                both.into_iter().for_each(|((pid, _), (tid, _))| _ = context.processes.insert(tid, pid));
            }
            RecordType::SWITCH | RecordType::SWITCH_CPU_WIDE => self.switch(meta, raw),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        let context = &mut *self.context;
        if !context.source.is_some_and(is_decoded) {
            return Err(nothing_to_decode(context.source));
        }
        let events = meta.events.list();
        let has_type = |(_, event): &(usize, &perf_data::stream::events::Event)| event.attr.kind.0 == context.pmu_type;
        let by_type = || events.iter().enumerate().find(has_type).map(|(index, _)| index);
        let aux_event = context.aux_event.map(|index| index as usize).or_else(by_type).unwrap_or(0);
        let ids = events.iter().flat_map(|event| &event.ids).copied();
        let own = events.get(aux_event).and_then(|event| event.ids.first()).copied().unwrap_or(0);
        // As in perf; IDs that exist are not reused.
        context.first_id = own.saturating_add(1_000_000_000).max(ids.max().unwrap_or(0).saturating_add(1));
        context.base = events.get(aux_event).map(|event| event.attr.clone());
        context.names = events.iter().map(event_name).collect();
        let cpuid = meta.string(FeatureId::CPUID);
        context.midr = cpuid.and_then(|text| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok());
        context.switches.values_mut().for_each(|switches| switches.sort_by_key(|switch| switch.time));
        context.pieces.values_mut().for_each(|pieces| pieces.sort_unstable());
        Ok(())
    }
}
