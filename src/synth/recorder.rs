//! Encodes records one by one, validates them, and passes them on in blocks.

use super::event::Event;
use super::flow::{self, Flow};
use super::metadata::Metadata;
use super::template::Template;
use binrw::{BinResult, BinWrite};
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::record::mmap2::MappedFile;
use perf_data::abi::record::{Body, Misc, RecordHeader, RecordType};
use perf_data::abi::sample::Sample;
use perf_data::abi::sample::id::SampleId;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::block::{Block, Origin};
use perf_data::container::read::ReadOptions;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::counts::Counts;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::io::{Cursor, Write};
use std::mem;

/// Bytes of records passed on at once.
const BATCH: usize = 1 << 18;

/// Event, task, time and CPU of a non-sample record: the contents of its trailer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Index of the event that owns the record, 0 for nearly all.
    pub event: usize,
    /// Process and thread ID.
    pub task: (u32, u32),
    /// Time in nanoseconds on the clock of the recording; 0 in records about the initial state.
    pub time: u64,
    /// CPU number.
    pub cpu: u32,
}

impl Stamp {
    /// A stamp of a thread at a time, on CPU 0.
    pub fn at(time: u64, pid: u32, tid: u32) -> Self {
        Self { task: (pid, tid), time, ..Self::default() }
    }

    /// Sets the CPU.
    #[must_use]
    pub fn on(self, cpu: u32) -> Self {
        Self { cpu, ..self }
    }
}

/// Encodes records and passes them to a sink. It uses a few hundred kilobytes regardless of the size of the recording; when
/// sorting, waiting records beyond the limits are spilled to temporary files.
///
/// It derives from the events: IDs in samples and trailers, the trailers, sizes, padding and rounds.
///
/// ```
/// use perfconv::abi::record::{Body, CpuMode, Misc, comm::Comm};
/// use perfconv::abi::sample::Sample;
/// use perfconv::abi::text::PaddedStr;
/// use perf_data::stream::write::{file::ToFile, form::Form};
/// use perfconv::synth::{Metadata, Event, Recorder, Stamp};
///
/// let mut metadata = Metadata::default();
/// let cycles = metadata.event(Event::named("cycles:u")?.period(1000));
/// let mut file = ToFile::new(std::io::Cursor::new(Vec::new()), Form::default());
/// let mut recorder = Recorder::new(&metadata, &mut file)?;
/// let comm = Comm { pid: 7, tid: 7, comm: PaddedStr::new(b"app", 8) };
/// recorder.record(Misc::COMM_EXEC, &Body::Comm(comm), Stamp::at(1_000, 7, 7))?;
/// for time in [2_000, 3_000] {
///     let mut sample = Sample { ip: Some(0x401000), task: Some((7, 7)), time: Some(time), ..Sample::default() };
///     recorder.sample(cycles, CpuMode::USER, &mut sample)?;
/// }
/// let (_, ledger) = recorder.finish()?;
/// assert_eq!(ledger.counts(perfconv::abi::record::RecordType::SAMPLE).added, 2);
/// assert!(file.into_inner().unwrap().into_inner().starts_with(b"PERFILE2"));
/// # Ok::<(), perfconv::Error>(())
/// ```
pub struct Recorder<S> {
    meta: Meta,
    events: Vec<KnownEvent>,
    flow: Flow<S>,
    is_sorted: bool,
    batch: Cursor<Vec<u8>>,
    /// Header, offset and payload size of each record in the batch.
    records: Vec<(RecordHeader, usize, usize)>,
    counts: Counts,
    serial: u64,
    written: u64,
}

/// Properties of an event needed for each record.
struct KnownEvent {
    name: String,
    layout: SampleLayout,
    /// Fields of samples, with WEIGHT_STRUCT counted as WEIGHT.
    fields: SampleType,
    has_trailer: bool,
    ids: Vec<u64>,
    /// Period of its samples; `None` if it has a frequency.
    period: Option<u64>,
}

