//! Maps that no sample was in are left out, and the marks of rounds: the recording is looked at twice.

use super::mmap::Names;
use super::mmaps::counted;
use super::remap::branches;
use super::spaces::Spaces;
use crate::abi::callchain::Context;
use crate::abi::record::RecordType;
use crate::abi::sample_view::SampleView;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::{Gap, Raw};
use std::collections::BTreeMap;

/// The first look: which maps samples are in, and what called them and where they branched.
#[derive(Debug)]
pub struct LookForUse {
    spaces: Spaces,
    names: Names,
    kinds: Vec<RecordType>,
    is_used: Vec<bool>,
    rounds: u64,
}

/// Which maps are used, by their number in the recording.
#[derive(Debug, Default)]
pub struct Used {
    is_used: Vec<bool>,
    /// How many records of each type are left out.
    pub left_out: BTreeMap<RecordType, u64>,
}

impl Default for LookForUse {
    fn default() -> Self {
        let (names, kinds, is_used) = Default::default();
        Self { spaces: Spaces::new(false), names, kinds, is_used, rounds: 0 }
    }
}

impl LookForUse {
    /// What was found.
    pub fn used(self) -> Used {
        let mut left_out = BTreeMap::new();
        for (kind, _) in self.kinds.into_iter().zip(&self.is_used).filter(|(_, is_used)| !**is_used) {
            *left_out.entry(kind).or_default() += 1;
        }
        if self.rounds > 0 {
            left_out.insert(RecordType::FINISHED_ROUND, self.rounds);
        }
        Used { is_used: self.is_used, left_out }
    }

    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<()> {
        let (_, event) = meta.events.of(raw)?;
        let view = SampleView::read(raw.body(), &event.layout, raw.endian).ok()?;
        let pid = view.task.map_or(0, |(pid, _)| pid);
        let callers = view.callchain.iter().flat_map(|chain| chain.iter());
        let branches = view.branch_stack.iter().flat_map(branches).flatten();
        for address in view.ip.into_iter().chain(callers).chain(branches) {
            if Context::of(address).is_none()
                && let Some(found) = self.spaces.find(pid, address)
            {
                self.is_used[found.number as usize] = true;
            }
        }
        Some(())
    }
}

impl Sink for LookForUse {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        match raw.header.kind {
            RecordType::SAMPLE => drop(self.sample(meta, raw)),
            RecordType::FINISHED_ROUND => self.rounds += 1,
            RecordType::FORK | RecordType::COMM => self.spaces.tell(meta, raw),
            kind => {
                if let Some(mmap) = counted(meta, raw, &mut self.names) {
                    self.spaces.map(mmap.pid, mmap.start, mmap.len, mmap.pgoff);
                    self.kinds.push(kind);
                    self.is_used.push(false);
                }
            }
        }
        Ok(())
    }
}

/// Passes on all records but those of maps that are not used and the marks of rounds.
pub struct LeaveOutUnused<'a, S> {
    sink: S,
    used: &'a Used,
    /// How many maps there were.
    at: usize,
    names: Names,
}

impl<'a, S: Sink> LeaveOutUnused<'a, S> {
    /// Puts the pass before a sink.
    pub fn new(sink: S, used: &'a Used) -> Self {
        Self { sink, used, at: 0, names: Names::default() }
    }
}

impl<S: Sink> Sink for LeaveOutUnused<'_, S> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.sink.begin(meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if raw.header.kind == RecordType::FINISHED_ROUND {
            return Ok(());
        }
        if counted(meta, raw, &mut self.names).is_some() {
            self.at += 1;
            if !self.used.is_used.get(self.at - 1).is_none_or(|is_used| *is_used) {
                return Ok(());
            }
        }
        self.sink.record(meta, raw)
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        self.sink.gap(meta, gap)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.sink.end(meta)
    }
}
