//! Replaces the user stack dumps of samples by call chains, and adds callers from link registers: `--unwind`.
//!
//! Stacks are unwound in time order, with the mappings of their time, and written in file order.

use super::filter::file_positions::{FilePositions, Numbered, NumberedOrder};
use super::header::Header;
use crate::profile::symbolize::SymbolOptions;
use crate::profile::unwind::unwinding::Unwinding;
use crate::rewrite::framework::pass::{Pass, PreScan};
use crate::rewrite::framework::pass_options::{ObjectUse, PassContext, PassOptions};
use crate::rewrite::framework::replacement::RecordBuffer;
use crate::rewrite::framework::sample_parts::SampleParts;
use crate::rewrite::framework::spooled_chains::SpooledChains;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::bytes::Integer;
use perf_data::abi::record::{RecordHeader, RecordType};
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::container::read::ReadOptions;
use perf_data::error::{Error, Result};
use perf_data::session::space::Space;
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::{Before, Stage};
use std::sync::Arc;

/// Replaces user stack dumps and user registers with unwound call chains.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Unwind {
    /// With --unwind, keep user stack dumps and user registers.
    #[cfg_attr(feature = "cli", arg(long))]
    pub keep_user_stack: bool,
}

impl PassOptions for Unwind {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        Box::new(UnwindPass::new(Arc::clone(&context.objects), self.keep_user_stack, context.read.clone()))
    }

    fn object_use(&self) -> ObjectUse {
        ObjectUse::Unwinding
    }
}

/// Maximum size of a record without its header. Records have a multiple of 8 bytes.
const MAX_BODY: usize = u16::MAX as usize / 8 * 8 - RecordHeader::SIZE;

/// The pass that unwinds.
pub struct UnwindPass {
    options: Arc<SymbolOptions>,
    keeps_dumps: bool,
    read: ReadOptions,
    unwinding: Unwinding,
    /// Unwound call chains by the position of their sample.
    chains: SpooledChains<u64>,
    /// By event: whether its samples get other call chains.
    is_unwound: Vec<bool>,
    counts: Counts,
}

/// Samples that could not be rewritten as requested.
#[derive(Debug, Default)]
struct Counts {
    /// Samples that cannot be decoded, and would be misread after the edit of the attr.
    unreadable: u64,
    /// Chains and stack dumps that do not fit in a record together.
    too_long: u64,
}

impl UnwindPass {
    /// Creates the pass, which searches object files as in `options`.
    pub fn new(options: Arc<SymbolOptions>, keeps_dumps: bool, read: ReadOptions) -> Self {
        let (unwinding, chains) = (Unwinding::with_objects(&options), SpooledChains::default());
        Self { options, keeps_dumps, read, unwinding, chains, is_unwound: Vec::new(), counts: Counts::default() }
    }
}

impl Pass for UnwindPass {
    fn name(&self) -> String {
        "--unwind".to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        self.chains = SpooledChains::new(self.read.spool_dir.clone());
        self.is_unwound.clear();
        self.unwinding = Unwinding::with_objects(&self.options);
        let positions = FilePositions::default();
        let scan = UnwindScan { chains: &mut self.chains, is_unwound: &mut self.is_unwound, positions };
        let scan = Before::new(&mut self.unwinding, scan);
        Some(PreScan::in_file_order(NumberedOrder::new(scan, self.read.clone())))
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        let unwound = header.events.iter_mut().zip(&self.is_unwound).filter(|(_, is_unwound)| **is_unwound);
        for attr in unwound.filter_map(|(event, _)| Some(&mut event.as_mut()?.attr)) {
            attr.sample_type.insert(SampleType::CALLCHAIN);
            // perf record sets this flag if it dumps stacks; the unwound frames are now in the chain.
            attr.flags.remove(AttrFlags::EXCLUDE_CALLCHAIN_USER);
            if !self.keeps_dumps {
                attr.sample_type.remove(SampleType::USER_DUMP);
                (attr.sample_regs_user, attr.sample_stack_user) = (0, 0);
                // Readers would prefer the last calls, of hardware, to the call chain, which includes them.
                if attr.branch_sample_type.contains(BranchSampleType::CALL_STACK) {
                    attr.sample_type.remove(SampleType::BRANCH_STACK);
                    attr.branch_sample_type = BranchSampleType::empty();
                }
            }
        }
        Ok(())
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        self.counts = Counts::default();
        let stage = UnwindStage {
            chains: &self.chains,
            is_unwound: &self.is_unwound,
            keeps_dumps: self.keeps_dumps,
            positions: FilePositions::default(),
            chain: Vec::new(),
            changed: RecordBuffer::default(),
            counts: &mut self.counts,
        };
        Box::new(Before::new(stage, sink))
    }

    fn report(&self, ledger: &mut Ledger) {
        self.unwinding.note(ledger);
        let Counts { unreadable, too_long } = self.counts;
        if unreadable > 0 {
            let problem = "samples that cannot be decoded are dropped: they would be misread with call chains";
            ledger.missing(format!("{}: {unreadable} {problem}", self.name()));
        }
        if too_long > 0 {
            let problem = "samples cannot hold both their stack dump and all of its frames";
            ledger.missing(format!("{}: {too_long} {problem}", self.name()));
        }
    }
}

/// The pre-scan, in time order, after unwinding.
struct UnwindScan<'a> {
    chains: &'a mut SpooledChains<u64>,
    is_unwound: &'a mut Vec<bool>,
    positions: FilePositions,
}

