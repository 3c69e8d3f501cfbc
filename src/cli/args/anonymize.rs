//! How a recording is anonymized.

use crate::rewrite::anonymize::category::{Kept, What};
use crate::rewrite::anonymize::key::Key;
use clap::Args;

/// Options of anonymizing.
#[derive(Args, Clone, Debug, Default)]
pub struct AnonymizeArgs {
    /// What of the recording stays beside build-ids, pids, times and machine, separated by commas: paths, comms, host, cmdline,
    /// cgroups, events, symbols, addresses, inodes, registers, stacks, phys-addresses, raw
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = |text: &str| text.parse::<What>())]
    keep: Vec<What>,

    /// What does not stay that stays by itself, separated by commas: build-ids, pids, times, machine
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = |text: &str| text.parse::<What>())]
    replace: Vec<What>,

    /// File with a secret of 16 bytes at least: with the same, equal names are replaced by equal ones in all recordings
    /// [default: a random one, which is not kept]
    #[arg(long, value_name = "FILE", value_parser = Key::read)]
    key: Option<Key>,
}

impl AnonymizeArgs {
    /// The name of an option that was given.
    pub fn first_given(&self) -> Option<&'static str> {
        let given =
            [(!self.keep.is_empty(), "--keep"), (!self.replace.is_empty(), "--replace"), (self.key.is_some(), "--key")];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }

    /// Says the key, if one is given, and what stays.
    ///
    /// # Errors
    /// Where something is to stay and to be replaced.
    pub fn put(self, key: &mut Key, kept: &mut Kept) -> Result<(), String> {
        if let Some(both) = self.keep.iter().find(|what| self.replace.contains(what)) {
            return Err(format!("{both} cannot both stay (--keep) and be replaced (--replace)"));
        }
        *kept = Kept::new(&self.keep, &self.replace);
        self.key.into_iter().for_each(|given| *key = given);
        Ok(())
    }
}
