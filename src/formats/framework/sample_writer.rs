//! Writes samples in time order as text, each with the state of its thread: what formats without aggregation share.

use super::converter::{ConvertOptions, Converter};
use super::frame_lookup::FrameRenderer;
use super::named_frames::{self, NamedFrames};
use super::printed_maps::PrintedMaps;
use crate::profile::collect::dispatch::{DecodedSample, SampleConsumer, dispatch};
use crate::profile::collect::omissions;
use crate::profile::collect::weights::Weights;
use crate::profile::event::ProfileEvent;
use crate::profile::intern::frames::walk_chain;
use crate::profile::symbolize::SymbolSources;
use crate::profile::symbolize::unsymbolized::Unsymbolized;
use crate::profile::unwind::deferred::{UserFrames, Waiting};
use crate::profile::unwind::unwinding::Unwinding;
use perf_data::abi::bytes::Words;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::ReadOptions;
use perf_data::error::{Error, Result};
use perf_data::session::kernel_names::ListedKernel;
use perf_data::session::space::Space;
use perf_data::session::thread_name::unnamed_thread;
use perf_data::session::{Applied, Session};
use perf_data::stream::Sink;
use perf_data::stream::events::{Event, EventIndex};
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::tracepoint::print_format::{KernelStrings, PrintedText};
use perf_data::tracepoint::tracepoints::{Tracepoint, Tracepoints};
use std::borrow::Cow;
use std::io::{BufWriter, Write};
use std::sync::Arc;

/// A text format with an entry for each sample.
pub(crate) trait SampleFormat {
    /// Text between two samples.
    const SEPARATOR: &'static [u8] = b"";

    /// Text after the last sample.
    const END: &'static [u8] = b"";

    /// Appends the text before the first sample.
    ///
    /// # Errors
    /// Fails if the text cannot be written.
    fn begin(&mut self, _state: &mut SampleState, _meta: &Meta, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    /// Appends the text of a sample. Returns the cookie of deferred user frames, if any.
    ///
    /// # Errors
    /// Fails if the text cannot be written.
    fn sample(
        &mut self,
        state: &mut SampleState,
        sample: &WrittenSample<'_>,
        text: &mut SampleText,
    ) -> Result<Option<u64>>;

    /// Appends a frame of a call chain.
    fn frame(&mut self, state: &mut SampleState, frame: ChainFrame, out: &mut Vec<u8>);

    /// What writes frames whose functions have been looked up.
    fn renderer(&self, listed_kernel: &Arc<ListedKernel>, meta: &Meta) -> Box<dyn FrameRenderer>;

    /// Appends the frames of a call chain. Returns the cookie of deferred user frames, if any.
    fn chain(&mut self, state: &mut SampleState, chain: Chain<'_>, out: &mut Vec<u8>) -> Option<u64> {
        chain.walk(|frame| self.frame(state, frame, out))
    }

    /// Appends the text of another record, which has been applied to the state.
    ///
    /// # Errors
    /// Fails if the text cannot be written.
    fn record(&mut self, _state: &mut SampleState, _meta: &Meta, _raw: &Raw<'_>, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}

/// A sample, and the event that it counts for.
pub(crate) struct WrittenSample<'a> {
    /// The record.
    pub decoded: DecodedSample<'a>,
    pub event: EventIndex,
    /// How much it counts, if the recording has periods.
    pub period: Option<u64>,
}

impl WrittenSample<'_> {
    /// Process; -1 if unknown.
    pub(crate) fn pid(&self) -> u32 {
        self.decoded.view.task.map_or(u32::MAX, |(pid, _)| pid)
    }

    /// Thread; -1 if unknown.
    pub(crate) fn tid(&self) -> u32 {
        self.decoded.view.task.map_or(u32::MAX, |(_, tid)| tid)
    }

    /// Address space of the instruction pointer.
    pub(crate) fn space(&self) -> Space {
        self.decoded.cpu_mode().into()
    }

    /// The call chain, recorded or unwound.
    pub(crate) fn chain(&self) -> Option<Chain<'_>> {
        let DecodedSample { raw, view, event, .. } = self.decoded;
        let unwound = match raw.call_chain() {
            None => UnwoundFrames::None,
            Some(_) if event.layout.sample_type().contains(SampleType::STACK_USER) => UnwoundFrames::All,
            Some(_) => UnwoundFrames::FirstCaller,
        };
        let (event, pid, space, ip) = (self.decoded.index, self.pid(), self.space(), view.ip);
        view.callchain.map(|words| Chain { event, pid, space, ip, words, unwound })
    }
}

