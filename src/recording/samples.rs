//! Samples in time order, with resolved stacks.

use super::pull::{Batches, End, Pull};
use crate::abi::record::RecordType;
use crate::abi::sample_type::BranchSampleType;
use crate::container::read::ReadOptions;
use crate::container::read::input::Input;
use crate::error::Result;
use crate::profile::deferred::{MAX_FRAMES, UserFrames, Waiting};
use crate::profile::dispatch::{DecodedSample, SampleConsumer, count_lost, dispatch};
use crate::profile::event::{ProfileEvent, period};
use crate::profile::frames::SampledStack;
use crate::profile::mappings::BuildIds;
use crate::profile::omissions::IncompleteStacks;
use crate::profile::resolver::{Resolver, Viewer};
use crate::profile::stacks::FrameId;
use crate::profile::symbolize::{SymbolSources, Symbolization};
use crate::profile::symbols::Line;
use crate::profile::unwinding::Unwinding;
use crate::profile::{Frame, Place};
use crate::session::map::Map;
use crate::session::names::NameId;
use crate::session::space::Space;
use crate::session::{Applied, JitDumps, Session};
use crate::stream::Sink;
use crate::stream::events::EventIndex;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use crate::stream::source::Source;
use crate::stream::stage::Before;
use hashbrown::HashMap;
use std::fmt;
use std::sync::Arc;

/// Maximum number of samples in a batch.
const BATCH: usize = 1024;

/// Number of frames at which a batch is full.
const FRAMES_PER_BATCH: usize = 1 << 16;

/// The samples of a recording in time order, each with its stack.
///
/// Memory grows with the unique frames, mappings and thread names, not with the number of samples. A sample with a deferred user
/// call chain (`perf record --call-graph fp,defer`) is returned when that arrives.
pub struct Samples {
    pull: Pull<Batch>,
    batch: Batch,
    next: usize,
    symbolization: Option<Symbolization>,
    tables: Tables,
}

/// Tables that samples refer to by index.
#[derive(Default)]
struct Tables {
    events: Vec<ProfileEvent>,
    mappings: Vec<Mapping>,
    maps: Vec<Map>,
    names: HashMap<NameId, Arc<str>>,
    frames: Vec<Frame>,
    /// The functions of the frames, innermost first.
    lines: Vec<Box<[TableLine]>>,
    threads: Vec<String>,
}

/// A position in a function.
struct TableLine {
    function: Arc<str>,
    file: Arc<str>,
    line: u32,
    column: u32,
}

/// A function that contains the address of a frame, and the position in its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionLine<'a> {
    /// Demangled name.
    pub name: &'a str,
    /// Path of the source file; empty if unknown.
    pub file: &'a str,
    /// Line of the address, or of the call of the inlined function before it; 0 if unknown.
    pub line: u32,
    /// Column in the line; 0 if unknown.
    pub column: u32,
    /// Whether the function is inlined into the next one.
    pub is_inlined: bool,
}

/// A sample of a recording.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    fields: &'a Fields,
    stack: &'a [FrameId],
    tables: &'a Tables,
}

/// A frame of a stack.
#[derive(Clone, Copy)]
pub struct StackFrame<'a> {
    frame: Frame,
    lines: &'a [TableLine],
    mapping: Option<&'a Mapping>,
}

/// A file or named memory that was mapped into an address space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    path: String,
    map: Map,
}

impl Samples {
    pub(super) fn new(input: Input, read: ReadOptions, sources: SymbolSources) -> Result<Self> {
        let source = Source::open(input, read.clone())?;
        let meta = source.meta().clone();
        let unwound = sources.clone();
        let pull = Pull::new(move |batches| {
            let mut ordered = Unwinding::in_time_order(&unwound, Sender::new(batches), read);
            let (meta, mut ledger) = source.run(&mut ordered)?;
            ledger.account_for_stream();
            let Before { stage, sink } = ordered.into_inner();
            ledger.merge(sink.ledger);
            stage.note(&mut ledger);
            Ok((meta, ledger))
        })?;
        let symbolization = sources.is_any().then(|| Symbolization::new(&sources, &meta));
        Ok(Self { pull, batch: Batch::default(), next: 0, symbolization, tables: Tables::default() })
    }

