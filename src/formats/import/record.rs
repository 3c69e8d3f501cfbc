//! The recording that a profile becomes.

use super::images::Symbols;
use super::imported::imported;
use super::labels::Fields;
use super::mapping_writer::Mapped;
use super::placement::Placed;
use super::source::{SourceEvent, SourceProfile, SourceSample};
use super::tasks::Tasks;
use super::values::{Values, samples, total};
use super::{ImportOptions, ImportedRecording, ROOM};
use crate::abi::attr::{AttrType, SoftwareEvent};
use crate::abi::attr_flags::AttrFlags;
use crate::abi::callchain::Context;
use crate::abi::feature::Feature;
use crate::abi::feature::FeatureId;
use crate::abi::feature::clock_data::ClockData;
use crate::abi::feature::string::{PerfStr, StrList};
use crate::abi::record::cgroup::Cgroup;
use crate::abi::record::comm::Comm;
use crate::abi::record::event_update::{EventUpdate, EventUpdateType, EventUpdateValue};
use crate::abi::record::{Body, CpuMode, Misc};
use crate::abi::sample::{Callchain, Raw, Sample};
use crate::abi::sample_type::SampleType;
use crate::abi::text::PaddedStr;
use crate::container::spool::Spool;
use crate::error::{Error, Result};
use crate::session::slices::Slices;
use crate::stream::Sink;
use crate::stream::write::file::ToFile;
use crate::stream::write::form::Form;
use crate::synth::{About, Event, Recorder, Stamp};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use std::io::BufWriter;
use std::sync::Arc;

/// The time of the first sample, where samples tell none.
const START: u64 = 1_000_000_000;

/// A CPU that is not told.
const NO_CPU: u32 = u32::MAX;

/// Makes a recording of a profile.
///
/// # Errors
/// Where it has no place in a recording, or is too large for one, or the system refuses.
pub fn record(name: &str, mut told: SourceProfile, options: &ImportOptions) -> Result<ImportedRecording> {
    let program = name.rsplit('/').next().unwrap_or(name).to_owned();
    let placed = Placed::new(&told, &program);
    let (mut lost, mut lost_in_recording) =
        (std::mem::take(&mut told.lost), std::mem::take(&mut told.lost_in_recording));
    let labels = Fields::new(&told, &mut lost);
    let total = total(&told, &labels, options).map_err(|what| Error::input(name, None, what))?;
    let about = about(&told, &labels)?;
    let spool =
        Spool::new(options.read.spool_dir.as_deref()).map_err(Error::io(name, "cannot keep in a temporary file"))?;
    let mut file = ToFile::new(BufWriter::with_capacity(1 << 17, spool), Form::default());
    let recorder = Recorder::new(&about, &mut file)?;
    let mut recording = Recording {
        recorder,
        tasks: Tasks::new(&told, &program),
        names: HashMap::new(),
        mapped: Mapped::new(&placed),
        cgroups: HashMap::new(),
        cut: 0,
        told: &told,
        placed: &placed,
        labels: &labels,
    };
    recording.units(&about)?;
    recording.samples(total, options.values)?;
    let (cut, unmapped) = (recording.cut, recording.unmapped());
    recording.recorder.finish()?;
    if cut > 0 {
        lost.push(format!("{cut} stacks are cut to the frames that a sample has room for"));
    }
    if placed.moved > 0 {
        let what = "frames have made-up addresses: theirs are in no mapping, or of another function too";
        lost_in_recording.push(format!("{} {what}", placed.moved));
    }
    if unmapped > 0 {
        lost_in_recording.push(format!("{unmapped} mappings have no samples"));
    }
    let imported = imported(&mut told, &placed, &labels, &about, options.values);
    let spool = file.into_inner().map(BufWriter::into_inner).transpose().map_err(|e| Error::Output(e.into_error()))?;
    let Some(spool) = spool else { return Err(Error::input(name, None, "it has no samples")) };
    let mut remade = ImportedRecording::from_file(name, spool, Vec::new())?;
    remade.imported = Some(Arc::new(imported));
    remade.missing = lost;
    remade.missing_in_recording = lost_in_recording;
    remade.symbols = Symbols::new(placed);
    Ok(remade)
}

