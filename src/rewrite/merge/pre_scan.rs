//! A first look at a recording that is to be merged.

use crate::abi;
use crate::abi::attr_flags::AttrFlags;
use crate::abi::record::time_conv::TimeConv;
use crate::abi::record::{CpuMode, RecordType};
use crate::error::Result;
use crate::rewrite::filter::pass::extend;
use crate::rewrite::mmap::{Mmap, Names};
use crate::stream::Sink;
use crate::stream::counts::Counts;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;

/// What all kernels' first map is called.
pub const KERNEL_NAME: &[u8] = b"[kernel.kallsyms]";

/// What a look finds.
#[derive(Debug, Default)]
pub struct MemberScan {
    /// How many records there are of each type.
    pub counts: Counts,
    /// The earliest time of any record.
    pub first: Option<u64>,
    /// Times of the first and the last sample.
    pub samples: Option<(u64, u64)>,
    /// How ticks of the hardware's clock become times.
    pub time_conv: Option<TimeConv>,
    /// Where the kernel is: its first map.
    pub kernel: Option<Mmap>,
    /// Whether rounds tell the order of time, so that nothing that comes is older than what they say is finished.
    pub rounds: Rounds,
    names: Names,
}

/// Follows rounds as [`Order`](crate::stream::order::Order) does.
#[derive(Debug, Default)]
pub struct Rounds {
    newest: u64,
    /// The newest time of the rounds before the latest one, up to which all has been passed on.
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

    /// Whether something came that was older than what had been passed on.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }
}

impl MemberScan {
    /// Whether records can be put in order round by round: else all must be there first. Without trailers only samples have
    /// a time, and what tells of maps and names is to stay behind the samples that it stands behind.
    pub fn is_ordered_by_rounds(&self, meta: &Meta) -> bool {
        let has_trailers = |event: &crate::stream::events::Event| event.attr.flags.contains(AttrFlags::SAMPLE_ID_ALL);
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