    /// The next sample; `None` at the end.
    ///
    /// # Errors
    /// If the recording cannot be read any further. Corrupt samples are skipped and [reported](Self::ledger).
    #[expect(clippy::should_implement_trait, reason = "a sample borrows the batch that it is in")]
    pub fn next(&mut self) -> Result<Option<Sample<'_>>> {
        while self.next == self.batch.samples.len() {
            let Some(batch) = self.pull.next()? else { return Ok(None) };
            self.next = 0;
            self.batch = batch;
            self.tables.extend(&mut self.batch.new, self.symbolization.as_mut());
        }
        let fields = &self.batch.samples[self.next];
        self.next += 1;
        let (start, len) = fields.stack;
        let stack = &self.batch.stacks[start as usize..][..len as usize];
        Ok(Some(Sample { fields, stack, tables: &self.tables }))
    }

    /// Counts of records read, lost and dropped; available at the end.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.pull.end().map(|(_, ledger): &End| ledger)
    }
}

impl Tables {
    /// Appends the new entries of a batch.
    fn extend(&mut self, new: &mut NewEntries, symbolization: Option<&mut Symbolization>) {
        self.events.append(&mut new.events);
        self.threads.append(&mut new.threads);
        let known = self.mappings.len();
        let mapping = |map: Map| Mapping { path: String::from_utf8_lossy(&map.filename).into_owned(), map };
        self.mappings.extend(new.mappings.drain(..).map(mapping));
        self.maps.extend(self.mappings[known..].iter().map(|mapping| mapping.map.clone()));
        self.frames.append(&mut new.frames);
        if let Some(symbolization) = symbolization {
            symbolization.look_up(&self.frames, &self.maps, &new.jit_dumps);
            let symbols = symbolization.symbols();
            let mut text = |name| {
                let text = || String::from_utf8_lossy(symbols.name(name)).into();
                Arc::clone(self.names.entry(name).or_insert_with(text))
            };
            for frame in self.lines.len()..self.frames.len() {
                let line = |line: &Line| {
                    let function = symbols.function(line.function)?;
                    let [line_number, column] = [line.line, line.column].map(|number| number.try_into().unwrap_or(0));
                    let (function, file) = (text(function.name), text(function.file));
                    Some(TableLine { function, file, line: line_number, column })
                };
                self.lines.push(symbols.lines(frame as u32).iter().filter_map(line).collect());
            }
        }
    }
}

impl<'a> Sample<'a> {
    /// Name of the event.
    pub fn event(&self) -> &'a str {
        &self.tables.events[self.fields.event as usize].name
    }

    /// Time in nanoseconds, on the clock of the recording.
    pub fn time(&self) -> Option<u64> {
        self.fields.time
    }

    /// Process ID.
    pub fn pid(&self) -> Option<u32> {
        self.fields.task.map(|(pid, _)| pid)
    }

    /// Thread ID.
    pub fn tid(&self) -> Option<u32> {
        self.fields.task.map(|(_, tid)| tid)
    }

    /// Name of the thread at the time of the sample.
    pub fn comm(&self) -> Option<&'a str> {
        self.fields.thread.map(|thread| &*self.tables.threads[thread as usize])
    }

    /// CPU number.
    pub fn cpu(&self) -> Option<u32> {
        self.fields.cpu
    }

    /// Number of events that the sample represents: its own period, or the one that the event was opened with.
    pub fn period(&self) -> u64 {
        self.fields.period
    }

    /// Address of the accessed data.
    pub fn data_address(&self) -> Option<u64> {
        self.fields.addr
    }

    /// Frames of the stack, leaf first.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = StackFrame<'a>> + use<'a> {
        let tables = self.tables;
        self.stack.iter().map(move |&id| {
            let frame = tables.frames[id as usize];
            let mapping = frame.mapping().map(|mapping| &tables.mappings[mapping as usize]);
            StackFrame { frame, lines: tables.lines.get(id as usize).map_or(&[], |lines| lines), mapping }
        })
    }
}

impl fmt::Debug for Sample<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Sample");
        fields.field("event", &self.event()).field("time", &self.time()).field("pid", &self.pid());
        fields.field("tid", &self.tid()).field("comm", &self.comm()).field("cpu", &self.cpu());
        fields.field("period", &self.period()).field("frames", &Vec::from_iter(self.frames())).finish()
    }
}

impl<'a> StackFrame<'a> {
    /// The address, as in its [mapping](Self::mapping); for a caller, the last byte of its call instruction.
    pub fn address(&self) -> u64 {
        self.frame.address
    }

