//! Options for where build IDs are searched, for commands that search without a pass.

use clap::Args;
use perfconv::rewrite::build_ids::find::FindOptions;

/// Values of the options for where build IDs are searched.
#[derive(Args, Clone, Debug)]
pub(crate) struct BuildIdSearchArgs {
    #[command(flatten)]
    pub find: FindOptions,
}

impl BuildIdSearchArgs {
    /// The first of these options that was given.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let FindOptions { known_build_ids, symfs, buildid_dir } = &self.find;
        let given = [
            (known_build_ids.is_some(), "--known-build-ids"),
            (symfs.is_some(), "--symfs"),
            (buildid_dir.is_some(), "--buildid-dir"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }

    /// Where to search.
    pub(crate) fn options(&self) -> FindOptions {
        self.find.clone()
    }
}
