//! Pre-scan of a recording: collects all maps before the first sample is converted.

use super::builder::Builder;
use crate::rewrite::framework::mmap::{Mmap, Names};
use hashbrown::HashMap;
use perf_data::abi::record::mmap2::MappedFile;
use perf_data::abi::record::{Misc, RecordType};
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::ReadOptions;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::is_used_by_stream;
use perf_data::stream::ledger::{Ledger, Reason};
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::Raw;
use std::sync::Arc;

/// Queues all relevant records until the end while collecting maps. Then passes them to a [`Builder`]: sorted by
/// time, those without one first, or in file order if not every event records times.
pub(super) struct PreScan {
    order: Order<Builder>,
    /// Maps, with the sort keys of their records.
    mmaps: Vec<(u64, Mmap)>,
    names: Names,
    /// The first build ID of each file in maps.
    build_ids: HashMap<Arc<[u8]>, (Misc, MappedFile)>,
    /// Number of events when `time` last checked them, and whether all of them record times.
    time_check: (usize, bool),
    ledger: Ledger,
}

impl PreScan {
    /// Starts empty.
    pub(super) fn new(options: ReadOptions) -> Self {
        Self {
            order: Order::new(Builder::default(), options),
            mmaps: Vec::new(),
            names: Names::default(),
            build_ids: HashMap::new(),
            time_check: (0, false),
            ledger: Ledger::default(),
        }
    }

    /// Returns the builder, and the ledger of the records that did not reach it.
    pub(super) fn into_parts(self) -> (Builder, Ledger) {
        (self.order.into_inner(), self.ledger)
    }

    /// The sort key of a record.
    #[inline]
    fn time(&mut self, meta: &Meta, raw: &Raw<'_>) -> u64 {
        let events = meta.events.list();
        if events.len() != self.time_check.0 {
            let are_timed = events.iter().all(|event| event.layout.sample_type().contains(SampleType::TIME));
            self.time_check = (events.len(), are_timed);
        }
        if self.time_check.1 { meta.events.recorded_time(raw).unwrap_or(0) } else { 0 }
    }

    /// Adds a map. Returns whether it is used; `None` if it cannot be decoded.
    fn mmap(&mut self, meta: &Meta, raw: &Raw<'_>, time_key: u64) -> Option<bool> {
        let mmap = Mmap::read(meta, raw, &mut self.names)?;
        let misc = raw.header().misc;
        if let Some(file) = mmap.file.filter(|file| file.build_id().is_some()) {
            self.build_ids.entry(Arc::clone(&mmap.filename)).or_insert((misc, file));
        }
        let counts = mmap.counts(misc);
        if counts {
            self.mmaps.push((time_key, mmap));
        }
        Some(counts)
    }
}

impl Sink for PreScan {
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
                let time_key = self.time(meta, raw);
                match self.mmap(meta, raw, time_key) {
                    Some(true) => return self.order.wait(time_key, raw),
                    Some(false) => self.ledger.not_applicable(kind, 1),
                    None => {
                        let problem = format!("{kind} record skipped: its fields do not fit its size");
                        self.ledger.damage(meta.damage(raw.block(), raw.at(), problem));
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
        let time_key = self.time(meta, raw);
        self.order.wait(time_key, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        let mut mmaps = std::mem::take(&mut self.mmaps);
        mmaps.sort_by_key(|&(time_key, _)| time_key);
        let mmaps = mmaps.into_iter().map(|(_, mmap)| mmap).collect();
        let build_ids = std::mem::take(&mut self.build_ids);
        self.order.sink_mut().start(meta, mmaps, build_ids);
        self.order.end(meta)
    }
}