    /// Name of the function that contains the address, without inlined functions; `None` if unknown.
    pub fn function(&self) -> Option<&'a str> {
        self.lines.last().map(|line| &*line.function)
    }

    /// The functions that contain the address, innermost first; all but the last are inlined.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = FunctionLine<'a>> + use<'a> {
        let lines = self.lines;
        lines.iter().enumerate().map(move |(index, TableLine { function, file, line, column })| FunctionLine {
            name: function,
            file,
            line: *line,
            column: *column,
            is_inlined: index + 1 < lines.len(),
        })
    }

    /// The mapping that contains the address. Equal mappings of several processes are one, at the address of the first.
    pub fn mapping(&self) -> Option<&'a Mapping> {
        self.mapping
    }

    /// Offset of the address in the mapped file; for the kernel, the address itself.
    pub fn file_offset(&self) -> Option<u64> {
        let Map { start, pgoff, .. } = self.mapping?.map;
        Some(if self.is_kernel() {
            self.frame.address
        } else {
            self.frame.address.wrapping_sub(start).wrapping_add(pgoff)
        })
    }

    /// Whether the frame is in a kernel.
    pub fn is_kernel(&self) -> bool {
        match (self.mapping, self.frame.place) {
            (Some(mapping), _) => mapping.map.is_of_kernel(),
            (None, Place::Outside(space)) => matches!(space, Space::Kernel | Space::GuestKernel | Space::Hypervisor),
            (None, Place::In(_)) => false,
        }
    }
}

impl fmt::Debug for StackFrame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.mapping.map_or("[unknown]", |mapping| mapping.path());
        match self.function() {
            Some(function) => write!(f, "{:#x} {function} ({path})", self.frame.address),
            None => write!(f, "{:#x} ({path})", self.frame.address),
        }
    }
}

impl Mapping {
    /// Path of the file, or a name in brackets such as `[kernel.kallsyms]`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// First address.
    pub fn start(&self) -> u64 {
        self.map.start
    }

    /// One past the last address.
    pub fn end(&self) -> u64 {
        self.map.limit
    }

    /// Offset of the first address in the file; for the kernel, the address of its reference symbol.
    pub fn file_offset(&self) -> u64 {
        self.map.pgoff
    }

    /// Build ID of the file.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.map.build_id.as_deref()
    }
}

/// Resolved samples on their way between threads.
#[derive(Default)]
struct Batch {
    samples: Vec<Fields>,
    /// Stacks of the samples, concatenated.
    stacks: Vec<FrameId>,
    new: NewEntries,
}

impl Batch {
    /// Adds a sample whose stack is the concatenation of `frames`, and counts it.
    fn add(&mut self, mut fields: Fields, frames: &[&[FrameId]], ledger: &mut Ledger) {
        let start = self.stacks.len();
        frames.iter().for_each(|frames| self.stacks.extend_from_slice(frames));
        fields.stack = (start as u32, (self.stacks.len() - start) as u32);
        self.samples.push(fields);
        ledger.emitted(RecordType::SAMPLE, 1);
    }
}

/// New table entries that a batch refers to.
#[derive(Default)]
struct NewEntries {
    events: Vec<ProfileEvent>,
    mappings: Vec<Map>,
    frames: Vec<Frame>,
    threads: Vec<String>,
    /// All jitdumps so far.
    jit_dumps: JitDumps,
}

/// The fields of a sample.
#[derive(Clone, Copy)]
struct Fields {
    event: EventIndex,
    time: Option<u64>,
    task: Option<(u32, u32)>,
    cpu: Option<u32>,
    period: u64,
    addr: Option<u64>,
    thread: Option<u32>,
    /// Start and length of the stack in the batch.
    stack: (u32, u32),
}

/// A sample that waits for its deferred user call chain.
struct Incomplete {
    fields: Fields,
    frames: Vec<FrameId>,
}

/// Resolves samples, and sends them in batches.
struct Sender {
    batches: Batches<Batch>,
    batch: Batch,
    session: Session,
    ledger: Ledger,
    resolver: Resolver,
    build_ids: Option<BuildIds>,
    waiting: Waiting<Incomplete>,
    incomplete: IncompleteStacks,
    /// Indexes of the thread names already sent.
    threads: HashMap<NameId, u32>,
    /// Numbers of events, mappings and frames already sent.
    sent: (usize, usize, usize),
}

impl Sender {
    fn new(batches: Batches<Batch>) -> Self {
        Self {
            batches,
            batch: Batch::default(),
            session: Session::default(),
            ledger: Ledger::default(),
            resolver: Resolver::default(),
            build_ids: None,
            waiting: Waiting::default(),
            incomplete: IncompleteStacks::default(),
            threads: HashMap::new(),
            sent: (0, 0, 0),
        }
    }

