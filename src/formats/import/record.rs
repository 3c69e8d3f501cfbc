//! Converts a profile to a recording.

use super::images::Symbols;
use super::imported_profile::imported;
use super::labels::LabelFields;
use super::mapping_writer::MappingWriter;
use super::placement::Placement;
use super::source::{SourceEvent, SourceMapping, SourceProfile, SourceSample};
use super::tasks::Tasks;
use super::values::{Values, samples, total};
use super::{ImportOptions, ImportedRecording, MAX_PAYLOAD};
use crate::synth::{Event, Metadata, Recorder, Stamp};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use perf_data::abi::attr::{AttrType, SoftwareEvent};
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::feature::Feature;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::clock_data::ClockData;
use perf_data::abi::feature::string::{PerfStr, StrList};
use perf_data::abi::record::cgroup::Cgroup;
use perf_data::abi::record::comm::Comm;
use perf_data::abi::record::event_update::{EventUpdate, EventUpdateType, EventUpdateValue};
use perf_data::abi::record::{Body, CpuMode, Misc};
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample::{Callchain, Raw, Sample};
use perf_data::abi::sample_type::SampleType;
use perf_data::abi::text::PaddedStr;
use perf_data::container::spool::Spool;
use perf_data::error::{Error, Result};
use perf_data::session::slices::Slices;
use perf_data::stream::Sink;
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::Form;
use std::io::BufWriter;
use std::sync::Arc;

/// Time of the first sample, where samples have no times, and the zero of times that begin with the profile: perf takes 0
/// for no time.
pub const START: u64 = 1_000_000_000;

/// An unknown CPU.
const NO_CPU: u32 = u32::MAX;

/// Converts a profile to a recording.
///
/// # Errors
/// If a recording cannot represent it, it exceeds a limit, or an I/O error occurs.
pub fn record(name: &str, mut profile: SourceProfile, options: &ImportOptions) -> Result<ImportedRecording> {
    let program = name.rsplit('/').next().unwrap_or(name).to_owned();
    let placed = Placement::new(&profile, &program);
    let (mut lost, mut lost_in_recording) =
        (std::mem::take(&mut profile.lost), std::mem::take(&mut profile.lost_in_recording));
    let labels = LabelFields::new(&profile, &mut lost);
    let total = total(&profile, &labels, options).map_err(|problem| Error::input(name, None, problem))?;
    let metadata = metadata(&profile, &labels)?;
    let spool =
        Spool::new(options.read.spool_dir.as_deref()).map_err(Error::io(name, "cannot write to a temporary file"))?;
    let mut file = ToFile::new(BufWriter::with_capacity(1 << 17, spool), Form::default());
    let recorder = Recorder::new(&metadata, &mut file)?;
    let mut recording = Recording {
        recorder,
        tasks: Tasks::new(&profile, &program),
        names: HashMap::new(),
        mappings: MappingWriter::new(&placed),
        cgroups: HashMap::new(),
        truncated: 0,
        profile: &profile,
        placed: &placed,
        labels: &labels,
    };
    recording.units(&metadata)?;
    recording.samples(total, options.values)?;
    let (truncated, unmapped) = (recording.truncated, recording.unmapped());
    recording.recorder.finish()?;
    if profile.other_functions.is_some() {
        let functions = profile.functions.list().len() - 1;
        lost.push(format!(
            "names are kept of {functions} functions, as many as an input of {} bytes may have; \
             the others are one function, [other functions]",
            profile.input_size
        ));
    }
    if truncated > 0 {
        lost.push(format!("{truncated} stacks are truncated to the frames that fit into a sample"));
    }
    if placed.moved > 0 {
        let description =
            "frames have synthetic addresses: the original ones are in no mapping, or shared with another function";
        lost_in_recording.push(format!("{} {description}", placed.moved));
    }
    if unmapped > 0 {
        lost_in_recording.push(format!("{unmapped} mappings have no samples"));
    }
    let imported = imported(&mut profile, &placed, &labels, &metadata, options.values);
    let spool = file.into_inner().map(BufWriter::into_inner).transpose().map_err(|e| Error::Output(e.into_error()))?;
    let Some(spool) = spool else { return Err(Error::input(name, None, "it has no samples")) };
    let mut recording = ImportedRecording::from_file(name, spool, Vec::new())?;
    recording.imported = Some(Arc::new(imported));
    recording.missing = lost;
    recording.missing_in_recording = lost_in_recording;
    recording.symbols = Symbols::new(placed);
    Ok(recording)
}