/// What the recording tells of itself.
fn about(told: &SourceProfile, labels: &Fields) -> Result<About> {
    let mut about = About::default();
    about.machine = None;
    let mut tells = vec![SampleType::IDENTIFIER | SampleType::CALLCHAIN; told.events.len()];
    for sample in &told.samples {
        let fields = &mut tells[sample.event as usize];
        fields.set(SampleType::CGROUP, fields.contains(SampleType::CGROUP) || sample.cgroup.is_some());
        fields.set(SampleType::CPU, fields.contains(SampleType::CPU) || sample.cpu.is_some());
    }
    // perf prints times where there are some.
    let has_times = !told.as_recorded || told.samples.iter().any(|sample| sample.time.is_some());
    let mut are_tracepoints = true;
    for (number, event) in told.events.iter().enumerate() {
        let mut made = made(event, number)?.without(SampleType::CPU).with(tells[number]);
        if !has_times {
            made = made.without(SampleType::TIME);
        }
        if event.has_no_chain {
            made = made.without(SampleType::CALLCHAIN);
        }
        if event.has_no_period {
            made = made.without(SampleType::PERIOD).period(1);
        }
        if let Some(tracepoint) = labels.tracepoint(number as u32) {
            made.attr.kind = AttrType::TRACEPOINT;
            made.attr.config = Fields::id(number as u32);
            made = made.with(SampleType::RAW).formatted(tracepoint.clone());
        } else {
            are_tracepoints = false;
        }
        if told.wall_clock_start.is_some() {
            made.attr.flags |= AttrFlags::USE_CLOCKID;
            // CLOCK_MONOTONIC
            made.attr.clockid = 1;
        }
        about.event(made);
    }
    if are_tracepoints && !told.events.is_empty() {
        // Where there are tracepoints alone, perf report shows their fields in the place of functions.
        about.event(Event::named("dummy")?);
    }
    let text = |text: &str| PerfStr::new(text.as_bytes());
    if let Some(version) = &told.perf_version {
        about.set(FeatureId::VERSION, Feature::Version(text(version)));
    }
    if let Some(command) = &told.command {
        let words = shlex::split(command).unwrap_or_else(|| vec![command.clone()]);
        let strings = words.iter().map(|word| text(word)).collect();
        about.set(FeatureId::CMDLINE, Feature::Cmdline(StrList { strings }));
    }
    if let Some(wall_clock_ns) = told.wall_clock_start {
        let first = told.samples.iter().filter_map(|sample| sample.time).min();
        let clock = ClockData { version: 1, clockid: 1, wall_clock_ns, clockid_ns: first.unwrap_or(START) };
        about.set(FeatureId::CLOCK_DATA, Feature::ClockData(clock));
    }
    Ok(about)
}

/// An event as perf would open one of that name; where perf has none, one that has nothing but its name.
fn made(event: &SourceEvent, number: usize) -> Result<Event> {
    let name = match (&event.name[..], &event.unit[..]) {
        ("cpu", "nanoseconds") => "cpu-clock",
        (name, _) => name,
    };
    let stem = name.rsplit_once('#').map_or(name, |(stem, _)| stem);
    let is_plain = |event: &Event| event.attr.kind != AttrType::TRACEPOINT;
    let mut made = Event::named(stem).ok().filter(is_plain).map_or_else(
        || {
            let mut made = Event::named("dummy")?;
            made.attr.kind = AttrType::RAW;
            made.attr.config = number as u64;
            Ok::<_, Error>(made)
        },
        Ok,
    )?;
    let is_dummy = made.attr.is_software(SoftwareEvent::DUMMY);
    if is_dummy {
        (made.attr.kind, made.attr.config) = (AttrType::RAW, number as u64);
    }
    made.name = stem.replace('\0', "");
    made = made.period(event.period);
    Ok(made)
}

