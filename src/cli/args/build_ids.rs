//! Options for where build IDs are searched, for commands that search without a pass.

use super::passes::{given, with_options};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use perfconv::rewrite::build_ids::find::FindOptions;
use perfconv::rewrite::build_ids::options::SETTINGS;
use perfconv::rewrite::registry::{BUILD_IDS, PassTable};
use perfconv::rewrite::request::Values;

const OPTIONS: PassTable<'static> = &[(BUILD_IDS, SETTINGS)];

/// Values of the options for where build IDs are searched.
#[derive(Debug)]
pub struct BuildIdSearchArgs(Values);

impl BuildIdSearchArgs {
    /// Name of the first of these options that was given.
    pub fn first_given(&self) -> Option<&'static str> {
        SETTINGS.iter().map(|option| option.name()).find(|name| self.0.has_name(name))
    }

    /// Where to search.
    pub fn options(&self) -> FindOptions {
        FindOptions::from(&self.0)
    }
}

impl Args for BuildIdSearchArgs {
    fn augment_args(command: Command) -> Command {
        with_options(command, OPTIONS)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for BuildIdSearchArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(given(matches, OPTIONS)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