/// A call chain to write.
#[derive(Clone, Copy)]
pub(crate) struct Chain<'a> {
    /// Event of the record.
    pub event: EventIndex,
    /// Process.
    pub pid: u32,
    /// Address space of the instruction pointer.
    pub space: Space,
    /// Instruction pointer, if it precedes the chain.
    pub ip: Option<u64>,
    /// Addresses and context markers.
    pub words: Words<'a>,
    /// Which of its user frames were unwound.
    pub unwound: UnwoundFrames,
}

/// User frames that were not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnwoundFrames {
    /// All were recorded.
    None,
    /// The caller of the interrupted function, from the link register.
    FirstCaller,
    /// All, from a stack dump.
    All,
}

impl Chain<'_> {
    /// Calls `on_frame` for each frame. Returns the cookie of deferred user frames, if any.
    pub(crate) fn walk(self, mut on_frame: impl FnMut(ChainFrame)) -> Option<u64> {
        let Self { event, pid, space, ip, words, unwound } = self;
        let mut user_frames = 0;
        walk_chain(ip, words, space, |ip, at, space| {
            user_frames += u32::from(space == Space::User);
            let is_unwound = space == Space::User
                && (unwound == UnwoundFrames::All || unwound == UnwoundFrames::FirstCaller && user_frames == 2);
            // As in perf, callers that were unwound have the address of their call.
            let ip = if is_unwound { at } else { ip };
            on_frame(ChainFrame { event, pid, ip, at, space });
        })
    }
}

/// A frame to write.
#[derive(Clone, Copy)]
pub(crate) struct ChainFrame {
    /// Event of the record.
    pub event: EventIndex,
    /// Process.
    pub pid: u32,
    /// Recorded address.
    pub ip: u64,
    /// Address whose function is written: for a caller, in the call before the return address.
    pub at: u64,
    /// Address space.
    pub space: Space,
}

/// Text of a sample, in two parts between which more frames can be added.
#[derive(Default)]
pub(crate) struct SampleText {
    /// Text up to the last frame.
    pub before: Vec<u8>,
    /// Text after the frames.
    pub behind: Vec<u8>,
}

/// The state of the machine at a sample, and what formats look up in it.
pub(crate) struct SampleState {
    /// Processes, threads and mappings.
    pub session: Session,
    /// Frames whose functions are looked up later; `None` if they are not.
    pub named: Option<NamedFrames>,
    /// Read at the first sample of a tracepoint.
    tracepoints: Option<Tracepoints>,
    /// Scratch buffer: the text of a tracepoint.
    pub printed: PrintedText,
    events: Vec<String>,
    /// Once there is a sample.
    pub listed_kernel: Option<Arc<ListedKernel>>,
    /// Used by perf script text.
    pub printed_maps: PrintedMaps,
}

impl SampleState {
    /// Begins a stack of a process.
    fn begin_stack(&mut self, pid: u32) {
        if let Some(named) = &mut self.named {
            named.begin_stack();
            self.session.mark_running(pid);
        }
    }