    fn send_if_full(&mut self, meta: &Meta) -> Result<()> {
        let is_full = self.batch.samples.len() >= BATCH || self.batch.stacks.len() >= FRAMES_PER_BATCH;
        if is_full { self.send(meta) } else { Ok(()) }
    }

    fn send(&mut self, meta: &Meta) -> Result<()> {
        let build_ids = self.build_ids.get_or_insert_with(|| BuildIds::new(meta));
        let (events, mappings, frames) = &mut self.sent;
        let new = &mut self.batch.new;
        new.events.extend(meta.events.list()[*events..].iter().map(ProfileEvent::from));
        new.mappings.extend_from_slice(&self.resolver.mappings.list()[*mappings..]);
        new.mappings.iter_mut().for_each(|map| build_ids.complete(map));
        new.frames.extend(&self.resolver.stacks.frames()[*frames..]);
        new.jit_dumps.clone_from(self.session.jit_dumps());
        *events += new.events.len();
        *mappings += new.mappings.len();
        *frames += new.frames.len();
        self.batches.send(std::mem::take(&mut self.batch))
    }

    /// Index of the name of a thread.
    fn thread(&mut self, tid: u32) -> Option<u32> {
        let name = self.session.thread(tid)?.comm?;
        let next = self.threads.len() as u32;
        let Self { threads, batch, session, .. } = self;
        Some(*threads.entry(name).or_insert_with(|| {
            batch.new.threads.push(String::from_utf8_lossy(session.names.name(name)).into_owned());
            next
        }))
    }
}

impl SampleConsumer for Sender {
    fn state(&mut self) -> (&mut Session, &mut Ledger) {
        (&mut self.session, &mut self.ledger)
    }

    fn sample(&mut self, sample: DecodedSample<'_>) -> Result<()> {
        let DecodedSample { meta, raw, index, event, view } = sample;
        let has_dump = view.stack_user.is_some_and(|stack| stack.dyn_size > 0);
        self.incomplete.stack_dumps += u64::from(has_dump && raw.call_chain().is_none());
        let pid = view.task.map_or(u32::MAX, |(pid, _)| pid);
        let viewer = Viewer { pid, view: self.session.mark_running(pid).view };
        let is_call_stack = event.layout.branch_sample_type().contains(BranchSampleType::CALL_STACK);
        let sampled = SampledStack {
            ip: view.ip,
            space: raw.header().misc.cpu_mode().into(),
            callchain: view.callchain,
            calls: view.branch_stack.filter(|calls| is_call_stack && !calls.is_empty()),
        };
        let resolved = self.resolver.stack(&self.session, viewer, &sampled, None);
        let fields = Fields {
            event: index,
            time: view.time,
            task: view.task,
            cpu: view.cpu.map(|(cpu, _)| cpu),
            period: view.period.or_else(|| period(&event.attr)).unwrap_or(1),
            addr: view.addr,
            thread: view.task.and_then(|(_, tid)| self.thread(tid)),
            stack: (0, 0),
        };
        let Self { resolver, waiting, batch, ledger, .. } = self;
        let frames = resolver.stacks.stack(resolved.stack);
        if let (Some(cookie), Some((_, tid))) = (resolved.cookie, view.task) {
            waiting.add(tid, cookie, Incomplete { fields, frames: frames.to_vec() });
            return Ok(());
        }
        batch.add(fields, &[frames], ledger);
        self.send_if_full(meta)
    }

    fn user_frames(&mut self, meta: &Meta, frames: UserFrames<'_>) -> Result<()> {
        let waiting = self.waiting.take(frames.tid, frames.cookie);
        let user = self.resolver.user_frames(&mut self.session, &frames);
        let mut room = MAX_FRAMES;
        for sample in waiting {
            let fits = user.len() <= room;
            room = room.saturating_sub(user.len());
            self.incomplete.too_deep += u64::from(!fits);
            self.batch.add(sample.fields, &[&sample.frames, if fits { &user } else { &[] }], &mut self.ledger);
            self.send_if_full(meta)?;
        }
        Ok(())
    }

    fn other(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Applied> {
        match raw.header().kind {
            RecordType::LOST | RecordType::LOST_SAMPLES => Ok(count_lost(&mut self.ledger, meta, raw)),
            _ => Ok(self.session.apply(meta, raw)),
        }
    }
}

impl Sink for Sender {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        dispatch(self, meta, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        for sample in self.waiting.take_all() {
            self.incomplete.deferred += 1;
            self.batch.add(sample.fields, &[&sample.frames], &mut self.ledger);
            self.send_if_full(meta)?;
        }
        self.incomplete.note(&mut self.ledger);
        self.send(meta)
    }
}
