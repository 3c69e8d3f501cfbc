//! Removes mappings without samples, and FINISHED_ROUND records. Needs a pre-scan.

use super::address_spaces::AddressSpaces;
use super::mmaps::counted;
use super::remap::branches;
use crate::rewrite::framework::mmap::Names;
use crate::rewrite::framework::pass::{Pass, PreScan};
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::callchain::Context;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::{Before, Stage};

/// The pass that removes unused mappings.
#[derive(Debug, Default)]
pub(super) struct UnusedPass {
    scan: UseScan,
}

impl Pass for UnusedPass {
    fn name(&self) -> String {
        "discard-unused".to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        Some(PreScan::in_file_order(&mut self.scan))
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        Box::new(Before::new(RemoveUnused::new(&self.scan.is_used), sink))
    }
}

/// The first pass: finds the mappings that contain sampled addresses, callers or branches.
#[derive(Debug)]
pub(super) struct UseScan {
    spaces: AddressSpaces,
    names: Names,
    /// By number of the mapping.
    is_used: Vec<bool>,
}

impl Default for UseScan {
    fn default() -> Self {
        Self { spaces: AddressSpaces::new(false), names: Names::default(), is_used: Vec::new() }
    }
}

impl UseScan {
    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<()> {
        let (_, event) = meta.events.find(raw)?;
        let view = event.sample(raw).ok()?;
        let pid = view.task.map_or(0, |(pid, _)| pid);
        let callers = view.callchain.iter().flat_map(|chain| chain.iter());
        let branches = view.branch_stack.iter().flat_map(branches).flatten();
        for address in view.ip.into_iter().chain(callers).chain(branches) {
            if Context::of(address).is_none()
                && let Some(mapping) = self.spaces.find(pid, address)
            {
                self.is_used[mapping.number as usize] = true;
            }
        }
        Some(())
    }
}

impl Sink for UseScan {
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

/// Passes on all records except unused mappings and FINISHED_ROUND.
pub(super) struct RemoveUnused<'a> {
    is_used: &'a [bool],
    /// Number of mappings so far.
    count: usize,
    names: Names,
}

impl<'a> RemoveUnused<'a> {
    pub(super) fn new(is_used: &'a [bool]) -> Self {
        Self { is_used, count: 0, names: Names::default() }
    }
}

impl<S: Sink + ?Sized> Stage<S> for RemoveUnused<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        if raw.header().kind == RecordType::FINISHED_ROUND {
            return Ok(());
        }
        if counted(meta, raw, &mut self.names).is_some() {
            self.count += 1;
            if !self.is_used.get(self.count - 1).is_none_or(|is_used| *is_used) {
                return Ok(());
            }
        }
        sink.record(meta, raw)
    }
}
