//! A recording as a certain version of perf reads it: `--perf-version`.
//!
//! * [`since`]: since which version perf knows what.
//! * [`attr`]: events without what a version does not know.
//! * [`records`]: records without it.
//! * [`deferred`]: user call chains that come in records of their own, for versions that do not know these.

pub mod attr;
pub mod deferred;
pub mod records;
pub mod since;

use super::header::Header;
use super::option::{Outputs, Parameter, PassOption};
use super::pass::{Pass, PreScan};
use super::request::PassFactory;
use crate::container::read::ReadOptions;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::stage::Before;
use deferred::Deferred;
use records::{Change, ForVersion, Told};
use since::PerfVersion;
use std::collections::BTreeSet;

/// `--perf-version`.
const PERF_VERSION: Parameter<PerfVersion> = Parameter::once("--perf-version", "X.Y", str::parse);

/// The option of this pass.
pub const OPTIONS: &[PassOption] = &[PassOption::new(
    &PERF_VERSION,
    Outputs::Records,
    "Write what this version of perf reads; what it does not know is left out or told otherwise",
    |values| {
        let version = values.one(&PERF_VERSION)?;
        Ok(PassFactory::new(move |context| PerfVersionPass::new(version, context.read.clone())))
    },
)];

/// The pass that writes for a version of perf. What that does not know is left out, or told as it knows it, and the user is
/// told what.
pub struct PerfVersionPass {
    version: PerfVersion,
    options: ReadOptions,
    /// User call chains that came in records of their own.
    deferred: Deferred,
    /// What was changed of events and features.
    notes: BTreeSet<String>,
    /// What was changed of records.
    told: Told,
}

impl PerfVersionPass {
    /// For that version. What has to be kept meanwhile goes where the options say.
    pub fn new(version: PerfVersion, options: ReadOptions) -> Self {
        Self { version, options, deferred: Deferred::default(), notes: BTreeSet::new(), told: Told::default() }
    }
}

impl Pass for PerfVersionPass {
    fn name(&self) -> String {
        PERF_VERSION.name().to_owned()
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
        self.told.clear();
        Box::new(Before::new(ForVersion::new(self.version, &self.deferred, &mut self.told), sink))
    }

    fn report(&self, ledger: &mut Ledger) {
        let records = self.told.iter().filter(|(change, _)| **change != Change::UserFrames);
        let records = records.map(|(change, count)| format!("{change} ({count})"));
        let all: Vec<_> = self.notes.iter().cloned().chain(records).collect();
        if !all.is_empty() {
            let what = "does not know these, which are left out or told otherwise";
            ledger.note(format!("perf {} {what}: {}", self.version, all.join(", ")));
        }
        if let Some(stitched) = self.told.get(&Change::UserFrames) {
            ledger.note(format!("{stitched} samples have their user frames, which came in records of their own"));
        }
    }
}