/// Describes the recording: events and features.
fn metadata(profile: &SourceProfile, labels: &LabelFields) -> Result<Metadata> {
    let mut metadata = Metadata::default();
    metadata.machine = None;
    // Events differ in their fields, so that the ID must be at a fixed position: that is what IDENTIFIER provides.
    let mut event_fields = vec![SampleType::IDENTIFIER | SampleType::CALLCHAIN; profile.events.len()];
    for sample in profile.samples.iter() {
        let fields = &mut event_fields[sample.event as usize];
        fields.set(SampleType::CGROUP, fields.contains(SampleType::CGROUP) || sample.cgroup.is_some());
        fields.set(SampleType::CPU, fields.contains(SampleType::CPU) || sample.cpu.is_some());
    }
    // perf script prints times if the events have them.
    let has_times = !profile.as_recorded || profile.samples.iter().any(|sample| sample.time.is_some());
    let mut are_tracepoints = true;
    for (number, event) in profile.events.iter().enumerate() {
        let mut opened = open_event(event, number)?.without(SampleType::CPU).with(event_fields[number]);
        if !has_times {
            opened = opened.without(SampleType::TIME);
        }
        if event.has_no_chain {
            opened = opened.without(SampleType::CALLCHAIN);
        }
        if event.has_no_period {
            opened = opened.without(SampleType::PERIOD).period(1);
        }
        if let Some(tracepoint) = labels.tracepoint(number as u32) {
            opened.attr.kind = AttrType::TRACEPOINT;
            opened.attr.config = LabelFields::id(number as u32);
            opened = opened.with(SampleType::RAW).formatted(tracepoint.clone());
        } else {
            are_tracepoints = false;
        }
        if profile.wall_clock_start.is_some() {
            opened.attr.flags |= AttrFlags::USE_CLOCKID;
            // CLOCK_MONOTONIC
            opened.attr.clockid = 1;
        }
        metadata.event(opened);
    }
    if are_tracepoints && !profile.events.is_empty() {
        // If all events were tracepoints, perf report would show their fields instead of functions.
        metadata.event(Event::named("dummy")?);
    }
    let text = |text: &str| PerfStr::new(text.as_bytes());
    if let Some(version) = &profile.perf_version {
        metadata.set(FeatureId::VERSION, Feature::Version(text(version)));
    }
    if let Some(command) = &profile.command {
        let words = shlex::split(command).unwrap_or_else(|| vec![command.clone()]);
        let strings = words.iter().map(|word| text(word)).collect();
        metadata.set(FeatureId::CMDLINE, Feature::Cmdline(StrList { strings }));
    }
    if let Some(wall_clock_ns) = profile.wall_clock_start {
        let first = profile.samples.iter().filter_map(|sample| sample.time).min();
        let clock = ClockData { version: 1, clockid: 1, wall_clock_ns, clockid_ns: first.unwrap_or(START) };
        metadata.set(FeatureId::CLOCK_DATA, Feature::ClockData(clock));
    }
    Ok(metadata)
}

/// An event as perf would open it by this name, or a raw one with this name.
fn open_event(event: &SourceEvent, number: usize) -> Result<Event> {
    let name = match (&event.name[..], &event.unit[..]) {
        ("cpu", "nanoseconds") => "cpu-clock",
        (name, _) => name,
    };
    let stem = name.rsplit_once('#').map_or(name, |(stem, _)| stem);
    let is_plain = |event: &Event| event.attr.kind != AttrType::TRACEPOINT;
    let mut opened = Event::named(stem).ok().filter(is_plain).map_or_else(
        || {
            let mut opened = Event::named("dummy")?;
            opened.attr.kind = AttrType::RAW;
            opened.attr.config = number as u64;
            Ok::<_, Error>(opened)
        },
        Ok,
    )?;
    let is_dummy = opened.attr.is_software(SoftwareEvent::DUMMY);
    if is_dummy {
        (opened.attr.kind, opened.attr.config) = (AttrType::RAW, number as u64);
    }
    opened.name = stem.replace('\0', "");
    opened = opened.period(event.period);
    Ok(opened)
}

/// A recording being written.
struct Recording<'a, S> {
    recorder: Recorder<S>,
    profile: &'a SourceProfile,
    placed: &'a Placement,
    labels: &'a LabelFields,
    tasks: Tasks,
    /// Name of each thread.
    names: HashMap<u32, u32>,
    mappings: MappingWriter<'a>,
    /// IDs of cgroups by path.
    cgroups: HashMap<u32, u64>,
    /// Number of truncated stacks.
    truncated: u64,
}

