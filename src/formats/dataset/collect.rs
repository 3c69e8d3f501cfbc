//! Collects samples with their stacks, and passes them on in batches whose symbols are known.

use super::id::{self, Id, RecordingHasher};
use super::sample::{Common, SampleRow, WallClock};
use super::scheduling::RowScheduling;
use super::stacks::Resolved;
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::profile::collect::dispatch::{DecodedSample, SampleConsumer, count_lost, dispatch};
use crate::profile::collect::omissions::IncompleteStacks;
use crate::profile::collect::weights::Weights;
use crate::profile::event::ProfileEvent;
use crate::profile::intern::frames::SampledStack;
use crate::profile::intern::mappings::Mappings;
use crate::profile::intern::resolver::{Resolver, Viewer};
use crate::profile::intern::stacks::{FrameId, StackId};
use crate::profile::symbolize::unsymbolized::{FrameCounts, LookedUpFrames, Unsymbolized};
use crate::profile::symbolize::{ObjectReports, SymbolSources, Symbolization};
use crate::profile::unwind::deferred::{MAX_FRAMES, UserFrames, Waiting};
use crate::profile::unwind::unwinding::Unwinding;
use perf_data::abi::attr::AttrType;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample_type::BranchSampleType;
use perf_data::container::read::ReadOptions;
use perf_data::error::Result;
use perf_data::ibs::IbsUnits;
use perf_data::session::{Applied, Session};
use perf_data::stream::Sink;
use perf_data::stream::events::EventIndex;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_symbols::symbolizer::recorded_build_ids::BuildIds;

/// Number of samples in a batch: symbols are looked up for many frames at once.
const BATCH: usize = 1 << 16;

/// Size of the variable parts of samples at which a batch ends: the number of rows does not bound the memory of chains.
const BATCH_BYTES: usize = 16 << 20;

/// A sample with its stack.
pub(super) type StackedSample = (SampleRow, StackId);

/// Writes tables.
pub(super) trait Tables {
    /// Adds samples.
    ///
    /// # Errors
    /// Errors of the output.
    fn samples(&mut self, batch: &Batch<'_>) -> Result<()>;

    /// Adds another record, which the session has applied.
    ///
    /// # Errors
    /// Errors of the output.
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, session: &Session) -> Result<()>;

    /// Ends the tables.
    ///
    /// # Errors
    /// Errors of the output.
    fn end(&mut self, end: &End<'_>, ledger: &mut Ledger) -> Result<()>;
}

/// Samples whose symbols are known.
pub(super) struct Batch<'a> {
    pub samples: &'a [StackedSample],
    /// Their stacks.
    pub resolved: Resolved<'a>,
    /// Names, clock and import, which all samples share.
    pub common: Common<'a>,
    /// The recording.
    pub meta: &'a Meta,
    /// The run of perf.
    pub origin: Id,
}

/// The state of a recording after its last record.
pub(super) struct End<'a> {
    /// The recording.
    pub meta: &'a Meta,
    /// Its identifier.
    pub recording: Id,
    pub clock: WallClock,
    /// Why objects have no symbols.
    pub objects: &'a ObjectReports,
    /// Processes and threads.
    pub session: &'a Session,
}

/// A sample that waits for its user frames.
struct Incomplete {
    frames: Vec<FrameId>,
    row: SampleRow,
}

/// Collects samples in time order.
struct Collector<T> {
    tables: T,
    sources: SymbolSources,
    symbolization: Option<Symbolization>,
    session: Session,
    resolver: Resolver,
    weights: Weights,
    ibs_units: IbsUnits,
    /// Measures time off the CPU and latency, unless passes have changed or removed records of it.
    scheduling: Option<RowScheduling>,
    waiting: Waiting<Incomplete>,
    incomplete: IncompleteStacks,
    ledger: Ledger,
    /// How often frames occur, by ID.
    counts: Vec<FrameCounts>,
    unnamed: Option<Unsymbolized>,
    hasher: RecordingHasher,
    origin: Option<Id>,
    /// Names of the events.
    events: Vec<String>,
    batch: Vec<StackedSample>,
    batch_bytes: usize,
    /// Scratch buffer.
    event_weights: Vec<(EventIndex, u64)>,
}