    /// Name of a thread, as text.
    pub(crate) fn comm(&self, tid: u32) -> Cow<'_, str> {
        match self.session.thread(tid).and_then(|thread| thread.comm) {
            Some(comm) => String::from_utf8_lossy(self.session.names.name(comm)),
            None => unnamed_thread(tid),
        }
    }

    /// Names of all events.
    pub(crate) fn event_names(&mut self, meta: &Meta) -> &[String] {
        // In a pipe, events are added while records are read.
        let count = self.events.len();
        self.events.extend(meta.events.list().iter().skip(count).map(|event| ProfileEvent::from(event).name));
        &self.events
    }

    /// The format of an event's tracepoint.
    pub(crate) fn tracepoint(&mut self, meta: &Meta, event: &Event) -> Option<&Tracepoint> {
        self.tracepoint_and_strings(meta, event).map(|(tracepoint, _)| tracepoint)
    }

    /// The format of an event's tracepoint, and the strings of its kernel.
    pub(crate) fn tracepoint_and_strings(
        &mut self,
        meta: &Meta,
        event: &Event,
    ) -> Option<(&Tracepoint, &KernelStrings)> {
        let read = || meta.features.get(&FeatureId::TRACING_DATA).map(|data| Tracepoints::read(data));
        let tracepoints = self.tracepoints.get_or_insert_with(|| read().unwrap_or_default());
        Some((tracepoints.get(event.attr.config)?, tracepoints.strings()))
    }

    /// Appends recorded text, which may have any bytes.
    pub(crate) fn append_text(&self, text: &[u8], out: &mut Vec<u8>) {
        match self.named {
            Some(_) => named_frames::append_text(text, out),
            None => out.extend_from_slice(text),
        }
    }
}

/// A sample that waits for its user frames.
struct WaitingText {
    text: SampleText,
    event: EventIndex,
    pid: u32,
}

/// Writes samples in a format.
pub(crate) struct SampleWriter<F, W> {
    format: F,
    out: W,
    state: SampleState,
    ledger: Ledger,
    /// Number of samples written.
    samples: u64,
    weights: Weights,
    waiting: Waiting<WaitingText>,
    has_begun: bool,
    /// Scratch buffers: the text of the current sample, and the events that it counts for.
    text: SampleText,
    event_weights: Vec<(EventIndex, u64)>,
}

/// Begins writing samples in a format. Functions of frames are looked up, and stack dumps unwound, if `is_named`.
pub(crate) fn begin<'a, F: SampleFormat + 'a>(
    format: F,
    is_named: bool,
    out: &'a mut dyn Write,
    options: &ConvertOptions,
) -> Box<dyn Converter + 'a> {
    let named = NamedFrames::new(&options.symbols).filter(|_| is_named);
    let writer = SampleWriter {
        format,
        out: BufWriter::with_capacity(1 << 17, out),
        state: SampleState {
            session: Session::default(),
            named,
            tracepoints: None,
            printed: PrintedText::default(),
            events: Vec::new(),
            listed_kernel: None,
            printed_maps: PrintedMaps::default(),
        },
        ledger: Ledger::default(),
        samples: 0,
        weights: Weights::default(),
        waiting: Waiting::default(),
        has_begun: false,
        text: SampleText::default(),
        event_weights: Vec::new(),
    };
    let read = ReadOptions::default().with_spool_dir(options.spool_dir.clone());
    let unwinding = if is_named { &options.symbols } else { &SymbolSources::default() };
    Box::new(Unwinding::in_time_order(unwinding, writer, read))
}

impl<F: SampleFormat, W: Write> SampleWriter<F, W> {
    /// Writes texts of a sample.
    fn write(&mut self, meta: &Meta, texts: &[&[u8]]) -> Result<()> {
        let Self { out, state, .. } = self;
        match &mut state.named {
            Some(named) => {
                texts.iter().for_each(|text| named.add(text));
                if named.is_full() { self.write_named(meta) } else { Ok(()) }
            }
            None => texts.iter().try_for_each(|text| out.write_all(text)).map_err(Error::Output),
        }
    }

    /// Writes the text whose frames have not been looked up.
    fn write_named(&mut self, meta: &Meta) -> Result<()> {
        let Self { out, state: SampleState { session, named, .. }, .. } = self;
        named.as_mut().map_or(Ok(()), |named| named.write((meta, session), out))
    }

    fn write_sample(&mut self, meta: &Meta, text: &SampleText) -> Result<()> {
        let separator = if self.has_begun {
            F::SEPARATOR
        } else {
            self.begin(meta)?;
            b""
        };
        self.write(meta, &[separator, &text.before, &text.behind])
    }