impl<S: Sink> Recording<'_, S> {
    /// Writes the units of events.
    fn units(&mut self, metadata: &Metadata) -> Result<()> {
        for (event, opened) in self.profile.events.iter().zip(metadata.events()) {
            let unit = match &event.unit[..] {
                "nanoseconds" => "ns",
                "count" | "" => continue,
                other => other,
            };
            let value = EventUpdateValue::Unit(PaddedStr::new(unit.as_bytes(), 8));
            let id = opened.ids.first().copied().unwrap_or_default();
            let update = EventUpdate { kind: EventUpdateType::UNIT, id, value: Some(value) };
            self.recorder.record(Misc::empty(), &Body::EventUpdate(update), Stamp::default())?;
        }
        Ok(())
    }

    /// Number of mappings with addresses and without samples.
    fn unmapped(&self) -> usize {
        let mut is_used = vec![false; self.profile.mappings.len()];
        for map in self.placed.frames.iter().filter_map(|frame| frame.map) {
            if let Some(used) = is_used.get_mut(map as usize) {
                *used = true;
            }
        }
        let has_addresses = |map: &SourceMapping| map.start < map.limit;
        is_used.iter().zip(&self.profile.mappings).filter(|(used, map)| !**used && has_addresses(map)).count()
    }

    /// The order in which samples are written, and their times; no times if none has one.
    fn order(&self) -> (Vec<u32>, Vec<u64>) {
        let samples = &self.profile.samples;
        let mut order: Vec<_> = (0..samples.len() as u32).collect();
        // A sample without a time gets that of the one before it, or the first time.
        if let Some(first) = samples.iter().find_map(|sample| sample.time) {
            let times: Vec<_> = samples
                .iter()
                .scan(first, |latest, sample| {
                    *latest = sample.time.unwrap_or(*latest);
                    Some(*latest)
                })
                .collect();
            order.sort_by_key(|&sample| times[sample as usize]);
            return (order, times);
        }
        // Groups samples that need the same overlapping maps.
        let (mut sets, mut maps) = (Slices::default(), Vec::new());
        let overlapping = self.profile.stacks.iter().map(|stack| {
            maps.clear();
            maps.extend(stack.iter().filter_map(|&frame| self.placed.frames[frame as usize].map));
            maps.retain(|&map| self.mappings.overlaps(map));
            maps.sort_unstable();
            maps.dedup();
            sets.id(&maps)
        });
        let overlapping: Vec<u32> = overlapping.collect();
        let key = |&index: &u32| {
            let sample = samples.get(index as usize);
            let (pid, _) = self.tasks.task(&sample);
            (pid, sample.comm, overlapping[sample.stack as usize], sample.thread_comm)
        };
        if !order.is_sorted_by_key(key) {
            order.sort_by_cached_key(key);
        }
        (order, Vec::new())
    }

    fn samples(&mut self, total: u64, values: Values) -> Result<()> {
        let (order, times) = self.order();
        let (duration, last) = (u128::from(self.profile.duration), u128::from(total.saturating_sub(1).max(1)));
        let step = |number: u64| START + u64::try_from(duration * u128::from(number) / last).unwrap_or(0);
        let mut number = 0;
        let (mut chain, mut raw) = (Vec::new(), Vec::new());
        for index in order {
            let sample = &self.profile.samples.get(index as usize);
            let count = samples(self.profile, sample, values);
            if count == 0 {
                continue;
            }
            let (pid, tid) = self.tasks.task(sample);
            let time = |number| times.get(index as usize).copied().unwrap_or_else(|| step(number));
            let cpu = sample.cpu.unwrap_or(NO_CPU);
            let stamp = Stamp { event: 0, task: (pid, tid), time: time(number), cpu };
            self.name(sample, stamp)?;
            self.labels.raw(self.profile, sample, pid, &mut raw);
            // The size of a record limits call chain and labels together.
            let room = (MAX_PAYLOAD - raw.len()) / size_of::<u64>();
            let (ip, mode) = self.stack(sample.stack, stamp, room, &mut chain)?;
            let cgroup = self.cgroup(sample, stamp)?;
            let event = &self.profile.events[sample.event as usize];
            let fields = self.fields(sample.event);
            let mut recorded = Sample {
                ip: Some(ip),
                task: Some((pid, tid)),
                cpu: fields.contains(SampleType::CPU).then_some((cpu, 0)),
                callchain: (!event.has_no_chain).then(|| Callchain { ips: std::mem::take(&mut chain) }),
                raw: (!raw.is_empty()).then(|| Raw { data: raw.clone() }),
                cgroup,
                ..Sample::default()
            };
            let has_period = !event.has_no_period;
            let (each, more) = (sample.value / count, sample.value % count);
            for part in 0..count {
                recorded.time = fields.contains(SampleType::TIME).then(|| time(number));
                recorded.period = has_period.then_some(each + u64::from(part < more));
                self.recorder.sample(sample.event as usize, mode, &mut recorded)?;
                number += 1;
            }
            chain = recorded.callchain.map(|chain| chain.ips).unwrap_or_default();
        }
        Ok(())
    }

    /// Fields of an event's samples.
    fn fields(&self, event: u32) -> SampleType {
        let events = self.recorder.meta().events.list();
        events.get(event as usize).map_or(SampleType::empty(), |event| event.attr.sample_type)
    }

    /// Writes COMM records for process and thread, unless they have these names.
    fn name(&mut self, sample: &SourceSample, stamp: Stamp) -> Result<()> {
        let (pid, tid) = stamp.task;
        let process_name = sample.comm.or(sample.thread_comm.filter(|_| pid == tid));
        let thread_name = sample.thread_comm.or(sample.comm).filter(|_| pid != tid);
        for (thread, name) in [(pid, process_name), (tid, thread_name)] {
            let Some(name) = name else { continue };
            if self.names.insert(thread, name) != Some(name) {
                self.comm(pid, thread, self.profile.names.get(name).to_vec(), stamp)?;
            }
        }
        if let Some(program) = self.tasks.unnamed(pid) {
            self.comm(pid, pid, program, stamp)?;
        }
        Ok(())
    }

    fn comm(&mut self, pid: u32, tid: u32, name: Vec<u8>, stamp: Stamp) -> Result<()> {
        let comm = Comm { pid, tid, comm: PaddedStr::new(&name, 8) };
        self.recorder.record(Misc::empty(), &Body::Comm(comm), Stamp { task: (pid, tid), ..stamp })
    }

    /// Converts a stack to a call chain, and writes the mappings that it needs. Returns the instruction pointer and its CPU mode.
    fn stack(&mut self, stack: u32, stamp: Stamp, room: usize, chain: &mut Vec<u64>) -> Result<(u64, CpuMode)> {
        chain.clear();
        let frames = self.profile.stacks.get(stack);
        self.mappings.map_overlapping(&frames[..frames.len().min(room)], stamp, &mut self.recorder)?;
        let mut latest = None;
        let mut leaf = None;
        for &frame in frames {
            // Including a context marker.
            if chain.len() + 2 > room {
                self.truncated += 1;
                break;
            }
            let placed = self.placed.frames[frame as usize];
            let address = self.mappings.address(placed, stamp, &mut self.recorder)?;
            let is_first = latest != Some(placed.is_kernel);
            if is_first {
                chain.push(if placed.is_kernel { Context::KERNEL.0 } else { Context::USER.0 });
                latest = Some(placed.is_kernel);
            }
            leaf.get_or_insert((address, if placed.is_kernel { CpuMode::KERNEL } else { CpuMode::USER }));
            // Callers have return addresses, after the call; values of context markers are avoided.
            let is_itself = is_first || self.profile.as_recorded;
            let word = if is_itself { address } else { address.saturating_add(1) };
            chain.push(word.min(Context::MAX.0 - 1));
        }
        Ok(leaf.unwrap_or((0, CpuMode::USER)))
    }

    /// The ID of a sample's cgroup. Writes a CGROUP record for a new one.
    fn cgroup(&mut self, sample: &SourceSample, stamp: Stamp) -> Result<Option<u64>> {
        let Some(path) = sample.cgroup else {
            return Ok(self.fields(sample.event).contains(SampleType::CGROUP).then_some(0));
        };
        let new = self.cgroups.len() as u64 + 1;
        let id = match self.cgroups.entry(path) {
            Entry::Occupied(occupied) => return Ok(Some(*occupied.get())),
            Entry::Vacant(vacant) => *vacant.insert(new),
        };
        let cgroup = Cgroup { id, path: PaddedStr::new(self.profile.names.get(path), 8) };
        self.recorder.record(Misc::empty(), &Body::Cgroup(cgroup), stamp)?;
        Ok(Some(id))
    }
}
