//! The first look at a recording: all maps are known before the first sample is seen.

use super::builder::Builder;
use crate::abi::record::mmap2::MappedFile;
use crate::abi::record::{Misc, RecordType};
use crate::abi::sample_type::SampleType;
use crate::container::read::ReadOptions;
use crate::error::Result;
use crate::rewrite::mmap::{Mmap, Names};
use crate::stream::Sink;
use crate::stream::is_used_by_stream;
use crate::stream::ledger::{Ledger, Reason};
use crate::stream::meta::Meta;
use crate::stream::order::Order;
use crate::stream::raw::Raw;
use hashbrown::HashMap;
use std::sync::Arc;

/// Has all records that count wait until the end, while it collects maps. Then they go to a [`Builder`]: by time, those
/// without one first; in the order of the file where not every event tells times.
pub struct FirstLook {
    order: Order<Builder>,
    /// Maps, and until when their records wait.
    mmaps: Vec<(u64, Mmap)>,
    names: Names,
    /// The first build id that maps tell of each file.
    build_ids: HashMap<Arc<[u8]>, (Misc, MappedFile)>,
    /// How many events there were at the last look at them, and whether all of them tell times.
    timed: (usize, bool),
    ledger: Ledger,
}

impl FirstLook {
    /// Nothing seen yet.
    pub fn new(options: ReadOptions) -> Self {
        Self {
            order: Order::new(Builder::default(), options),
            mmaps: Vec::new(),
            names: Names::default(),
            build_ids: HashMap::new(),
            timed: (0, false),
            ledger: Ledger::default(),
        }
    }

    /// What was built, and what became of the records that did not go to the builder.
    pub fn into_parts(self) -> (Builder, Ledger) {
        (self.order.into_inner(), self.ledger)
    }

    /// When it is a record's turn.
    #[inline]
    fn time(&mut self, meta: &Meta, raw: &Raw<'_>) -> u64 {
        let events = meta.events.list();
        if events.len() != self.timed.0 {
            let are_timed = events.iter().all(|event| event.layout.sample_type().contains(SampleType::TIME));
            self.timed = (events.len(), are_timed);
        }
        if self.timed.1 { meta.events.recorded_time(raw).unwrap_or(0) } else { 0 }
    }

    /// Takes a map. Says whether it counts; `None` where it cannot be read.
    fn mmap(&mut self, meta: &Meta, raw: &Raw<'_>, turn: u64) -> Option<bool> {
        let mmap = Mmap::read(meta, raw, &mut self.names)?;
        let misc = raw.header().misc;
        if let Some(file) = mmap.file.filter(|file| file.build_id().is_some()) {
            self.build_ids.entry(Arc::clone(&mmap.filename)).or_insert((misc, file));
        }
        let counts = mmap.counts(misc);
        if counts {
            self.mmaps.push((turn, mmap));
        }
        Some(counts)
    }
}

impl Sink for FirstLook {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let kind = raw.header().kind;
        match kind {
            RecordType::SAMPLE
            | RecordType::COMM
            | RecordType::FORK
            | RecordType::LOST
            | RecordType::LOST_SAMPLES
            | RecordType::KSYMBOL => {}
            RecordType::MMAP | RecordType::MMAP2 => {
                let turn = self.time(meta, raw);
                match self.mmap(meta, raw, turn) {
                    Some(true) => return self.order.wait(turn, raw),
                    Some(false) => self.ledger.not_applicable(kind, 1),
                    None => {
                        let what = format!("the {kind} record here is left out: its fields do not fit its size");
                        self.ledger.damage(meta.damage(raw.block(), raw.at(), what));
                        self.ledger.dropped(kind, Reason::Damaged);
                    }
                }
                return Ok(());
            }
            RecordType::CALLCHAIN_DEFERRED => {
                self.ledger.dropped(kind, Reason::Deferred);
                return Ok(());
            }
            kind => {
                if !is_used_by_stream(kind) {
                    self.ledger.not_applicable(kind, 1);
                }
                return Ok(());
            }
        }
        let turn = self.time(meta, raw);
        self.order.wait(turn, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        let mut mmaps = std::mem::take(&mut self.mmaps);
        mmaps.sort_by_key(|&(turn, _)| turn);
        let mmaps = mmaps.into_iter().map(|(_, mmap)| mmap).collect();
        let build_ids = std::mem::take(&mut self.build_ids);
        self.order.sink_mut().start(meta, mmaps, build_ids);
        self.order.end(meta)
    }
}