impl KnownEvent {
    fn new(event: &Event) -> Self {
        let mut fields = event.attr.sample_type;
        if fields.contains(SampleType::WEIGHT_STRUCT) {
            fields = fields.difference(SampleType::WEIGHT_STRUCT) | SampleType::WEIGHT;
        }
        Self {
            name: event.name.clone(),
            layout: SampleLayout::from(&event.attr),
            fields,
            has_trailer: event.attr.flags.contains(AttrFlags::SAMPLE_ID_ALL),
            ids: event.ids.clone(),
            period: (!event.attr.flags.contains(AttrFlags::FREQ)).then_some(event.attr.sample_period),
        }
    }

    /// ID of its instance on a CPU.
    fn id(&self, cpu: u32) -> u64 {
        let index = (cpu as usize).checked_rem(self.ids.len());
        index.and_then(|index| self.ids.get(index)).copied().unwrap_or_default()
    }

    fn trailer(&self, stamp: &Stamp) -> SampleId {
        let has = |field| self.layout.sample_type().contains(field);
        let id = self.id(stamp.cpu);
        SampleId {
            task: has(SampleType::TID).then_some(stamp.task),
            time: has(SampleType::TIME).then_some(stamp.time),
            id: has(SampleType::ID).then_some(id),
            stream_id: has(SampleType::STREAM_ID).then_some(id),
            cpu: has(SampleType::CPU).then_some((stamp.cpu, 0)),
            identifier: has(SampleType::IDENTIFIER).then_some(id),
        }
    }

    /// Fills in missing sample fields that follow from the event.
    fn complete(&self, sample: &mut Sample) {
        let has = |field| self.fields.contains(field);
        if has(SampleType::CPU) {
            sample.cpu.get_or_insert((0, 0));
        }
        let id = self.id(sample.cpu.map_or(0, |(cpu, _)| cpu));
        for (field, value) in [
            (SampleType::IDENTIFIER, &mut sample.identifier),
            (SampleType::ID, &mut sample.id),
            (SampleType::STREAM_ID, &mut sample.stream_id),
        ] {
            if has(field) {
                value.get_or_insert(id);
            }
        }
        if has(SampleType::PERIOD) && sample.period.is_none() {
            sample.period = self.period;
        }
    }
}

impl<S: Sink> Recorder<S> {
    /// Begins a recording whose records are added in time order.
    ///
    /// # Errors
    /// If the metadata are inconsistent or the sink fails.
    pub fn new(metadata: &Metadata, sink: S) -> Result<Self> {
        Self::with(metadata, flow::unsorted(sink, metadata.rounds), false)
    }

    /// Begins a recording whose records are added in any order.
    ///
    /// # Errors
    /// If the metadata are inconsistent or the sink fails.
    pub fn sorting(metadata: &Metadata, sink: S, options: ReadOptions) -> Result<Self> {
        Self::with(metadata, flow::sorted(sink, metadata.rounds, options), true)
    }

    fn with(metadata: &Metadata, mut flow: Flow<S>, is_sorted: bool) -> Result<Self> {
        let meta = metadata.meta()?;
        let events = metadata.events().iter().map(KnownEvent::new).collect();
        flow.begin(&meta)?;
        Ok(Self {
            meta,
            events,
            flow,
            is_sorted,
            batch: Cursor::new(Vec::with_capacity(BATCH)),
            records: Vec::new(),
            counts: Counts::default(),
            serial: 0,
            written: 0,
        })
    }

    /// Metadata of the recording.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Bytes of records added so far.
    pub fn written(&self) -> u64 {
        self.written + self.batch.get_ref().len() as u64
    }

    /// Adds a non-sample record. It is padded, and gets a trailer if it is a kernel record. Sets the
    /// [`Misc`] bit of an MMAP2 with a build ID.
    ///
    /// # Errors
    /// If the record is too large or opaque, its event does not exist, or the sink fails.
    pub fn record(&mut self, misc: impl Into<Misc>, body: &Body, stamp: Stamp) -> Result<()> {
        self.record_before(misc, body, stamp, &[])
    }

