//! Stores build IDs in the table of a file, or in the records of a pipe: `--build-ids`, `--buildid-all`.

use super::find::FindOptions;
use super::objects::{ObjectScan, Scope};
use super::resolve::BuildIdLookups;
use crate::rewrite::framework::pass::{Pass, PreScan};
#[cfg(feature = "cli")]
use crate::rewrite::framework::pass_options::RequestedPass;
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
#[cfg(feature = "cli")]
use crate::rewrite::framework::pass_type::PassType;
use crate::rewrite::header::Header;
#[cfg(feature = "cli")]
use clap::{ArgMatches, FromArgMatches};
use hashbrown::HashMap;
use perf_data::error::Result;
use perf_data::stream::ledger::Ledger;
use perf_symbols::object::build_id::Id;
use std::mem;
#[cfg(feature = "cli")]
use std::sync::Arc;

/// Stores build IDs in the build ID table.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BuildIdTable {
    /// Of which files.
    pub scope: Scope,
    /// Where they are searched.
    pub find: FindOptions,
}

impl PassOptions for BuildIdTable {
    fn pass(&self, _: &PassContext) -> Box<dyn Pass> {
        Box::new(BuildIdTablePass::new(self.scope, self.find.clone()))
    }
}

#[cfg(feature = "cli")]
impl BuildIdTable {
    /// `--build-ids`.
    pub const HIT: PassType = PassType::flag::<FindOptions>(
        "build-ids",
        "Store build IDs of files with samples in the build ID table",
        |matches| Self::requested(Scope::Hit, matches),
    )
    .short('b');

    /// `--buildid-all`.
    pub const ALL: PassType = PassType::flag::<FindOptions>(
        "buildid-all",
        "Store build IDs of all mapped files in the build ID table",
        |matches| Self::requested(Scope::All, matches),
    );

    fn requested(scope: Scope, matches: &ArgMatches) -> std::result::Result<Vec<RequestedPass>, clap::Error> {
        Ok(vec![Arc::new(Self { scope, find: FindOptions::from_arg_matches(matches)? })])
    }
}

/// The pass that stores build IDs by file name. Records do not change: perf inject also inserts a HEADER_BUILD_ID record for each
/// file, but readers of files other than perf ignore these.
pub struct BuildIdTablePass {
    options: FindOptions,
    scope: Scope,
    scan: ObjectScan,
    /// Whether the scan is complete.
    is_scanned: bool,
    resolved: BuildIdLookups,
}

impl BuildIdTablePass {
    /// Creates the pass for these objects.
    pub fn new(scope: Scope, options: FindOptions) -> Self {
        let scan = ObjectScan::new(scope);
        Self { options, scope, scan, is_scanned: false, resolved: BuildIdLookups::default() }
    }

    /// Creates the pass for the objects of a completed scan.
    pub fn from_scan(scope: Scope, scan: ObjectScan, options: FindOptions) -> Self {
        Self { options, scope, scan, is_scanned: true, resolved: BuildIdLookups::default() }
    }
}

impl Pass for BuildIdTablePass {
    fn name(&self) -> String {
        match self.scope {
            Scope::Hit => "--build-ids",
            Scope::All => "--buildid-all",
        }
        .to_owned()
    }

    fn changes_records(&self) -> bool {
        false
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        (!self.is_scanned).then(|| self.scan.pre_scan())
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        let mut resolved = BuildIdLookups::new(&self.scan, &self.options);
        let mut ambiguous = Vec::new();
        // The table, and the positions of each name in it.
        let mut table: Vec<_> = mem::take(&mut header.build_ids).into_iter().map(Some).collect();
        let mut by_name: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (at, (_, entry)) in table.iter().flatten().enumerate() {
            by_name.entry_ref(entry.filename.text()).or_default().push(at);
        }
        for object in &resolved.list {
            let positions = by_name.entry_ref(&*object.name).or_default();
            let mut existing = positions.iter().filter_map(|&at| table[at].as_ref());
            // Only the user overrides a recorded build ID.
            if !object.is_known && existing.clone().any(|(misc, entry)| Id::new(entry.id(*misc)).is_some()) {
                continue;
            }
            let Some(id) = object.only_id() else {
                ambiguous.push(object.name.clone());
                continue;
            };
            let entry = id.into_table_entry(object.mode, &object.name);
            if !existing.any(|existing| *existing == entry) {
                positions.drain(..).for_each(|at| table[at] = None);
                positions.push(table.len());
                table.push(Some(entry));
            }
        }
        header.build_ids = table.into_iter().flatten().collect();
        ambiguous.iter().for_each(|name| resolved.note_ambiguous(name));
        self.resolved = resolved;
        Ok(())
    }

    fn report(&self, ledger: &mut Ledger) {
        self.resolved.report(ledger);
    }
}
