//! Samples in time order, with resolved stacks.

use super::sample_details::Details;
use super::sample_sender::{NewEntries, SampleBatch, SampleFields, Sender};
use crate::conversion::decode_trace;
use crate::profile::event::ProfileEvent;
use crate::profile::intern::stacks::FrameId;
use crate::profile::symbolize::symbols::Line;
use crate::profile::symbolize::{SymbolSources, Symbolization};
use crate::profile::unwind::unwinding::Unwinding;
use crate::profile::{Frame, Place};
use crate::rewrite::framework::passes::Passes;
use crate::rewrite::itrace::TraceEvents;
use hashbrown::HashMap;
use perf_data::abi::sample::branch::BranchEntry;
use perf_data::abi::sample::data_src::DataSrc;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::error::Result;
use perf_data::recording::pull::{End, Pull};
use perf_data::session::kernel_names::ListedKernel;
use perf_data::session::map::Map;
use perf_data::session::names::NameId;
use perf_data::session::thread_name::unnamed_thread;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::source::Source;
use perf_data::stream::stage::Before;
use perf_data::tracepoint::tracepoints::Tracepoints;
use perf_data::tracepoint::value::FieldValue;
use perf_symbols::symbolizer::function_line::{FunctionLine, TableLine, function_lines};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The samples of a recording in time order, each with its stack.
///
/// Memory grows with the unique frames, mappings and thread names, not with the number of samples. A sample with a deferred user
/// call chain (`perf record --call-graph fp,defer`) is returned when that arrives.
pub struct Samples {
    pull: Pull<SampleBatch>,
    batch: SampleBatch,
    next: usize,
    symbolization: Option<Symbolization>,
    tables: SampleTables,
}

/// Tables that samples refer to by index.
#[derive(Default)]
struct SampleTables {
    events: Vec<ProfileEvent>,
    mappings: Vec<Mapping>,
    maps: Vec<Map>,
    names: HashMap<NameId, Arc<str>>,
    frames: Vec<Frame>,
    /// The functions of the frames, innermost first.
    lines: Vec<Box<[TableLine]>>,
    threads: Vec<String>,
    tracepoints: Option<Arc<Tracepoints>>,
}

