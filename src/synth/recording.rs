//! Builder of a recording in memory.

use super::event::Event;
use super::map::Map;
use super::metadata::Metadata;
use super::recorder::{Recorder, Stamp};
use perf_data::abi::record::comm::Comm;
use perf_data::abi::record::task::Task;
use perf_data::abi::record::{Body, CpuMode, Misc, RecordType};
use perf_data::abi::sample::Sample;
use perf_data::abi::text::PaddedStr;
use perf_data::container::read::ReadOptions;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::Form;
use std::io::Cursor;

/// Builds a recording in memory from events and records added in any order.
///
/// ```
/// use perfconv::abi::sample::{Callchain, Sample};
/// use perfconv::abi::sample_type::SampleType;
/// use perfconv::synth::{Event, Map, RecordingBuilder};
///
/// let mut recording = RecordingBuilder::new();
/// let cycles = recording.event(Event::named("cycles:u")?.period(1000).with(SampleType::CALLCHAIN));
/// recording.process(7, "app").map(7, Map::new("/usr/bin/app", 0x400000, 0x3000).build_id(&[7; 20]));
/// recording.thread(7, 8, "worker");
/// for (tid, time) in [(7, 5_000), (8, 4_000)] {
///     let callchain = Some(Callchain { ips: vec![0x401010, 0x402000] });
///     let task = Some((7, tid));
///     recording.sample(cycles, Sample { ip: Some(0x401010), task, time: Some(time), callchain, ..Sample::default() });
/// }
/// let bytes = recording.to_bytes()?;
/// assert!(bytes.starts_with(b"PERFILE2"));
/// # Ok::<(), perfconv::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RecordingBuilder {
    /// Metadata.
    pub metadata: Metadata,
    /// Whether records keep the order of the calls instead of being sorted by time.
    pub unsorted: bool,
    entries: Vec<RecordingItem>,
}

#[derive(Clone, Debug)]
enum RecordingItem {
    Record { misc: Misc, body: Box<Body>, stamp: Stamp, behind: Vec<u8> },
    Sample { event: usize, misc: Misc, sample: Box<Sample> },
    Unchecked(Vec<u8>),
}

impl RecordingItem {
    /// Whether it describes the initial state: a kernel record without a time.
    fn is_initial(&self) -> bool {
        match self {
            Self::Record { body, stamp, .. } => stamp.time == 0 && body.kind() < Some(RecordType::USER_START),
            Self::Sample { .. } | Self::Unchecked(_) => false,
        }
    }
}

impl RecordingBuilder {
    /// Lowest kernel address on 64-bit machines.
    const KERNEL: u64 = 1 << 63;

    /// An empty recording. It needs at least one event.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event; returns its index.
    pub fn event(&mut self, event: Event) -> usize {
        self.metadata.event(event)
    }

    /// Adds a process that exists at the beginning, with a main thread.
    pub fn process(&mut self, pid: u32, comm: &str) -> &mut Self {
        self.thread(pid, pid, comm)
    }

    /// Adds a thread that exists at the beginning.
    pub fn thread(&mut self, pid: u32, tid: u32, comm: &str) -> &mut Self {
        self.comm(Stamp::at(0, pid, tid), comm)
    }

    /// Adds a COMM: sets the name of a thread.
    pub fn comm(&mut self, stamp: Stamp, comm: &str) -> &mut Self {
        let (pid, tid) = stamp.task;
        let comm = Comm { pid, tid, comm: PaddedStr::new(comm.as_bytes(), 8) };
        self.record(Misc::empty(), Body::Comm(comm), stamp)
    }

    /// Adds a mapping that exists at the beginning.
    pub fn map(&mut self, pid: u32, map: Map) -> &mut Self {
        self.mmap(CpuMode::USER, Stamp::at(0, pid, pid), map)
    }

    /// Adds an MMAP2.
    pub fn mmap(&mut self, mode: CpuMode, stamp: Stamp, map: Map) -> &mut Self {
        let (pid, tid) = stamp.task;
        self.record(mode, Body::Mmap2(map.mmap2(pid, tid)), stamp)
    }

    /// Adds a FORK: a new process, or a new thread of the same process.
    pub fn fork(&mut self, stamp: Stamp, pid: u32, tid: u32) -> &mut Self {
        let (ppid, ptid) = stamp.task;
        self.record(Misc::empty(), Body::Fork(Task { pid, ppid, tid, ptid, time: stamp.time }), stamp)
    }

    /// Adds an EXIT of a thread.
    pub fn exit(&mut self, stamp: Stamp) -> &mut Self {
        let (pid, tid) = stamp.task;
        let task = Task { pid, ppid: pid, tid, ptid: tid, time: stamp.time };
        self.record(Misc::empty(), Body::Exit(task), stamp)
    }