/// Begins tables of a recording.
pub(super) fn begin<'a>(tables: impl Tables + 'a, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
    let sources = options.symbols.clone();
    let collector = Collector {
        tables,
        symbolization: None,
        session: Session::default(),
        // Memory with code is that of one process, in any recording.
        resolver: Resolver::new(Mappings::new(true), options.unmapped),
        weights: Weights::default(),
        ibs_units: IbsUnits::default(),
        scheduling: (!options.passes.any()).then(RowScheduling::new),
        waiting: Waiting::default(),
        incomplete: IncompleteStacks::default(),
        ledger: Ledger::default(),
        counts: Vec::new(),
        unnamed: None,
        hasher: RecordingHasher::default(),
        origin: None,
        events: Vec::new(),
        batch: Vec::new(),
        batch_bytes: 0,
        event_weights: Vec::new(),
        sources,
    };
    let read = ReadOptions::default().with_spool_dir(options.spool_dir.clone());
    Box::new(Unwinding::in_time_order(&options.symbols, collector, read))
}

impl<T: Tables> Collector<T> {
    fn add_all(&mut self, meta: &Meta, rows: Vec<StackedSample>) -> Result<()> {
        rows.into_iter().try_for_each(|(row, stack)| self.add(meta, row, stack))
    }

    fn add(&mut self, meta: &Meta, row: SampleRow, stack: StackId) -> Result<()> {
        let stacks = &self.resolver.stacks;
        self.counts.resize(stacks.frames().len(), FrameCounts::default());
        for (depth, &frame) in stacks.stack(stack).iter().enumerate() {
            self.counts[frame as usize].count(depth == 0, 1);
        }
        self.batch_bytes += row.size();
        self.batch.push((row, stack));
        if self.batch.len() >= BATCH || self.batch_bytes >= BATCH_BYTES { self.write(meta) } else { Ok(()) }
    }

    /// Passes the samples of the batch on.
    fn write(&mut self, meta: &Meta) -> Result<()> {
        let Self { tables, sources, symbolization, session, resolver: Resolver { stacks, mappings, .. }, .. } = self;
        // In a pipe, events are added while records are read.
        self.events.extend(meta.events.list()[self.events.len()..].iter().map(|event| ProfileEvent::from(event).name));
        let symbolization = symbolization.get_or_insert_with(|| Symbolization::new(sources, meta).keep_objects());
        symbolization.look_up(stacks.frames(), mappings.list(), session.process_files());
        let imported = sources.imported.as_deref();
        tables.samples(&Batch {
            samples: &self.batch,
            resolved: Resolved { stacks, mappings, symbols: symbolization.symbols(), build_ids: &BuildIds::new(meta) },
            common: Common { events: &self.events, names: &session.names, clock: WallClock::new(meta), imported },
            meta,
            origin: *self.origin.get_or_insert_with(|| id::origin(meta, None)),
        })?;
        self.batch.clear();
        self.batch_bytes = 0;
        Ok(())
    }
}

impl<T: Tables> SampleConsumer for Collector<T> {
    fn state(&mut self) -> (&mut Session, &mut Ledger) {
        (&mut self.session, &mut self.ledger)
    }

    fn sample(&mut self, decoded: DecodedSample<'_>) -> Result<()> {
        let DecodedSample { meta, raw, index, event, view } = decoded;
        let mut event_weights = std::mem::take(&mut self.event_weights);
        event_weights.clear();
        self.weights.append(view, index, &meta.events, &mut event_weights);
        if event_weights.is_empty() {
            // No counter has increased.
            self.event_weights = event_weights;
            self.ledger.not_applicable(RecordType::SAMPLE, 1);
            return Ok(());
        }
        if raw.call_chain().is_none() && view.stack_user.is_some_and(|stack| stack.dyn_size > 0) {
            self.incomplete.stack_dumps += 1;
        }
        let pid = view.task.map_or(u32::MAX, |(pid, _)| pid);
        let viewer = Viewer { pid, view: self.session.mark_running(pid).view };
        let is_call_stack = event.layout.branch_sample_type().contains(BranchSampleType::CALL_STACK);
        let calls = view.branch_stack.filter(|calls| is_call_stack && !calls.is_empty());
        let space = decoded.cpu_mode().into();
        let sampled = SampledStack { ip: view.ip, space, callchain: view.callchain, calls, repeats_leaf: false };
        let resolved = self.resolver.stack(&self.session, viewer, &sampled, None);
        let is_tracepoint = event.attr.kind == AttrType::TRACEPOINT && self.sources.imported.is_none();
        let Self { scheduling, session, .. } = self;
        let measured = scheduling.as_mut().map(|scheduling| scheduling.sample(decoded, &event_weights, session));
        let (holder, ended) = measured.unwrap_or_default();
        self.add_all(meta, ended)?;
        let mut held = Vec::new();
        for (number, &weight) in event_weights.iter().enumerate() {
            let imported = self.sources.imported.as_deref();
            let mut row = SampleRow::new(&decoded, weight, &self.session, imported, is_tracepoint);
            row.ibs = self.ibs_units.unit(meta, index).zip(view.raw.map(Into::into));
            if let Some(scheduling) = &self.scheduling {
                row.scheduling = scheduling.latency(number);
            }
            if event.is_off_cpu() {
                row.scheduling.off_cpu = Some(weight.1);
            }
            match resolved.cookie.zip(view.task) {
                Some((cookie, (_, tid))) => {
                    let frames = self.resolver.stacks.stack(resolved.stack).to_vec();
                    self.waiting.add(tid, cookie, Incomplete { frames, row });
                }
                None if holder.is_some() => held.push((row, resolved.stack)),
                None => self.add(meta, row, resolved.stack)?,
            }
        }
        if let Some((scheduling, tid)) = self.scheduling.as_mut().zip(holder) {
            let before = scheduling.hold(tid, held);
            self.add_all(meta, before)?;
        }
        self.event_weights = event_weights;
        self.ledger.emitted(RecordType::SAMPLE, 1);
        Ok(())
    }

