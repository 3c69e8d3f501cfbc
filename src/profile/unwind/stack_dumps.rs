//! Unwinds the stack dumps of samples, and completes call chains from sampled link registers, each with the mappings of its process
//! at its time, on several threads.
//!
//! Records wait in batches of a limited size until the stacks before them are unwound, and are passed on in their order. Records
//! that change processes or mappings wait for all earlier samples.

use super::dump_batch::{Dump, DumpBatch, Outcome};
use super::dump_unwinder::{DumpUnwinder, Machine};
use super::link_register::samples_link_register;
use super::unwound_stacks::UnwoundStacks;
use crate::profile::symbolize::SymbolOptions;
use perf_data::abi::bytes::{ByteReader, pair_at};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::SampleType;
use perf_data::error::Result;
use perf_data::session::Session;
use perf_data::session::space::Space;
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::threads::{WorkerPool, workers};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Maximum number of records of a batch: enough for a thread to work longer than it takes to hand them over.
const BATCH: usize = 64;

/// Unwinds the samples of a recording, whose records must arrive in time order.
pub(crate) struct StackDumps {
    options: Arc<SymbolOptions>,
    max_frames: usize,
    /// By event: whether the stacks of its samples are unwound or completed.
    is_unwound: Vec<bool>,
    session: Arc<RwLock<Session>>,
    /// Created at the first dump, when the metadata is known.
    crew: Option<Crew>,
    /// The records after those that the crew unwinds.
    batch: DumpBatch,
    stacks: UnwoundStacks,
}

/// The threads that unwind.
struct Crew {
    machine: Arc<Machine>,
    own: DumpUnwinder,
    others: WorkerPool<DumpBatch, DumpBatch>,
}

impl StackDumps {
    /// `None` if stacks are not to be unwound.
    pub(crate) fn new(options: &Arc<SymbolOptions>) -> Option<Self> {
        Some(Self {
            options: Arc::clone(options),
            max_frames: options.max_frames()?.get(),
            is_unwound: Vec::new(),
            session: Arc::default(),
            crew: None,
            batch: DumpBatch::default(),
            stacks: UnwoundStacks::default(),
        })
    }

