//! Maps that no sample was in are left out, and the marks of rounds: the recording is looked at twice.

use super::address_spaces::Spaces;
use super::mmaps::counted;
use super::remap::branches;
use crate::abi::callchain::Context;
use crate::abi::record::RecordType;
use crate::abi::sample_view::SampleView;
use crate::error::Result;
use crate::rewrite::mmap::Names;
use crate::rewrite::pass::{Pass, PreScan};
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use crate::stream::stage::{Before, Stage};

/// The pass that leaves out what is not used.
#[derive(Debug, Default)]
pub struct UnusedPass {
    look: LookForUse,
}

impl Pass for UnusedPass {
    fn name(&self) -> String {
        "discard-unused".to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        Some(PreScan::in_file_order(&mut self.look))
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        Box::new(Before::new(LeaveOutUnused::new(&self.look.is_used), sink))
    }
}

/// The first look: which maps samples are in, and what called them and where they branched.
#[derive(Debug)]
pub struct LookForUse {
    spaces: Spaces,
    names: Names,
    /// By the maps' number in the recording.
    is_used: Vec<bool>,
}

impl Default for LookForUse {
    fn default() -> Self {
        Self { spaces: Spaces::new(false), names: Names::default(), is_used: Vec::new() }
    }
}

impl LookForUse {
    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<()> {
        let (_, event) = meta.events.of(raw)?;
        let view = SampleView::read(raw.body(), &event.layout, raw.endian()).ok()?;
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
        match raw.header().kind {
            RecordType::SAMPLE => drop(self.sample(meta, raw)),
            RecordType::FORK | RecordType::COMM => self.spaces.apply(meta, raw),
            _ => {
                if let Some(mmap) = counted(meta, raw, &mut self.names) {
                    self.spaces.map(mmap.pid, mmap.start, mmap.len, mmap.pgoff);
                    self.is_used.push(false);
                }
            }
        }
        Ok(())
    }
}

/// Passes on all records but those of maps that are not used and the marks of rounds.
pub struct LeaveOutUnused<'a> {
    is_used: &'a [bool],
    /// How many maps there were.
    at: usize,
    names: Names,
}

impl<'a> LeaveOutUnused<'a> {
    /// By what is used.
    pub fn new(is_used: &'a [bool]) -> Self {
        Self { is_used, at: 0, names: Names::default() }
    }
}

impl<S: Sink + ?Sized> Stage<S> for LeaveOutUnused<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        if raw.header().kind == RecordType::FINISHED_ROUND {
            return Ok(());
        }
        if counted(meta, raw, &mut self.names).is_some() {
            self.at += 1;
            if !self.is_used.get(self.at - 1).is_none_or(|is_used| *is_used) {
                return Ok(());
            }
        }
        sink.record(meta, raw)
    }
}
