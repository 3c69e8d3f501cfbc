//! Functions of a sample's frames, written in addition to its call chain.

use crate::profile::collect::dispatch::{DecodedSample, SampleConsumer, dispatch};
use crate::profile::intern::frames::{Address, walk_chain};
use crate::profile::intern::mappings::Mappings;
use crate::profile::intern::stacks::{FrameId, StackId, Stacks};
use crate::profile::symbolize::symbols::Symbols;
use crate::profile::symbolize::unsymbolized::{FrameCounts, LookedUpFrames, Unsymbolized};
use crate::profile::symbolize::{SymbolSources, Symbolization};
use crate::profile::unwind::deferred::UserFrames;
use crate::profile::{Frame, Place};
use hashbrown::HashMap;
use perf_data::abi::record::RecordType;
use perf_data::error::Result;
use perf_data::session::Session;
use perf_data::session::map::Map;
use perf_data::session::space::Space;
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// Identifies a record: its file, its offset there, and its offset in a compressed frame.
type Position = (u32, u64, usize);

fn position(raw: &Raw<'_>) -> Position {
    (raw.block().source, raw.offset(), raw.at())
}

/// The stacks of all samples, with their symbols.
#[derive(Default)]
pub(super) struct SampleSymbols {
    stacks: Stacks,
    mappings: Vec<Map>,
    symbols: Symbols,
    by_sample: HashMap<Position, StackId>,
    /// The frames without functions, once all are known.
    pub unnamed: Option<Unsymbolized>,
}

impl SampleSymbols {
    /// The stack of a sample.
    pub(super) fn sample_stack(&self, raw: &Raw<'_>) -> Option<StackId> {
        if raw.header().kind != RecordType::SAMPLE {
            return None;
        }
        self.by_sample.get(&position(raw)).copied()
    }
}

/// Collects the stacks of samples, in time order, and looks up their symbols at the end.
pub(super) struct StackScan<'a> {
    sources: SymbolSources,
    session: Session,
    ledger: Ledger,
    mappings: Mappings,
    collected: SampleSymbols,
    /// Scratch buffer: the frames of a stack.
    frames: Vec<FrameId>,
    /// How often frames occur, by ID.
    counts: Vec<FrameCounts>,
    result: &'a mut Arc<SampleSymbols>,
}

impl<'a> StackScan<'a> {
    /// Creates a scan whose result is stored at its end.
    pub(super) fn new(sources: &SymbolSources, result: &'a mut Arc<SampleSymbols>) -> Self {
        Self {
            sources: sources.clone(),
            session: Session::default(),
            ledger: Ledger::default(),
            mappings: Mappings::new(sources.has_objects()),
            collected: SampleSymbols::default(),
            frames: Vec::new(),
            counts: Vec::new(),
            result,
        }
    }
}

impl SampleConsumer for StackScan<'_> {
    fn state(&mut self) -> (&mut Session, &mut Ledger) {
        (&mut self.session, &mut self.ledger)
    }

    fn sample(&mut self, DecodedSample { raw, view, .. }: DecodedSample<'_>) -> Result<()> {
        let Self { session, mappings, collected, frames, .. } = self;
        let pid = view.task.map_or(u32::MAX, |(pid, _)| pid);
        frames.clear();
        let maps = session.address_space(pid);
        let mut add = |address, space, is_caller| {
            let address = Address { address, space, is_caller };
            let frame = mappings.frame_at(&maps, address).unwrap_or_else(|| address.unmapped());
            frames.push(collected.stacks.frame_id(frame));
        };
        let space: Space = raw.header().misc.cpu_mode().into();
        match (view.callchain, view.ip) {
            (Some(chain), ip) => {
                // The address to look up of a caller is in the call, before its return address.
                walk_chain(ip, chain, space, |ip, address, space| add(address, space, ip != address));
            }
            (None, Some(ip)) => add(ip, space, false),
            (None, None) => return Ok(()),
        }
        self.counts.resize(collected.stacks.frames().len(), FrameCounts::default());
        for (depth, &frame) in frames.iter().enumerate() {
            self.counts[frame as usize].count(depth == 0, 1);
        }
        let stack = collected.stacks.stack_id(frames);
        collected.by_sample.insert(position(raw), stack);
        Ok(())
    }

    fn user_frames(&mut self, _: &Meta, _: UserFrames<'_>) -> Result<()> {
        Ok(())
    }
}

impl Sink for StackScan<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        dispatch(self, meta, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        let mappings = std::mem::take(&mut self.mappings).finish(meta);
        let mut symbolization = Symbolization::new(&self.sources, meta);
        symbolization.look_up(self.collected.stacks.frames(), &mappings, self.session.process_files());
        let (symbols, objects) = symbolization.finish();
        let frames = self.collected.stacks.frames();
        let looked_up = LookedUpFrames { frames, mappings: &mappings, symbols: &symbols, objects: &objects };
        let mut unnamed = Unsymbolized::default();
        unnamed.add_frames(looked_up, &self.counts);
        let collected = std::mem::take(&mut self.collected);
        *self.result = Arc::new(SampleSymbols { symbols, mappings, unnamed: Some(unnamed), ..collected });
        Ok(())
    }
}

/// The functions of a stack, leaf first, inlined ones before those that they are inlined into.
pub(super) struct StackFunctions<'a> {
    /// All stacks.
    pub samples: &'a SampleSymbols,
    /// The stack.
    pub stack: StackId,
}

/// A function, or an address whose function is unknown.
#[derive(Serialize)]
struct FrameFunction<'a> {
    symbol: Option<SymbolText<'a>>,
    /// Offset of the address from the start of the symbol.
    offset: Option<u64>,
    dso: Option<SymbolText<'a>>,
    /// Address as in the file; in the kernel, and in memory without a file, as recorded.
    #[serde(serialize_with = "perf_data::abi::serde::readable::hex")]
    address: u64,
    file: Option<SymbolText<'a>>,
    line: Option<i64>,
    inlined: Option<bool>,
}

#[derive(Serialize)]
#[serde(transparent)]
struct SymbolText<'a>(#[serde(with = "perf_data::abi::serde::readable::text")] &'a [u8]);

impl Serialize for StackFunctions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let SampleSymbols { stacks, mappings, symbols, .. } = self.samples;
        let text = |name| Some(symbols.name(name)).filter(|name| !name.is_empty()).map(SymbolText);
        let mut output = serializer.serialize_seq(None)?;
        for &id in stacks.stack(self.stack) {
            let Frame { place, address, .. } = stacks.frames()[id as usize];
            let map = if let Place::In(mapping) = place { mappings.get(mapping as usize) } else { None };
            let frame = || FrameFunction {
                symbol: None,
                offset: None,
                dso: map.map(|map| SymbolText(&map.filename)),
                address: map.map_or(address, |map| map.printed_address(address)),
                file: None,
                line: None,
                inlined: None,
            };
            let lines = symbols.lines(id);
            if lines.is_empty() {
                output.serialize_element(&frame())?;
            }
            for (index, line) in lines.iter().enumerate() {
                let function = symbols.function(line.function);
                let is_inlined = index + 1 < lines.len();
                output.serialize_element(&FrameFunction {
                    symbol: function.and_then(|function| text(function.name)),
                    offset: symbols
                        .symbol_offset(id)
                        .filter(|_| !is_inlined)
                        .map(|offset| offset.try_into().unwrap_or(0)),
                    file: function.and_then(|function| text(function.file)),
                    line: (line.line > 0).then_some(line.line),
                    inlined: is_inlined.then_some(true),
                    ..frame()
                })?;
            }
        }
        output.end()
    }
}
