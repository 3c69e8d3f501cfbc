//! The pre-scan of a recording to be merged.

use crate::rewrite::filter::pass::extend;
use crate::rewrite::framework::mmap::{Mmap, Names};
use perf_data::abi;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::record::time_conv::TimeConv;
use perf_data::abi::record::{CpuMode, RecordType};
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::counts::Counts;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Prefix of the name of the kernel's mapping.
pub(crate) const KERNEL_NAME: &[u8] = b"[kernel.kallsyms]";

/// The results of the pre-scan.
#[derive(Debug, Default)]
pub(crate) struct MemberScan {
    /// Number of records by type.
    pub counts: Counts,
    /// The earliest time of any record.
    pub first: Option<u64>,
    /// Times of the first and the last sample.
    pub samples: Option<(u64, u64)>,
    /// Conversion of hardware timestamps.
    pub time_conv: Option<TimeConv>,
    /// The first mapping of the kernel.
    pub kernel: Option<Mmap>,
    /// Whether rounds are consistent: no record is older than records already passed on.
    pub rounds: Rounds,
    names: Names,
}

/// Tracks rounds in the same way as [`Order`](perf_data::stream::order::Order).
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    newest: u64,
    /// The latest time before the last complete round, up to which all records are passed on.
    passed: u64,
    finished: u64,
    is_broken: bool,
}

impl Rounds {
    fn time(&mut self, time: u64) {
        self.is_broken |= time < self.passed;
        self.newest = self.newest.max(time);
    }

    fn end(&mut self) {
        (self.passed, self.finished) = (self.finished, self.newest);
    }

    /// Whether a record was older than records already passed on.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }
}

impl MemberScan {
    /// Whether records can be ordered round by round, instead of all at once. Without trailers only samples have a time, and
    /// mapping and name records must stay after the samples that precede them.
    pub(crate) fn is_ordered_by_rounds(&self, meta: &Meta) -> bool {
        let has_trailers =
            |event: &perf_data::stream::events::Event| event.attr.flags.contains(AttrFlags::SAMPLE_ID_ALL);
        !self.rounds.is_broken() && meta.events.list().iter().all(has_trailers)
    }
}

impl Sink for MemberScan {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let kind = raw.header().kind;
        self.counts.add(kind);
        if let Some(time) = meta.events.time(raw) {
            self.first = Some(self.first.map_or(time, |first| first.min(time)));
            self.rounds.time(time);
            if kind == RecordType::SAMPLE {
                extend(&mut self.samples, Some(time));
            }
        }
        match kind {
            RecordType::FINISHED_ROUND => self.rounds.end(),
            RecordType::TIME_CONV if self.time_conv.is_none() => {
                self.time_conv = abi::parse::<TimeConv>(raw.body(), raw.endian(), ()).ok().map(|(conv, _)| conv);
            }
            RecordType::MMAP | RecordType::MMAP2 if self.kernel.is_none() => {
                let is_kernel = raw.header().misc.cpu_mode() == CpuMode::KERNEL;
                let map = is_kernel.then(|| Mmap::read(meta, raw, &mut self.names)).flatten();
                self.kernel = map.filter(|map| map.filename.starts_with(KERNEL_NAME) && map.len > 0);
            }
            _ => {}
        }
        Ok(())
    }
}