/// A sample of a recording.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    fields: &'a SampleFields,
    stack: &'a [FrameId],
    tables: &'a SampleTables,
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
        let meta = Source::open(input.clone(), read.clone())?.meta().clone();
        let unwound = sources.clone();
        let pull = Pull::new(move |batches| {
            let mut ordered = Unwinding::in_time_order(&unwound, Sender::new(batches), read.clone());
            let mut passes = Passes::default();
            let input = decode_trace(input, &read, &mut passes, &TraceEvents::default())?;
            let (meta, mut ledger) = passes.run(input, &read, &mut ordered)?;
            ledger.account_for_stream();
            let Before { stage, sink } = ordered.into_inner();
            ledger.merge(sink.ledger);
            stage.note(&mut ledger);
            Ok((meta, ledger))
        })?;
        let symbolization = sources.is_any().then(|| Symbolization::new(&sources, &meta).keep_objects());
        Ok(Self { pull, batch: SampleBatch::default(), next: 0, symbolization, tables: SampleTables::default() })
    }

    /// The next sample; `None` at the end.
    ///
    /// # Errors
    /// If the recording cannot be read any further. Corrupt samples are skipped and [reported](Self::ledger).
    #[expect(clippy::should_implement_trait, reason = "a sample borrows the batch that it is in")]
    pub fn next(&mut self) -> Result<Option<Sample<'_>>> {
        while self.next == self.batch.samples.len() {
            let Some(batch) = self.pull.next_batch()? else { return Ok(None) };
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

impl SampleTables {
    /// Appends the new entries of a batch.
    fn extend(&mut self, new: &mut NewEntries, symbolization: Option<&mut Symbolization>) {
        self.events.append(&mut new.events);
        self.threads.append(&mut new.threads);
        self.tracepoints = new.tracepoints.take().or(self.tracepoints.take());
        let first_new = self.mappings.len();
        let mapping = |map: Map| Mapping { path: String::from_utf8_lossy(&map.filename).into_owned(), map };
        self.mappings.extend(new.mappings.drain(..).map(mapping));
        self.maps.extend(self.mappings[first_new..].iter().map(|mapping| mapping.map.clone()));
        self.frames.append(&mut new.frames);
        if let Some(symbolization) = symbolization {
            symbolization.look_up(&self.frames, &self.maps, &new.process_files);
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

    /// Name of the thread at the time of the sample, if it was recorded.
    pub fn comm(&self) -> Option<&'a str> {
        self.fields.thread.map(|thread| &*self.tables.threads[thread as usize])
    }

    /// Name of the thread as reports print it: `swapper` of the idle thread, and `:TID` if none was recorded.
    pub fn thread_name(&self) -> Option<Cow<'a, str>> {
        self.comm().map(Cow::Borrowed).or_else(|| self.tid().map(unnamed_thread))
    }

    /// CPU number.
    pub fn cpu(&self) -> Option<u32> {
        self.fields.cpu
    }

    /// Number of its [event](Self::event)'s occurrences that the sample represents: its own period, or the one that the event was opened
    /// with. Reports add up [`counts`](Self::counts).
    pub fn period(&self) -> u64 {
        self.fields.period
    }

    /// The events that the sample counts for, by name, with their values: its own with its period; with counter values, as those of
    /// groups (`perf record -e '{cycles,faults}:S'`), each event whose counter has increased since the sample before, if any.
    pub fn counts(&self) -> impl Iterator<Item = (&'a str, u64)> + use<'a> {
        let Self { fields, tables, .. } = *self;
        let counted = self.details().and_then(|details| details.counts.as_deref());
        let own = counted.is_none().then_some((fields.event, fields.period));
        let counts = counted.unwrap_or_default().iter().copied().chain(own);
        counts.map(|(event, value)| (&*tables.events[event as usize].name, value))
    }

    /// Address of the accessed data.
    pub fn data_address(&self) -> Option<u64> {
        self.fields.addr
    }

    /// Physical address of the accessed data.
    pub fn physical_address(&self) -> Option<u64> {
        self.details()?.physical_address
    }

    /// The weight that the hardware assigns, such as the latency of a memory access in cycles.
    pub fn weight(&self) -> Option<u64> {
        self.details()?.weight
    }

    /// Where the accessed data came from.
    pub fn data_source(&self) -> Option<DataSrc> {
        self.details()?.data_source
    }

    /// ID of the cgroup.
    pub fn cgroup_id(&self) -> Option<u64> {
        self.details()?.cgroup.as_ref().map(|(id, _)| *id)
    }

    /// Path of the cgroup, if it was recorded.
    pub fn cgroup(&self) -> Option<&'a str> {
        self.details()?.cgroup.as_ref()?.1.as_deref()
    }

    /// The branch stack, newest branch first.
    pub fn branches(&self) -> &'a [BranchEntry] {
        self.details().map_or(&[], |details| &details.branches)
    }

    /// The fields of a tracepoint with their values, without those common to all tracepoints; none for other events.
    pub fn tracepoint_fields(&self) -> impl Iterator<Item = (&'a str, FieldValue<'a>)> + use<'a> {
        let payload = self.details().and_then(|details| details.tracepoint.as_ref());
        let tracepoint = payload.and_then(|(config, _)| self.tables.tracepoints.as_ref()?.get(*config));
        let values = tracepoint.zip(payload).map(|(tracepoint, (_, payload))| tracepoint.values(payload));
        values.into_iter().flatten().map(|(field, value)| (&*field.name, value))
    }

    fn details(&self) -> Option<&'a Details> {
        self.fields.details.as_deref()
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
        function_lines(self.lines)
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
            (Some(mapping), _) => mapping.map.belongs_to_kernel(),
            (None, Place::Outside(space)) => space.is_kernel(),
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
    /// Path of the file as recorded, or a name such as `[kernel.kallsyms]_text`, `[vdso]` or `//anon`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What perf prints instead of the path: `[kernel.kallsyms]` for the kernel, whose recorded name ends with that of its reference
    /// symbol, and `/tmp/perf-PID.map`, the file that could name its functions, for memory with generated code.
    pub fn printed_name(&self) -> Cow<'_, str> {
        ListedKernel::printed_file(None, &self.map)
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
