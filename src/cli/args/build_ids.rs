//! Where build ids are looked for.

use super::folder;
use crate::rewrite::build_ids::find::{Cache, FindOptions};
use crate::rewrite::build_ids::known::KnownBuildIds;
use clap::Args;
use std::env;
use std::path::PathBuf;

/// Options of looking for build ids.
#[derive(Args, Clone, Debug, Default)]
pub struct FindArgs {
    /// Build ids of files, whatever is found or recorded: a list, or a file of one a line, as perf buildid-list writes it
    #[arg(long, value_name = "BUILDID FILE,...|PATH", value_parser = KnownBuildIds::parse)]
    known_build_ids: Option<KnownBuildIds>,

    /// Folder that has the files of the recorded machine at their paths [default: this machine's, if they are the recorded]
    #[arg(long, value_name = "DIR", value_parser = folder)]
    symfs: Option<PathBuf>,

    /// Cache of build ids, for files that are not there [default: ~/.debug]
    #[arg(long, value_name = "DIR")]
    buildid_dir: Option<PathBuf>,
}

impl FindArgs {
    /// The name of an option that was given.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.known_build_ids.is_some(), "--known-build-ids"),
            (self.symfs.is_some(), "--symfs"),
            (self.buildid_dir.is_some(), "--buildid-dir"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }

    /// Where to look.
    pub fn options(self) -> FindOptions {
        let of_user =
            || Some(Cache { dir: PathBuf::from(env::var_os("HOME")?).join(".debug"), is_of_recording: false });
        let cache = self.buildid_dir.map(|dir| Cache { dir, is_of_recording: true }).or_else(of_user);
        FindOptions { known: self.known_build_ids.unwrap_or_default(), symfs: self.symfs, cache }
    }
}
