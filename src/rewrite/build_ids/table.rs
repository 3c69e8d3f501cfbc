//! Build ids put into the table that a file has, and the records that a pipe has: `--build-ids`, `--buildid-all`.

use super::find::FindOptions;
use super::id::Id;
use super::objects::{LookAtObjects, Scope};
use super::resolve::Resolved;
use crate::error::Result;
use crate::rewrite::header::Header;
use crate::rewrite::pass::{Look, Pass};
use crate::stream::ledger::Ledger;

/// The pass that tells build ids by the names of files. Records stay as they are: perf inject has a HEADER_BUILD_ID among them
/// for each file, of which a file's readers other than perf know nothing, and a table too.
pub struct BuildIdTablePass {
    options: FindOptions,
    scope: Scope,
    look: LookAtObjects,
    resolved: Resolved,
}

impl BuildIdTablePass {
    /// For these objects.
    pub fn new(scope: Scope, options: FindOptions) -> Self {
        Self { options, scope, look: LookAtObjects::new(scope), resolved: Resolved::default() }
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

    fn look(&mut self) -> Option<Look<'_>> {
        Some(match self.scope {
            Scope::Hit => Look::in_time_order(&mut self.look),
            Scope::All => Look::in_file_order(&mut self.look),
        })
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        let mut resolved = Resolved::new(&self.look, &self.options);
        let mut several = Vec::new();
        for object in &resolved.list {
            let of_object = |name: &[u8]| *name == *object.name;
            let is_told = |(misc, entry): &(_, crate::abi::record::build_id::BuildId)| {
                of_object(entry.filename.text()) && Id::new(entry.id(*misc)).is_some()
            };
            if !object.is_known && header.build_ids.iter().any(is_told) {
                continue;
            }
            let Some(id) = object.only_id() else {
                several.push(object.name.clone());
                continue;
            };
            let entry = id.of_table(object.mode, &object.name);
            if !header.build_ids.contains(&entry) {
                header.build_ids.retain(|(_, told)| !of_object(told.filename.text()));
                header.build_ids.push(entry);
            }
        }
        several.iter().for_each(|name| resolved.note_several(name));
        self.resolved = resolved;
        Ok(())
    }

    fn tell(&self, ledger: &mut Ledger) {
        self.resolved.tell(ledger);
    }
}