    /// Notes what the metadata says at the first sample.
    #[cold]
    fn begin_samples(&mut self, meta: &Meta) {
        let listed_kernel = self.state.listed_kernel.insert(Arc::new(ListedKernel::new(meta)));
        if let Some(named) = &mut self.state.named {
            named.render_by(self.format.renderer(listed_kernel, meta));
        }
    }

    /// Writes what precedes the first sample.
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.has_begun = true;
        let mut text = Vec::new();
        self.format.begin(&mut self.state, meta, &mut text)?;
        self.write(meta, &[&text])
    }
}

impl<F: SampleFormat, W: Write> Converter for SampleWriter<F, W> {
    fn account(&self, ledger: &mut Ledger) {
        ledger.account_for_stream();
        ledger.merge(self.ledger.clone());
        ledger.emitted(RecordType::SAMPLE, self.samples);
    }

    fn unnamed(&self) -> Option<Unsymbolized> {
        self.state.named.as_ref()?.unnamed()
    }
}

impl<F: SampleFormat, W: Write> SampleConsumer for SampleWriter<F, W> {
    fn state(&mut self) -> (&mut Session, &mut Ledger) {
        (&mut self.state.session, &mut self.ledger)
    }

    fn sample(&mut self, decoded: DecodedSample<'_>) -> Result<()> {
        let DecodedSample { meta, index, view, .. } = decoded;
        if self.state.listed_kernel.is_none() {
            self.begin_samples(meta);
        }
        // As in perf, counter values count as a sample of each event whose counter increased.
        let mut event_weights = std::mem::take(&mut self.event_weights);
        event_weights.clear();
        self.weights.append(view, index, &meta.events, &mut event_weights);
        if event_weights.is_empty() {
            self.event_weights = event_weights;
            self.ledger.not_applicable(RecordType::SAMPLE, 1);
            return Ok(());
        }
        for &(event, added) in &event_weights {
            let mut text = std::mem::take(&mut self.text);
            text.before.clear();
            text.behind.clear();
            let sample = WrittenSample { decoded, event, period: view.period.map(|_| added) };
            self.state.begin_stack(sample.pid());
            let cookie = self.format.sample(&mut self.state, &sample, &mut text)?;
            match (cookie, view.task) {
                (Some(cookie), Some((pid, tid))) => {
                    self.waiting.add(tid, cookie, WaitingText { text, event: index, pid })
                }
                _ => {
                    self.write_sample(meta, &text)?;
                    self.text = text;
                }
            }
        }
        self.event_weights = event_weights;
        self.samples += 1;
        Ok(())
    }

    fn other(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Applied> {
        let applied = self.state.session.apply(meta, raw);
        let mut text = std::mem::take(&mut self.text);
        text.before.clear();
        text.behind.clear();
        self.format.record(&mut self.state, meta, raw, &mut text.before)?;
        if !text.before.is_empty() {
            self.write_sample(meta, &text)?;
        }
        self.text = text;
        Ok(applied)
    }

    fn user_frames(&mut self, meta: &Meta, frames: UserFrames<'_>) -> Result<()> {
        let UserFrames { cookie, tid, chain, .. } = frames;
        for WaitingText { mut text, event, pid } in self.waiting.take(tid, cookie) {
            let chain = Chain { event, pid, space: Space::User, ip: None, words: chain, unwound: UnwoundFrames::None };
            self.format.chain(&mut self.state, chain, &mut text.before);
            self.write_sample(meta, &text)?;
        }
        Ok(())
    }
}

impl<F: SampleFormat, W: Write> Sink for SampleWriter<F, W> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        dispatch(self, meta, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        // Samples whose user frames never came.
        for WaitingText { text, .. } in self.waiting.take_all() {
            self.write_sample(meta, &text)?;
        }
        if !self.has_begun {
            self.begin(meta)?;
        }
        let samples = self.ledger.counts(RecordType::SAMPLE);
        if self.samples + samples.dropped() == 0 {
            omissions::note_empty(meta, samples.not_applicable, &mut self.ledger);
        }
        self.write(meta, &[F::END])?;
        self.write_named(meta)?;
        let Self { out, state, .. } = self;
        state.named.as_mut().map_or(Ok(()), |named| named.finish(out))?;
        self.out.flush().map_err(Error::Output)
    }
}