    /// Adds a non-sample record with a payload that is not counted in its size, such as the AUX data of an AUXTRACE.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub fn record_before(&mut self, misc: impl Into<Misc>, body: &Body, stamp: Stamp, payload: &[u8]) -> Result<()> {
        let Some(kind) = body.kind() else {
            return Err(refused("a record of opaque bytes has no type; add it unchecked"));
        };
        let mut misc = misc.into();
        if let Body::Mmap2(mmap) = body {
            misc.set(Misc::MMAP_BUILD_ID, matches!(mmap.file, MappedFile::BuildId { .. }));
        }
        if let Body::Sample(sample) = body {
            return self.sample(stamp.event, misc, &mut sample.clone());
        }
        let event = self.events.get(stamp.event).ok_or_else(|| no_event(stamp.event))?;
        let trailer = (kind.has_sample_id() && event.has_trailer).then(|| event.trailer(&stamp));
        let endian = self.meta.endian;
        let at = self.begin();
        let written = body.write(&mut self.batch, endian).and_then(|()| {
            let len = self.batch.get_ref().len() - at;
            self.batch.write_all(&[0; 8][..len.next_multiple_of(8) - len])?;
            trailer.write_options(&mut self.batch, endian, ())
        });
        let header = self.end(at, kind, misc, written)?;
        self.batch.get_mut().extend_from_slice(payload);
        self.push(header, at, payload.len())
    }

    /// Adds a sample of the event with this index. Missing fields that follow from the event are filled in: IDs, period, CPU 0.
    ///
    /// # Errors
    /// If the fields of the sample do not match its event, it is too large, or the sink fails.
    pub fn sample(&mut self, event: usize, misc: impl Into<Misc>, sample: &mut Sample) -> Result<()> {
        let (at, header) = self.write_sample(event, misc.into(), sample)?;
        self.push(header, at, 0)
    }

    /// Prepares a template for samples of an event that differ only in address and time. It adds no sample; use
    /// [`record_template`](Self::record_template). `put` stores an address and a time in all fields of a sample that contain
    /// them.
    ///
    /// # Errors
    /// As [`sample`](Self::sample).
    pub fn template(
        &mut self,
        event: usize,
        misc: impl Into<Misc>,
        sample: &mut Sample,
        mut put: impl FnMut(&mut Sample, u64, u64),
    ) -> Result<Template> {
        let misc = misc.into();
        let mut write = |[ip, time]: [u64; 2]| {
            put(sample, ip, time);
            let (at, header) = self.write_sample(event, misc, sample)?;
            Ok((header, self.batch.get_mut().split_off(at)))
        };
        let (header, first) = write(Template::VALUES[0])?;
        let (_, second) = write(Template::VALUES[1])?;
        Ok(Template::new(header, first, &second, self.meta.endian))
    }

    /// Adds a sample from a template with an address and a time.
    ///
    /// # Errors
    /// If the sink fails.
    pub fn record_template(&mut self, template: &Template, ip: u64, time: u64) -> Result<()> {
        let at = self.batch.get_ref().len();
        template.write(ip, time, self.meta.endian, self.batch.get_mut());
        self.push(template.header, at, 0)
    }

    /// Appends a sample to the batch; returns its offset.
    fn write_sample(&mut self, event: usize, misc: Misc, sample: &mut Sample) -> Result<(usize, RecordHeader)> {
        let properties = self.events.get(event).ok_or_else(|| no_event(event))?;
        properties.complete(sample);
        let (actual, expected) = (sample.fields(), properties.fields);
        if actual != expected {
            return Err(wrong_fields(&properties.name, actual, expected));
        }
        let (layout, endian) = (properties.layout, self.meta.endian);
        let at = self.begin();
        let written = sample.write_options(&mut self.batch, endian, ());
        let body = &self.batch.get_ref()[at + RecordHeader::SIZE..];
        // Registers, branches and counter values also depend on the attr.
        let is_sound = SampleView::read(body, &layout, endian).is_ok_and(|view| view.tail.is_empty());
        if written.is_ok() && !(is_sound && body.len().is_multiple_of(8)) {
            self.batch.get_mut().truncate(at);
            let name = &self.events[event].name;
            let problem = "a number of registers, branches, counter values or raw bytes that does not match its attr, \
                        or a size that is not a multiple of 8";
            return Err(refused(format!("a sample of {name} has {problem}")));
        }
        Ok((at, self.end(at, RecordType::SAMPLE, misc, written)?))
    }

    /// Adds bytes unchanged: invalid records, or arbitrary bytes.
    ///
    /// # Errors
    /// If the recorder sorts and the bytes are not a record, or the sink fails.
    pub fn unchecked(&mut self, bytes: &[u8]) -> Result<()> {
        let sound = RecordHeader::peek(bytes, self.meta.endian).filter(|header| header.len() == bytes.len());
        if self.is_sorted && sound.is_none() {
            let problem = "bytes that are not a record cannot be sorted by time";
            return Err(refused(format!("{problem}; use an unsorted recording")));
        }
        // Other bytes are passed on as one record of an unknown type.
        let nameless = RecordHeader { kind: RecordType(u32::from(u16::MAX >> 1)), misc: Misc::empty(), size: 0 };
        let header = sound.unwrap_or(RecordHeader { size: bytes.len().min(RecordHeader::SIZE) as u16, ..nameless });
        let at = self.batch.get_ref().len();
        self.batch.get_mut().extend_from_slice(bytes);
        self.push(header, at, bytes.len() - header.len())
    }

    /// Ends the recording; returns its metadata and ledger.
    ///
    /// # Errors
    /// If the sink fails.
    pub fn finish(mut self) -> Result<(Meta, Ledger)> {
        self.flush()?;
        self.flow.end(&self.meta)?;
        let mut ledger = Ledger::default();
        self.counts.iter().for_each(|(kind, count)| ledger.added(kind, count));
        let marks = flow::marks(&self.flow);
        if marks > 0 {
            ledger.added(RecordType::FINISHED_ROUND, marks);
        }
        Ok((self.meta, ledger))
    }

    /// Begins a record at the end of the batch, with space for its header.
    fn begin(&mut self) -> usize {
        let at = self.batch.get_ref().len();
        self.batch.get_mut().extend_from_slice(&[0; RecordHeader::SIZE]);
        self.batch.set_position((at + RecordHeader::SIZE) as u64);
        at
    }

    /// Completes the record that begins at `at`.
    fn end(&mut self, at: usize, kind: RecordType, misc: Misc, written: BinResult<()>) -> Result<RecordHeader> {
        let len = self.batch.get_ref().len() - at;
        let header = RecordHeader { kind, misc, size: 0 }.with_len(len).filter(|_| written.is_ok());
        let Some(header) = header else {
            self.batch.get_mut().truncate(at);
            let why =
                written.err().map_or_else(|| format!("it has {len} bytes, the maximum is 65535"), |e| e.to_string());
            return Err(refused(format!("cannot encode {kind} record: {why}")));
        };
        self.batch.set_position(at as u64);
        let header_written = header.write_options(&mut self.batch, self.meta.endian, ());
        header_written.map_err(|e| refused(e.to_string()))?;
        Ok(header)
    }

    fn push(&mut self, header: RecordHeader, at: usize, payload: usize) -> Result<()> {
        self.counts.add(header.kind);
        self.records.push((header, at, payload));
        if self.batch.get_ref().len() < BATCH { Ok(()) } else { self.flush() }
    }

    /// Passes on the batch.
    fn flush(&mut self) -> Result<()> {
        let bytes = mem::replace(&mut self.batch, Cursor::new(Vec::with_capacity(BATCH))).into_inner();
        let base = self.written;
        self.written += bytes.len() as u64;
        self.serial += 1;
        let block =
            Block { bytes: bytes.into(), source: 0, base, origin: Origin::File, in_memory: true, serial: self.serial };
        for (header, at, payload) in self.records.drain(..) {
            if let Some(raw) = Raw::new(header, self.meta.endian, &block, at, payload) {
                self.flow.record(&self.meta, &raw)?;
            }
        }
        Ok(())
    }
}

fn refused(problem: impl Into<String>) -> Error {
    Error::invalid(problem.into())
}

fn no_event(number: usize) -> Error {
    refused(format!("there is no event {number}"))
}

fn wrong_fields(name: &str, actual: SampleType, expected: SampleType) -> Error {
    let names = |fields: SampleType| fields.iter_names().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
    let (lacks, too_many) = (expected.difference(actual), actual.difference(expected));
    let mut problems = Vec::new();
    if !lacks.is_empty() {
        problems.push(format!("lacks {}", names(lacks)));
    }
    if !too_many.is_empty() {
        problems.push(format!("has {}, which its event does not sample", names(too_many)));
    }
    refused(format!("a sample of {name} {}", problems.join(" and ")))
}