    fn user_frames(&mut self, meta: &Meta, frames: UserFrames<'_>) -> Result<()> {
        let samples = self.waiting.take(frames.tid, frames.cookie);
        if samples.is_empty() {
            return Ok(());
        }
        let user_frames = self.resolver.user_frames(&mut self.session, &frames);
        let mut room = MAX_FRAMES;
        for Incomplete { frames, row } in samples {
            let (stack, is_whole) = self.resolver.completed_stack(&frames, &user_frames, &mut room);
            self.incomplete.too_deep += u64::from(!is_whole);
            self.add(meta, row, stack)?;
        }
        Ok(())
    }

    fn other(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Applied> {
        let applied = match raw.header().kind {
            RecordType::LOST | RecordType::LOST_SAMPLES => count_lost(&mut self.ledger, meta, raw),
            _ => self.session.apply(meta, raw),
        };
        let ended = self.scheduling.as_mut().map(|scheduling| scheduling.record(meta, raw));
        self.add_all(meta, ended.unwrap_or_default())?;
        self.tables.record(meta, raw, &self.session)?;
        Ok(applied)
    }
}

impl<T: Tables> Sink for Collector<T> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.origin.get_or_insert_with(|| id::origin(meta, Some(raw)));
        self.hasher.record(raw);
        // Dispatched as user frames of samples, not as another record.
        if raw.header().kind == RecordType::CALLCHAIN_DEFERRED {
            self.tables.record(meta, raw, &self.session)?;
        }
        dispatch(self, meta, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        let held = self.scheduling.as_mut().map(RowScheduling::finish);
        self.add_all(meta, held.unwrap_or_default())?;
        for Incomplete { frames, row } in self.waiting.take_all() {
            self.incomplete.deferred += 1;
            let stack = self.resolver.stacks.stack_id(&frames);
            self.add(meta, row, stack)?;
        }
        self.write(meta)?;
        self.incomplete.note(&mut self.ledger);
        let (symbols, objects) = self.symbolization.take().map(Symbolization::finish).unwrap_or_default();
        self.unnamed = self.sources.is_any().then(|| {
            let Resolver { stacks, mappings, .. } = &self.resolver;
            let looked_up = LookedUpFrames {
                frames: stacks.frames(),
                mappings: mappings.list(),
                symbols: &symbols,
                objects: &objects,
            };
            let mut unnamed = Unsymbolized::default();
            unnamed.add_frames(looked_up, &self.counts);
            unnamed
        });
        let end = End {
            meta,
            recording: std::mem::take(&mut self.hasher).finish(meta),
            clock: WallClock::new(meta),
            objects: &objects,
            session: &self.session,
        };
        self.tables.end(&end, &mut self.ledger)
    }
}

impl<T: Tables> Converter for Collector<T> {
    fn account(&self, ledger: &mut Ledger) {
        ledger.account_for_stream();
        ledger.merge(self.ledger.clone());
    }

    fn unnamed(&self) -> Option<Unsymbolized> {
        self.unnamed.clone()
    }
}