impl Numbered for UnwindScan<'_> {
    fn positions(&mut self) -> &mut FilePositions {
        &mut self.positions
    }
}

impl Sink for UnwindScan<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if let Some(chain) = raw.call_chain() {
            self.chains.add(self.positions.position(raw), chain)?;
            self.note_event(meta, raw);
        }
        self.positions.forget(raw);
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.is_unwound.resize(meta.events.list().len(), false);
        for (is_unwound, event) in self.is_unwound.iter_mut().zip(meta.events.list()) {
            *is_unwound |= event.layout.sample_type().contains(SampleType::USER_DUMP);
        }
        if !self.is_unwound.contains(&true) {
            return Err(Error::not_found("--unwind: no event samples user registers and stacks"));
        }
        self.chains.finish()
    }
}

impl UnwindScan<'_> {
    /// Notes the event of a sample whose chain lacked the caller in its link register.
    fn note_event(&mut self, meta: &Meta, raw: &Raw<'_>) {
        let Some((index, event)) = meta.events.find(raw) else { return };
        if event.layout.sample_type().contains(SampleType::CALLCHAIN | SampleType::REGS_USER) {
            let index = index as usize;
            self.is_unwound.resize(self.is_unwound.len().max(index + 1), false);
            self.is_unwound[index] = true;
        }
    }
}

/// Writes the call chains into samples.
struct UnwindStage<'a> {
    chains: &'a SpooledChains<u64>,
    is_unwound: &'a [bool],
    keeps_dumps: bool,
    positions: FilePositions,
    /// The chain of the current sample (scratch buffer).
    chain: Vec<u64>,
    changed: RecordBuffer,
    counts: &'a mut Counts,
}

impl<S: Sink + ?Sized> Stage<S> for UnwindStage<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        let position = self.positions.position(raw);
        self.positions.forget(raw);
        let Some(layout) = self.unwound_layout(meta, raw) else { return sink.record(meta, raw) };
        let parts = SampleParts::locate(raw, layout);
        let Some((parts, ())) = parts.zip(self.find_chain(position, raw, layout)) else {
            self.counts.unreadable += 1;
            return Ok(());
        };
        self.write(raw, &parts, layout.sample_type())?;
        self.changed.pass(sink, meta, raw)
    }
}

impl UnwindStage<'_> {
    /// The layout of a sample that gets another call chain; `None` for other records.
    fn unwound_layout<'m>(&self, meta: &'m Meta, raw: &Raw<'_>) -> Option<&'m SampleLayout> {
        if raw.header().kind != RecordType::SAMPLE {
            return None;
        }
        let (index, event) = meta.events.find(raw)?;
        self.is_unwound.get(index as usize).is_some_and(|&is_unwound| is_unwound).then_some(&event.layout)
    }

    /// Sets the chain of a sample: the unwound one, or else the recorded one, or else its instruction pointer; `None` if it is malformed.
    fn find_chain(&mut self, position: u64, raw: &Raw<'_>, layout: &SampleLayout) -> Option<()> {
        let mut view = SampleView::default();
        view.fill(raw.body(), layout, raw.endian()).ok()?;
        self.chain.clear();
        match (self.chains.get(&position), view.callchain) {
            (Some(unwound), _) => self.chain.extend(unwound),
            (None, Some(recorded)) => self.chain.extend(recorded.iter()),
            (None, None) => {
                let context = Space::from(raw.header().misc.cpu_mode()).context();
                self.chain.extend(context.map(|context| context.0).into_iter().chain(view.ip));
            }
        }
        Some(())
    }

    /// Writes a sample with its chain.
    fn write(&mut self, raw: &Raw<'_>, parts: &SampleParts, fields: SampleType) -> Result<()> {
        let (body, record) = (raw.body(), &mut self.changed.record);
        let SampleParts { chain, calls, dump } = parts;
        let removed = if self.keeps_dumps { dump.clone() } else { calls.start..dump.end };
        // Without a dump, its fields are the ABI of the registers and the size of the stack, both 0.
        let empty_fields = if fields.contains(SampleType::STACK_USER) { 16 } else { 8 };
        let (whole, none) = (&body[removed.clone()], if self.keeps_dumps { &[0; 16][..empty_fields] } else { &[] });
        let others = body.len() - chain.len() - removed.len() + 8;
        let count = (MAX_BODY.saturating_sub(others + none.len()) / 8).min(self.chain.len());
        let fits = others + 8 * count + whole.len() <= MAX_BODY;
        let dump_bytes = if self.keeps_dumps && fits { whole } else { none };
        let len = others + 8 * count + dump_bytes.len();
        if count < self.chain.len() || self.keeps_dumps && !fits {
            self.counts.too_long += 1;
        }
        record.clear();
        let Some(header) = raw.header().with_len(RecordHeader::SIZE + len) else { return Ok(()) };
        record.extend(header.to_bytes(raw.endian()));
        record.extend_from_slice(&body[..chain.start]);
        for word in [count as u64].iter().chain(&self.chain[..count]) {
            record.extend(word.to_bytes(raw.endian()));
        }
        record.extend_from_slice(&body[chain.end..removed.start]);
        record.extend_from_slice(dump_bytes);
        record.extend_from_slice(&body[removed.end..]);
        Ok(())
    }
}
