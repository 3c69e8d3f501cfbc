//! Which passes are taken, and in what order: by time, maps told otherwise, other addresses, what is not used left out.

use super::mmaps::{ChangeMmaps, LookAtMmaps, Plan};
use super::remap::Remap;
use super::sort::Sort;
use super::unused::{LeaveOutUnused, LookForUse, Used};
use crate::abi::record::RecordType;
use crate::container::read::ReadOptions;
use crate::container::read::input::Input;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use crate::stream::source::Source;
use std::collections::BTreeMap;

/// What records are compressed in.
const FRAMES: [RecordType; 2] = [RecordType::COMPRESSED, RecordType::COMPRESSED2];

/// The passes that are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// Records in the order of time.
    pub sort: bool,
    /// Maps that huge pages have hidden get their file's name.
    pub huge_pages: bool,
    /// Maps that were told in pieces are told as one.
    pub combine: bool,
    /// Addresses are replaced by others that say nothing of where a process was.
    pub remap: bool,
    /// Maps that no sample was in are left out, and the marks of rounds.
    pub discard_unused: bool,
}

impl Passes {
    /// What quipper's perf_converter does with every recording.
    pub const PERF_CONVERTER: Self =
        Self { sort: true, huge_pages: true, combine: true, remap: false, discard_unused: false };

    /// Whether any is asked for.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// These and others.
    pub fn and(self, other: Self) -> Self {
        Self {
            sort: self.sort || other.sort,
            huge_pages: self.huge_pages || other.huge_pages,
            combine: self.combine || other.combine,
            remap: self.remap || other.remap,
            discard_unused: self.discard_unused || other.discard_unused,
        }
    }

    /// Streams a recording through the passes, as often as they need to look at it. What was compressed or damaged in it is
    /// not passed on as it was, but as records.
    ///
    /// # Errors
    /// Where the recording cannot be read, or the sink cannot go on.
    pub fn run(&self, input: Input, read: &ReadOptions, sink: &mut dyn Sink) -> Result<(Meta, Ledger)> {
        if !self.any() {
            return Source::open(input, read.clone())?.run(&mut &mut *sink);
        }
        let (input, damage) = input.repeatable(read)?;
        let stream = |sink: &mut dyn Sink| {
            let source = Source::open(input.clone(), read.clone())?;
            let mut records = OnlyRecords(sink);
            if self.sort { source.run(&mut Sort::new(records, read.clone())) } else { source.run(&mut records) }
        };
        let plan = if self.huge_pages || self.combine {
            let mut look = LookAtMmaps::default();
            stream(&mut look)?;
            look.plan(self.huge_pages, self.combine)
        } else {
            Plan::default()
        };
        let used = if self.discard_unused {
            let mut look = LookForUse::default();
            stream(&mut ChangeMmaps::new(&mut look, &plan))?;
            look.used()
        } else {
            Used::default()
        };
        let mut sink: Box<dyn Sink + '_> = Box::new(sink);
        if self.discard_unused {
            sink = Box::new(LeaveOutUnused::new(sink, &used));
        }
        if self.remap {
            sink = Box::new(Remap::new(sink));
        }
        let (meta, mut ledger) = stream(&mut ChangeMmaps::new(sink, &plan))?;
        damage.into_iter().for_each(|damage| ledger.damage(damage));
        let frames =
            FRAMES.map(|kind| (kind, ledger.entries().get(&kind).map_or(0, |entry| entry.read - entry.dropped())));
        consumed(&mut ledger, &frames.into_iter().filter(|(_, count)| *count > 0).collect());
        consumed(&mut ledger, &plan.left_out);
        consumed(&mut ledger, &used.left_out);
        Ok((meta, ledger))
    }
}

fn consumed(ledger: &mut Ledger, left_out: &BTreeMap<RecordType, u64>) {
    left_out.iter().for_each(|(&kind, &count)| ledger.consumed(kind, count));
}

/// Passes on records alone: what they are compressed in would have to be made anew, and damage is in no place any more.
struct OnlyRecords<'a>(&'a mut dyn Sink);

impl Sink for OnlyRecords<'_> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.0.begin(meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if FRAMES.contains(&raw.header.kind) { Ok(()) } else { self.0.record(meta, raw) }
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.0.end(meta)
    }
}