    /// Adds a sample of an event. It is a kernel sample if its instruction pointer is in the upper half of the address space.
    /// Missing fields that follow from the event are filled in: IDs, period, CPU 0.
    pub fn sample(&mut self, event: usize, sample: Sample) -> &mut Self {
        let is_kernel = sample.ip.is_some_and(|ip| ip >= Self::KERNEL);
        self.sample_in(if is_kernel { CpuMode::KERNEL } else { CpuMode::USER }, event, sample)
    }

    /// Adds a sample of an event in a CPU mode.
    pub fn sample_in(&mut self, misc: impl Into<Misc>, event: usize, sample: Sample) -> &mut Self {
        self.entries.push(RecordingItem::Sample { event, misc: misc.into(), sample: Box::new(sample) });
        self
    }

    /// Adds any record.
    pub fn record(&mut self, misc: impl Into<Misc>, body: Body, stamp: Stamp) -> &mut Self {
        self.record_before(misc, body, stamp, Vec::new())
    }

    /// Adds any record with a payload that is not counted in its size.
    pub fn record_before(&mut self, misc: impl Into<Misc>, body: Body, stamp: Stamp, behind: Vec<u8>) -> &mut Self {
        self.entries.push(RecordingItem::Record { misc: misc.into(), body: Box::new(body), stamp, behind });
        self
    }

    /// Adds bytes unchanged. Bytes that are not a record need [`unsorted`](Self::unsorted).
    pub fn unchecked(&mut self, bytes: impl Into<Vec<u8>>) -> &mut Self {
        self.entries.push(RecordingItem::Unchecked(bytes.into()));
        self
    }

    /// Streams the recording. Records of the initial state come first.
    ///
    /// # Errors
    /// If a record does not match its event, or the sink fails.
    pub fn run(&self, options: &ReadOptions, sink: &mut dyn Sink) -> Result<(Meta, Ledger)> {
        let mut recorder = match self.unsorted {
            true => Recorder::new(&self.metadata, sink)?,
            false => Recorder::sorting(&self.metadata, sink, options.clone())?,
        };
        let (first, others): (Vec<_>, Vec<_>) =
            self.entries.iter().partition(|entry| !self.unsorted && entry.is_initial());
        for entry in first.into_iter().chain(others) {
            match entry {
                RecordingItem::Record { misc, body, stamp, behind } => {
                    recorder.record_before(*misc, body, *stamp, behind)?
                }
                RecordingItem::Sample { event, misc, sample } => recorder.sample(*event, *misc, &mut sample.clone())?,
                RecordingItem::Unchecked(bytes) => recorder.unchecked(bytes)?,
            }
        }
        recorder.finish()
    }

    /// Encodes the recording as a file. For other containers and forms pass their sinks to [`run`](Self::run).
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut file = ToFile::new(Cursor::new(Vec::new()), Form::default());
        self.run(&ReadOptions::default(), &mut file)?;
        Ok(file.into_inner().map(Cursor::into_inner).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::tracepoint::Tracepoint;
    use perf_data::abi::Endian;
    use perf_data::abi::feature::FeatureId;
    use perf_data::abi::record::Record;
    use perf_data::abi::record::auxtrace::Auxtrace;
    use perf_data::abi::sample::regs::{Regs, RegsAbi};
    use perf_data::abi::sample_type::SampleType;
    use perf_data::container::read::input::Input;
    use perf_data::stream::raw::Raw;
    use perf_data::stream::source::Source;

    /// The records of a file as decoded.
    #[derive(Default)]
    struct Read(Vec<(Record, Vec<u8>)>);

    impl Sink for Read {
        fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
            let record = Record::read(raw.bytes(), &meta.context(raw)).unwrap();
            self.0.push((record, raw.payload().to_vec()));
            Ok(())
        }
    }

    fn read(recording: &RecordingBuilder) -> (Meta, Vec<(Record, Vec<u8>)>, Ledger) {
        let mut read = Read::default();
        let input = Input::Bytes { name: "synth".into(), bytes: recording.to_bytes().unwrap().into() };
        let (meta, ledger) = Source::open(input, ReadOptions::default()).unwrap().run(&mut read).unwrap();
        (meta, read.0, ledger)
    }

    fn sample(time: u64, tid: u32) -> Sample {
        Sample { ip: Some(0x401000), task: Some((7, tid)), time: Some(time), cpu: Some((1, 0)), ..Sample::default() }
    }

