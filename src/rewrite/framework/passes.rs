//! A chain of passes: each sees what the previous one passes on.

use super::disclosure::Disclosure;
use super::pass::{Pass, PreScanOrder};
use crate::rewrite::header::Header;
use crate::rewrite::header::metadata_edit::{HeaderRewriter, MetadataEdit};
use perf_data::abi::version::PerfVersion;
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::counts::Counts;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::{Gap, Raw};
use perf_data::stream::source::Source;
use perf_data::stream::stage::{Before, Stage};

/// Passes in the order in which they run.
#[derive(Default)]
pub struct Passes {
    list: Vec<PassStep>,
    /// Whether files are held back for [`PendingFiles::put_in_place`].
    holds_files: bool,
}

/// Files that passes write besides records, such as code images, waiting to be moved into place.
#[must_use = "files that are not put in place are deleted"]
pub struct PendingFiles(());

impl PendingFiles {
    /// Moves the files into place. Call it when the output is complete.
    ///
    /// # Errors
    /// Fails if a file cannot be moved.
    pub fn put_in_place(self, passes: &mut Passes) -> Result<()> {
        passes.finish()
    }
}

/// A pass and its edit of the metadata, once it has been made.
struct PassStep {
    pass: Box<dyn Pass>,
    edited: Option<MetadataEdit>,
}

impl Passes {
    /// Appends a pass.
    pub fn push(&mut self, pass: impl Pass + 'static) {
        self.push_boxed(Box::new(pass));
    }

    /// Appends a boxed pass.
    pub fn push_boxed(&mut self, pass: Box<dyn Pass>) {
        self.list.push(PassStep { pass, edited: None });
    }

    /// Puts a pass before all others.
    pub fn insert_first(&mut self, pass: impl Pass + 'static) {
        self.list.insert(0, PassStep { pass: Box::new(pass), edited: None });
    }

    /// Whether the chain is empty.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether any pass [changes records](Pass::changes_records); if so, they are passed on uncompressed and without gaps.
    pub fn change_records(&self) -> bool {
        self.list.iter().any(|step| step.pass.changes_records())
    }

    /// The version of perf that a pass [writes for](Pass::perf_version), if any.
    pub fn perf_version(&self) -> Option<PerfVersion> {
        self.list.iter().find_map(|step| step.pass.perf_version())
    }

    /// Whether any pass [replaces addresses](Pass::replaces_addresses) as quipper does.
    pub fn replace_addresses(&self) -> bool {
        self.list.iter().any(|step| step.pass.replaces_addresses())
    }

    /// What the output may contain besides the records that leave the passes: nothing if one [anonymizes](Pass::anonymizes).
    pub fn disclosure(&self) -> Disclosure {
        let is_anonymized = self.list.iter().any(|step| step.pass.anonymizes());
        if is_anonymized { Disclosure::Anonymized } else { Disclosure::Everything }
    }

    /// Holds back the files that passes write besides records, for outputs that are not yet complete when [`run`](Self::run)
    /// returns. By default, `run` moves the files into place.
    pub fn hold_files(&mut self) -> PendingFiles {
        self.holds_files = true;
        PendingFiles(())
    }

    /// Streams a recording through the passes, with as many pre-scans as they need. Without passes it is streamed unchanged.
    ///
    /// The ledger contains the records read, added and removed; the caller accounts for the rest. At the end, files that passes
    /// write besides records are moved into place, unless they are [held back](Self::hold_files).
    ///
    /// # Errors
    /// Fails if the recording cannot be read, a pass fails, or the sink fails. The sink receives nothing before all pre-scans are
    /// done.
    pub fn run(&mut self, input: Input, read: &ReadOptions, sink: &mut dyn Sink) -> Result<(Meta, Ledger)> {
        let done = self.stream(input, read, sink)?;
        if !self.holds_files {
            self.finish()?;
        }
        Ok(done)
    }

    /// Like [`run`](Self::run), for a sink that is not an output: no files are moved into place.
    pub(crate) fn stream(&mut self, input: Input, read: &ReadOptions, sink: &mut dyn Sink) -> Result<(Meta, Ledger)> {
        if self.is_empty() {
            return Source::open(input, read.clone())?.run(&mut &mut *sink);
        }
        let (input, damage) = input.repeatable(read)?;
        let open = || Source::open(input.clone(), read.clone());
        let records_change = self.change_records();
        self.prepare(read, &open, records_change)?;
        let mut counts = vec![Counts::default(); self.list.len() + 1];
        let mut seen = Before::new(FinalMeta::default(), sink);
        let (meta, mut ledger) = run(open()?, chain(&mut self.list, Some(&mut counts), &mut seen), records_change)?;
        let meta = seen.stage.meta.unwrap_or(meta);
        damage.into_iter().for_each(|damage| ledger.damage(damage));
        if records_change {
            // The records in compressed frames have been passed on instead of the frames.
            let kinds: Vec<_> = ledger.entries().keys().copied().filter(|kind| kind.is_frame()).collect();
            for kind in kinds {
                let frames = ledger.counts(kind).unaccounted();
                ledger.consumed(kind, frames);
            }
        }
        for (step, pair) in self.list.iter().zip(counts.windows(2)) {
            account(&mut ledger, &step.pass.name(), &pair[0], &pair[1]);
            step.pass.report(&mut ledger);
        }
        Ok((meta, ledger))
    }