    /// Processes a record; passes it on, or earlier ones, with the call chains of samples with stack dumps.
    ///
    /// # Errors
    /// Errors of the sink, or if a thread cannot be started.
    #[inline]
    pub(crate) fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut impl Sink) -> Result<()> {
        if !self.is_needed(meta) {
            return sink.record(meta, raw);
        }
        let dump = match raw.header().kind {
            RecordType::SAMPLE => self.dump(meta, raw),
            kind if Session::depends_on(kind) => {
                self.finish(meta, sink)?;
                self.session_mut().apply(meta, raw);
                None
            }
            _ => None,
        };
        if dump.is_none() && self.is_idle() {
            return sink.record(meta, raw);
        }
        self.batch.add(raw, dump);
        if self.batch.records.len() < BATCH { Ok(()) } else { self.submit(meta, sink) }
    }

    /// Unwinds and passes on all records that wait.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub(crate) fn finish(&mut self, meta: &Meta, sink: &mut impl Sink) -> Result<()> {
        let Self { crew: Some(crew), batch, stacks, .. } = self else { return Ok(()) };
        let mut last = std::mem::take(batch);
        crew.own.run(&mut last);
        while let Some(batch) = crew.others.next_result() {
            pass(&batch, stacks, meta, sink)?;
        }
        pass(&last, stacks, meta, sink)
    }

    /// Adds to a ledger how many stacks are incomplete, and why.
    pub(crate) fn note(&self, ledger: &mut Ledger) {
        let objects = self.crew.as_ref().map(|crew| crew.machine.objects());
        self.stacks.note(&self.session(), objects.as_deref(), ledger);
    }

    /// Whether the stacks of any event are unwound or completed.
    fn is_needed(&mut self, meta: &Meta) -> bool {
        let events = meta.events.list();
        if self.is_unwound.len() != events.len() {
            let arch = meta.string(FeatureId::ARCH);
            self.is_unwound = events.iter().map(|event| is_unwound(arch.as_deref(), &event.layout)).collect();
        }
        self.is_unwound.contains(&true)
    }

    /// Whether no record waits.
    fn is_idle(&self) -> bool {
        self.batch.records.is_empty() && self.crew.as_ref().is_none_or(|crew| crew.others.is_empty())
    }

    /// A sample whose stack is unwound or completed.
    fn dump(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<Dump> {
        let (index, event) = meta.events.find(raw)?;
        if !self.is_unwound.get(index as usize).is_some_and(|&is_unwound| is_unwound) {
            return None;
        }
        let layout = event.layout;
        let task = layout.task_at().and_then(|word| pair_at(raw.body(), 8 * word, raw.endian()));
        let pid = task.map_or(u32::MAX, |(pid, _)| pid);
        let running = self.session().running(pid);
        let view = running.unwrap_or_else(|| self.session_mut().mark_running(pid).view);
        if self.crew.is_none() {
            self.crew = Some(Crew::new(meta, &self.options, self.max_frames, &self.session));
        }
        self.find_program(raw, &layout, pid);
        Some(Dump { layout, pid, view, outcome: Outcome::Unchanged, chain: 0..0 })
    }

    /// For recordings without the name of their machine: finds the ELF machine of a program.
    fn find_program(&mut self, raw: &Raw<'_>, layout: &SampleLayout, pid: u32) {
        let Some(Crew { machine, .. }) = &self.crew else { return };
        if machine.arch.is_some() || self.batch.elf_machine.is_some() {
            return;
        }
        let ip = SampleView::read(raw.body(), layout, raw.endian()).ok().and_then(|view| view.ip);
        let session = self.session.read().unwrap_or_else(PoisonError::into_inner);
        let map = ip.and_then(|ip| session.map_at(pid, Space::User, ip));
        self.batch.elf_machine = map.and_then(|map| machine.objects().machine(session.map(map)));
    }

    /// Hands the batch to another thread.
    fn submit(&mut self, meta: &Meta, sink: &mut impl Sink) -> Result<()> {
        let Self { crew: Some(crew), batch, stacks, .. } = self else { return Ok(()) };
        let next = DumpBatch { elf_machine: batch.elf_machine, ..DumpBatch::default() };
        let mut batch = std::mem::replace(batch, next);
        if workers() == 1 {
            crew.own.run(&mut batch);
            return pass(&batch, stacks, meta, sink);
        }
        if crew.others.is_full()
            && let Some(done) = crew.others.next_result()
        {
            pass(&done, stacks, meta, sink)?;
        }
        crew.others.give(batch);
        Ok(())
    }

    fn session(&self) -> RwLockReadGuard<'_, Session> {
        self.session.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn session_mut(&self) -> RwLockWriteGuard<'_, Session> {
        self.session.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Crew {
    fn new(meta: &Meta, options: &SymbolOptions, max_frames: usize, session: &Arc<RwLock<Session>>) -> Self {
        let machine = Arc::new(Machine::new(meta, options, max_frames, session));
        let own = DumpUnwinder::new(&machine);
        let shared = Arc::clone(&machine);
        let others = WorkerPool::new("unwind", 2 * workers(), move || {
            let mut unwinder = DumpUnwinder::new(&shared);
            move |mut batch: DumpBatch| {
                unwinder.run(&mut batch);
                batch
            }
        });
        Self { machine, own, others }
    }
}

/// Whether samples of a layout have a stack dump, or a call chain that can lack the caller in a link register.
fn is_unwound(arch: Option<&str>, layout: &SampleLayout) -> bool {
    layout.sample_type().contains(SampleType::USER_DUMP) || samples_link_register(arch, layout)
}

/// Passes on the records of an unwound batch.
fn pass(batch: &DumpBatch, stacks: &mut UnwoundStacks, meta: &Meta, sink: &mut impl Sink) -> Result<()> {
    for (record, dump) in &batch.records {
        let raw = record.raw();
        let Some(dump) = dump else {
            sink.record(meta, &raw)?;
            continue;
        };
        match dump.outcome {
            Outcome::Unchanged => {}
            Outcome::Recorded => stacks.recorded += 1,
            Outcome::WithoutCfi => stacks.without_leaf_cfi += 1,
            Outcome::WithoutRegisters => stacks.without_registers += 1,
            Outcome::Continued => stacks.continued += 1,
            Outcome::Ended(end) => stacks.count(end),
        }
        let chain = &batch.chains[dump.chain.clone()];
        match ByteReader::new(chain, raw.endian()).words(chain.len() as u64 / 8).filter(|_| !chain.is_empty()) {
            Some(words) => sink.record(meta, &raw.with_call_chain(words))?,
            None => sink.record(meta, &raw)?,
        }
    }
    Ok(())
}