/// A recording that is being made.
struct Recording<'a, S> {
    recorder: Recorder<S>,
    told: &'a SourceProfile,
    placed: &'a Placed,
    labels: &'a Fields,
    tasks: Tasks,
    /// Names of threads.
    names: HashMap<u32, u32>,
    mapped: Mapped<'a>,
    /// Numbers of cgroups.
    cgroups: HashMap<u32, u64>,
    /// Stacks that were cut.
    cut: u64,
}

impl<S: Sink> Recording<'_, S> {
    /// Tells in what events are counted.
    fn units(&mut self, about: &About) -> Result<()> {
        for (event, made) in self.told.events.iter().zip(about.events()) {
            let unit = match &event.unit[..] {
                "nanoseconds" => "ns",
                "count" | "" => continue,
                other => other,
            };
            let value = EventUpdateValue::Unit(PaddedStr::new(unit.as_bytes(), 8));
            let id = made.ids.first().copied().unwrap_or_default();
            let update = EventUpdate { kind: EventUpdateType::UNIT, id, value: Some(value) };
            self.recorder.record(Misc::empty(), &Body::EventUpdate(update), Stamp::default())?;
        }
        Ok(())
    }

    /// The mappings that no sample is in.
    fn unmapped(&self) -> usize {
        let mut is_used = vec![false; self.told.mappings.len()];
        for map in self.placed.frames.iter().filter_map(|frame| frame.map) {
            if let Some(used) = is_used.get_mut(map as usize) {
                *used = true;
            }
        }
        is_used.iter().filter(|used| !**used).count()
    }

    /// The order of the samples, and their times where they tell them.
    fn order(&self) -> (Vec<usize>, Vec<Option<u64>>) {
        let samples = &self.told.samples;
        // One that tells no time is as late as the one before it; those before all that do, as the first of these.
        let mut latest = samples.iter().find_map(|sample| sample.time);
        let times: Vec<_> = samples
            .iter()
            .map(|sample| {
                latest = sample.time.or(latest);
                latest
            })
            .collect();
        let mut order: Vec<_> = (0..samples.len()).collect();
        if latest.is_some() {
            order.sort_by_key(|&sample| times[sample]);
            return (order, times);
        }
        // What was mapped at the same time stands together.
        let mut sets = Slices::default();
        let mut by_stack = HashMap::new();
        let mut set_of = |stack: u32| {
            *by_stack.entry(stack).or_insert_with(|| {
                let frames = self.told.stacks.get(stack).iter();
                let maps = frames.filter_map(|&frame| self.placed.frames[frame as usize].map);
                let mut maps: Vec<u32> = maps.filter(|&map| self.mapped.overlaps(map)).collect();
                maps.sort_unstable();
                maps.dedup();
                sets.id(&maps)
            })
        };
        order.sort_by_cached_key(|&sample| {
            let (pid, _) = self.tasks.of(&samples[sample]);
            (pid, samples[sample].comm, set_of(samples[sample].stack), samples[sample].thread_comm)
        });
        (order, times)
    }

    fn samples(&mut self, total: u64, values: Values) -> Result<()> {
        let (order, times) = self.order();
        let (duration, last) = (u128::from(self.told.duration), u128::from(total.saturating_sub(1).max(1)));
        let step = |number: u64| START + u64::try_from(duration * u128::from(number) / last).unwrap_or(0);
        let mut number = 0;
        let (mut chain, mut raw) = (Vec::new(), Vec::new());
        for index in order {
            let sample = &self.told.samples[index];
            let count = samples(self.told, sample, values);
            if count == 0 {
                continue;
            }
            let (pid, tid) = self.tasks.of(sample);
            let time = |number| times[index].unwrap_or_else(|| step(number));
            let cpu = sample.cpu.unwrap_or(NO_CPU);
            let stamp = Stamp { event: 0, task: (pid, tid), time: time(number), cpu };
            self.name(sample, stamp)?;
            self.labels.raw(self.told, sample, pid, &mut raw);
            let room = (ROOM - raw.len()) / size_of::<u64>();
            let (ip, mode) = self.stack(sample.stack, stamp, room, &mut chain)?;
            let cgroup = self.cgroup(sample, stamp)?;
            let event = &self.told.events[sample.event as usize];
            let fields = self.fields(sample.event);
            let mut made = Sample {
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
                made.time = fields.contains(SampleType::TIME).then(|| time(number));
                made.period = has_period.then_some(each + u64::from(part < more));
                self.recorder.sample(sample.event as usize, mode, &mut made)?;
                number += 1;
            }
            chain = made.callchain.map(|chain| chain.ips).unwrap_or_default();
        }
        Ok(())
    }

    /// The fields that samples of an event have.
    fn fields(&self, event: u32) -> SampleType {
        let events = self.recorder.meta().events.list();
        events.get(event as usize).map_or(SampleType::empty(), |event| event.attr.sample_type)
    }

    /// Names process and thread, where they have not that name.
    fn name(&mut self, sample: &SourceSample, stamp: Stamp) -> Result<()> {
        let (pid, tid) = stamp.task;
        let of_process = sample.comm.or(sample.thread_comm.filter(|_| pid == tid));
        let of_thread = sample.thread_comm.or(sample.comm).filter(|_| pid != tid);
        for (thread, name) in [(pid, of_process), (tid, of_thread)] {
            let Some(name) = name else { continue };
            if self.names.insert(thread, name) != Some(name) {
                self.comm(pid, thread, self.told.names.get(name).to_vec(), stamp)?;
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

    /// Puts a stack into a call chain, and has mapped what it needs. Says the instruction pointer and its mode.
    fn stack(&mut self, stack: u32, stamp: Stamp, room: usize, chain: &mut Vec<u64>) -> Result<(u64, CpuMode)> {
        chain.clear();
        let frames = self.told.stacks.get(stack);
        self.mapped.map_overlapping(&frames[..frames.len().min(room)], stamp, &mut self.recorder)?;
        let mut latest = None;
        let mut leaf = None;
        for &frame in frames {
            // With a mark.
            if chain.len() + 2 > room {
                self.cut += 1;
                break;
            }
            let placed = self.placed.frames[frame as usize];
            let address = self.mapped.address(placed, stamp, &mut self.recorder)?;
            let is_first = latest != Some(placed.is_kernel);
            if is_first {
                chain.push(if placed.is_kernel { Context::KERNEL.0 } else { Context::USER.0 });
                latest = Some(placed.is_kernel);
            }
            leaf.get_or_insert((address, if placed.is_kernel { CpuMode::KERNEL } else { CpuMode::USER }));
            // A return address stands for the call before it; what would be a mark is no address.
            let is_itself = is_first || self.told.as_recorded;
            let word = if is_itself { address } else { address.saturating_add(1) };
            chain.push(word.min(Context::MAX.0 - 1));
        }
        Ok(leaf.unwrap_or((0, CpuMode::USER)))
    }

    /// The number of a sample's cgroup, and its path, where it is new.
    fn cgroup(&mut self, sample: &SourceSample, stamp: Stamp) -> Result<Option<u64>> {
        let Some(path) = sample.cgroup else {
            return Ok(self.fields(sample.event).contains(SampleType::CGROUP).then_some(0));
        };
        let new = self.cgroups.len() as u64 + 1;
        let id = match self.cgroups.entry(path) {
            Entry::Occupied(known) => return Ok(Some(*known.get())),
            Entry::Vacant(vacant) => *vacant.insert(new),
        };
        let cgroup = Cgroup { id, path: PaddedStr::new(self.told.names.get(path), 8) };
        self.recorder.record(Misc::empty(), &Body::Cgroup(cgroup), stamp)?;
        Ok(Some(id))
    }
}