    #[test]
    fn records_are_sorted_by_time() {
        for endian in [Endian::Little, Endian::Big] {
            let mut recording = RecordingBuilder::new();
            recording.metadata.endian = endian;
            let cycles = recording.event(Event::named("cycles:u").unwrap().period(3));
            let switch = Tracepoint::new("sched", "sched_switch").field("int next_pid", 4, true);
            let switch = Event::named("sched:sched_switch").unwrap().formatted(switch);
            let switch = recording.event(switch);
            recording.sample(cycles, sample(30, 7)).sample(cycles, sample(10, 8));
            let raw = Tracepoint::raw(1000, 7, &9_u32.to_ne_bytes(), endian);
            let raw = Some(perf_data::abi::sample::Raw { data: raw });
            recording.sample(switch, Sample { raw, ..sample(20, 8) });
            recording.process(7, "app").map(7, Map::new("/bin/app", 0x400000, 0x2000).build_id(&[5; 20]));
            recording.exit(Stamp::at(25, 7, 8).on(2));
            let (meta, records, ledger) = read(&recording);
            assert_eq!((meta.endian, ledger.messages().len()), (endian, 0));
            let kinds: Vec<_> = records.iter().map(|(record, _)| record.header.kind.to_string()).collect();
            assert_eq!(kinds, ["COMM", "MMAP2", "SAMPLE", "SAMPLE", "EXIT", "SAMPLE"]);
            let samples = records.iter().filter_map(|(record, _)| match &record.body {
                Body::Sample(sample) => Some((sample.time, sample.identifier, sample.period)),
                _ => None,
            });
            let samples: Vec<_> = samples.collect();
            assert_eq!(
                samples,
                [(Some(10), Some(2), Some(3)), (Some(20), Some(6), Some(1)), (Some(30), Some(2), Some(3))]
            );
            let trailer = records[4].0.id.unwrap();
            assert_eq!((trailer.time, trailer.cpu, trailer.identifier), (Some(25), Some((2, 0)), Some(3)));
            let names: Vec<_> = meta.events.list().iter().map(|event| event.name.clone().unwrap()).collect();
            assert_eq!(names, ["cycles:u", "sched:sched_switch"]);
            assert!(meta.features.contains_key(&FeatureId::TRACING_DATA));
            assert!(records[1].0.header.misc.contains(Misc::MMAP_BUILD_ID));
        }
    }

    #[test]
    fn rejects_samples_that_do_not_match_their_event() {
        let refused = |sample: Sample, event: Event| {
            let mut recording = RecordingBuilder::new();
            let event = recording.event(event);
            recording.sample(event, sample).to_bytes().unwrap_err().to_string()
        };
        let cycles = || Event::named("cycles").unwrap();
        let lacks = refused(Sample { ip: None, ..sample(1, 1) }, cycles());
        assert_eq!(lacks, "a sample of cycles lacks IP");
        let more = refused(Sample { addr: Some(1), ..sample(1, 1) }, cycles());
        assert_eq!(more, "a sample of cycles has ADDR, which its event does not sample");
        let regs = Some(Regs { abi: RegsAbi::ABI_64, regs: vec![1, 2, 3] });
        let mut event = cycles().with(SampleType::REGS_USER);
        event.attr.sample_regs_user = 0b11;
        assert!(refused(Sample { regs_user: regs, ..sample(1, 1) }, event).contains("registers"));
        let none = RecordingBuilder::new().to_bytes().unwrap_err().to_string();
        assert_eq!(none, "a recording needs at least one event");
        let mut same = RecordingBuilder::new();
        let other = Event { ids: vec![4, 5], ..cycles() };
        same.event(Event { ids: vec![5], ..cycles() });
        same.event(other);
        assert!(same.to_bytes().unwrap_err().to_string().contains("the same ID 5"));
        assert!(RecordingBuilder::new().sample(3, sample(1, 1)).to_bytes().is_err());
    }

    #[test]
    fn unchecked_bytes_are_written_unchanged() {
        let mut recording = RecordingBuilder::new();
        recording.event(Event::named("cycles").unwrap());
        let garbage = b"\xff\xff\xff\x00garbage that is no record!!!";
        recording.process(7, "app").unchecked(&garbage[..]);
        for pid in 8..16 {
            recording.process(pid, "app");
        }
        assert!(recording.to_bytes().is_err(), "bytes without a time are accepted");
        recording.unsorted = true;
        for bytes in [&garbage[..], b"xyz", b""] {
            let mut recording = recording.clone();
            recording.unchecked(bytes);
            let file = recording.to_bytes().unwrap();
            let offset = file.windows(garbage.len()).position(|window| window == garbage).unwrap();
            let end = offset + garbage.len() + 8 * (8 + 16 + 32);
            assert_eq!(&file[end..end + bytes.len()], bytes);
        }
        let (_, records, ledger) = read(&recording);
        assert_eq!((records.len(), ledger.messages().len()), (9, 1));
    }

    #[test]
    fn aux_data_follows_its_record() {
        let mut recording = RecordingBuilder::new();
        recording.event(Event::named("cycles").unwrap());
        let aux = Auxtrace { size: 16, offset: 0, reference: 0, idx: 0, tid: -1, cpu: 0, reserved: 0 };
        recording.process(7, "app").record_before(Misc::empty(), Body::Auxtrace(aux), Stamp::default(), vec![9; 16]);
        recording.exit(Stamp::at(5, 7, 7));
        let (meta, records, _) = read(&recording);
        assert_eq!((records[1].0.header.kind, &records[1].1[..]), (RecordType::AUXTRACE, &[9; 16][..]));
        assert!(meta.features.contains_key(&FeatureId::AUXTRACE));
    }
}
