//! Build ids put into the table that a file has, and the records that a pipe has: `--build-ids`, `--buildid-all`.

use super::find::FindOptions;
use super::id::Id;
use super::objects::{ObjectScan, Scope};
use super::resolve::Resolved;
use crate::error::Result;
use crate::rewrite::header::Header;
use crate::rewrite::option::{Outputs, Parameter, PassOption};
use crate::rewrite::pass::{Pass, PreScan};
use crate::rewrite::request::{PassFactory, Values};
use crate::stream::ledger::Ledger;
use hashbrown::HashMap;
use std::mem;

const HIT_NAME: Parameter<()> = Parameter::flag("--build-ids");
const ALL_NAME: Parameter<()> = Parameter::flag("--buildid-all");

/// `--build-ids`.
pub const HIT: PassOption =
    PassOption::new(&HIT_NAME, Outputs::All, "Tell the build ids of files that samples are in, in a table", |values| {
        Ok(factory(Scope::Hit, values))
    })
    .short('b');

/// `--buildid-all`.
pub const ALL: PassOption = PassOption::new(
    &ALL_NAME,
    Outputs::All,
    "Tell the build ids of all files that were mapped, in a table",
    |values| Ok(factory(Scope::All, values)),
);

fn factory(scope: Scope, values: &Values) -> PassFactory {
    let find = FindOptions::from(values);
    PassFactory::new(move |_| BuildIdTablePass::new(scope, find.clone()))
}

/// The pass that tells build ids by the names of files. Records stay as they are: perf inject has a HEADER_BUILD_ID among them
/// for each file, of which a file's readers other than perf know nothing, and a table too.
pub struct BuildIdTablePass {
    options: FindOptions,
    scope: Scope,
    look: ObjectScan,
    resolved: Resolved,
}

impl BuildIdTablePass {
    /// For these objects.
    pub fn new(scope: Scope, options: FindOptions) -> Self {
        Self { options, scope, look: ObjectScan::new(scope), resolved: Resolved::default() }
    }
}

impl Pass for BuildIdTablePass {
    fn name(&self) -> String {
        match self.scope {
            Scope::Hit => HIT_NAME.name(),
            Scope::All => ALL_NAME.name(),
        }
        .to_owned()
    }

    fn changes_records(&self) -> bool {
        false
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        Some(match self.scope {
            Scope::Hit => PreScan::in_time_order(&mut self.look),
            Scope::All => PreScan::in_file_order(&mut self.look),
        })
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        let mut resolved = Resolved::new(&self.look, &self.options);
        let mut several = Vec::new();
        // The table, and where in it each name is.
        let mut table: Vec<_> = mem::take(&mut header.build_ids).into_iter().map(Some).collect();
        let mut by_name: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (at, (_, told)) in table.iter().flatten().enumerate() {
            by_name.entry_ref(told.filename.text()).or_default().push(at);
        }
        for object in &resolved.list {
            let of_name = by_name.entry_ref(&*object.name).or_default();
            let mut told = of_name.iter().filter_map(|&at| table[at].as_ref());
            if !object.is_known && told.clone().any(|(misc, told)| Id::new(told.id(*misc)).is_some()) {
                continue;
            }
            let Some(id) = object.only_id() else {
                several.push(object.name.clone());
                continue;
            };
            let entry = id.of_table(object.mode, &object.name);
            if !told.any(|told| *told == entry) {
                of_name.drain(..).for_each(|at| table[at] = None);
                of_name.push(table.len());
                table.push(Some(entry));
            }
        }
        header.build_ids = table.into_iter().flatten().collect();
        several.iter().for_each(|name| resolved.note_several(name));
        self.resolved = resolved;
        Ok(())
    }

    fn report(&self, ledger: &mut Ledger) {
        self.resolved.report(ledger);
    }
}