    /// Moves the other outputs of all passes into place.
    fn finish(&mut self) -> Result<()> {
        self.list.iter_mut().try_for_each(|step| step.pass.finish())
    }

    /// Runs the pre-scan of each pass, and lets it edit the metadata.
    fn prepare(&mut self, read: &ReadOptions, open: &dyn Fn() -> Result<Source>, records_change: bool) -> Result<()> {
        let mut meta = open()?.meta().clone();
        let is_pipe = meta.container == Container::Pipe;
        for index in 0..self.list.len() {
            let (before, rest) = self.list.split_at_mut(index);
            let Some(PassStep { pass, edited }) = rest.first_mut() else { continue };
            let edits = pass.edits();
            // The metadata of a pipe is complete only at its end.
            if pass.pre_scan().is_some() || edits && is_pipe {
                let seen = run_pre_scan(&mut **pass, before, records_change, read, open()?)?;
                meta = seen.filter(|_| is_pipe).unwrap_or(meta);
            }
            if edits {
                let header = Header::new(&meta);
                let mut after = header.clone();
                pass.edit(&mut after)?;
                let made = MetadataEdit::new(header, after)?;
                meta = made.initial_meta(&meta)?;
                *edited = Some(made);
            }
        }
        Ok(())
    }
}

/// Runs a pass's pre-scan on what the previous passes pass on; returns the metadata at its end.
fn run_pre_scan(
    pass: &mut dyn Pass,
    before: &mut [PassStep],
    records_change: bool,
    read: &ReadOptions,
    source: Source,
) -> Result<Option<Meta>> {
    let mut nothing = NullSink;
    let mut sink: Box<dyn Sink + '_> = match pass.pre_scan() {
        Some(scan) if scan.order == PreScanOrder::Time => Box::new(Order::new(scan.sink, read.clone())),
        Some(scan) => scan.sink,
        None => Box::new(&mut nothing),
    };
    let mut seen = Before::new(FinalMeta::default(), &mut *sink);
    run(source, chain(before, None, &mut seen), records_change)?;
    Ok(seen.stage.meta)
}

/// Chains the passes before a sink; `counts`, if any, receives the records that enter and leave each pass.
fn chain<'a>(
    steps: &'a mut [PassStep],
    counts: Option<&'a mut [Counts]>,
    sink: &'a mut dyn Sink,
) -> Box<dyn Sink + 'a> {
    let mut counts = counts.into_iter().flatten().rev();
    let mut counted = move |sink: Box<dyn Sink + 'a>| match counts.next() {
        Some(counts) => Box::new(Before::new(CountingStage { counts }, sink)) as Box<dyn Sink>,
        None => sink,
    };
    let mut sink = counted(Box::new(sink));
    for PassStep { pass, edited } in steps.iter_mut().rev() {
        if let Some(edited) = edited {
            sink = Box::new(Before::new(HeaderRewriter::new(edited), sink));
        }
        sink = counted(pass.before(sink));
    }
    sink
}

/// Streams a recording. If records change, gaps and compressed frames are skipped: frames would have to be recompressed, and
/// the offsets of gaps would be wrong.
fn run(source: Source, mut sink: Box<dyn Sink + '_>, records_change: bool) -> Result<(Meta, Ledger)> {
    if records_change { source.run(&mut Before::new(OnlyRecords, sink)) } else { source.run(&mut sink) }
}

/// Records in the ledger what a pass added and removed, from the counts before and after it.
fn account(ledger: &mut Ledger, name: &str, before: &Counts, after: &Counts) {
    for (kind, count) in before.iter() {
        if let Some(removed @ 1..) = count.checked_sub(after.count(kind)) {
            ledger.removed(kind, name, removed);
        }
    }
    for (kind, count) in after.iter() {
        if let Some(added @ 1..) = count.checked_sub(before.count(kind)) {
            ledger.added(kind, added);
        }
    }
}

struct OnlyRecords;

impl<S: Sink + ?Sized> Stage<S> for OnlyRecords {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        if raw.header().kind.is_frame() { Ok(()) } else { sink.record(meta, raw) }
    }

    fn gap(&mut self, _: &Meta, _: &Gap<'_>, _: &mut S) -> Result<()> {
        Ok(())
    }
}

/// Counts the records passed on.
struct CountingStage<'a> {
    counts: &'a mut Counts,
}

impl<S: Sink + ?Sized> Stage<S> for CountingStage<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        self.counts.add(raw.header().kind);
        sink.record(meta, raw)
    }
}

/// Stores the metadata known at the end.
#[derive(Default)]
struct FinalMeta {
    meta: Option<Meta>,
}

impl<S: Sink + ?Sized> Stage<S> for FinalMeta {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        sink.record(meta, raw)
    }

    fn end(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        self.meta = Some(meta.clone());
        sink.end(meta)
    }
}

/// Ignores records; used where only the metadata at the end is needed.
struct NullSink;

impl Sink for NullSink {
    fn record(&mut self, _: &Meta, _: &Raw<'_>) -> Result<()> {
        Ok(())
    }
}
