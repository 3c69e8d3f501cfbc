//! Writes a recording for an older version of perf: `--perf-version`.
//!
//! * `since`: which version introduced what.
//! * `attr`: adapts event attrs.
//! * `records`: adapts records.
//! * `deferred`: deferred user call chains, for versions without them.

pub(crate) mod attr;
pub(crate) mod deferred;
pub(crate) mod records;

use super::header::Header;
use crate::rewrite::framework::pass::{Pass, PreScan};
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use deferred::Deferred;
use perf_data::abi::version::PerfVersion;
use perf_data::container::read::ReadOptions;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::stage::Before;
use records::{Change, Changes, ForVersion};
use std::collections::BTreeSet;

/// Writes for a version of perf.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct ForPerfVersion {
    /// Write only what this version of perf can read; convert or remove what it does not know.
    #[cfg_attr(feature = "cli", arg(long = "perf-version", id = "perf_version", value_name = "X.Y"))]
    pub version: PerfVersion,
}

impl ForPerfVersion {
    /// For this version.
    pub fn new(version: PerfVersion) -> Self {
        Self { version }
    }
}

impl PassOptions for ForPerfVersion {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        Box::new(PerfVersionPass::new(self.version, context.read.clone()))
    }
}

/// The pass that writes for a version of perf. What the version does not know is converted or removed, and reported.
pub struct PerfVersionPass {
    version: PerfVersion,
    options: ReadOptions,
    /// Deferred user call chains.
    deferred: Deferred,
    /// Changes to events and features.
    notes: BTreeSet<String>,
    /// Changes to records.
    changes: Changes,
}

impl PerfVersionPass {
    /// Creates the pass. Temporary files go to the directory in `options`.
    pub fn new(version: PerfVersion, options: ReadOptions) -> Self {
        Self { version, options, deferred: Deferred::default(), notes: BTreeSet::new(), changes: Changes::default() }
    }
}

impl Pass for PerfVersionPass {
    fn name(&self) -> String {
        "--perf-version".to_owned()
    }

    fn perf_version(&self) -> Option<PerfVersion> {
        Some(self.version)
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        let resolves = self.version < PerfVersion::DEFERRED_CALLCHAINS;
        self.deferred = Deferred::new(self.options.spool_dir.clone());
        resolves.then(|| PreScan::in_file_order(&mut self.deferred))
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        for event in header.events.iter_mut().flatten() {
            attr::adapt(&mut event.attr, self.version, &mut self.notes);
        }
        let unknown: Vec<_> = header.features.keys().copied().filter(|&id| !self.version.knows_feature(id)).collect();
        for id in unknown {
            header.features.remove(&id);
            self.notes.insert(format!("the feature {id}"));
        }
        Ok(())
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        self.changes.clear();
        Box::new(Before::new(ForVersion::new(self.version, &self.deferred, &mut self.changes), sink))
    }

    fn report(&self, ledger: &mut Ledger) {
        let records = self.changes.iter().filter(|(change, _)| **change != Change::UserFrames);
        let records = records.map(|(change, count)| format!("{change} ({count})"));
        let all: Vec<_> = self.notes.iter().cloned().chain(records).collect();
        if !all.is_empty() {
            let problem = "does not support these, which are converted or removed";
            ledger.note(format!("perf {} {problem}: {}", self.version, all.join(", ")));
        }
        if let Some(stitched) = self.changes.get(&Change::UserFrames) {
            ledger.note(format!("{stitched} samples now contain their deferred user call chains"));
        }
    }
}
